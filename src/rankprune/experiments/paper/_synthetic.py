"""Figures 2 to 4: two Gaussians, one setting varied at a time, five noise cells."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from rankprune.core import (
    NoiseRates,
    add_uniform_rows,
    expected_noise_rates,
    flip_labels,
    make_gaussians,
)
from rankprune.experiments._logistic import RoundRows, fit_logistic_models
from rankprune.experiments._mnist import FOUR_CELLS
from rankprune.experiments.paper._one_vs_rest import Cell
from rankprune.experiments.paper._recipes import (
    RECIPES,
    TRUE,
    papers_rates,
    pruned_weights,
)
from rankprune.experiments.paper._records import Key, Record, Unit

CELLS: tuple[Cell, ...] = ((0.0, 0.0), *FOUR_CELLS)
N_TRIALS = 200
N_TEST = 5000
# The paper names the settings it varied but not the values; these cover the range of its text.
PANELS: dict[str, tuple[float, ...]] = {
    "separability": (0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5),
    "dimension": (2, 5, 10, 20, 50, 100),
    "added noise": (0, 0.1, 0.25, 0.5, 0.75, 1),
    "examples": (50, 100, 200, 500, 1000, 2000, 5000, 10000),
}
# Figure 2 shows Rank Pruning at all cells; Figure 4 all methods at the last.
PRUNING = ("rp_estimated", "rp_given", "rp_curve")
# Given pi_1 and pi_0 directly, not derived from rho_1, rho_0 and the observed labels.
GIVEN_SHARES = "rp_given_shares"
METHODS = (
    *(TRUE, "noisy", *PRUNING, GIVEN_SHARES),
    *("nat13", "elk08", "liu16", "liu16_authors"),
)
COMPARED_AT: Cell = (0.5, 0.5)
# Figure 3; Lemma 3 does not cover added rows, so that panel has no such figures.
THEORY = "theory_difference"


@dataclass(frozen=True)
class Setting:
    """The settings that the paper varies, with its defaults."""

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
    wanted = [(method, "f1") for method in methods]
    if panel != "added noise":
        wanted.append(("rp_estimated", THEORY))
    return [*wanted, ("rp_estimated", "trials")]


def _measure(panel: str, value: float, cells: list[Cell], n_trials: int, seed: int) -> list[Record]:
    setting = setting_of(panel, value)
    trials = [_trial(setting, [seed, trial]) for trial in range(n_trials)]
    found = []
    for cell in cells:
        for method, metric in _wanted(panel, cell):
            figure = float(n_trials)
            if metric != "trials":
                name = THEORY if metric == THEORY else method
                figure = float(np.mean([trial[cell][name] for trial in trials]))
            key = Key(_dataset(panel), "logreg", metric, f"{value:g}", *cell, method, seed)
            found.append(Record(key, figure, setting.examples, _figure(metric, cell)))
    return found


def _figure(metric: str, cell: Cell) -> str:
    if metric == THEORY:
        return "fig3"
    return "fig2, fig4" if cell == COMPARED_AT else "fig2"


@dataclass(frozen=True)
class _Trial:
    """Rows of one trial, the same at every cell, with the added rows at the end."""

    X: NDArray[np.float64]
    truth: NDArray[np.bool_]
    is_added: NDArray[np.bool_]
    labels: dict[Cell, NDArray[np.bool_]]
    X_test: NDArray[np.float64]
    test_truth: NDArray[np.bool_]


def _draw(setting: Setting, seeds: list[int]) -> _Trial:
    generator = np.random.default_rng(seeds)
    draw = partial(
        make_gaussians,
        separability=setting.separability,
        n_features=setting.dimension,
        random_state=generator,
    )
    X, truth = draw(setting.examples)
    X_test, test_truth = draw(N_TEST)
    X, coins, is_added = add_uniform_rows(
        X, truth, share=setting.added_noise, random_state=generator
    )
    labels = {cell: np.append(_flipped(truth, cell, generator), coins[is_added]) for cell in CELLS}
    return _Trial(
        X,
        coins.astype(bool),
        is_added,
        {cell: column.astype(bool) for cell, column in labels.items()},
        X_test,
        test_truth.astype(bool),
    )


def _trial(setting: Setting, seeds: list[int]) -> dict[Cell, dict[str, float]]:
    """Return F1 by method, and the difference of Figure 3, at each cell.

    All cells are measured even if few are selected, because their models are fitted together.
    """
    trial = _draw(setting, seeds)
    rows = RoundRows.of(trial.X.astype(np.float32))
    scores = _out_of_fold(rows, trial, seeds)
    found: dict[Cell, dict[str, float]] = {cell: {} for cell in CELLS}
    # Only rows of the two classes have true labels; added rows have none.
    columns = [(COMPARED_AT, TRUE, trial.truth, (~trial.is_added).astype(float))]
    for index, cell in enumerate(CELLS):
        labels, score = trial.labels[cell], scores[:, index].astype(np.float64)
        true, seen = _true_rates(trial, cell)
        estimated = papers_rates(labels, score)
        if not setting.added_noise:
            found[cell][THEORY] = theory_difference(trial.truth, score, true, estimated)
        for method in METHODS[1:] if cell == COMPARED_AT else PRUNING:
            with warnings.catch_warnings():
                # The figures include classes that cannot be separated.
                warnings.simplefilter("ignore")
                if method == GIVEN_SHARES:
                    weights = pruned_weights(labels, score, true)
                else:
                    weights = RECIPES[method].weigh(labels, score, seen)
            columns.append((cell, method, labels, weights))
    models = fit_logistic_models(
        rows,
        np.column_stack([labels for _, _, labels, _ in columns]),
        weights=np.column_stack([weights for *_, weights in columns]).astype(np.float32),
    )
    finished = models.probabilities(trial.X_test.astype(np.float32))
    for (cell, method, _, _), final in zip(columns, finished.T, strict=True):
        is_divided = method in RECIPES and RECIPES[method].divides
        rate = _true_rates(trial, cell)[0].positive_noise_rate if is_divided else 0.0
        found[cell][method] = _f1(trial.test_truth, final / (1 - rate) > 0.5)
    return found


def _f1(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return F1 by counting, which is fast enough for hundreds of thousands of calls."""
    right = int((truth & predicted).sum())
    return 2 * right / max(int(truth.sum()) + int(predicted.sum()), 1)


