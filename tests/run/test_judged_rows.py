"""Rows of a check that people judge: which are drawn, and what their answers change."""

import numpy as np
import pandas as pd
import pytest

from rankprune import LabelCheck, check_labels, flip_labels
from rankprune.core._interval_records import JUDGED


@pytest.fixture(scope="module")
def rows():
    """Return true labels, noisy ones and scores that overlap."""
    rng = np.random.default_rng(0)
    truth = rng.random(1500) < 0.4
    scores = np.clip(0.5 + np.where(truth, 0.25, -0.25) + 0.17 * rng.standard_normal(1500), 0, 1)
    noisy = flip_labels(truth, positive_noise_rate=0.15, negative_noise_rate=0.1, random_state=1)
    return truth, noisy, 0.15 + 0.7 * scores


@pytest.fixture(scope="module")
def check(rows):
    _, noisy, scores = rows
    return check_labels(None, noisy.astype(int), probabilities=scores)


def width(check):
    return check.wrong_share_interval.high - check.wrong_share_interval.low


def test_judged_rows_narrow_the_range_and_hold_the_truth(check, rows):
    truth, noisy, _ = rows
    settled = check
    for batch in range(4):
        sample = settled.draw_audit(25, random_state=batch)
        assert len(set(sample.rows.tolist())) == 25
        settled = settled.settle(sample, truth[sample.rows].astype(int))
    assert width(settled) < 0.6 * width(check)
    share = (truth != noisy).mean()
    assert settled.wrong_share_interval.low <= share <= settled.wrong_share_interval.high
    assert settled.wrong_share_interval.covers == JUDGED
    assert len(settled.judged.rows) == 100 == settled.judged.n_sure
    assert settled.judged.n_wrong == (truth != noisy)[list(settled.judged.rows)].sum()
    assert settled.estimated_rates == check.estimated_rates


def test_one_answer_from_one_object(check, rows):
    truth, _, _ = rows
    sample = check.draw_audit(50, random_state=0)
    settled = check.settle(sample, truth[sample.rows].astype(int))
    rates, total = settled.noise_rates, settled.wrong_share_interval
    assert settled.wrong_share == rates.wrong_share == total.estimate
    assert settled.verdict.wrong_share == total
    assert settled.verdict.noise_rates == rates
    expected = (
        rates.positive_label_error_rate * rates.observed_prevalence
        + rates.negative_label_error_rate * (1 - rates.observed_prevalence)
    )
    assert rates.wrong_share == pytest.approx(expected)
    found = settled.to_dict()
    assert found["wrong_share"] == settled.wrong_share
    assert found["judged"]["n_wrong"] == settled.judged.n_wrong


def test_as_many_suspects_as_are_wrong_beside_the_judged_ones(check, rows):
    truth, _, _ = rows
    sample = check.draw_audit(100, random_state=0)
    settled = check.settle(sample, truth[sample.rows].astype(int))
    assert settled.verdict.level == "noise found"
    left = settled.wrong_share * 1500 - settled.judged.n_wrong
    assert abs(settled.n_suspects - left) <= 2
    assert not settled.scores.suspect[sample.rows].any()
    assert not set(settled.candidate_rows().tolist()) & set(sample.rows.tolist())
    assert settled.n_candidates >= settled.n_suspects
    assert sorted(settled.scores.rank.tolist()) == list(range(1, 1501))
    assert (settled.scores.weight[settled.scores.suspect] == 0).all()
    assert [row.row for row in settled.candidates] == settled.candidate_rows()[:500].tolist()


def test_rows_are_drawn_once(check, rows):
    truth, _, _ = rows
    sample = check.draw_audit(40, random_state=0)
    settled = check.settle(sample, truth[sample.rows].astype(int))
    again = settled.draw_audit(1400, random_state=0)
    assert not set(again.rows.tolist()) & set(sample.rows.tolist())
    with pytest.raises(ValueError, match="n must be at most the number of rows that nobody"):
        settled.draw_audit(1461)


def test_the_same_answers_count_once(check, rows):
    truth, _, _ = rows
    sample = check.draw_audit(25, random_state=0)
    answers = truth[sample.rows].astype(int)
    once = check.settle(sample, answers)
    twice = once.settle(sample.rows, answers.tolist())
    assert twice.to_dict() == once.to_dict()
    in_parts = check.settle(sample.rows[:10], answers[:10]).settle(sample.rows[10:], answers[10:])
    assert in_parts.noise_rates == once.noise_rates


def test_answers_in_the_users_own_values(rows):
    truth, noisy, scores = rows
    labels = pd.Series(np.where(noisy, "yes", "no"))
    check = check_labels(None, labels, probabilities=scores)
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, np.where(truth[sample.rows], "yes", "no"))
    numbers = check_labels(None, noisy.astype(float), probabilities=scores)
    same = numbers.settle(sample.rows, truth[sample.rows].astype(int))
    assert same.noise_rates == settled.noise_rates
    assert sample.positive == "yes"


def test_unsure_answers_are_remembered_and_count_for_nothing(check, rows):
    truth, _, _ = rows
    sample = check.draw_audit(25, random_state=0)
    unsure = check.settle(sample, [None] * 25)
    assert unsure.noise_rates == check.noise_rates
    assert unsure.judged.n_sure == 0
    assert not set(unsure.draw_audit(100, random_state=0).rows) & set(sample.rows)
    later = unsure.settle(sample, truth[sample.rows].astype(int))
    assert later.judged.n_sure == 25


