"""Tables 4, C3, C4, C8 and C9: networks, scored out of fold once, then fitted per method."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.experiments._cache import cached
from rankprune.experiments._mnist import folds
from rankprune.experiments.paper._measure import (
    METRICS,
    SCORE_METRICS,
    record,
    score_figures,
    test_figures,
)
from rankprune.experiments.paper._network_methods import (
    DIFFICULTY,
    NETWORK_METHODS,
    flipped_by_difficulty,
    true_transition,
)
from rankprune.experiments.paper._one_vs_rest import (
    DATA_SETS,
    Cell,
    NoisyClass,
    cache_name,
    load_images,
    noisy_class,
)
from rankprune.experiments.paper._recipes import RECIPES, TRUE, papers_rates
from rankprune.experiments.paper._records import Key, Record, Unit
from rankprune.torch import ConvolutionalNet, NetClassifier

# Compact networks and the epochs they need. Figures of whole data sets were measured on
# processors that support bfloat16.
NETWORKS: dict[str, dict[str, Any]] = {
    "mnist": {
        "shape": (1, 28, 28),
        "channels": (16, 32),
        "max_epochs": 6,
        "half_precision": True,
    },
    "cifar": {
        "shape": (3, 32, 32),
        "channels": (16, 32, 64),
        "max_epochs": 4,
        "half_precision": True,
    },
    "digits": {"shape": (1, 8, 8), "channels": (16,), "max_epochs": 6, "batch_size": 64},
}


@dataclass(frozen=True)
class NetworkRun:
    """One class of one data set at one cell; the scores of every network are cached."""

    dataset: str
    image: str
    cell: Cell
    seed: int = 0
    epochs: int | None = None
    noise: str = ""

    def noisy(self) -> NoisyClass:
        """Return the true and the given labels."""
        if self.noise == DIFFICULTY:
            return flipped_by_difficulty(self.dataset, self.image, self.cell, self.seed)
        return noisy_class(self.dataset, self.image, (self.cell,), self.seed)

    def out_of_fold(self) -> NDArray[np.float64]:
        """Return out-of-fold probabilities of the given labels; cached."""
        kept = cached(self._name("folds", self.cell), lambda: {"scores": self._out_of_fold()})
        return kept["scores"].astype(np.float64)

    def estimated_rates(self) -> tuple[float, float]:
        """Return rho_1 and rho_0 as the paper estimates them; cached."""

        def compute() -> dict[str, NDArray[np.float64]]:
            found = papers_rates(self.noisy().column(0), self.out_of_fold())
            return {"rates": np.array([found.positive_noise_rate, found.negative_noise_rate])}

        rho1, rho0 = cached(self._name("rates", self.cell), compute)["rates"]
        return float(rho1), float(rho0)

    def test_scores(self, method: str) -> NDArray[np.float64]:
        """Return one method's probabilities on the test images; cached."""
        if method == TRUE:
            return self._fitted_scores(TRUE, (0.0, 0.0))
        if method in NETWORK_METHODS:
            return self._fitted_scores(method, self.cell)
        recipe = RECIPES[method]
        # Division by a constant needs no network besides the one fitted to the noisy labels.
        scores = self._fitted_scores("noisy" if recipe.divides else method, self.cell)
        return recipe.finish(scores, self.noisy().true_rates(0))

    def _fitted_scores(self, method: str, cell: Cell) -> NDArray[np.float64]:
        name = self._name(method, cell)
        return cached(name, lambda: {"scores": self._fit(method)})["scores"].astype(np.float64)

    def _name(self, what: str, cell: Cell) -> str:
        pi1, rho1 = (round(100 * rate) for rate in cell)
        number = DATA_SETS[self.dataset].images.index(self.image)
        epochs = self.epochs or NETWORKS[self.dataset]["max_epochs"]
        noise = [self.noise] if self.noise and what != TRUE else []
        parts = (self.dataset, f"cnn{epochs}", *noise, number, pi1, rho1, what)
        return cache_name(*parts, seed=self.seed)

    def _settings(self) -> dict[str, Any]:
        """Return the settings of the network; one thread, so that all digits can be repeated."""
        settings = {"batch_size": 256} | NETWORKS[self.dataset]
        if self.epochs:
            settings["max_epochs"] = self.epochs
        module = ConvolutionalNet(settings.pop("channels"))
        return settings | {"module": module, "n_threads": 1, "random_state": self.seed}

    def _out_of_fold(self) -> NDArray[np.float32]:
        train = load_images(self.dataset, "train")
        labels = self.noisy().column(0)
        scores = np.empty(len(labels), np.float32)
        for fitted, held_out in folds(train.digits, self.seed):
            network = NetClassifier(**self._settings()).fit(train.pixels[fitted], labels[fitted])
            scores[held_out] = network.predict_proba(train.pixels[held_out])[:, 1]
        return scores

    def _fit(self, method: str) -> NDArray[np.float32]:
        pixels = load_images(self.dataset, "train").pixels
        test = load_images(self.dataset, "test").pixels
        noisy = self.noisy()
        if method in NETWORK_METHODS:
            network = NETWORK_METHODS[method].fit(
                # Single precision is faster where the loss is more than a cross-entropy.
                self._settings() | {"half_precision": False},
                pixels,
                noisy.column(0),
                noisy.is_class,
                true_transition(noisy),
                self.estimated_rates,
            )
            return np.asarray(network.predict_proba(test)[:, 1], np.float32)
        labels = noisy.is_class if method == TRUE else noisy.column(0)
        weights = np.ones(len(labels))
        if method not in (TRUE, "noisy"):
            with warnings.catch_warnings():
                # Methods are also measured on data that violate their assumptions.
                warnings.simplefilter("ignore")
                weights = RECIPES[method].weigh(labels, self.out_of_fold(), noisy.true_rates(0))
        used = np.flatnonzero(weights)
        network = NetClassifier(**self._settings())
        network.fit(pixels[used], labels[used], sample_weight=weights[used])
        return np.asarray(network.predict_proba(test)[:, 1], np.float32)