def _flipped(
    truth: NDArray[np.int64], cell: Cell, generator: np.random.Generator
) -> NDArray[np.int64]:
    pi1, rho1 = cell
    return np.asarray(
        flip_labels(
            truth,
            positive_noise_rate=rho1,
            positive_label_error_rate=pi1,
            random_state=generator,
        )
    )


def _true_rates(trial: _Trial, cell: Cell) -> tuple[NoiseRates, NoiseRates]:
    """Return the rates of the two classes, and those derived from rho_1, rho_0 and all labels.

    Methods are given the latter, as in the authors' code: added rows increase the number of
    positive labels, so the derived pi_1 is too small.
    """
    own = ~trial.is_added
    true = NoiseRates.from_true_labels(trial.truth[own], trial.labels[cell][own])
    return true, NoiseRates.from_noise_rates(
        true.positive_noise_rate,
        true.negative_noise_rate,
        observed_prevalence=float(trial.labels[cell].mean()),
    )


def _out_of_fold(rows: RoundRows, trial: _Trial, seeds: list[int]) -> NDArray[np.float32]:
    """Return out-of-fold probabilities, one column per cell.

    All cells share the folds, so these are stratified by the true labels.
    """
    labels = np.column_stack(list(trial.labels.values()))
    scores = np.empty(labels.shape, np.float32)
    points = trial.X.astype(np.float32)
    splitter = StratifiedKFold(3, shuffle=True, random_state=np.random.RandomState(seeds))
    for fitted, held_out in splitter.split(points, trial.truth):
        models = fit_logistic_models(rows.take(fitted), labels[fitted])
        scores[held_out] = models.probabilities(points[held_out])
    return scores


def theory_difference(
    truth: NDArray[np.bool_],
    scores: NDArray[np.float64],
    true: NoiseRates,
    found: NoiseRates,
) -> float:
    """Return |theoretical rho1 - estimated rho1| plus the same for rho0 (Figure 3)."""
    if found.positive_threshold is None or found.negative_threshold is None:
        return np.nan
    expected = expected_noise_rates(
        truth, scores, true, (found.positive_threshold, found.negative_threshold)
    )
    return abs(expected.positive_noise_rate - found.positive_noise_rate) + abs(
        expected.negative_noise_rate - found.negative_noise_rate
    )
