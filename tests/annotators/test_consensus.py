"""What a consensus promises: labels, confidence, doubts, annotators, and clear errors."""

import numpy as np
import pytest

from rankprune.annotators import Answers, consensus
from rankprune.annotators._table import CANNOT_TELL
from simulated_crowd import crowd, long


def test_majority_counts_votes_and_breaks_ties_by_frequency():
    answers = Answers.from_wide([["a", "b"], ["b", "b"], ["a", "a"], ["b", None]])
    found = consensus(answers, method="majority")
    assert found.labels.tolist() == ["b", "b", "a", "b"]
    assert found.agreement.tolist() == [0.5, 1, 1, 1]
    np.testing.assert_allclose(found.confidence, [0.5, 1, 1, 1], atol=1e-8)
    assert not found.calibrated
    assert "the confidence is a share of votes, not a probability" in found.doubts
    assert found.log_likelihood is None
    assert found.converged


def test_dawid_skene_beats_votes_where_annotators_differ():
    table, truth = crowd([0.95, 0.9, 0.4, 0.4, 0.4], 500)
    accuracy = {
        method: (consensus(long(table), method=method).labels == truth).mean()
        for method in ("majority", "one-coin", "dawid-skene", "smoothed", "auto")
    }
    assert min(accuracy[name] for name in accuracy if name != "majority") > 0.92
    assert accuracy["majority"] < 0.85


def test_adversaries_are_read_backwards():
    table, truth = crowd([0.9, 0.9, 0.85, 0.1, 0.1], 400, n_classes=2)
    found = consensus(long(table), method="one-coin")
    assert (found.labels == truth).mean() > 0.97
    assert found.annotators[3].accuracy.high < 0.2


def test_intervals_cover_what_annotators_do_and_confidence_is_calibrated():
    accuracies = [0.9, 0.8, 0.7, 0.6, 0.5]
    covered, confidence, is_right = [], [], []
    for seed in range(20):
        table, truth = crowd(accuracies, 300, seed=seed)
        found = consensus(long(table))
        assert found.calibrated
        for one, true in zip(found.annotators, accuracies, strict=True):
            covered.append(one.accuracy.low <= true <= one.accuracy.high)
            for row in one.confusion:
                assert sum(cell.estimate for cell in row) == pytest.approx(1)
                assert all(cell.low <= cell.estimate <= cell.high for cell in row)
        confidence.append(found.confidence.mean())
        is_right.append((found.labels == truth).mean())
    assert np.mean(covered) >= 0.93
    assert abs(np.mean(confidence) - np.mean(is_right)) < 0.02


def test_auto_says_what_it_chose_and_why():
    table, _ = crowd([0.9, 0.8, 0.7, 0.8], 200)
    found = consensus(long(table))
    assert found.reason.startswith("it predicts answers held out best (mean log-probability: one-")
    assert str(found).startswith(f"200 rows, 4 annotators, method {found.method}: it predicts")
    found = consensus(long(table[:, :2]))
    assert found.method == "smoothed"
    assert found.reason.startswith("with 2.0 answers a row, confusions are pulled")
    found = consensus(long(table[:, :1]))
    assert found.method == "majority"
    assert "too few to learn about annotators" in found.reason


def test_few_answers_are_flagged_and_intervals_cannot_tell():
    table, _ = crowd([0.9, 0.8], 200)
    found = consensus(long(table))
    assert not found.calibrated
    assert "cannot tell how often annotators err: 2.0 answers a row; ask for three" in str(found)
    accuracy = found.annotators[0].accuracy
    assert (accuracy.low, accuracy.high, accuracy.covers) == (0, 1, CANNOT_TELL)
    alone = consensus(long(table[:, :1]), method="one-coin")
    assert alone.doubts[0].startswith("cannot tell how often a single annotator errs")


