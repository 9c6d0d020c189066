"""Figures 2 to 4: two Gaussians, one setting varied at a time, five noise cells."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from rankprune.core import (
    NoiseRates,
    add_uniform_rows,
    expected_noise_rates,
    flip_labels,
    make_gaussians,
)
from rankprune.experiments._logistic import RoundRows, fit_logistic_models
from rankprune.experiments.paper._one_vs_rest import FOUR_CELLS, Cell
from rankprune.experiments.paper._recipes import (
    RECIPES,
    TRUE,
    estimated_rates,
    pruned_weights,
)
from rankprune.experiments.paper._records import Key, Record, Unit

CELLS: tuple[Cell, ...] = ((0.0, 0.0), *FOUR_CELLS)
N_TRIALS = 200
N_TEST = 5000
# The paper names what it varied, not the values; these span what its text speaks of.
PANELS: dict[str, tuple[float, ...]] = {
    "separability": (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5),
    "dimension": (2, 5, 10, 20, 50, 100),
    "added noise": (0, 0.1, 0.25, 0.5, 0.75, 1),
    "examples": (50, 100, 200, 500, 1000, 2000, 5000, 10000),
}
# Figure 2 shows Rank Pruning at all cells; Figure 4 all methods at the last.
PRUNING = ("rp_estimated", "rp_given", "rp_curve")
METHODS = (TRUE, "noisy", *PRUNING, "nat13", "elk08", "liu16", "liu16_authors")
COMPARED_AT: Cell = (0.5, 0.5)
# Figure 3; Lemma 3 does not speak of added rows, so that panel has none.
THEORY = "theory_difference"


@dataclass(frozen=True)
class Setting:
    """What the paper varies; these are its defaults."""

    separability: float = 4.0
    dimension: int = 2
    added_noise: float = 0.0
    examples: int = 5000


def setting_of(panel: str, value: float) -> Setting:
    """Return the defaults with one of them changed."""
    if panel == "separability":
        return Setting(separability=value)
    if panel == "added noise":
        return Setting(added_noise=value)
    return replace(Setting(), **{panel: int(value)})


def synthetic_units(
    panels: dict[str, tuple[float, ...]], cells: list[Cell], n_trials: int, seed: int
) -> list[Unit]:
    """Return one unit for each value of each panel; a trial shares its rows among all cells."""
    return [
        Unit(
            f"Gaussians, {panel} {value:g}, {n_trials} trials",
            [
                Key(_dataset(panel), "logreg", metric, f"{value:g}", *cell, method, seed)
                for cell in cells
                for method, metric in _wanted(panel, cell)
            ],
            partial(_measure, panel, value, cells, n_trials, seed),
        )
        for panel, values in panels.items()
        for value in values
    ]


def _dataset(panel: str) -> str:
    return f"gaussians, {panel}"


def _wanted(panel: str, cell: Cell) -> list[tuple[str, str]]:
    methods = METHODS if cell == COMPARED_AT else PRUNING
    wanted = [(method, metric) for method in methods for metric in ("f1", "f1_sd")]
    if panel != "added noise":
        wanted.append(("rp_estimated", THEORY))
    return [*wanted, ("rp_estimated", "trials")]


def _measure(panel: str, value: float, cells: list[Cell], n_trials: int, seed: int) -> list[Record]:
    setting = setting_of(panel, value)
    trials = [_trial(setting, cells, seed + trial) for trial in range(n_trials)]
    found = []
    for place, cell in enumerate(cells):
        for method, metric in _wanted(panel, cell):
            if metric == "trials":
                figure = float(n_trials)
            else:
                name = metric if metric == THEORY else method
                values = [trial[place][name] for trial in trials]
                figure = float(np.std(values) if metric == "f1_sd" else np.mean(values))
            key = Key(_dataset(panel), "logreg", metric, f"{value:g}", *cell, method, seed)
            found.append(Record(key, figure, setting.examples, _figure(metric, cell)))
    return found


def _figure(metric: str, cell: Cell) -> str:
    if metric == THEORY:
        return "fig3"
    return "fig2, fig4" if cell == COMPARED_AT else "fig2"


def _trial(setting: Setting, cells: list[Cell], seed: int) -> list[dict[str, float]]:
    """Return F1 by method, and the difference of Figure 3, at each cell."""
    generator = np.random.default_rng(seed)
    draw = partial(
        make_gaussians,
        separability=setting.separability,
        n_features=setting.dimension,
        random_state=generator,
    )
    X, truth = draw(setting.examples)
    X_test, test_truth = draw(N_TEST)
    given = [_flipped(truth, cell, [seed, CELLS.index(cell)]) for cell in cells]
    # The added rows are the same at every cell, and so are their labels: a fair coin's.
    X, coins, is_added = add_uniform_rows(
        X, truth, share=setting.added_noise, random_state=generator
    )
    columns = np.column_stack(
        [np.where(is_added, coins, np.append(labels, coins[is_added])) for labels in given]
    ).astype(bool)
    right = np.where(is_added, coins, np.append(truth, coins[is_added])).astype(bool)
    rows = RoundRows.of(X.astype(np.float32))
    scores = _out_of_fold(rows, X, columns, right, seed)
    found: list[dict[str, float]] = [{} for _ in cells]
    labels, weights, places = [right], [np.ones(len(right))], [(0, TRUE)]
    rates = [_given_rates(truth, column, is_added) for column in columns.T]
    for place, cell in enumerate(cells):
        column = np.ascontiguousarray(columns[:, place])
        score = scores[:, place].astype(np.float64)
        estimated = estimated_rates("confident-counts", column, score)
        if not setting.added_noise:
            found[place][THEORY] = _theory_difference(truth, score, rates[place], estimated)
        for method in METHODS[1:] if cell == COMPARED_AT else PRUNING:
            with warnings.catch_warnings():
                # Classes that cannot be told apart are part of the figures.
                warnings.simplefilter("ignore")
                weigh = RECIPES[method].weigh
                if method == "rp_estimated":
                    weight = pruned_weights(column, score, estimated)
                else:
                    weight = weigh(column, score, rates[place])
            labels.append(column)
            weights.append(weight)
            places.append((place, method))
    models = fit_logistic_models(
        rows, np.column_stack(labels), weights=np.column_stack(weights).astype(np.float32)
    )
    finished = models.probabilities(X_test.astype(np.float32))
    for column_number, (place, method) in enumerate(places):
        final = finished[:, column_number].astype(np.float64)
        if method != TRUE:
            final = RECIPES[method].finish(final, rates[place])
        score_of = float(f1_score(test_truth, final > 0.5, zero_division=0.0))
        for one in found if method == TRUE else [found[place]]:
            one[method] = score_of
    return found


def _flipped(truth: NDArray[np.int64], cell: Cell, seeds: list[int]) -> NDArray[np.int64]:
    pi1, rho1 = cell
    return np.asarray(
        flip_labels(
            truth,
            positive_noise_rate=rho1,
            positive_label_error_rate=pi1,
            random_state=np.random.default_rng(seeds),
        )
    )


def _given_rates(
    truth: NDArray[np.int64], labels: NDArray[np.bool_], is_added: NDArray[np.bool_]
) -> NoiseRates:
    """Return the true noise rates, as methods are told them: with the labels that they see."""
    rates = NoiseRates.from_true_labels(truth, labels[~is_added])
    return NoiseRates.from_noise_rates(
        rates.positive_noise_rate,
        rates.negative_noise_rate,
        observed_prevalence=float(labels.mean()),
    )


def _out_of_fold(
    rows: RoundRows,
    X: NDArray[np.float64],
    labels: NDArray[np.bool_],
    right: NDArray[np.bool_],
    seed: int,
) -> NDArray[np.float32]:
    """Return out-of-fold probabilities, a column a cell.

    All cells share the folds, so these are stratified by the right labels.
    """
    scores = np.empty(labels.shape, np.float32)
    splitter = StratifiedKFold(3, shuffle=True, random_state=seed)
    points = X.astype(np.float32)
    for fitted, held_out in splitter.split(points, right):
        models = fit_logistic_models(rows.take(fitted), labels[fitted])
        scores[held_out] = models.probabilities(points[held_out])
    return scores


def _theory_difference(
    truth: NDArray[np.int64],
    scores: NDArray[np.float64],
    true: NoiseRates,
    found: NoiseRates,
) -> float:
    """Return |rho1 by theory - rho1 estimated| + the same of rho0 (Figure 3)."""
    if found.positive_threshold is None or found.negative_threshold is None:
        return np.nan
    expected = expected_noise_rates(
        truth, scores, true, (found.positive_threshold, found.negative_threshold)
    )
    return abs(expected.positive_noise_rate - found.positive_noise_rate) + abs(
        expected.negative_noise_rate - found.negative_noise_rate
    )
