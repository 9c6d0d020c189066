"""How many labels are wrong, by repeated answers, and which are certain."""

import pickle

import numpy as np
import pytest

from rankprune import RankPruningClassifier
from rankprune.annotators import Answers, consensus
from simulated_crowd import crowd, long


def ends(interval):
    return interval.low, interval.high


class TestLabelErrors:
    def test_certain_consensus_counts_the_labels_that_differ(self):
        """40 blocks of four rows; the third annotator calls the second row "a" instead of "b"."""
        table = [["a", "a", "a"], ["b", "b", "a"], ["b", "b", "b"], ["a", "a", "a"]] * 40
        found = consensus(Answers.from_wide(table))
        errors = found.label_errors([line[2] for line in table])
        assert errors.n_rows == 160
        assert errors.classes == ("a", "b")
        assert errors.wrong_share.estimate == pytest.approx(1 / 4, abs=0.01)
        assert errors.label_error_rates[0].estimate == pytest.approx(1 / 3, abs=0.01)
        assert errors.label_error_rates[1].estimate == pytest.approx(0, abs=0.01)
        assert errors.noise_rates[0].estimate == pytest.approx(0, abs=0.01)
        assert errors.noise_rates[1].estimate == pytest.approx(1 / 2, abs=0.01)
        np.testing.assert_allclose(errors.confusion, [[1, 0], [0.5, 0.5]], atol=0.01)

    @pytest.mark.parametrize("labels", ["first", "votes", "consensus"])
    def test_intervals_hold_the_truth_of_the_rows_at_hand(self, labels):
        covered = []
        for seed in range(20):
            table, truth = crowd([0.85, 0.75, 0.7, 0.65], n_rows=300, n_classes=2, seed=seed)
            answers = long(table)
            found = consensus(answers)
            given = {
                "first": table[:, 0],
                "votes": consensus(answers, method="majority").labels,
                "consensus": found.labels,
            }[labels]
            low, high = ends(found.label_errors(given).wrong_share)
            covered.append(low <= (given != truth).mean() <= high)
            assert high - low < 0.35
        assert np.mean(covered) >= 0.9

    def test_its_own_labels_are_the_default_and_rows_without_answers_do_not_count(self):
        table, _ = crowd([0.9, 0.8, 0.7], n_rows=150)
        found = consensus(long(table, all_rows=np.arange(200)))
        errors = found.label_errors()
        assert errors.n_rows == 150
        again = found.label_errors([*found.labels[:150], *[None] * 50])
        assert errors.wrong_share == again.wrong_share

    def test_scores_and_gold_rows_help_where_answers_are_few(self):
        table, truth = crowd([0.75, 0.7], n_rows=400, n_classes=2, seed=3)
        answers = long(table)
        blind = consensus(answers).label_errors(table[:, 0])
        assert ends(blind.wrong_share) == (0.0, 1.0)
        assert blind.wrong_share.covers.startswith("nothing")
        rng = np.random.default_rng(0)
        sure = np.where(truth == 1, 0.8, 0.2) + rng.uniform(-0.19, 0.19, 400)
        scores = np.column_stack([1 - sure, sure])
        gold = {row: int(truth[row]) for row in range(100)}
        for more in ({"probabilities": scores}, {"gold": gold}):
            low, high = ends(consensus(answers, **more).label_errors(table[:, 0]).wrong_share)
            assert low <= (table[:, 0] != truth).mean() <= high
            assert high - low < 0.25

    def test_scores_that_change_from_round_to_round_are_a_doubt(self):
        table, truth = crowd([0.75, 0.7], n_rows=400, n_classes=2, seed=4)
        answers = long(table)
        rng = np.random.default_rng(0)

        def scores(spread):
            sure = np.where(truth == 1, 0.7, 0.3) + rng.uniform(-spread, spread, 400)
            return np.column_stack([1 - sure, sure])

        first, second, last = scores(0.29), scores(0.2), scores(0.1)
        rounds = iter((first, second, last))
        changing = consensus(answers, probabilities=lambda _: next(rounds)).label_errors()
        same = consensus(answers, probabilities=lambda _: last.copy()).label_errors()
        widths = [one.wrong_share.high - one.wrong_share.low for one in (changing, same)]
        assert widths[0] > widths[1]

    def test_copies_do_not_make_it_sure(self):
        table, truth = crowd([0.8, 0.75, 0.7, 0.7], n_rows=300, n_classes=2, seed=5)
        table = np.column_stack([table, table[:, 3], table[:, 3]])
        found = consensus(long(table))
        assert "do not count twice" in found.reason
        low, high = ends(found.label_errors(table[:, 3]).wrong_share)
        assert low <= (table[:, 3] != truth).mean() <= high

    def test_a_class_without_labels_cannot_be_told(self):
        table, _ = crowd([0.9, 0.9, 0.9], n_rows=60, n_classes=2)
        errors = consensus(long(table, classes=[0, 1, 2])).label_errors([0] * 60)
        assert ends(errors.label_error_rates[2]) == (0.0, 1.0)
        assert ends(errors.label_error_rates[0]) != (0.0, 1.0)

    def test_a_consensus_can_be_pickled(self):
        found = consensus(long(crowd([0.9, 0.8, 0.7])[0]))
        again = pickle.loads(pickle.dumps(found))
        assert again.label_errors().wrong_share == found.label_errors().wrong_share

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([0, 1], "labels must have one value per row, got 2 for 200 rows. Pass None where"),
            ([7] * 200, "labels must be among classes, got 7"),
        ],
    )
    def test_bad_labels_are_explained(self, labels, message):
        found = consensus(long(crowd([0.9, 0.8, 0.7])[0]))
        with pytest.raises(ValueError, match=message):
            found.label_errors(labels)


class TestTrusted:
    def test_labels_of_enough_confidence_are_trusted_and_never_pruned(self):
        table, truth = crowd([0.9, 0.8, 0.75, 0.7], n_rows=400, n_classes=2)
        found = consensus(long(table))
        sure = found.trusted(at_least=0.9)
        assert sure.tolist() == (found.confidence >= 0.9).tolist()
        assert 0 < sure.sum() < 400
        X = np.random.default_rng(0).normal(size=(400, 2)) + 2 * truth[:, None]
        model = RankPruningClassifier(random_state=0)
        model.fit(X, found.labels, sample_weight=found.confidence, trusted=sure)
        assert not model.prune_mask_[sure].any()

    def test_only_a_calibrated_confidence_is_trusted(self):
        found = consensus(long(crowd([0.9, 0.8])[0]))
        with pytest.raises(ValueError, match="calibrated, but cannot tell how often annotators"):
            found.trusted()

    @pytest.mark.parametrize("at_least", [0, 1.5, "much", np.nan])
    def test_the_least_confidence_is_a_probability(self, at_least):
        found = consensus(long(crowd([0.9, 0.8, 0.7])[0]))
        with pytest.raises(ValueError, match=r"at_least must be a probability above 0, got"):
            found.trusted(at_least=at_least)
