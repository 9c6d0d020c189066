"""Networks under several kinds of noise: images, rows from elsewhere, and ten classes at once."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core import add_uniform_rows, flip_labels, make_gaussians
from rankprune.experiments.paper._measure import test_figures
from rankprune.experiments.paper._network_methods import NETWORK_METHODS, true_transition
from rankprune.experiments.paper._network_tables import aware_units, difficulty_units
from rankprune.experiments.paper._one_vs_rest import Cell, NoisyClass, load_images
from rankprune.experiments.paper._recipes import RECIPES, TRUE, papers_rates
from rankprune.experiments.paper._records import Key, Record, Unit
from rankprune.learners._probabilities import out_of_fold_probabilities
from rankprune.torch import DenseNet, NetClassifier

# The classes and the cell at which methods that change the learning are compared.
IMAGES = ("2", "5", "8")
DIFFICULT_CELL: Cell = (0.25, 0.25)
CHOOSING = (TRUE, "noisy", "rp_estimated", "rp_given")
# Rows from elsewhere: the panel of Figure 4, with networks.
SHARES = (0.0, 0.25, 0.5, 1.0)
ADDED_CELL: Cell = (0.5, 0.5)
N_TRIALS, N_ROWS, N_TEST = 10, 5000, 5000
_POINTS: dict[str, Any] = {
    "module": DenseNet((32,)),
    "max_epochs": 15,
    "batch_size": 256,
    "n_threads": 1,
}
# Ten classes: each digit becomes one other digit.
TEN_CELL: Cell = (0.0, 0.4)
OTHER_DIGIT = np.array([7, 9, 0, 4, 2, 1, 3, 5, 6, 8])
_TEN: dict[str, Any] = {
    "module": DenseNet((500, 300)),
    "max_epochs": 20,
    "patience": 20,
    "batch_size": 256,
    "learning_rate": 0.002,
    "n_threads": 1,
}


def noise_units(
    dataset: str, images: list[str], cells: list[Cell], methods: list[str], seed: int
) -> list[Unit]:
    """Return the units of all kinds of noise; those of seconds come first."""
    aware = [method for method in methods if method in NETWORK_METHODS]
    units = [_added_unit(share, method, seed) for share in SHARES for method in methods]
    of_many = [method for method in aware if not NETWORK_METHODS[method].is_for_two]
    units += [_ten_unit(dataset, method, seed) for method in (TRUE, "noisy", *of_many)]
    units += aware_units(dataset, images, cells, aware, seed)
    return units + difficulty_units(dataset, images, DIFFICULT_CELL, methods, seed)


def _added_unit(share: float, method: str, seed: int) -> Unit:
    key = Key("gaussians, added noise", "net", "f1", f"{share:g}", *ADDED_CELL, method, seed)
    return Unit(
        f"Gaussians, added noise {share:g}, {method}", [key], partial(_measure_added, key, share)
    )


def _measure_added(key: Key, share: float) -> list[Record]:
    figures = [_added_trial(share, key.method, [key.seed, trial]) for trial in range(N_TRIALS)]
    return [Record(key, float(np.mean(figures)), N_ROWS, "networks")]


def _added_trial(share: float, method: str, seeds: list[int]) -> float:
    """Return F1 on new rows; the rows and flips are the same for every method."""
    generator = np.random.default_rng(seeds)
    X, truth = make_gaussians(N_ROWS, random_state=generator)
    X_test, test_truth = make_gaussians(N_TEST, random_state=generator)
    pi1, rho1 = ADDED_CELL
    labels = flip_labels(
        truth, positive_noise_rate=rho1, positive_label_error_rate=pi1, random_state=generator
    )
    X, labels, _ = add_uniform_rows(X, labels, share=share, random_state=generator)
    settings = _POINTS | {"random_state": seeds[-1]}
    model = _fitted(method, settings, X.astype(np.float32), labels.astype(bool), truth.astype(bool))
    likely = model.predict_proba(X_test.astype(np.float32))[:, 1]
    return test_figures(test_truth.astype(bool), likely)["f1"]


def _fitted(
    method: str,
    settings: dict[str, Any],
    X: NDArray[np.float32],
    labels: NDArray[np.bool_],
    truth: NDArray[np.bool_],
) -> NetClassifier:
    """Return the classifier of a method; rows beyond the end of ``truth`` come from elsewhere."""
    plain = NetClassifier(**settings)
    own = NoisyClass(truth, labels[: len(truth), None])
    if method == TRUE:
        return plain.fit(X[: len(truth)], truth)

    def scores() -> NDArray[np.float64]:
        return out_of_fold_probabilities(plain, X, labels, random_state=settings["random_state"])

    def estimated() -> tuple[float, float]:
        found = papers_rates(labels, scores())
        return found.positive_noise_rate, found.negative_noise_rate

    if method in NETWORK_METHODS:
        chosen = NETWORK_METHODS[method]
        model: NetClassifier = chosen.fit(
            settings, X, labels, truth, true_transition(own), estimated
        )
        return model
    with warnings.catch_warnings():
        # Methods are also measured on data that violate their assumptions.
        warnings.simplefilter("ignore")
        weights = RECIPES[method].weigh(labels, scores(), own.true_rates(0))
    return plain.fit(X, labels, sample_weight=weights)


def _ten_unit(dataset: str, method: str, seed: int) -> Unit:
    key = Key(f"{dataset}, ten classes", "net", "accuracy", "all", *TEN_CELL, method, seed)
    return Unit(f"{dataset}, ten classes, {method}", [key], partial(_measure_ten, key, dataset))


def _measure_ten(key: Key, dataset: str) -> list[Record]:
    train, test = (load_images(dataset, part) for part in ("train", "test"))
    rate = key.rho1
    is_flipped = np.random.RandomState(key.seed).rand(len(train.digits)) < rate
    labels = np.where(is_flipped, OTHER_DIGIT[train.digits], train.digits)
    settings = _TEN | {"random_state": key.seed}
    if key.method in NETWORK_METHODS:
        transition = (1 - rate) * np.eye(10) + rate * np.eye(10)[OTHER_DIGIT]
        method = NETWORK_METHODS[key.method]
        model = method.fit(settings, train.pixels, labels, train.digits, transition)
    else:
        model = NetClassifier(**settings).fit(
            train.pixels, train.digits if key.method == TRUE else labels
        )
    figure = float(model.score(test.pixels, test.digits))
    return [Record(key, figure, len(labels), "networks")]
