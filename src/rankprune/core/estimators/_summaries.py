"""Summaries of a sketch: what the learned estimator sees of the scores and the labels.

They describe shares alone. Repeating every row leaves them as they are, so the number of rows
matters only through the chance that it leaves in the shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core.counting._bins import MIDDLES, bin_of
from rankprune.core.counting._sketch import ScoreSketch
from rankprune.core.estimators._rising_shares import rising_shares, with_classes_swapped

Reals = NDArray[np.float64]

# Logits of scores beyond these limits count as these.
_WIDEST, _WIDE = 16.0, 7.0
_TOPS = np.array([0.03, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 0.9, 1.0, 1.3, 1.8])
_SUPPORTS = (0.05, 0.1, 0.2, 0.4)
_CALIBRATED = np.array([0.1, 0.35, 0.75, 1.0])
_QUANTILES = np.array([0.05, 0.2, 0.4, 0.6, 0.8, 0.95])
# On a scale from the mean score of the negative labels, 0, to that of the positive labels, 1.
_ZONES = np.array([-0.25, 0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25])
_TOGGLES = np.array([-0.4, -0.2, 0.0, 0.25, 0.5, 0.75])
_SURE = 0.995
_VALLEYS = (0.1, 0.25, 0.4)
_N_CLUMPS = 16
_NEWTON_STEPS = 6
_TINY = 1e-9
# Log-odds of smaller shares count as those of this one.
_LEAST = 0.003
# Rates of a rule that finds hardly any row stay below this.
_MOST = 0.99


class Summaries:
    """Summaries of one orientation of a sketch, each a number that copies of rows do not change.

    Parameters
    ----------
    sketch : ScoreSketch
        With labels of both classes.
    """

    def __init__(self, sketch: ScoreSketch) -> None:
        used = np.flatnonzero(sketch.counts.any(axis=0))
        negatives, positives = sketch.counts[:, used]
        self._total = float(negatives.sum() + positives.sum())
        self._scores, self._logits = MIDDLES[used], LOGITS[used]
        self._bins = used
        # Shares of all rows.
        self._negatives, self._positives = negatives / self._total, positives / self._total
        self._all = self._negatives + self._positives
        self.prevalence = float(self._positives.sum())
        self._sizes = 1 - self.prevalence, self.prevalence
        self._means = sketch.mean_scores
        self._below = _from_zero(np.cumsum(np.stack([self._negatives, self._positives]), axis=1))

    def values(self) -> Reals:
        """Return all summaries; the same number for every sketch, in the same order."""
        parts = [
            self._levels(),
            self._ends(),
            self._label_quantiles(),
            self._zones(),
            self._calibration(),
            self._grain(),
            self._rules(),
            self._clumps(),
        ]
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])

    def rising_shares(self) -> Reals:
        """Return what curves through the shares of positive labels say."""
        return rising_shares(self._negatives, self._positives)

    def comes_first(self, other: Summaries) -> bool:
        """Return the same for two orientations, whichever of them is asked."""
        mine, theirs = self._positives.tolist(), other._positives.tolist()
        return (self.prevalence, mine) <= (other.prevalence, theirs)

    def _levels(self) -> list[float]:
        low, high = self._means
        ordered = float(self._positives @ (self._below[0, :-1] + self._negatives / 2))
        auc = ordered / (self._sizes[0] * self._sizes[1])
        odds = np.log((auc + 1e-3) / (1 - auc + 1e-3))
        prevalence = np.log(self.prevalence / self._sizes[0])
        return [prevalence, self.prevalence, low, high, high - low, auc, odds]

    def _ends(self) -> Reals:
        """Return the shares of the other label among the rows with the surest scores."""
        parts = []
        for label, size in ((0, self._sizes[1]), (1, self._sizes[0])):
            # Rows from the surest positive down, and from the surest negative up.
            order = slice(None, None, -1) if label == 0 else slice(None)
            rows = _from_zero(np.cumsum(self._all[order]))
            wrong = _from_zero(np.cumsum((self._negatives, self._positives)[label][order]))
            scores = _from_zero(np.cumsum((self._all * self._scores)[order]))
            tops = np.minimum(_TOPS * size, 1.0)
            shares = np.interp(tops, rows, wrong) / tops
            tops = np.minimum(_CALIBRATED * size, 1.0)
            expected = np.interp(tops, rows, scores) / tops
            seen = np.interp(tops, rows, wrong) / tops
            off = expected - (seen if label else 1 - seen)
            running = wrong[1:] / rows[1:]
            least = np.minimum.accumulate(running[::-1])[::-1]
            starts = [np.searchsorted(rows[1:], share * size) for share in _SUPPORTS]
            bounds = least[np.minimum(starts, len(least) - 1)]
            parts += [np.sqrt(np.maximum(shares, 0.0)), off, np.sqrt(bounds)]
        return np.concatenate(parts)

    def _label_quantiles(self) -> Reals:
        last = len(self._logits) - 1
        parts = []
        for below, size in zip(self._below[:, 1:], self._sizes, strict=True):
            rows = np.minimum(np.searchsorted(below, _QUANTILES * size), last)
            parts.append(np.clip(self._logits[rows], -_WIDE, _WIDE))
        return np.concatenate(parts)

    def _zones(self) -> Reals:
        low, high = self._means
        ends = np.searchsorted(self._scores, low + (high - low) * _ZONES)
        inside = np.diff(self._below[:, ends], axis=1)
        parts = inside / np.array(self._sizes)[:, None]
        found = np.append(parts.ravel(), inside[:, 3:5].sum())
        return np.asarray(np.sqrt(np.maximum(found, 0.0)))

    def _calibration(self) -> list[float]:
        """Return the best slope and intercept for the logits, and how well both kinds fit."""
        logits = np.clip(self._logits, -_WIDE, _WIDE)
        intercept, slope = 0.0, 1.0
        for _ in range(_NEWTON_STEPS):
            shares = _expit(intercept + slope * logits)
            weight = self._all * shares * (1 - shares) + 1e-12
            rest = self._positives - self._all * shares
            first, second = float(weight.sum()), float(weight @ logits)
            third = float(weight @ (logits * logits))
            pull, turn = float(rest.sum()), float(rest @ logits)
            # A little is added, so that one score alone can be solved too.
            determinant = (first + 1e-6) * (third + 1e-6) - second * second
            intercept += ((third + 1e-6) * pull - second * turn) / determinant
            slope += ((first + 1e-6) * turn - second * pull) / determinant
            intercept, slope = min(max(intercept, -5.0), 5.0), min(max(slope, -5.0), 8.0)
        scores = np.clip(self._scores, 1e-3, 1 - 1e-3)
        fitted = np.clip(_expit(intercept + slope * logits), 1e-4, 1 - 1e-4)
        loss = -(self._positives @ np.log(scores) + self._negatives @ np.log1p(-scores))
        claimed = -(self._all @ (scores * np.log(scores) + (1 - scores) * np.log1p(-scores)))
        best = -(self._positives @ np.log(fitted) + self._negatives @ np.log1p(-fitted))
        prevalence, rest_share = self.prevalence, self._sizes[0]
        blind = -(prevalence * np.log(prevalence) + rest_share * np.log(rest_share))
        skill, best_skill = 1 - loss / blind, 1 - best / blind
        return [intercept, slope, loss, claimed, loss - claimed, max(skill, -3.0), best_skill]

    def _grain(self) -> list[float]:
        surely_positive = float(self._all[self._scores > _SURE].sum())
        surely_negative = float(self._all[self._scores < 1 - _SURE].sum())
        spread = -float(self._all @ np.log(self._all))
        return [
            float(np.log(len(self._all))),
            spread,
            float(self._all.max()),
            surely_positive,
            surely_negative,
        ]

    def _rules(self) -> Reals:
        """Return what simple rules say: the paper's with its thresholds moved, and others."""
        low, high = self._means
        top, bottom = float(self._scores[-1]), float(self._scores[0])
        parts = []
        for step in _TOGGLES:
            # Downwards by parts of the way between the thresholds, upwards to the last score.
            upper = high + step * ((top - high) if step > 0 else (high - low) / 2)
            lower = low - step * ((low - bottom) if step > 0 else (high - low) / 2)
            parts.append(np.array(self._beyond(upper, lower)))
        paper = _all_rates(parts[2], self.prevalence)
        wrong = self.predicted_label_error_rates()
        total = wrong[0] * self.prevalence + wrong[1] * self._sizes[0]
        predicted = np.array([*wrong, total])
        both = np.concatenate([paper, predicted])
        toggled = np.concatenate([part for n, part in enumerate(parts) if n != 2])
        return np.concatenate([both, np.sqrt(both), np.sqrt(toggled)])

    def _beyond(self, upper: float, lower: float) -> tuple[float, float]:
        """Return the paper's noise rates with these thresholds."""
        first = int(np.searchsorted(self._bins, bin_of(upper)))
        last = int(np.searchsorted(self._bins, bin_of(lower), side="right"))
        negatives, positives = self._below
        above = negatives[-1] - negatives[first], positives[-1] - positives[first]
        under = negatives[last], positives[last]
        return (
            float(above[0] / max(above[0] + above[1], _TINY)),
            float(under[1] / max(under[0] + under[1], _TINY)),
        )

    def paper_label_error_rates(self) -> tuple[float, float]:
        """Return pi1 and pi0 by the paper's confident counts, with the bins of both means."""
        low, high = self._means
        rates = _all_rates(np.array(self._beyond(high, low)), self.prevalence)
        return float(rates[2]), float(rates[3])

    def predicted_label_error_rates(self) -> tuple[float, float]:
        """Return pi1 and pi0 with predictions as the truth, cut midway between the mean scores."""
        at = int(np.searchsorted(self._scores, sum(self._means) / 2))
        negatives, positives = self._below
        positive = float(positives[at]) / self.prevalence
        return positive, float(negatives[-1] - negatives[at]) / self._sizes[0]

    def _clumps(self) -> list[float]:
        """Return how far the scores fall into two clumps, and whether labels depend on more."""
        found = []
        rows = self._below.sum(axis=0)[1:-1]
        if not len(rows):
            return [0.0] * _N_CLUMPS
        # The split of the scores whose two sides vary least, whatever the labels.
        sums = np.cumsum(self._all * self._scores)
        apart = (sums[-1] * rows - sums[:-1]) ** 2 / np.maximum(rows * (1 - rows), _TINY)
        at = int(apart.argmax()) + 1
        split = self._step_gains()
        found += [float(split.max()), float(split.max() - split[at - 1])]
        sides = slice(at, None), slice(0, at)
        masses = [float(self._all[side].sum()) for side in sides]
        for values in (self._scores, self._logits):
            centers, variance = [], 0.0
            for side, mass in zip(sides, masses, strict=True):
                center = float(self._all[side] @ values[side]) / mass
                centers.append(center)
                variance += float(self._all[side] @ (values[side] - center) ** 2)
            found.append(float(np.log1p((centers[0] - centers[1]) / np.sqrt(variance + 1e-6))))
        high, low = (self._middle_of(side, mass) for side, mass in zip(sides, masses, strict=True))
        for part in _VALLEYS:
            inner = part * (high - low)
            ends = np.searchsorted(self._scores, [low + inner, high - inner])
            between = self._below[:, ends[1]] - self._below[:, ends[0]]
            found.append(float(np.sqrt(max(between.sum(), 0.0) / min(masses))))
        gaps = np.diff(self._scores[(self._scores >= low) & (self._scores <= high)])
        found += [float(gaps.max()), min(masses), self._scores[at] - self._scores[at - 1]]
        for side, mass in zip(sides, masses, strict=True):
            negatives, positives = self._negatives[side], self._positives[side]
            share = float(positives.sum()) / mass
            pairs = float(negatives.sum() * positives.sum())
            ordered = float(positives @ (np.cumsum(negatives) - negatives / 2))
            mean = float(self._all[side] @ self._scores[side]) / mass
            found += [ordered / pairs if pairs > 0 else 0.5, share, mean - share]
        return found

    def _step_gains(self) -> Reals:
        """Return, for each split of the scores, how well two shares of labels fit, per row."""
        below = self._below[:, 1:-1]
        above = self._below[:, -1:] - below
        return _fit_of(below) + _fit_of(above) - _fit_of(self._below[:, -1:])

    def _middle_of(self, side: slice, mass: float) -> float:
        within = int(np.searchsorted(np.cumsum(self._all[side]), mass / 2))
        return float(self._scores[side][min(within, len(self._scores[side]) - 1)])