def network_units(
    dataset: str,
    images: list[str],
    cells: list[Cell],
    methods: list[str],
    seed: int,
    epochs: int | None = None,
) -> list[Unit]:
    """Return one unit for each image and cell; its networks are cached one by one."""
    usable = [method for method in methods if method == TRUE or RECIPES[method].rounds == 1]
    if epochs == NETWORKS[dataset]["max_epochs"]:
        epochs = None
    runs = [NetworkRun(dataset, image, cell, seed, epochs) for cell in cells for image in images]
    return [
        Unit(
            f"{dataset} {run.image} at {run.cell[0]:g}/{run.cell[1]:g}, network",
            [_key(run, method, metric) for method in usable for metric in _metrics(method)],
            partial(_measure, run, usable),
        )
        for run in runs
    ]


def aware_units(
    dataset: str, images: list[str], cells: list[Cell], methods: list[str], seed: int
) -> list[Unit]:
    """Return one unit for each image, cell and method that changes how a network learns."""
    runs = [NetworkRun(dataset, image, cell, seed) for image in images for cell in cells]
    return [_aware_unit(run, method) for run in runs for method in methods]


def difficulty_units(
    dataset: str, images: list[str], cell: Cell, methods: list[str], seed: int
) -> list[Unit]:
    """Return one unit for each image and method, where flips follow difficulty."""
    runs = [NetworkRun(dataset, image, cell, seed, noise=DIFFICULTY) for image in images]
    return [_aware_unit(run, method) for run in runs for method in methods]


def _aware_unit(run: NetworkRun, method: str) -> Unit:
    return Unit(
        f"{run.dataset} {run.image} at {run.cell[0]:g}/{run.cell[1]:g} {run.noise}, {method}",
        [_key(run, method, metric) for metric in METRICS],
        partial(_measure, run, [method], with_rates=False),
    )


def _classifier(run: NetworkRun) -> str:
    """Return the name of the classifier, including its epochs if they are not the default."""
    return f"cnn-{run.epochs}" if run.epochs else "cnn"


def _key(run: NetworkRun, method: str, metric: str) -> Key:
    dataset = f"{run.dataset}, {run.noise}" if run.noise else run.dataset
    return Key(dataset, _classifier(run), metric, run.image, *run.cell, method, run.seed)


def _metrics(method: str) -> tuple[str, ...]:
    return (*METRICS, *SCORE_METRICS) if method == "rp_estimated" else METRICS


def _measure(run: NetworkRun, methods: list[str], *, with_rates: bool = True) -> list[Record]:
    number = DATA_SETS[run.dataset].images.index(run.image)
    truth = load_images(run.dataset, "test").digits == number
    noisy = run.noisy()
    found = []
    for method in methods:
        figures = test_figures(truth, run.test_scores(method))
        if method == "rp_estimated" and with_rates:
            scores = run.out_of_fold()
            rates = papers_rates(noisy.column(0), scores)
            figures |= score_figures(noisy.is_class, scores, noisy.true_rates(0), rates)
        found += [
            record(_key(run, method, metric), value, len(noisy.is_class))
            for metric, value in figures.items()
        ]
    return found
