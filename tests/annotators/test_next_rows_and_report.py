"""Which rows to ask again, and which annotators to look at."""

import numpy as np
import pytest

from rankprune.annotators import Answers, annotator_report, consensus, next_rows
from rankprune.annotators._copies import count_pairs
from simulated_crowd import crowd, long


def kinds(answers):
    return [(remark.annotator, remark.kind) for remark in annotator_report(answers)]


def test_open_rows_come_first_and_settled_ones_last():
    table, _ = crowd([0.9, 0.9, 0.85, 0.8, 0.9], 100, n_classes=2)
    cells = table.astype(float)
    cells[7] = np.nan
    cells[9] = [0, 1, np.nan, np.nan, np.nan]
    answers = long(cells)
    assert set(next_rows(answers, 2)) == {7, 9}
    found = consensus(answers)
    asked = next_rows(answers, 1000, found=found)
    assert sorted(asked) == list(range(100))
    assert found.confidence[asked[-1]] > 0.99


def test_asking_where_the_gain_is_largest_is_better_than_anywhere():
    table, truth = crowd([0.8, 0.75, 0.7, 0.8, 0.75, 0.7], 600, seed=3)
    first = table.astype(float)
    first[:, 3:] = np.nan
    asked = np.zeros(600, dtype=bool)
    asked[next_rows(long(first), 150)] = True
    accuracy = []
    for again in (asked, np.arange(600) % 4 == 0):
        cells = np.where(again[:, None], table, first)
        accuracy.append((consensus(long(cells), method="one-coin").labels == truth).mean())
    assert accuracy[0] > accuracy[1] + 0.02


def test_bad_arguments_of_next_rows_are_explained():
    answers = Answers.from_wide([["a", "b"], ["b", "b"]])
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got 0"):
        next_rows(answers, 0)
    with pytest.raises(TypeError, match="answers must be Answers, got list"):
        next_rows([], 1)
    other = consensus(Answers.from_wide([["a", "b"]]))
    with pytest.raises(ValueError, match="found must be the consensus of these answers, but it is"):
        next_rows(answers, 1, found=other)


def test_honest_annotators_get_no_remark():
    table, _ = crowd([0.9, 0.8, 0.7, 0.6, 0.9], 150)
    assert annotator_report(long(table)) == []


def test_random_constant_and_copied_answers_are_noticed():
    table, _ = crowd([0.9, 0.85, 0.8, 0.9, 0.6, 0.3], 300, n_classes=4)
    spam = np.random.default_rng(1).integers(0, 4, 300)
    cells = np.column_stack([table[:, :5], spam, np.zeros(300, int), table[:, 4]])
    found = kinds(long(cells))
    assert (7, "copies") in found
    assert (6, "one label") in found
    assert not {who for who, _ in found} & {0, 1, 2, 3}
    (copied,) = [r for r in annotator_report(long(cells)) if r.kind == "copies"]
    assert str(copied) == "7: copies (4: 300 of 300 answers are equal)"


def test_adversaries_agree_with_nobody():
    table, _ = crowd([0.9, 0.9, 0.8, 0.05], 200, n_classes=2)
    (remark,) = annotator_report(long(table))
    assert (remark.annotator, remark.kind) == (3, "agrees with nobody")
    assert "agreement on 200 rows" in remark.detail


def test_always_the_same_label_is_fine_where_it_is_right():
    table = np.zeros((60, 3), dtype=int)
    table[0] = 1
    assert kinds(long(table)) == []
    # Nobody else answered these rows.
    alone = np.full((80, 2), np.nan)
    alone[:40, 0], alone[40:, 1] = 0, np.arange(40) % 2
    assert kinds(long(alone)) == []


def test_fast_annotators_are_noticed_if_times_are_known():
    table, _ = crowd([0.9, 0.9, 0.9, 0.9], 50)
    seconds = np.tile([10.0, 12.0, 1.0, np.nan], 50)
    answers = long(table, seconds=seconds)
    (remark,) = annotator_report(answers)
    assert str(remark) == "2: too fast (median 1.0 s, 10.0 s for all)"
    assert annotator_report(long(table, seconds=np.full(200, np.nan))) == []


def test_a_report_of_anything_else_is_refused():
    with pytest.raises(TypeError, match="answers must be Answers, got dict"):
        annotator_report({})


def test_pairs_are_counted_on_evenly_spaced_rows_if_there_are_too_many(monkeypatch):
    table, _ = crowd([0.9, 0.9], 200)
    everything = count_pairs(long(table))
    assert everything.shared.tolist() == [200]
    assert everything.equal.tolist() == [(table[:, 0] == table[:, 1]).sum()]
    monkeypatch.setattr("rankprune.annotators._copies._MAX_PAIRS", 400)
    assert count_pairs(long(table)).shared.tolist() == [100]