def _fit_of(masses: Reals) -> Reals:
    """Return the log-likelihood of labels of these masses, given their share."""
    share = masses / np.maximum(masses.sum(axis=0), _TINY)
    return np.asarray((masses * np.log(np.maximum(share, _TINY))).sum(axis=0))


def _from_zero(sums: Reals) -> Reals:
    return np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)


def _expit(logits: Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-logits)))


def _all_rates(noise_rates: Reals, prevalence: float) -> Reals:
    """Return both noise rates as far as they are possible, pi1, pi0 and the total."""
    positive = min(float(noise_rates[0]), 1 - prevalence)
    negative = min(float(noise_rates[1]), prevalence)
    rest = max(1 - positive - negative, 1e-6)
    wrong_positive = negative * (1 - prevalence - positive) / rest
    wrong_negative = positive * (prevalence - negative) / rest
    first = min(max(wrong_positive / prevalence, 0.0), _MOST)
    second = min(max(wrong_negative / (1 - prevalence), 0.0), _MOST)
    return np.array(
        [positive, negative, first, second, prevalence * first + (1 - prevalence) * second]
    )


# All rates and the total, and some of them on other scales.
_N_CURVE_RATES = 10


def _logits_of_bins() -> Reals:
    return np.asarray(np.clip(np.log(MIDDLES) - np.log1p(-MIDDLES), -_WIDEST, _WIDEST))


