"""Beliefs about wrong labels of many values: groups of labels, ranges, and what answers do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseMatrix
from rankprune.audit._beliefs import update
from rankprune.audit._class_beliefs import believe_classes, believe_nothing, label_draws
from rankprune.audit._label_groups import group_labels, labels_asked_about
from rankprune.audit._next_rows import next_counts
from rankprune.core import Interval, MatrixIntervals
from rankprune.core._interval_records import TRUTH


def example(n_classes=3, n_rows=1500, rate=0.1, low=0.02, high=0.25, seed=0):
    """Return labels, the chance that each is wrong, and a matrix with ranges."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows)
    chances = np.clip(rng.beta(0.5, 4.5, n_rows), 0.001, 0.999)
    others = (1 - np.eye(n_classes)) / (n_classes - 1)
    shares = np.bincount(codes, minlength=n_classes) / n_rows
    matrix = NoiseMatrix(
        shares[:, None] * ((1 - rate) * np.eye(n_classes) + rate * others),
        classes=np.arange(n_classes),
    )
    total = Interval(matrix.wrong_share, low, high, TRUTH)
    of_label = Interval(rate, max(rate - 0.1, 0), rate + 0.2, TRUTH)
    return (
        codes,
        chances,
        replace(matrix, intervals=MatrixIntervals(total, (of_label,) * n_classes)),
    )


def beliefs_of(*, seed=0, **named):
    codes, chances, matrix = example(**named)
    groups = group_labels(codes, chances, len(matrix), ())
    return believe_classes(groups, chances, matrix, np.random.default_rng(seed)), groups, matrix


def nothing(beliefs):
    return np.zeros(len(beliefs.sizes), dtype=np.int64)


class TestGroups:
    def test_few_labels_have_strata_of_their_own(self):
        codes, chances, _ = example(12)
        groups = group_labels(codes, chances, 12, ())
        assert sorted(groups.of_label) == list(range(12))
        assert not groups.shared.any()
        assert (np.array(groups.strata.group)[groups.strata.of_row] == groups.of_label[codes]).all()
        assert len(groups.strata.sizes) == 36

    @pytest.mark.parametrize("n_classes", [13, 40, 500])
    def test_many_labels_share_a_bounded_number_of_strata(self, n_classes):
        codes, chances, _ = example(n_classes, n_rows=6000)
        groups = group_labels(codes, chances, n_classes, ())
        assert groups.shared.any()
        assert len(groups.strata.sizes) <= 40
        rates = np.bincount(codes, chances, n_classes) / np.bincount(codes, minlength=n_classes)
        order = np.argsort(-rates)
        assert (np.diff(groups.of_label[order]) >= 0).all()

    def test_labels_can_be_asked_about(self):
        codes, chances, _ = example(30, n_rows=3000)
        groups = group_labels(codes, chances, 30, ())
        rng = np.random.default_rng(0)
        by_chance = rng.choice(3000, 100, replace=False)
        assert len(labels_asked_about(groups, codes, by_chance)) <= 3
        about = np.flatnonzero(codes == 7)[:25]
        assert labels_asked_about(groups, codes, about) == [7]
        own = group_labels(codes, chances, 30, [7])
        assert not own.shared[7]
        assert own.weights(7) @ (np.array(own.strata.group) != own.of_label[7]) == 0

    def test_every_label_may_be_asked_about(self):
        codes, chances, _ = example(14)
        groups = group_labels(codes, chances, 14, range(14))
        assert not groups.shared.any()
        assert sorted(groups.of_label) == list(range(14))

    def test_labels_without_rows_have_no_stratum(self):
        groups = group_labels(np.array([0, 2, 2, 0]), np.full(4, 0.1), 4, ())
        assert groups.of_label.tolist()[1] == groups.of_label.tolist()[3] == -1
        assert groups.rows.sum(axis=0).tolist() == [2, 0, 2, 0]
        assert groups.weights(1).tolist() == [0.0] * len(groups.strata.sizes)


@pytest.mark.parametrize(
    ("rate", "low", "high"), [(0.1, 0.02, 0.25), (0.3, 0.1, 0.5), (0.02, 0.0, 0.1)]
)
@pytest.mark.parametrize("n_classes", [3, 10, 30])
def test_without_answers_beliefs_have_the_range_of_the_matrix(n_classes, rate, low, high):
    beliefs, groups, _ = beliefs_of(n_classes=n_classes, rate=rate, low=low, high=high)
    posterior = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(1))
    draws, weight = posterior.shares @ groups.weights(None), posterior.weight
    assert weight @ (draws < low - 0.01) < 0.05
    assert 0.01 < weight @ (draws > high) < 0.05
    assert weight @ (draws < rate) == pytest.approx(0.5, abs=0.15)


