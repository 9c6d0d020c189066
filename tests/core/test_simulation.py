"""Known noise: exact or by chance, by noise rates or by label error rates; synthetic rows."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from rankprune import estimate_noise_rates, flip_labels
from rankprune.core import add_uniform_rows, gaussian_posterior, make_gaussians
from rankprune.core._theory import perfect_probabilities

TRUTH = np.repeat([0, 1], [600, 200])


def flipped(truth, labels):
    return int(((truth == 1) & (labels == 0)).sum()), int(((truth == 0) & (labels == 1)).sum())


def test_exact_flips_have_the_rounded_counts():
    labels = flip_labels(TRUTH, positive_noise_rate=0.251, negative_noise_rate=0.1, random_state=0)
    assert flipped(TRUTH, labels) == (50, 60)
    assert TRUTH.sum() == 200


def test_flips_by_label_error_rate_make_that_share_of_positive_labels_wrong():
    labels = flip_labels(
        TRUTH, positive_noise_rate=0.25, positive_label_error_rate=0.4, random_state=0
    )
    assert flipped(TRUTH, labels) == (50, 100)
    assert (TRUTH[labels == 1] == 0).mean() == 0.4


def test_flips_by_chance_have_the_expected_counts():
    truth = np.repeat([0, 1], [60_000, 20_000])
    labels = flip_labels(
        truth, positive_noise_rate=0.3, negative_noise_rate=0.1, exact=False, random_state=1
    )
    lost, gained = flipped(truth, labels)
    assert lost != 6000
    assert abs(lost - 6000) < 5 * np.sqrt(20_000 * 0.21)
    assert abs(gained - 6000) < 5 * np.sqrt(60_000 * 0.09)


@pytest.mark.parametrize(
    "values", [["no", "yes"], [-1, 1], [False, True], [1.5, 2.5], ["a", "longer"]]
)
def test_labels_keep_their_values_and_type(values):
    truth = np.array(values)[TRUTH]
    labels = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)
    assert labels.dtype == truth.dtype
    assert (labels[truth == values[0]] == values[0]).all()
    assert (labels[truth == values[1]] == values[1]).sum() == 100
    other = flip_labels(
        truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0, pos_label=values[0]
    )
    assert (other[truth == values[1]] == values[1]).all()
    assert (other[truth == values[0]] == values[0]).sum() == 300


def test_the_random_state_decides():
    def flip(random_state):
        return flip_labels(
            TRUTH, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=random_state
        ).tolist()

    assert flip(1) == flip(1) == flip(np.random.default_rng(1))
    assert flip(1) != flip(2)
    assert flip(np.random.RandomState(1)) == flip(np.random.RandomState(1))
    shared = np.random.RandomState(1)
    assert flip(shared) != flip(shared)
    state = np.random.get_state()[1].copy()
    flip(None)
    assert (np.random.get_state()[1] == state).all()


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({}, "takes one of negative_noise_rate and positive_label_error_rate, got None and None"),
        ({"negative_noise_rate": 0.1, "positive_label_error_rate": 0.1}, "got 0.1 and 0.1"),
        ({"negative_noise_rate": 0.8}, r"must be below 1, got 0.2 \+ 0.8 from a negative_noise_r"),
        ({"positive_label_error_rate": 0.9}, "from a positive_label_error_rate of 0.9"),
        ({"positive_label_error_rate": 1.0}, "positive_label_error_rate must lie in"),
        ({"negative_noise_rate": -1}, "negative_noise_rate must lie in"),
        ({"positive_noise_rate": 1.0, "negative_noise_rate": 0}, "positive_noise_rate must lie"),
    ],
)
def test_impossible_noise_is_refused(rates, message):
    with pytest.raises(ValueError, match=message):
        flip_labels(TRUTH, **{"positive_noise_rate": 0.2, **rates})


def test_gaussians_are_those_of_the_paper():
    X, y = make_gaussians(40_000, separability=3.0, n_features=2, prevalence=0.25, random_state=0)
    assert X.shape == (40_000, 2)
    assert y.sum() == 10_000
    assert y[:100].min() == 0
    assert y[:100].max() == 1
    assert X[y == 1].mean(axis=0) == pytest.approx([3, 3], abs=0.05)
    assert X[y == 0].mean(axis=0) == pytest.approx([0, 0], abs=0.05)
    assert X[y == 1].var(axis=0) == pytest.approx([0.8, 0.8], abs=0.05)
    assert X[y == 0].var(axis=0) == pytest.approx([1, 1], abs=0.05)
    assert abs(np.corrcoef(X[y == 1].T)[0, 1]) < 0.05
    again, _ = make_gaussians(40_000, separability=3.0, prevalence=0.25, random_state=0)
    assert (again == X).all()
    default, labels = make_gaussians()
    assert default[labels == 1].mean() == pytest.approx(4, abs=0.2)
    assert labels.dtype == np.int64
    assert default.shape == (5000, 2)
    assert labels.sum() == 1000


def test_the_posterior_is_bayes_rule():
    X = np.array([[0.3, 1.2, 0.7], [2.0, 2.0, 1.9], [-1.0, 0.5, 4.0]])
    positive = 0.3 * multivariate_normal([2.0] * 3, 0.8 * np.eye(3)).pdf(X)
    negative = 0.7 * multivariate_normal([0.0] * 3, np.eye(3)).pdf(X)
    found = gaussian_posterior(X, separability=2.0, prevalence=0.3)
    assert found == pytest.approx(positive / (positive + negative), rel=1e-12)
    between = np.array([[2, 2]])
    defaults = gaussian_posterior(between, separability=4.0, prevalence=0.2)
    assert gaussian_posterior(between) == pytest.approx(defaults)


def test_added_rows_are_uniform_with_a_fair_coins_label():
    X, y = make_gaussians(2000, random_state=0)
    labels = np.where(y == 1, "yes", "no")
    more, more_labels, is_added = add_uniform_rows(X, labels, share=0.5, random_state=0)
    again, _, _ = add_uniform_rows(X, labels, share=0.5, random_state=0)
    assert (again == more).all()
    assert (more[:2000] == X).all()
    assert (more_labels[:2000] == labels).all()
    assert is_added.tolist() == [False] * 2000 + [True] * 1000
    added = more[is_added]
    assert added.min() < -9.9
    assert added.max() > 9.9
    assert np.abs(added).max() <= 10
    assert (more_labels[is_added] == "yes").mean() == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("share", [-0.1, float("nan"), float("inf")])
def test_a_share_that_cannot_be_added_is_refused(share):
    with pytest.raises(ValueError, match=f"share must be a finite .* got {share}. Pass 0.5 to add"):
        add_uniform_rows([[0.0], [1.0]], [0, 1], share=share)


@pytest.mark.parametrize(("rho1", "rho0"), [(0.0, 0.0), (0.4, 0.1), (0.2, 0.3)])
def test_known_rates_are_recovered_from_perfect_scores_of_separate_classes(rho1, rho0):
    X, y = make_gaussians(20_000, separability=8, random_state=0)
    labels = flip_labels(
        y, positive_noise_rate=rho1, negative_noise_rate=rho0, exact=False, random_state=1
    )
    from rankprune import NoiseRates

    truth = NoiseRates.from_noise_rates(rho1, rho0, 0.2 * (1 - rho1) + 0.8 * rho0)
    scores = perfect_probabilities(gaussian_posterior(X, separability=8), truth)
    rates = estimate_noise_rates(labels, scores)
    assert rates.positive_noise_rate == pytest.approx(rho1, abs=0.03)
    assert rates.negative_noise_rate == pytest.approx(rho0, abs=0.03)
    assert rates.estimated_prevalence == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, bool, "U5"])
@pytest.mark.parametrize("exact", [True, False])
def test_flipped_labels_keep_their_type(dtype, exact):
    labels = np.array([0, 1] * 20).astype(dtype)
    flipped = flip_labels(
        labels, positive_noise_rate=0.3, negative_noise_rate=0.2, exact=exact, random_state=0
    )
    assert flipped.dtype == labels.dtype
    assert (flipped != labels).sum() >= (10 if exact else 1)


def test_adding_no_rows_changes_nothing():
    X, labels = add_uniform_rows(np.eye(3, dtype=np.float32), [0, 1, 1], share=0.0)[:2]
    assert X.dtype == np.float64
    assert (X.tolist(), list(labels)) == (np.eye(3).tolist(), [0, 1, 1])