LOGITS = _logits_of_bins()


def summaries(sketch: ScoreSketch) -> Reals:
    """Return the summaries of both orientations: as it is, and with the classes swapped."""
    as_given, swapped = Summaries(sketch), Summaries(sketch.swap())
    return both_summaries(as_given, swapped)


def both_summaries(as_given: Summaries, swapped: Summaries) -> Reals:
    """Return the summaries of both orientations, with curves fitted once for both."""
    # Rounding may differ between the orientations, so the fit is always made in the same one.
    if as_given.comes_first(swapped):
        here = as_given.rising_shares()
        there = with_classes_swapped(here)
        if swapped.comes_first(as_given):
            # Rows that are their own mirror image: of curves that fit alike, one may lean.
            here = there = (here + there) / 2
    else:
        there = swapped.rising_shares()
        here = with_classes_swapped(there)
    sides = ((as_given, here), (swapped, there))
    return np.stack(
        [
            np.concatenate([side.values(), curve, rates_of_curve(curve, side.prevalence)])
            for side, curve in sides
        ]
    )


def curve_rates(summaries: Reals) -> Reals:
    """Return what the ends of the curve say about all rates and the total, among summaries."""
    return summaries[..., -_N_CURVE_RATES : -_N_CURVE_RATES + 5]


def rates_of_curve(curve: Reals, prevalence: float) -> Reals:
    """Return all rates that follow from the ends of a curve, on several scales."""
    rates = _all_rates(curve[1::-1], prevalence)
    inside = np.clip(rates[2:4], _LEAST, 1 - _LEAST)
    return np.concatenate([rates, np.sqrt(rates[2:]), np.log(inside) - np.log1p(-inside)])
