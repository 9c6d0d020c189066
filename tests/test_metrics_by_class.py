"""Metrics on clean labels of many classes, from noisy ones and a noise matrix."""

import numpy as np
import pytest

from rankprune import NoiseMatrix, NoiseRates, flip_labels
from rankprune.exceptions import UninformativeProbabilitiesWarning
from rankprune.metrics import clean_metrics

TRANSITION = np.array([[0.7, 0.1, 0.0], [0.2, 0.8, 0.1], [0.1, 0.1, 0.9]])


def rows(seed, n_rows=3000):
    random = np.random.default_rng(seed)
    truth = random.choice(3, n_rows, p=[0.2, 0.3, 0.5])
    scores = 0.55 * np.eye(3)[truth] + 0.45 * random.dirichlet(np.ones(3) / 2, n_rows)
    labels = flip_labels(truth, transition=TRANSITION, exact=False, random_state=seed)
    return truth, labels, scores.argmax(axis=1), scores


def matrix_of(labels):
    shares = np.bincount(labels) / len(labels)
    return NoiseMatrix.from_transition(TRANSITION, shares, classes=[0, 1, 2])


def test_the_noise_is_undone_exactly_where_it_is_exact():
    truth = np.repeat([0, 0, 1, 1, 2, 2], [60, 40, 100, 100, 250, 50])
    predictions = np.repeat([0, 1, 1, 2, 2, 0], [60, 40, 100, 100, 250, 50])
    labels = truth.copy()
    for true in range(3):
        for predicted in range(3):
            cell = np.flatnonzero((truth == true) & (predictions == predicted))
            counts = np.round(TRANSITION[:, true] * len(cell)).astype(int)
            labels[cell] = np.repeat([0, 1, 2], counts)
    found = clean_metrics(labels, predictions, NoiseMatrix(np.diag([0.2, 0.3, 0.5]), [0, 1, 2]))
    assert found["accuracy"].value == found["accuracy"].noisy
    assert found["accuracy"].noisy == pytest.approx((labels == predictions).mean())
    found = clean_metrics(labels, predictions, matrix_of(labels))
    assert found["accuracy"].value == pytest.approx(410 / 600)
    assert found["error"].value == pytest.approx(190 / 600)
    assert found["recall"][0].value == pytest.approx(0.6)
    assert found["precision"][2].value == pytest.approx(250 / 350)
    f1 = [2 * 60 / (100 + 110), 2 * 100 / (200 + 140), 2 * 250 / (300 + 350)]
    assert [found["f1"][k].value for k in range(3)] == pytest.approx(f1)
    assert found["macro_f1"].value == pytest.approx(np.mean(f1))


def test_intervals_hold_the_truth():
    held = {"accuracy": 0, "macro_f1": 0, "recall": 0, "log_loss": 0}
    n = 120
    for seed in range(n):
        truth, labels, predictions, scores = rows(seed, 800)
        found = clean_metrics(labels, predictions, matrix_of_known(), scores=scores)
        clean = {
            "accuracy": (truth == predictions).mean(),
            "macro_f1": np.mean(
                [
                    2
                    * ((truth == k) & (predictions == k)).sum()
                    / ((truth == k).sum() + (predictions == k).sum())
                    for k in range(3)
                ]
            ),
            "recall": (predictions[truth == 0] == 0).mean(),
            "log_loss": -np.log(scores[np.arange(800), truth]).mean(),
        }
        found["recall"] = found["recall"][0]
        for name in held:
            held[name] += found[name].low <= clean[name] <= found[name].high
    # The truth of these rows varies less than that of the population the intervals are for.
    assert all(count >= 0.93 * n for count in held.values()), held


def matrix_of_known():
    return NoiseMatrix(TRANSITION * [0.2, 0.3, 0.5], [0, 1, 2])


def test_the_log_loss_is_that_of_true_labels():
    truth, labels, predictions, scores = rows(0, 40_000)
    found = clean_metrics(labels, predictions, matrix_of_known(), scores=scores)["log_loss"]
    assert found.value == pytest.approx(-np.log(scores[np.arange(40_000), truth]).mean(), abs=0.02)
    assert found.noisy == pytest.approx(-np.log(scores[np.arange(40_000), labels]).mean())


def test_a_class_that_is_never_predicted_leaves_its_precision_open():
    labels = np.array([0, 1, 2] * 20)
    metric = clean_metrics(labels, np.zeros(60, int), matrix_of_known())["precision"][1]
    assert (metric.value, metric.low, metric.high) == (0.0, 0.0, 1.0)


def test_a_class_that_the_noise_says_is_empty_leaves_its_recall_open():
    labels = np.array([1, 2, 2] * 400)
    metric = clean_metrics(labels, labels, matrix_of_known())["recall"][0]
    assert (metric.value, metric.low, metric.high, metric.noisy) == (0.0, 0.0, 1.0, 0.0)


def test_two_classes_agree_with_the_binary_metrics():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 500)
    predictions = np.where(random.random(500) < 0.8, labels, 1 - labels)
    rates = NoiseRates.from_noise_rates(0.1, 0.05, observed_prevalence=labels.mean())
    binary = clean_metrics(labels, predictions, rates)
    many = clean_metrics(labels, predictions, NoiseMatrix(rates.joint, [0, 1]))
    for name in ("accuracy", "error"):
        assert many[name].value == pytest.approx(binary[name].value)
        assert many[name].low == pytest.approx(binary[name].low)
    for name in ("recall", "precision", "f1"):
        assert many[name][1].value == pytest.approx(binary[name].value)
        assert many[name][1].high == pytest.approx(binary[name].high)


def test_bad_input_is_refused():
    _, labels, predictions, scores = rows(0, 60)
    matrix = matrix_of_known()
    with pytest.raises(ValueError, match="transition that can be inverted"):
        clean_metrics(labels, predictions, NoiseMatrix(np.full((3, 3), 1 / 9), [0, 1, 2]))
    flat = NoiseMatrix([[0.2, 0.2, 0], [0.1, 0.1, 0], [0, 0, 0.4]], [0, 1, 2])
    with pytest.raises(ValueError, match="transition that can be inverted"):
        clean_metrics(labels, predictions, flat)
    with pytest.raises(ValueError, match="predictions must be among classes 0, 1, 2; row 2"):
        clean_metrics(labels, predictions + 7, matrix)
    with pytest.raises(ValueError, match="sample_weight must be None"):
        clean_metrics(labels, predictions, matrix, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="got 2 columns for 3 classes"):
        clean_metrics(labels, predictions, matrix, scores=scores[:, :2])
    doubtful = NoiseMatrix(matrix.joint, [0, 1, 2], reliable=False)
    with pytest.warns(UninformativeProbabilitiesWarning, match="not reliable"):
        clean_metrics(labels, predictions, doubtful)