def test_a_fit_that_did_not_converge_says_so():
    table, _ = crowd([0.6, 0.5, 0.7], 200)
    found = consensus(long(table), method="dawid-skene", max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    assert "the fit has not converged; raise max_iter" in found.doubts


def test_gold_rows_are_certain_and_teach_about_annotators():
    table, truth = crowd([0.9, 0.35], 400, n_classes=2)
    gold = {int(row): int(truth[row]) for row in range(120)}
    for method in ("auto", "one-coin"):
        found = consensus(long(table), gold=gold, method=method)
        assert found.calibrated
        assert (found.labels[:120] == truth[:120]).all()
        assert (found.confidence[:120] == 1).all()
        assert (found.labels == truth).mean() > 0.85
    one_each = long(np.where(np.arange(400)[:, None] % 2 == [0, 1], table, np.nan))
    found = consensus(one_each, gold=gold)
    assert found.method == "one-coin"
    assert found.reason == "120 gold rows show how often annotators err"
    few = consensus(long(table), gold={0: int(truth[0])}, method="majority")
    assert few.labels[0] == truth[0]
    assert consensus(long(table), gold={}).labels.shape == (400,)


def test_scores_of_a_classifier_help_most_where_answers_are_few():
    table, truth = crowd([0.75], 600)
    rng = np.random.default_rng(1)
    scores = np.exp(3 * np.eye(3)[truth] + 1.5 * rng.normal(size=(600, 3)))
    scores /= scores.sum(axis=1, keepdims=True)
    answers = long(table)
    found = consensus(answers, probabilities=scores)
    assert found.method == "model"
    assert found.reason == "probabilities were given"
    votes, alone = (table[:, 0] == truth).mean(), (scores.argmax(axis=1) == truth).mean()
    assert (found.labels == truth).mean() > max(votes, alone) + 0.02


def test_a_function_is_trained_on_each_consensus():
    table, truth = crowd([0.8, 0.7], 200)
    seen = []

    def scores(probabilities):
        seen.append(probabilities)
        return 0.2 + 0.4 * np.eye(3)[truth]

    found = consensus(long(table), method="model", probabilities=scores)
    assert len(seen) == 3
    assert not np.array_equal(seen[0], seen[1])
    assert (found.labels == truth).mean() > 0.9


def test_rows_without_answers_get_the_most_frequent_class():
    answers = Answers.from_wide([["a", "a"], ["a", "a"], ["b", "b"], [None, None]])
    found = consensus(answers)
    assert found.labels.tolist() == ["a", "a", "b", "a"]
    assert found.n_answers.tolist() == [2, 2, 2, 0]
    assert np.isnan(found.agreement[3])
    assert found.confidence[3] < 0.8


def test_one_class_and_an_annotator_with_one_answer_are_fine():
    answers = Answers.from_wide([["a", "a", None]] * 5 + [["a", "a", "b"]], classes=["a", "b"])
    found = consensus(answers)
    assert found.labels.tolist() == ["a"] * 6
    last = found.annotators[2]
    assert last.n_answers == 1
    assert last.accuracy.high > 0.9
    nobody = Answers.from_long([1, 2], ["a", "b"], [0, None], classes=[0, 1])
    silent = consensus(nobody, method="one-coin").annotators[1]
    assert silent.n_answers == 0
    assert (silent.accuracy.low, silent.accuracy.high) == (0, 1)


def test_annotators_are_described_in_one_line():
    table, _ = crowd([0.95, 0.95, 0.6], 300, n_classes=2)
    told = str(consensus(long(table)).annotators[2])
    assert told.startswith("2: 300 answers, accuracy ")
    assert "0 as 1: " in told


def test_copies_count_once():
    table, truth = crowd([0.8, 0.75, 0.8, 0.7, 0.6], 400)
    copied = np.column_stack([table, table[:, 4], table[:, 4], table[:, 4]])
    found = consensus(long(copied))
    assert [one.copies for one in found.annotators] == [None] * 5 + [4] * 3
    assert found.reason.endswith("; 3 annotators copy others and do not count twice")
    assert (found.labels == truth).mean() > 0.88
    assert str(found.annotators[5]).endswith("; copies 4")
    one_copy = consensus(long(copied[:, :6]))
    assert one_copy.reason.endswith("; 1 annotator copies another and does not count twice")
    assert (consensus(long(copied), method="dawid-skene").labels == truth).mean() < 0.75


def test_good_annotators_who_agree_are_not_copies():
    table, _ = crowd([0.99, 0.98, 0.99, 0.7, 0.6], 400)
    assert all(one.copies is None for one in consensus(long(table)).annotators)


def test_a_copy_of_a_copy_that_shares_no_rows_with_the_leader_stands_alone():
    table, _ = crowd([0.8, 0.75, 0.8, 0.6], 300)
    cells = np.column_stack([table, table[:, 3], table[:, 3]]).astype(float)
    cells[200:, 3] = cells[:170, 4] = cells[260:, 4] = cells[:220, 5] = np.nan
    assert [one.copies for one in consensus(long(cells)).annotators] == [None] * 4 + [3, None]


ANSWERS = Answers.from_wide([["a", "b"], ["b", "b"]])


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"answers": [1]}, "answers must be Answers, got list. Pass Answers.from_long"),
        ({"method": "glad"}, "method must be one of 'auto', .*'model', got 'glad'"),
        ({"method": "model"}, "probabilities must be given for method='model', got None"),
        (
            {"method": "one-coin", "probabilities": [[1, 0]] * 2},
            "probabilities must be None for method='one-coin'",
        ),
        ({"probabilities": [0.5, 0.5]}, "probabilities must have 2 rows and 2 columns"),
        ({"probabilities": lambda found: found * 2}, "have a sum of 1 in each row; row 0"),
        ({"gold": ["a"]}, "gold must map ids of rows to labels, got list. Pass a dict"),
        ({"gold": {7: "a"}}, "gold must be among answers.rows, got 7"),
        ({"gold": {0: "c"}}, "gold must be among answers.classes, got 'c'"),
        ({"level": 2}, "level must lie strictly between 0 and 1"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1"),
        (
            {"answers": Answers.from_wide([[None, None]], classes=[0, 1])},
            "answers must hold at least one label, got none",
        ),
    ],
)
def test_bad_arguments_are_explained(kwargs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        consensus(**{"answers": ANSWERS, **kwargs})