def test_about_one_label(check, rows):
    truth, _, _ = rows
    sample = check.draw_audit(50, about=1, random_state=0)
    assert sample.is_positive.mean() > 0.9
    settled = check.settle(sample, truth[sample.rows].astype(int))
    before, after = (one.intervals.positive_label_error_rate for one in (check, settled))
    assert after.high - after.low < before.high - before.low
    planned = check.planned_audit((25, 50), about="1")
    assert planned[25]["model"] > planned[50]["model"]


def test_answers_that_contradict_the_model_count_alone(check, rows):
    _, noisy, _ = rows
    sample = check.draw_audit(100, random_state=0)
    settled = check.settle(sample, 1 - noisy[sample.rows].astype(int))
    assert settled.judged.contradicts_model
    assert settled.wrong_share_interval.high > 0.9
    assert settled.wrong_share_interval.covers != JUDGED
    assert 0 < settled.noise_rates.positive_noise_rate < 1
    planned = settled.planned_audit((25,))[25]
    assert planned["model"] == planned["design"]


def test_the_design_alone(check, rows):
    truth, noisy, _ = rows
    sample = check.draw_audit(200, method="design", random_state=0)
    settled = check.settle(sample, truth[sample.rows].astype(int), method="design")
    assert settled.judged.method == "design"
    total = settled.wrong_share_interval
    assert total.low <= (truth != noisy).mean() <= total.high
    with pytest.raises(ValueError, match="rows must be the AuditSample"):
        check.settle(sample.rows, truth[sample.rows].astype(int), method="design")
    with pytest.raises(ValueError, match="draws all rows at once"):
        settled.draw_audit(25, method="design")


def test_saved_checks_remember_judged_rows(check, rows, tmp_path):
    pytest.importorskip("duckdb")
    truth, _, _ = rows
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, truth[sample.rows].astype(int))
    loaded = LabelCheck.load(settled.save(tmp_path / "run"))
    assert loaded.judged == settled.judged
    assert loaded.noise_rates == settled.noise_rates
    next_rows = [one.draw_audit(25, random_state=7).rows.tolist() for one in (loaded, settled)]
    assert next_rows[0] == next_rows[1]


def test_trusted_rows_are_not_drawn(rows):
    truth, noisy, scores = rows
    trusted = np.zeros(1500, dtype=bool)
    trusted[:300] = True
    labels = np.where(trusted, truth, noisy).astype(int)
    check = check_labels(None, labels, probabilities=scores, trusted=trusted)
    sample = check.draw_audit(1200, random_state=0)
    assert sample.rows.min() == 300
    with pytest.raises(ValueError, match="got row 5"):
        check.settle([5], [1])


def test_clean_labels_with_few_answers(rows):
    truth, _, _ = rows
    scores = np.where(truth, 0.95, 0.05)
    check = check_labels(None, truth.astype(int), probabilities=scores)
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, truth[sample.rows].astype(int))
    assert settled.verdict.level == "clean"
    assert settled.n_suspects == 0
    assert settled.wrong_share_interval.low == 0


def test_all_rows_of_a_label_judged():
    labels = np.array([1] * 30 + [0] * 200)
    scores = np.where(labels, 0.8, 0.2) + np.linspace(-0.1, 0.1, 230)
    check = check_labels(None, labels, probabilities=scores)
    settled = check.settle(np.arange(30), [1] * 15 + [0] * 15)
    assert settled.n_suspects == 0
    assert settled.noise_rates.positive_label_error_rate == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("given", "answers", "message"),
    [
        ([1, 2], [1], "one answer for each of the 2 rows, got 1"),
        ([1, 2], 5, "answers must be a sequence"),
        ([1.5], [1], "rows must be an AuditSample or the positions of rows"),
        ([[1]], [1], "rows must be an AuditSample or the positions of rows"),
        ([99999], [1], "got row 99999"),
        ([1], ["maybe"], r"answers\[0\] must be '1' or '0', got 'maybe'"),
        ([1], [True], r"answers\[0\] must be '1' or '0', got True"),
        ([3, 3], [1, 0], "must not contradict each other; row 3 was judged '1' and '0'"),
    ],
)
def test_bad_answers_are_refused(check, given, answers, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check.settle(given, answers)


def test_bad_arguments_are_refused(check):
    with pytest.raises(ValueError, match="method must be one of model, design"):
        check.draw_audit(method="luck")
    with pytest.raises(ValueError, match="method must be one of model, design"):
        check.settle([1], [1], method="luck")
    with pytest.raises(ValueError, match="about must be '1' or '0'"):
        check.draw_audit(about="cat")
    with pytest.raises(ValueError, match="n must be"):
        check.draw_audit(0)


def test_the_plan_of_a_size_does_not_depend_on_the_others(check):
    assert check.planned_audit((25,))[25] == check.planned_audit((25, 50))[25]


def test_no_answers_change_nothing(check):
    settled = check.settle([], [])
    assert settled.wrong_share_interval == check.wrong_share_interval
    assert settled.judged.n_sure == 0