def test_all_rows_judged_leave_no_doubt():
    beliefs, groups, matrix = beliefs_of(n_classes=20, n_rows=400)
    wrong = beliefs.sizes // 3
    posterior = update(beliefs, beliefs.sizes, wrong, np.random.default_rng(0))
    share = wrong.sum() / beliefs.sizes.sum()
    total = posterior.shares @ groups.weights(None)
    assert posterior.range_of(total, 0.95) == pytest.approx((share, share))
    means, draws = label_draws(posterior, groups, matrix, np.random.default_rng(0))
    assert means @ np.bincount(example(20, 400)[0], minlength=20) == pytest.approx(wrong.sum())
    alone = ~groups.shared
    np.testing.assert_allclose(draws[:, alone] - means[alone], 0, atol=1e-12)


def test_labels_that_share_strata_are_less_certain():
    beliefs, groups, matrix = beliefs_of(n_classes=40, n_rows=4000)
    judged = np.minimum(beliefs.sizes, 40)
    posterior = update(beliefs, judged, judged // 10, np.random.default_rng(0))
    _, draws = label_draws(posterior, groups, matrix, np.random.default_rng(0))
    spread = draws.std(axis=0)
    group = int(groups.of_label[np.flatnonzero(groups.shared)[0]])
    members = np.flatnonzero(groups.of_label == group)
    total = groups.rows[:, members].sum(axis=1)
    of_group = posterior.shares @ (total / total.sum())
    assert (spread[members] > of_group.std()).all()


def test_without_a_model_any_share_is_possible_and_answers_decide():
    codes, chances, matrix = example(5)
    groups = group_labels(codes, chances, len(matrix), ())
    beliefs = believe_nothing(groups, chances, np.random.default_rng(0))
    posterior = update(beliefs, nothing(beliefs), nothing(beliefs), np.random.default_rng(0))
    total = posterior.shares @ groups.weights(None)
    low, high = posterior.range_of(total, 0.95)
    assert low < 0.01
    assert high > 0.9
    judged = np.minimum(beliefs.sizes, 20)
    posterior = update(beliefs, judged, judged, np.random.default_rng(0))
    low, high = posterior.range_of(posterior.shares @ groups.weights(None), 0.95)
    assert low > 0.85


def test_coverage_where_the_truth_is_drawn_from_the_beliefs():
    beliefs, groups, _ = beliefs_of(n_classes=8, rate=0.15, low=0.03, high=0.3)
    rng = np.random.default_rng(5)
    start = update(beliefs, nothing(beliefs), nothing(beliefs), rng)
    aim, held = groups.weights(None), []
    for truth in rng.choice(len(start.weight), 60, p=start.weight):
        all_wrong = np.rint(start.shares[truth] * beliefs.sizes).astype(np.int64)
        judged = next_counts(start, 50, aim)
        wrong = rng.hypergeometric(all_wrong, beliefs.sizes - all_wrong, judged)
        posterior = update(beliefs, judged, wrong, rng)
        low, high = posterior.range_of(posterior.shares @ aim, 0.95)
        held.append(low <= all_wrong.sum() / beliefs.sizes.sum() <= high)
    assert np.mean(held) >= 0.9


@settings(max_examples=10, deadline=None)
@given(st.integers(3, 25), st.floats(0.01, 0.5), st.integers(0, 1000))
def test_beliefs_are_finite_whatever_the_labels(n_classes, rate, seed):
    beliefs, groups, matrix = beliefs_of(
        n_classes=n_classes, n_rows=4 * n_classes, rate=rate, low=0.0, high=0.6, seed=seed
    )
    assert np.isfinite(beliefs.log_odds).all()
    judged = np.minimum(beliefs.sizes, 2)
    posterior = update(beliefs, judged, np.minimum(judged, 1), np.random.default_rng(seed))
    means, draws = label_draws(posterior, groups, matrix, np.random.default_rng(seed))
    assert ((draws >= 0) & (draws <= 1)).all()
    assert ((means >= 0) & (means <= 1)).all()


def test_rows_of_the_least_suspicious_strata_are_drawn_in_turn():
    beliefs, groups, _ = beliefs_of(n_classes=10, n_rows=5000)
    aim = groups.weights(None)
    group = np.array(groups.strata.group)
    last = np.array([np.flatnonzero(group == number)[-1] for number in range(10)])
    judged = nothing(beliefs)
    for _ in range(5):
        posterior = update(beliefs, judged, nothing(beliefs), np.random.default_rng(0))
        more = next_counts(posterior, 25, aim)
        assert more.sum() == 25
        assert more[last].sum() >= 4
        judged = judged + more
    assert (judged[last] > 0).all()
