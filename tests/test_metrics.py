"""Clean metrics from noisy labels: plain at zero noise, exact on exact data, honest intervals."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as plain_metrics
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from exact_data import exact_data, overlapping, scores
from rankprune import NoiseRates, flip_labels
from rankprune.exceptions import NoiseRatesClippedWarning, UninformativeProbabilitiesWarning
from rankprune.metrics import clean_metrics, clean_scorer

NONE = NoiseRates.from_noise_rates(0, 0, 0.5)
SCIKIT_LEARN = {
    "accuracy": plain_metrics.accuracy_score,
    "error": plain_metrics.zero_one_loss,
    "recall": plain_metrics.recall_score,
    "precision": plain_metrics.precision_score,
    "f1": plain_metrics.f1_score,
    "balanced_accuracy": plain_metrics.balanced_accuracy_score,
}


def simulated(n=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    score = truth + rng.standard_normal(n)
    return truth, score, (score > 0.6)


@pytest.mark.parametrize("weighted", [False, True])
def test_without_noise_they_are_the_plain_metrics(weighted):
    truth, score, predicted = simulated()
    weight = np.random.default_rng(1).random(400) if weighted else None
    found = clean_metrics(truth, predicted, NONE, scores=score, sample_weight=weight)
    for name, function in SCIKIT_LEARN.items():
        expected = function(truth, predicted, sample_weight=weight)
        assert found[name].value == pytest.approx(expected, abs=1e-12)
        assert found[name].noisy == pytest.approx(expected, abs=1e-12)
        assert found[name].low < expected < found[name].high
    false_positives = np.average(
        predicted[~truth], weights=None if weight is None else weight[~truth]
    )
    assert found["false_positive_rate"].value == pytest.approx(false_positives)
    auc = plain_metrics.roc_auc_score(truth, score, sample_weight=weight)
    assert found["roc_auc"].value == pytest.approx(auc, abs=1e-12)
    assert found["roc_auc"].low < auc < found["roc_auc"].high
    assert "roc_auc" not in clean_metrics(truth, predicted, NONE)


@given(overlapping(), st.data())
def test_they_are_exact_if_the_noise_is_exactly_class_conditional(data, draw):
    score = np.array(draw.draw(scores(data.n_cells)))[data.cell]
    predicted = (
        np.array(draw.draw(st.lists(st.booleans(), min_size=data.n_cells, max_size=data.n_cells)))[
            data.cell
        ]
    ).astype(int)
    found = clean_metrics(data.labels, predicted, data.rates(), scores=score)
    clean = clean_metrics(data.true_labels, predicted, NONE, scores=score)
    for name, metric in clean.items():
        assert found[name].value == pytest.approx(metric.value, abs=1e-9)


def test_only_the_noise_rates_are_taken_from_the_rates():
    """The test rows have their own prevalence."""
    data = exact_data([(3, 1), (1, 6)], rho1=6, rho0=2)
    predicted = (data.cell == 0).astype(int)
    elsewhere = NoiseRates.from_noise_rates(0.3, 0.1, observed_prevalence=0.6)
    found = clean_metrics(data.labels, predicted, elsewhere)
    assert found["recall"].value == pytest.approx(0.75)
    assert found["precision"].value == pytest.approx(0.75)
    assert found["false_positive_rate"].value == pytest.approx(1 / 7)


def test_the_other_label_may_be_positive():
    truth, score, predicted = simulated()
    labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    rates = NoiseRates.from_noise_rates(0.2, 0.1, 0.5)
    swapped = NoiseRates.from_noise_rates(0.1, 0.2, 0.5)
    names = np.array(["no", "yes"])
    one = clean_metrics(labels, predicted, rates, scores=score)
    other = clean_metrics(
        names[labels.astype(int)],
        names[predicted.astype(int)],
        swapped,
        scores=-score,
        pos_label="no",
    )
    for name in ("accuracy", "balanced_accuracy", "roc_auc"):
        assert one[name].value == pytest.approx(other[name].value)
        assert one[name].low == pytest.approx(other[name].low)
    assert one["recall"].value == pytest.approx(1 - other["false_positive_rate"].value)


def test_intervals_by_hand():
    """90 of 100 right: the interval of Agresti and Coull; DeLong's variance over all pairs, with
    one row of 1/2 added to each class.
    """
    truth = np.repeat([1, 0], [50, 50])
    predicted = truth.copy()
    predicted[:10] = 0
    found = clean_metrics(truth, predicted, NONE, level=0.9)["accuracy"]
    z = 1.6448536269514722
    n, p = 100 + z**2, (90 + z**2 / 2) / (100 + z**2)
    half = z * np.sqrt(p * (1 - p) / n)
    assert (found.low, found.high) == pytest.approx((p - half, p + half))
    assert found.value == 0.9
    score = np.array([0.9, 0.4, 0.7, 0.8, 0.5, 0.4, 0.1, 0.3])
    truth = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    wins = (score[:4, None] > score[None, 4:]) + 0.5 * (score[:4, None] == score[None, 4:])
    variance = sum(np.append(wins.mean(axis=axis), 0.5).var() / 4 for axis in (0, 1))
    found = clean_metrics(truth, truth, NONE, scores=score, level=0.5)["roc_auc"]
    assert found.value == wins.mean()
    assert found.value - found.low == pytest.approx(0.6744897501960817 * np.sqrt(variance))


def test_a_weight_scale_does_not_change_intervals():
    truth, score, predicted = simulated()
    weight = np.random.default_rng(1).random(400)
    one = clean_metrics(truth, predicted, NONE, scores=score, sample_weight=weight)
    other = clean_metrics(truth, predicted, NONE, scores=score, sample_weight=weight * 1000)
    for name in one:
        assert one[name].low == pytest.approx(other[name].low)


def test_bias_and_coverage_are_as_stated():
    rates = NoiseRates.from_noise_rates(0.3, 0.1, 0.5)
    truth, score, predicted = simulated(2_000_000, seed=1)
    exact = clean_metrics(truth, predicted, NONE, scores=score)
    rng = np.random.default_rng(0)
    found = {name: [] for name in exact}
    for seed in range(300):
        truth, score, predicted = simulated(2000, seed=seed + 10)
        chance = rng.random(2000)
        labels = np.where(truth, chance >= 0.3, chance < 0.1)
        for name, metric in clean_metrics(labels, predicted, rates, scores=score).items():
            covered = metric.low <= exact[name].value <= metric.high
            found[name].append((metric.value, covered, metric.noisy))
    for name, results in found.items():
        value, coverage, noisy = np.mean(np.array(results, dtype=float), axis=0)
        assert abs(value - exact[name].value) < 0.005
        assert abs(noisy - exact[name].value) > 0.05
        assert 0.91 < coverage < 0.99


def test_estimates_may_leave_the_possible_range_and_intervals_hold_them():
    labels = np.repeat([1, 0], [30, 70])
    found = clean_metrics(labels, labels, NoiseRates.from_noise_rates(0.2, 0.2, 0.4), scores=labels)
    assert found["recall"].value > 1
    assert found["roc_auc"].value > 1
    for metric in found.values():
        assert metric.low <= metric.value <= metric.high
        # No further beyond the range than the estimate itself.
        assert metric.low >= min(0, metric.value)
        assert metric.high <= max(1, metric.value)


def test_a_perfect_score_is_not_certain():
    labels = np.repeat([1, 0], [30, 70])
    for metric in clean_metrics(labels, labels, NONE, scores=labels).values():
        assert 0.005 < metric.high - metric.low < 0.2
    found = clean_metrics(labels, np.zeros(100, dtype=int), NONE)
    assert found["precision"].value == found["recall"].value == 0
    assert (found["precision"].low, found["precision"].high) == pytest.approx((0, 1))
    assert 0.05 < found["recall"].high < 0.2
    single = clean_metrics([1, 0, 0], [1, 0, 0], NONE, scores=[0.9, 0.1, 0.2])["roc_auc"]
    assert single.value == 1
    assert single.low < 0.6


def test_rates_beyond_what_the_test_rows_allow_are_moved_with_a_warning():
    labels = np.repeat([1, 0], [10, 90])
    beyond = NoiseRates.from_noise_rates(0.1, 0.2, 0.3)
    with pytest.warns(NoiseRatesClippedWarning, match=r"test rows \(0.1\); .* 0.1 of the n"):
        found = clean_metrics(labels, labels, beyond, scores=labels)
    assert (found["roc_auc"].value, found["roc_auc"].low, found["roc_auc"].high) == (0.5, 0, 1)
    assert (found["recall"].low, found["recall"].high) == (0, 1)
    at_the_limit = NoiseRates.from_noise_rates(0.1, 0.1, 0.3)
    assert clean_metrics(labels, labels, at_the_limit, scores=labels)["roc_auc"].value == 0.5


def test_rates_that_are_not_reliable_are_used_with_a_warning():
    labels = np.repeat([1, 0], [30, 70])
    with pytest.warns(UninformativeProbabilitiesWarning, match="flagged as not reliable"):
        clean_metrics(labels, labels, replace(NONE, reliable=False))


def test_rows_of_weight_zero_equal_no_rows():
    truth, score, predicted = simulated()
    predictions = np.append(predicted.astype(int), 7)
    weight = np.append(np.ones(400), 0)
    more = clean_metrics(
        np.append(truth, True), predictions, NONE, scores=np.append(score, 0), sample_weight=weight
    )
    less = clean_metrics(truth, predicted, NONE, scores=score, sample_weight=weight[:400])
    for name in less:
        assert more[name].value == pytest.approx(less[name].value)
        assert more[name].low == pytest.approx(less[name].low)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [1, 1]}, "labels must hold two classes"),
        ({"predictions": [1]}, r"predictions must have one label per row, got shape \(1,\) for 2"),
        (
            {"predictions": [0.3, 1.0]},
            r"predictions must hold the label values \[0, 1\]; row 0 .* 0.3",
        ),
        ({"scores": [0.1]}, "scores must have one value per label"),
        ({"scores": [0.1, np.nan]}, "scores must be finite; row 1 holds nan"),
        ({"scores": ["a", "b"]}, "scores must be real numbers"),
        ({"scores": [[0.1], [0.2]]}, "scores must be one-dimensional, one score per row"),
        ({"level": 1.0}, "level must lie strictly between 0 and 1, got 1.0. Pass e.g. 0.95"),
        ({"level": 95}, "level must lie strictly between 0 and 1, got 95"),
        ({"sample_weight": [-1, 1]}, "sample_weight must be finite"),
    ],
)
def test_bad_input_is_refused(change, message):
    call = {"labels": [1, 0], "predictions": [1, 0], "noise_rates": NONE, **change}
    with pytest.raises(ValueError, match=message):
        clean_metrics(**call)
    with pytest.raises(TypeError, match="noise_rates must be NoiseRates"):
        clean_metrics([1, 0], [1, 0], (0.1, 0.2))


def test_scorers_estimate_metrics_on_clean_labels():
    X, truth = make_classification(3000, class_sep=1.0, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    rates = NoiseRates.from_noise_rates(0.3, 0.1, y.mean())
    model = LogisticRegression().fit(X[:1500], y[:1500])
    for name in ("accuracy", "f1", "error", "roc_auc", "false_positive_rate"):
        noisy_rows, clean_rows = (X[1500:], y[1500:]), (X[1500:], truth[1500:])
        found = clean_scorer(name, rates)(model, *noisy_rows)
        expected = clean_scorer(name, NONE)(model, *clean_rows)
        assert found == pytest.approx(expected, abs=0.04)
        assert (found < 0) == (name in ("error", "false_positive_rate"))
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 1]}, scoring=clean_scorer("f1", rates))
    assert search.fit(X, np.where(y, "yes", "no")).best_score_ > 0.7
    other = clean_scorer("recall", NoiseRates.from_noise_rates(0.1, 0.3, 0.5), pos_label=0)
    assert cross_val_score(LogisticRegression(), X, y, scoring=other).mean() > 0.7
    auc = clean_scorer("roc_auc", NoiseRates.from_noise_rates(0.1, 0.3, 0.5), pos_label=0)
    assert auc(model, X, y) == pytest.approx(clean_scorer("roc_auc", rates)(model, X, y))


def test_scorers_take_weights_by_routing():
    truth, score, _ = simulated()
    weight = np.random.default_rng(0).random(400)
    X = score[:, None]
    model = LogisticRegression().fit(X, truth)
    for name in ("accuracy", "roc_auc"):
        scorer = clean_scorer(name, NONE)
        expected = clean_metrics(truth, model.predict(X), NONE, scores=score, sample_weight=weight)[
            name
        ].value
        assert scorer(model, X, truth, sample_weight=weight) == pytest.approx(expected)
        with sklearn.config_context(enable_metadata_routing=True):
            routed = clean_scorer(name, NONE).set_score_request(sample_weight=True)
            assert routed(model, X, truth, sample_weight=weight) == pytest.approx(expected)


def test_an_unknown_metric_is_refused():
    with pytest.raises(ValueError, match=r"metric must be one of \['accuracy', .* got 'mcc'"):
        clean_scorer("mcc", NONE)
    with pytest.raises(TypeError, match="noise_rates must be NoiseRates"):
        clean_scorer("f1", 0.1)
