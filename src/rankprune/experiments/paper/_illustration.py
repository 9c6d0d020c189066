"""Figure 1: Rank Pruning step by step on two Gaussians."""

from __future__ import annotations

import csv
import io
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rankprune.classifier import RankPruningClassifier
from rankprune.core import flip_labels, make_gaussians
from rankprune.experiments.paper._records import Key, Record, Unit
from rankprune.storage._atomic import write_whole

# The paper gives the noise and the accuracies but not the data; this separability gives the same
# accuracy.
N_ROWS = 600
SEPARABILITY, PREVALENCE = 2.15, 0.5
RHO1, RHO0 = 0.4, 0.1
N_TEST = 20_000
POINT_COLUMNS = ("x", "y", "is_positive", "label", "probability", "is_pruned")
METHODS = ("rp_estimated", "true", "noisy")
_ACCURACY_OF = ("accuracy", "slope_x", "slope_y", "intercept")
_RATES = ("rho1_hat", "rho0_hat", "positive_threshold", "negative_threshold")


def points_file(folder: Path, seed: int) -> Path:
    """Return the path of the points shown in the figure."""
    return folder / f"fig1_seed{seed}_points.csv"


def illustration_units(folder: Path, seed: int) -> list[Unit]:
    """Return the only unit, which also writes the points."""
    return [Unit("the illustration", list(_keys(seed)), partial(_measure, folder, seed))]


def _key(metric: str, method: str, seed: int) -> Key:
    pi1 = RHO0 * (1 - PREVALENCE) / (RHO0 * (1 - PREVALENCE) + (1 - RHO1) * PREVALENCE)
    return Key("gaussians, illustration", "logreg", metric, "", round(pi1, 4), RHO1, method, seed)


def _keys(seed: int) -> list[Key]:
    models = [_key(metric, method, seed) for method in METHODS for metric in _ACCURACY_OF]
    return models + [_key(metric, "rp_estimated", seed) for metric in _RATES]


def _measure(folder: Path, seed: int) -> list[Record]:
    generator = np.random.default_rng(seed)
    draw = partial(
        make_gaussians, separability=SEPARABILITY, prevalence=PREVALENCE, random_state=generator
    )
    X, truth = draw(N_ROWS)
    X_test, test_truth = draw(N_TEST)
    labels = np.asarray(
        flip_labels(
            truth, positive_noise_rate=RHO1, negative_noise_rate=RHO0, random_state=generator
        )
    )
    pruning = RankPruningClassifier(
        LogisticRegression(), noise_estimator="confident-counts", random_state=seed
    ).fit(X, labels)
    _write_points(points_file(folder, seed), X, truth, labels, pruning)
    models = {
        "rp_estimated": pruning.estimator_,
        "true": LogisticRegression().fit(X, truth),
        "noisy": LogisticRegression().fit(X, labels),
    }
    found = []
    for method, model in models.items():
        accuracy = float((model.predict(X_test) == test_truth).mean())
        line = (*model.coef_[0], model.intercept_[0])
        found += [
            Record(_key(metric, method, seed), float(value), N_ROWS, "fig1")
            for metric, value in zip(_ACCURACY_OF, (accuracy, *line), strict=True)
        ]
    rates = pruning.noise_rates_
    values = [
        rates.positive_noise_rate,
        rates.negative_noise_rate,
        rates.positive_threshold,
        rates.negative_threshold,
    ]
    return found + [
        Record(_key(metric, "rp_estimated", seed), value, N_ROWS, "fig1")
        for metric, value in zip(_RATES, np.array(values, dtype=float).tolist(), strict=True)
    ]


def _write_points(
    path: Path,
    X: NDArray[np.float64],
    truth: NDArray[np.int64],
    labels: NDArray[np.int64],
    pruning: RankPruningClassifier,
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(POINT_COLUMNS)
    pruned = pruning.prune_mask_.astype(int)
    for point, y, s, p, dropped in zip(
        X, truth, labels, pruning.probabilities_, pruned, strict=True
    ):
        writer.writerow([f"{point[0]:.5f}", f"{point[1]:.5f}", y, s, f"{p:.5f}", dropped])
    write_whole(path, text.getvalue().encode())
