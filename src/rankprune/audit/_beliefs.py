"""What model and judged rows together say about wrong labels: beliefs by stratum, then updated.

Before any row is judged, beliefs are draws of the share of wrong labels in each stratum. In
all of them together, the share of all labels that are wrong has the range that the noise estimator
gave. Each draw spreads its wrong labels over the strata as the model expects, more or less
steeply, and every stratum may deviate. Judged rows then decide which draws count. Some draws follow
no model, so answers that contradict the model overrule it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from rankprune.audit._strata import Strata
from rankprune.core import Interval, NoiseRates

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

# Number of draws before and after rows are judged.
N_DRAWS, _N_KEPT = 8000, 1000
# Shape of the range of the share of wrong labels, on the square root scale: how far it reaches at
# several levels, in units of what it reaches at 95 %. These are medians over the bank of problems.
_LEVELS = np.array([0.5, 0.8, 0.95, 0.99])
_BELOW, _ABOVE = np.array([0.14, 0.4, 1.0, 1.48]), np.array([0.48, 0.7, 1.0, 1.19])
# Mass at or above which fewer wrong labels than the range allows are not believed; see `_totals`.
_FARTHEST = 0.95
LEAST, MOST = 2e-4, 0.98
# Share of the draws that follow no model, and the exponent by which they prefer small shares.
_VAGUE, _VAGUE_POWER = 0.1, 2
# On the log-odds scale: how uncertain it is at least and at most which label the wrong ones have.
SPLIT = (0.3, 2.0)
# On the same scale: how much the share of a stratum deviates from what its draw expects.
_DEVIATION = 1.2
# Both have heavy tails, with so many degrees of freedom, and this quantile of the highest 2.5 %.
FREEDOM, TAIL = 3.0, 3.18
# Steepness of the expected chances along the suspicion: its middle, spread and degrees of freedom.
STEEPNESS = (0.95, 0.5, 3.0)
STEEPEST = 4.0
LEAST_SPLIT = 0.003
# Expected chances are log-odds between these, in so many groups of rows of each stratum.
_LEAST_CHANCE, _N_GROUPS = 1e-3, 4
_N_NODES = 25
_NODES = _DEVIATION * stdtrit(FREEDOM, (np.arange(_N_NODES) + 0.5) / _N_NODES)
# Log-odds at which the likelihood of every answer is tabulated.
_STEPS_PER_UNIT, _REACH = 10, 12.0
_GRID = np.arange(-_REACH, _REACH + 1e-9, 1 / _STEPS_PER_UNIT)
# Mean share of wrong labels of a stratum by what its draw expects, deviations included.
_WIDE_GRID, _WIDE_STEPS = np.linspace(-30.0, 30.0, 1201), 20
_HALVINGS = 18
# Both tails of a range are smaller by this factor than its level asks for: what is calibrated over
# all problems together should hold for each kind of noise.
_CAUTION = 0.7
# A lower end below this, without any wrong label seen, is reported as zero.
NO_WRONG_SHARE = 0.01
# So few wrong labels, in strata of many rows, are hardly believed before rows are judged. A lower
# end below this is the lowest draw.
_FEW_WRONG_SHARE = 0.002


@dataclass(frozen=True)
class Beliefs:
    """Draws of the share of wrong labels in each stratum, before rows are judged.

    Attributes
    ----------
    sizes : ndarray of int
        Number of rows in each stratum.
    group : ndarray of int
        The number of each stratum's label or group of labels; of two labels, 1 is positive.
    log_odds : ndarray of shape (n_draws, n_strata)
        What each draw expects of each stratum.
    ends, factors : ndarray
        Draws count by these factors, depending on the interval between ends that their share of
        wrong labels falls into; with them, its distribution is that of the noise estimator.
    """

    sizes: Counts
    group: NDArray[np.intp]
    log_odds: Reals
    ends: Reals
    factors: Reals

    @property
    def is_positive(self) -> NDArray[np.bool_]:
        """Return the label of each stratum, if there are two."""
        return np.asarray(self.group == 1)

    @property
    def parts(self) -> Reals:
        """Return the share of all rows that is in each stratum."""
        return np.asarray(self.sizes / self.sizes.sum())


@dataclass(frozen=True)
class Posterior:
    """Draws of the share of wrong labels in each stratum, given judged rows.

    Attributes
    ----------
    beliefs : Beliefs
    judged, wrong : ndarray of int
        Number of judged rows in each stratum, and of wrong labels among them.
    rates : ndarray of shape (n_draws, n_strata)
        The chance that the label of another row of the stratum is wrong.
    shares : ndarray of shape (n_draws, n_strata)
        The share of the rows of the stratum whose labels are wrong, judged rows included.
    weight : ndarray of shape (n_draws,)
        They add up to 1.
    """

    beliefs: Beliefs
    judged: Counts
    wrong: Counts
    rates: Reals
    shares: Reals
    weight: Reals

    def quantities(self) -> dict[str, Reals]:
        """Return the draws of the five shares, and of the share of true positives."""
        return _quantities(self.beliefs, self.shares)

    def mean(self) -> Reals:
        """Return the expected share of wrong labels in each stratum."""
        return np.asarray(self.weight @ self.shares)

    def range_of(self, draws: Reals, level: float) -> tuple[float, float]:
        """Return the range of one quantity; see `_CAUTION`."""
        tail = _CAUTION * (1 - level) / 2
        order = np.argsort(draws, kind="stable")
        reached = np.cumsum(self.weight[order])
        low, high = draws[order][
            np.minimum(
                np.searchsorted(reached, np.array([tail, 1 - tail]) * reached[-1]), len(draws) - 1
            )
        ].tolist()
        if not self.wrong.any():
            return 0.0 if low < NO_WRONG_SHARE else low, high
        return float(draws.min()) if low < _FEW_WRONG_SHARE else low, high


def believe(
    strata: Strata, chances: Reals, rates: NoiseRates, generator: np.random.Generator
) -> Beliefs:
    """Return beliefs before any row is judged.

    Parameters
    ----------
    strata : Strata
    chances : ndarray of shape (n_rows,)
        The model's chance that each label is wrong.
    rates : NoiseRates
        With intervals: the point and the range that beliefs have before any row is judged.
    generator : Generator
    """
    sizes, is_positive = np.array(strata.sizes), np.array(strata.is_positive)
    prevalence = float(sizes[is_positive].sum() / sizes.sum())
    assert rates.intervals is not None  # estimated rates have some
    drawn = draw_totals(rates.wrong_share, rates.intervals.wrong_share, generator)
    of_label = _split(drawn.totals, rates, prevalence, generator)
    log_odds = np.empty((N_DRAWS, len(sizes)))
    for label in (True, False):
        numbers = np.flatnonzero(is_positive == label)
        if len(numbers):
            steepness = np.where(
                drawn.is_vague,
                generator.random(N_DRAWS),
                STEEPNESS[0] + STEEPNESS[1] * generator.standard_t(STEEPNESS[2], N_DRAWS),
            )
            log_odds[:, numbers] = spread_over_strata(
                of_label[label], steepness, strata, chances, numbers
            )
    return drawn.beliefs(strata, log_odds, generator)


@dataclass(frozen=True)
class DrawnTotals:
    """Draws of the share of all labels that are wrong, as the noise estimator believes.

    Attributes
    ----------
    levels, ends : ndarray
        Its range: the shares below which the total lies at some levels.
    is_vague : ndarray of bool of shape (n_draws,)
        Which draws follow no model.
    totals : ndarray of shape (n_draws,)
    """

    levels: Reals
    ends: Reals
    is_vague: NDArray[np.bool_]
    totals: Reals

    def beliefs(self, strata: Strata, log_odds: Reals, generator: np.random.Generator) -> Beliefs:
        """Return beliefs that have this range, given what each draw expects of each stratum."""
        sizes = np.array(strata.sizes)
        log_odds = np.clip(log_odds, -_REACH + 0.5, _REACH - 0.5)
        nodes = _NODES[generator.integers(0, _N_NODES, log_odds.shape)]
        found = expit(log_odds + nodes) @ (sizes / sizes.sum())
        mass = np.diff(np.concatenate([[0.0], self.levels, [1.0]]))
        now = np.bincount(np.searchsorted(self.ends, found), minlength=len(mass)) / N_DRAWS
        factors = np.divide(mass, now, out=np.ones(len(mass)), where=now > 0)
        return Beliefs(sizes, np.array(strata.group), log_odds, self.ends, factors)


def draw_totals(point: float, interval: Interval, generator: np.random.Generator) -> DrawnTotals:
    """Return draws of the share of all labels that are wrong, given its estimate and range."""
    levels, ends = _range_of_total(point, interval)
    totals = _totals(levels, ends, generator)
    is_vague = generator.random(N_DRAWS) < _VAGUE
    totals = np.where(is_vague, 0.6 * generator.random(N_DRAWS) ** _VAGUE_POWER, totals)
    return DrawnTotals(levels, ends, is_vague, np.clip(totals, LEAST, MOST))


def vague_totals(generator: np.random.Generator) -> DrawnTotals:
    """Return draws of a share that may be anything, small ones more often than large ones."""
    none, is_vague = np.zeros(0), np.ones(N_DRAWS, dtype=bool)
    totals = np.clip(generator.random(N_DRAWS) ** _VAGUE_POWER, LEAST, MOST)
    return DrawnTotals(none, none, is_vague, totals)


def update(
    beliefs: Beliefs, judged: Counts, wrong: Counts, generator: np.random.Generator
) -> Posterior:
    """Return beliefs given how many rows of each stratum were judged, and how many are wrong."""
    place = (beliefs.log_odds + _REACH) * _STEPS_PER_UNIT
    before = np.floor(place).astype(np.intp)
    part = place - before
    log_weight = np.zeros(len(place))
    tables = [_answers(int(k), int(n)) for k, n in zip(wrong, judged, strict=True)]
    for number, (likelihood, _) in enumerate(tables):
        if judged[number]:
            left = before[:, number]
            step = likelihood[left + 1] - likelihood[left]
            log_weight += likelihood[left] + part[:, number] * step
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    kept = _resampled(weight, generator)
    nearest = np.rint(place[kept]).astype(np.intp)
    chosen = generator.random(nearest.shape)
    nodes = np.empty(nearest.shape, dtype=np.intp)
    for number, (_, reached) in enumerate(tables):
        nodes[:, number] = (reached[nearest[:, number]] < chosen[:, number, None]).sum(axis=1)
    rates = expit(beliefs.log_odds[kept] + _NODES[np.minimum(nodes, _N_NODES - 1)])
    counts = beliefs.factors[np.searchsorted(beliefs.ends, rates @ beliefs.parts)]
    counts = counts / counts.sum()
    others = generator.binomial(np.maximum(beliefs.sizes - judged, 0), rates)
    return Posterior(beliefs, judged, wrong, rates, (wrong + others) / beliefs.sizes, counts)


def _range_of_total(estimate: float, interval: Interval) -> tuple[Reals, Reals]:
    """Return levels, and the shares of wrong labels below which the total lies at each of them."""
    point, low, high = np.sqrt([estimate, interval.low, interval.high])
    below, above = point - (point - low) * _BELOW, point + (high - point) * _ABOVE
    ends = np.maximum(np.concatenate([below[::-1], [point], above]), 0.0) ** 2
    levels = np.concatenate([(1 - _LEVELS[::-1]) / 2, [0.5], (1 + _LEVELS) / 2])
    # Ends that coincide leave one.
    last = np.append(np.diff(ends) > 1e-6, True) & (ends > 1e-6)
    return levels[last], ends[last]


def _totals(levels: Reals, ends: Reals, generator: np.random.Generator) -> Reals:
    """Return draws of the share of all labels that are wrong, spread evenly over the levels.

    The last half percent reaches far beyond the range.
    """
    if not len(ends):
        return np.full(N_DRAWS, LEAST)
    level = generator.permutation((np.arange(N_DRAWS) + generator.random(N_DRAWS)) / N_DRAWS)
    known = np.concatenate([[0.0], levels, [1.0]])
    found = np.interp(level, known, np.concatenate([[0.3 * ends[0]], ends, [ends[-1]]]))
    beyond = ends[-1] + max(_FARTHEST - ends[-1], 0.0) * generator.random(N_DRAWS) ** 2
    return np.asarray(np.where(level > levels[-1], beyond, found))


def _split(
    totals: Reals, rates: NoiseRates, prevalence: float, generator: np.random.Generator
) -> dict[bool, Reals]:
    """Return the share of wrong labels of each label, given the share of all labels."""
    wrong_positive = prevalence * max(rates.positive_label_error_rate, LEAST_SPLIT)
    wrong_negative = (1 - prevalence) * max(rates.negative_label_error_rate, LEAST_SPLIT)
    middle = np.clip(wrong_positive / (wrong_positive + wrong_negative), 0.02, 0.98)
    spread = _spread_of_split(rates, prevalence)
    share = expit(logit(middle) + spread * generator.standard_t(FREEDOM, N_DRAWS))
    least = np.clip((totals - MOST * (1 - prevalence)) / totals, 0, 1)
    share = np.clip(share, least, np.maximum(np.clip(MOST * prevalence / totals, 0, 1), least))
    return {
        True: np.clip(totals * share / max(prevalence, 1e-12), LEAST, MOST),
        False: np.clip(totals * (1 - share) / max(1 - prevalence, 1e-12), LEAST, MOST),
    }


def _spread_of_split(rates: NoiseRates, prevalence: float) -> float:
    """Return how uncertain it is which label the wrong ones have, by the ranges of both labels."""
    assert rates.intervals is not None
    total = max(rates.wrong_share, LEAST)
    halves = []
    for part, interval in (
        (prevalence, rates.intervals.positive_label_error_rate),
        (1 - prevalence, rates.intervals.negative_label_error_rate),
    ):
        low, high = np.clip(part * np.array([interval.low, interval.high]) / total, 0.02, 0.98)
        halves.append((logit(high) - logit(low)) / 2)
    return float(np.clip(np.mean(halves) / TAIL, *SPLIT))


def spread_over_strata(
    of_label: Reals,
    steepness: Reals,
    strata: Strata,
    chances: Reals,
    numbers: NDArray[np.intp],
    levels_of: Callable[[Reals, Reals, Reals, Reals], Reals] | None = None,
) -> Reals:
    """Return the log-odds that each draw expects in each stratum of one label.

    Along the expected chances, log-odds rise by a factor, from a level with which the share of the
    label comes out: by default, it is searched for draw by draw.
    """
    steepness = np.clip(steepness, 0.0, STEEPEST)
    expected, rows, stratum = [], [], []
    for place, number in enumerate(numbers.tolist()):
        inside = np.sort(chances[strata.of_row == number])
        for group in np.array_split(inside, min(_N_GROUPS, len(inside))):
            expected.append(logit(np.clip(group, _LEAST_CHANCE, 1 - _LEAST_CHANCE)).mean())
            rows.append(len(group))
            stratum.append(place)
    weight = np.array(rows) / sum(rows)
    levels = (levels_of or _by_halving)(np.array(expected), weight, steepness, of_label)
    chance = expit(steepness[:, None] * np.array(expected) + levels[:, None])
    is_in = np.array(stratum)[:, None] == np.arange(len(numbers))
    mean = (
        chance @ (is_in * np.array(rows)[:, None]) / (is_in * np.array(rows)[:, None]).sum(axis=0)
    )
    return np.asarray(logit(np.clip(mean, 1e-6, 1 - 1e-6)))


def _by_halving(expected: Reals, weight: Reals, steepness: Reals, of_label: Reals) -> Reals:
    sloped = steepness[:, None] * expected
    low, high = np.full(N_DRAWS, -40.0), np.full(N_DRAWS, 40.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        share = mean_share(sloped + middle[:, None]) @ weight
        low, high = np.where(share < of_label, (middle, high), (low, middle))
    return np.asarray((low + high) / 2)


def mean_share(log_odds: Reals) -> Reals:
    """Return the mean share of wrong labels at log-odds, deviations included, between grid points.

    The points are evenly spaced, so none has to be searched for, as `numpy.interp` does.
    """
    share = _deviating()
    steps = np.clip((log_odds - _WIDE_GRID[0]) * _WIDE_STEPS, 0, len(share) - 1)
    point = np.minimum(steps.astype(np.intp), len(share) - 2)
    left = share[point]
    return np.asarray(left + (steps - point) * (share[point + 1] - left))


@lru_cache(maxsize=1)
def _deviating() -> Reals:
    """Return the mean share of wrong labels at each point of the grid, deviations included."""
    return np.asarray(expit(_WIDE_GRID[:, None] + _NODES).mean(axis=1))


@lru_cache(maxsize=4096)
def _answers(wrong: int, judged: int) -> tuple[Reals, NDArray[np.float32]]:
    """Return, by log-odds, the log-likelihood of answers, and which deviations they suggest."""
    odds = _GRID[:, None] + _NODES
    logs = -(wrong * np.logaddexp(0, -odds) + (judged - wrong) * np.logaddexp(0, odds))
    most = logs.max(axis=1, keepdims=True)
    reached = np.cumsum(np.exp(logs - most), axis=1)
    likelihood = np.log(reached[:, -1] / _N_NODES) + most[:, 0]
    return likelihood, (reached / reached[:, -1:]).astype(np.float32)


def _resampled(weight: Reals, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return draws in proportion to their weight, spread evenly."""
    steps = (np.arange(_N_KEPT) + generator.random()) / _N_KEPT
    return np.minimum(np.searchsorted(np.cumsum(weight), steps), len(weight) - 1)


def _quantities(beliefs: Beliefs, shares: Reals) -> dict[str, Reals]:
    parts, labels = beliefs.parts, beliefs.is_positive
    positive = float(parts[labels].sum())
    wrong_positive = shares[:, labels] @ parts[labels]
    wrong_negative = shares[:, ~labels] @ parts[~labels]
    truly = positive - wrong_positive + wrong_negative
    tiny = 1e-12
    return {
        "wrong_share": wrong_positive + wrong_negative,
        "positive_label_error_rate": wrong_positive / max(positive, tiny),
        "negative_label_error_rate": wrong_negative / max(1 - positive, tiny),
        "positive_noise_rate": wrong_negative / np.maximum(truly, tiny),
        "negative_noise_rate": wrong_positive / np.maximum(1 - truly, tiny),
        "estimated_prevalence": truly,
    }
