"""Figure 5: estimated noise rates on MNIST over the whole range, beside those of the theory."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from rankprune.core import NoiseRates, estimate_noise_rates, expected_noise_rates
from rankprune.experiments._cache import cached
from rankprune.experiments._mnist import GRID
from rankprune.experiments.paper._logistic_tables import LogisticRun
from rankprune.experiments.paper._one_vs_rest import Cell
from rankprune.experiments.paper._recipes import papers_rates
from rankprune.experiments.paper._records import Key, Record, Unit

# Shown beside the paper's estimator, which is the subject of the theory.
OUR_ESTIMATORS = {"rp_tight": "tight", "rp_curve": "curve"}
METHODS = ("rp_estimated", *OUR_ESTIMATORS)
GRID_METRICS = ("rho1_hat", "pi1_hat")
THEORY = "theory"


def grid_units(dataset: str, images: list[str], cells: list[Cell], seed: int) -> list[Unit]:
    """Return one unit for each image."""
    return [
        Unit(
            f"{dataset} {image}, noise rates at {len(cells)} cells",
            [
                _key(dataset, image, cell, metric, method, seed)
                for cell in cells
                for method in (*METHODS, THEORY)
                for metric in GRID_METRICS
            ],
            partial(_measure, dataset, image, cells, seed),
        )
        for image in images
    ]


def grid_cells(*, small: bool) -> list[Cell]:
    """Return the cells of the figure, or a few for small runs."""
    return [cell for cell in GRID if not small or cell in ((0.0, 0.5), (0.5, 0.0), (0.5, 0.5))]


def _key(dataset: str, image: str, cell: Cell, metric: str, method: str, seed: int) -> Key:
    return Key(f"{dataset}, grid", "logreg", metric, image, *cell, method, seed)


def _measure(dataset: str, image: str, cells: list[Cell], seed: int) -> list[Record]:
    # The whole grid is scored, so that figures do not depend on the selection.
    run = LogisticRun(dataset, image, GRID, seed)
    kept = cached(f"{run.name}-grid", lambda: {"scores": run.out_of_fold()})["scores"]
    found = []
    for cell in cells:
        index = GRID.index(cell)
        labels, true = run.noisy.column(index), run.noisy.true_rates(index)
        scores = kept[:, index].astype(np.float64)
        published = papers_rates(labels, scores)
        rates = {"rp_estimated": _two(published)}
        rates[THEORY] = _theory(run.noisy.is_class, scores, true, published)
        for method, estimator in OUR_ESTIMATORS.items():
            with warnings.catch_warnings():
                # The grid includes more noise than any scores can resolve.
                warnings.simplefilter("ignore")
                rates[method] = _two(estimate_noise_rates(labels, scores, method=estimator))
        found += [
            Record(_key(dataset, image, cell, metric, method, seed), value, len(labels), "fig5")
            for method, values in rates.items()
            for metric, value in zip(GRID_METRICS, values, strict=True)
        ]
    return found


def _two(rates: NoiseRates) -> tuple[float, float]:
    """Return rho1 and pi1, in the order of the metrics."""
    return rates.positive_noise_rate, rates.positive_label_error_rate


def _theory(
    is_class: np.ndarray, scores: np.ndarray, true: NoiseRates, found: NoiseRates
) -> tuple[float, float]:
    """Return the rho1 and pi1 expected by Lemma 3 at the estimated thresholds."""
    if found.positive_threshold is None or found.negative_threshold is None:
        return np.nan, np.nan
    expected = expected_noise_rates(
        is_class, scores, true, (found.positive_threshold, found.negative_threshold)
    )
    rho1, rho0 = expected.positive_noise_rate, expected.negative_noise_rate
    share = found.observed_prevalence
    pi1 = rho0 * (1 - share - rho1) / (share * (1 - rho1 - rho0))
    return rho1, float(np.clip(pi1, 0, 1))
