"""Methods that change how a network learns, measured beside those that choose its rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core._transition import transition_of_rates
from rankprune.experiments._cache import cached
from rankprune.experiments._logistic import fit_logistic_models
from rankprune.experiments._mnist import folds
from rankprune.experiments.paper._one_vs_rest import (
    DATA_SETS,
    Cell,
    NoisyClass,
    cache_name,
    load_images,
)
from rankprune.methods import CoTrainingClassifier
from rankprune.torch import (
    BootstrappedNetClassifier,
    CorrectedNetClassifier,
    NetClassifier,
    NoiseModelNetClassifier,
)

# Flips that follow the difficulty of a row, at the numbers of flips of a cell.
DIFFICULTY = "difficulty"
# Easy rows are flipped too, this much less often than a row that is certainly of the other class.
_LEAST = 0.02
# The share of rows whose labels were checked, for the method that needs some.
TRUSTED_SHARE = 1 / 60


@dataclass(frozen=True)
class NetworkMethod:
    """A method of networks: one row of the tables.

    Attributes
    ----------
    title : str
        Name in the rendered tables.
    make : callable
        Returns the classifier; takes the settings of the network.
    parameters : dict
        Its own parameters.
    knows_noise : bool
        Whether it is given the true transition.
    has_trusted_rows : bool
        Whether it is given the right labels of a few rows.
    needs_rates : bool
        Whether it is given rates that were estimated as in the paper.
    is_for_two : bool
        Whether it is for two classes alone.
    """

    title: str
    make: Callable[..., Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    knows_noise: bool = False
    has_trusted_rows: bool = False
    needs_rates: bool = False
    is_for_two: bool = False

    def fit(
        self,
        settings: dict[str, Any],
        X: NDArray[np.float32],
        labels: NDArray[Any],
        truth: NDArray[Any],
        transition: NDArray[np.float64],
        estimated: Callable[[], tuple[float, float]] | None = None,
    ) -> Any:
        """Return the fitted classifier; rows beyond the end of ``truth`` have no true label.

        ``estimated`` returns the estimated rates of two classes, rho_1 and rho_0.
        """
        parameters = settings | self.parameters
        if self.knows_noise:
            parameters |= {"transition": transition}
        if self.needs_rates and estimated is not None:
            names = ("positive_noise_rate", "negative_noise_rate")
            parameters |= dict(zip(names, estimated(), strict=True))
        more: dict[str, Any] = {}
        if self.has_trusted_rows:
            # Every so many rows; their order is that of the data set, which is random.
            trusted = np.zeros(len(labels), dtype=bool)
            trusted[: len(truth) : round(1 / TRUSTED_SHARE)] = True
            more |= {"trusted": trusted, "given_labels": labels}
            labels = np.where(trusted, np.resize(truth, len(labels)), labels)
        with warnings.catch_warnings():
            # Methods are also measured on data that violate their assumptions.
            warnings.simplefilter("ignore")
            return self.make(**parameters).fit(X, labels, **more)


def _co_training(**settings: Any) -> CoTrainingClassifier:
    """Return co-training of networks: on the halves of an image, or random halves of vectors."""
    views = None
    if settings.get("shape"):
        planes, height, width = settings["shape"]
        is_left = np.arange(planes * height * width) % width < width // 2
        views, half = (is_left, ~is_left), (planes, height, width // 2)
        settings |= {"shape": half} if half[2] >= 12 else {"shape": None, "module": None}
    net = NetClassifier(**settings)
    return CoTrainingClassifier(net, views=views, rounds=5, random_state=settings["random_state"])


NETWORK_METHODS: dict[str, NetworkMethod] = {
    "reed_soft": NetworkMethod("Reed et al., soft", BootstrappedNetClassifier, {"method": "soft"}),
    "reed_hard": NetworkMethod("Reed et al., hard", BootstrappedNetClassifier, {"method": "hard"}),
    "reed_reconstruction": NetworkMethod(
        "Reed et al., reconstruction", BootstrappedNetClassifier, {"method": "reconstruction"}
    ),
    "xiao": NetworkMethod(
        "Xiao et al., one row in 60 trusted",
        NoiseModelNetClassifier,
        {"rounds": 3, "round_epochs": 1},
        has_trusted_rows=True,
    ),
    "forward_given": NetworkMethod(
        "forward, true rates given", CorrectedNetClassifier, knows_noise=True
    ),
    "forward_estimated": NetworkMethod(
        "forward, rates estimated", CorrectedNetClassifier, needs_rates=True
    ),
    "backward_given": NetworkMethod(
        "backward, true rates given",
        CorrectedNetClassifier,
        {"correction": "backward"},
        knows_noise=True,
    ),
    "co_training": NetworkMethod("Co-training, 5 rounds", _co_training, is_for_two=True),
}


def true_transition(noisy: NoisyClass) -> NDArray[np.float64]:
    """Return the true transition of one class against the rest at the first cell."""
    return transition_of_rates(noisy.true_rates(0), 1)


def flipped_by_difficulty(dataset: str, image: str, cell: Cell, seed: int) -> NoisyClass:
    """Return labels of which as many are flipped as at the cell, hard rows more often.

    A row is hard if logistic regression, fitted to the true labels of the other folds, believes in
    the other class: the chance of a flip grows with the square root of that probability.
    """
    train = load_images(dataset, "train")
    number = DATA_SETS[dataset].images.index(image)
    is_class = train.digits == number
    pi1, rho1 = cell
    n_missed = round(rho1 * is_class.sum())
    n_false = round((is_class.sum() - n_missed) * pi1 / (1 - pi1))
    chance = np.sqrt(_doubt(dataset, number, is_class, seed)) + _LEAST
    # The rows with the smallest waiting times: drawn in proportion to the chance, none twice.
    waiting = np.random.RandomState([number, seed]).exponential(size=len(chance)) / chance
    labels = is_class.copy()
    for of_class, n_flips in ((is_class, n_missed), (~is_class, n_false)):
        rows = np.flatnonzero(of_class)
        labels[rows[np.argsort(waiting[rows], kind="stable")[:n_flips]]] ^= True
    return NoisyClass(is_class, labels[:, None])


def _doubt(
    dataset: str, number: int, is_class: NDArray[np.bool_], seed: int
) -> NDArray[np.float64]:
    """Return the probability of the wrong class by logistic regression, out of fold; cached."""
    train = load_images(dataset, "train")

    def compute() -> dict[str, NDArray[np.float32]]:
        scores = np.empty(len(is_class), np.float32)
        for fitted, held_out in folds(train.digits, seed):
            model = fit_logistic_models(train.pixels[fitted], is_class[fitted][:, None])
            scores[held_out] = model.probabilities(train.pixels[held_out])[:, 0]
        return {"scores": scores}

    kept = cached(cache_name(dataset, "doubt", number, seed=seed), compute)["scores"]
    scores = kept.astype(np.float64)
    return np.where(is_class, 1 - scores, scores)
