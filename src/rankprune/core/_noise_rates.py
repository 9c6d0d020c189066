"""The noise rates and the algebra between them: from counts and estimates to what drives pruning.

A *noise rate* is a share of a true class, a *label error rate* is a share of a given label.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import BoolArray, validate_labels
from rankprune.core._interval_records import (
    LEVEL,
    TRUTH,
    WITH_INTERVALS,
    Interval,
    NoiseRateIntervals,
)
from rankprune.core._parameters import (
    validate_fraction,
    validate_mass,
    validate_rate,
    validate_share,
)
from rankprune.core._rate_algebra import (
    EDGE,
    ROUNDING,
    drawn_in,
    part_of,
    possible_noise_rates,
    refuse_contradiction,
    refuse_impossible,
)
from rankprune.core._verdict_reasons import RATE_NAMES, rates_title

# Fields that the one-line representation omits, or shows only if they are not the default.
_NOT_SHOWN = ("counts", "reliable", "clipped", "intervals")
# Rates along the interval of one that is unknown, from which intervals of all others follow.
_N_STEPS = 9
# Numbers that may be None, and the check that applies otherwise.
_OPTIONAL = {
    "positive_threshold": validate_fraction,
    "negative_threshold": validate_fraction,
    "n_positive": validate_mass,
    "n_negative": validate_mass,
}


@dataclass(frozen=True)
class ConfidentCounts:
    """Number (or mass) of rows that confidently belong to a true class, by given label.

    Attributes
    ----------
    positives_labeled_positive, positives_labeled_negative : float
        Number of rows at or above the positive threshold.
    negatives_labeled_positive, negatives_labeled_negative : float
        Number of rows at or below the negative threshold.

    Notes
    -----
    In the paper's order: the sizes of P~_{y=1}, N~_{y=1}, P~_{y=0} and N~_{y=0} (Eq. 3).

    Examples
    --------
    >>> from rankprune import estimate_noise_rates
    >>> labels, scores = [1] * 9 + [0] * 11, [0.9] * 9 + [0.9] + [0.1] * 10
    >>> counts = estimate_noise_rates(labels, scores, method="confident-counts").counts
    >>> counts.positives_labeled_positive, counts.positives_labeled_negative
    (9.0, 1.0)
    """

    positives_labeled_positive: float
    positives_labeled_negative: float
    negatives_labeled_positive: float
    negatives_labeled_negative: float


@dataclass(frozen=True, repr=False)
class NoiseRates:
    """How many labels are wrong, as shares of the true classes and of the given labels.

    Returned by `estimate_noise_rates`, or built by one of the class methods.

    Attributes
    ----------
    positive_noise_rate : float
        Share of true positives that are labeled negative.
    negative_noise_rate : float
        Share of true negatives that are labeled positive.
    positive_label_error_rate : float
        Share of positive labels that are wrong.
    negative_label_error_rate : float
        Share of negative labels that are wrong.
    observed_prevalence : float
        Share of positive labels.
    estimated_prevalence : float
        Share of true positives that follows from the rates.
    positive_threshold, negative_threshold : float or None
        A row at or above the first is confidently positive, one at or below the second is
        confidently negative. None if the estimator has no thresholds.
    counts : ConfidentCounts or None
        The four confident counts, or None if the estimator has none.
    n_positive, n_negative : float or None
        Number of rows with each label, or their mass if rows are weighted. None if the rates were
        not computed from rows.
    reliable : bool
        False if the probabilities did not tell the labels apart. With such rates, nothing is
        pruned and no weight is corrected.
    clipped : bool
        True if an estimate contradicted the share of positive labels and was moved to the
        nearest possible rate.
    intervals : NoiseRateIntervals or None
        95 % intervals of the truth around the rates, also of ``wrong_share``; None if the rates
        were not estimated. A known rate has an interval without width.

    Notes
    -----
    In the paper's symbols: rho_1, rho_0, pi_1, pi_0, p_s1, p_y1, LB_{y=1}, UB_{y=0} (Section 2).

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> rates = NoiseRates.from_noise_rates(0.2, 0.1, observed_prevalence=0.38)
    >>> round(rates.estimated_prevalence, 3), round(rates.positive_label_error_rate, 3)
    (0.4, 0.158)
    """

    positive_noise_rate: float
    negative_noise_rate: float
    positive_label_error_rate: float
    negative_label_error_rate: float
    observed_prevalence: float
    estimated_prevalence: float
    positive_threshold: float | None = None
    negative_threshold: float | None = None
    counts: ConfidentCounts | None = None
    n_positive: float | None = None
    n_negative: float | None = None
    reliable: bool = True
    clipped: bool = False
    intervals: NoiseRateIntervals | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values, so that all other code can trust the rates."""
        validate_rate(self.positive_noise_rate, "positive_noise_rate")
        validate_rate(self.negative_noise_rate, "negative_noise_rate")
        validate_fraction(self.positive_label_error_rate, "positive_label_error_rate")
        validate_fraction(self.negative_label_error_rate, "negative_label_error_rate")
        validate_share(self.observed_prevalence, "observed_prevalence")
        validate_fraction(self.estimated_prevalence, "estimated_prevalence")
        for name, validate in _OPTIONAL.items():
            value = getattr(self, name)
            if value is not None:
                validate(value, name)
        if self.counts is not None and not isinstance(self.counts, ConfidentCounts):
            raise TypeError(
                f"counts must be ConfidentCounts or None, got {type(self.counts).__name__}. Leave "
                "it out if there are no counts."
            )

    @classmethod
    def from_noise_rates(
        cls, positive: float, negative: float, observed_prevalence: float
    ) -> NoiseRates:
        """Return all rates from the two noise rates and the share of positive labels.

        Parameters
        ----------
        positive : float
            Share of true positives that are labeled negative.
        negative : float
            Share of true negatives that are labeled positive.
        observed_prevalence : float
            Share of positive labels. It must lie between ``negative`` and ``1 - positive``.

        Notes
        -----
        From (rho_1, rho_0): p_y1 = (p_s1 - rho_0) / (1 - rho_1 - rho_0), and pi_1 and pi_0 by
        Section 3.3 of the paper.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> NoiseRates.from_noise_rates(0.5, 0.0, observed_prevalence=0.2).estimated_prevalence
        0.4
        """
        positive = validate_rate(positive, "positive_noise_rate")
        negative = validate_rate(negative, "negative_noise_rate")
        observed = validate_share(observed_prevalence, "observed_prevalence")
        refuse_impossible(positive, negative, observed)
        # A rate within rounding of its bound is set to it: the algebra divides by the difference.
        negative, positive = min(negative, observed), min(positive, 1 - observed)
        # Two differences of at least zero, both zero only if positive + negative = 1.
        true_positives, true_negatives = observed - negative, (1 - observed) - positive
        prevalence = true_positives / (true_positives + true_negatives)
        return cls(
            positive_noise_rate=positive,
            negative_noise_rate=negative,
            positive_label_error_rate=negative * (1 - prevalence) / observed,
            negative_label_error_rate=positive * prevalence / (1 - observed),
            observed_prevalence=observed,
            estimated_prevalence=prevalence,
        )

    @classmethod
    def from_true_labels(
        cls, true_labels: ArrayLike, labels: ArrayLike, *, pos_label: Any = None
    ) -> NoiseRates:
        """Return the rates counted from known true labels.

        Parameters
        ----------
        true_labels, labels : array-like of shape (n_rows,)
            True and given labels of the same rows, with the same two values.
        pos_label : default=None
            The positive label; the larger of the two values by default.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> rates = NoiseRates.from_true_labels([1, 1, 0, 0, 0], [1, 0, 0, 0, 0])
        >>> rates.positive_noise_rate, rates.negative_noise_rate
        (0.5, 0.0)
        """
        truth = validate_labels(true_labels, pos_label=pos_label, name="true_labels")
        given = validate_labels(labels, pos_label=pos_label)
        is_true, is_given = truth.is_positive, given.is_positive
        if truth.classes.tolist() != given.classes.tolist() or len(is_true) != len(is_given):
            raise ValueError(
                "true_labels must have the values and the length of labels, got "
                f"{len(is_true)} of {truth.classes.tolist()} for {len(is_given)} of "
                f"{given.classes.tolist()}. Pass both for the same rows, with the same values."
            )
        return rates_of_rows(
            float((~is_given[is_true]).mean()), float(is_given[~is_true].mean()), is_given, None
        )

    @classmethod
    def from_positive_rates(
        cls, noise_rate: float, label_error_rate: float, observed_prevalence: float
    ) -> NoiseRates:
        """Return all rates from the two rates of the positive class, as the paper's tables do.

        Parameters
        ----------
        noise_rate : float
            Share of true positives that are labeled negative (rho_1).
        label_error_rate : float
            Share of positive labels that are wrong (pi_1).
        observed_prevalence : float
            Share of positive labels.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> rates = NoiseRates.from_positive_rates(0.5, 0.5, observed_prevalence=0.2)
        >>> rates.estimated_prevalence, rates.negative_noise_rate
        (0.2, 0.125)
        """
        rho = validate_rate(noise_rate, "positive_noise_rate")
        pi = validate_rate(label_error_rate, "positive_label_error_rate")
        observed = validate_share(observed_prevalence, "observed_prevalence")
        negatives = 1 - (1 - pi) * observed / (1 - rho)
        refuse_contradiction(
            pi * observed > negatives + ROUNDING,
            "positive_noise_rate",
            "positive_label_error_rate",
        )
        return cls.from_noise_rates(rho, part_of(pi * observed, negatives), observed)

    @classmethod
    def from_negative_rates(
        cls, noise_rate: float, label_error_rate: float, observed_prevalence: float
    ) -> NoiseRates:
        """Return all rates from the two rates of the negative class.

        Parameters
        ----------
        noise_rate : float
            Share of true negatives that are labeled positive (rho_0).
        label_error_rate : float
            Share of negative labels that are wrong (pi_0).
        observed_prevalence : float
            Share of positive labels.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> rates = NoiseRates.from_negative_rates(0.125, 0.125, observed_prevalence=0.2)
        >>> round(rates.estimated_prevalence, 12), round(rates.positive_noise_rate, 12)
        (0.2, 0.5)
        """
        rho = validate_rate(noise_rate, "negative_noise_rate")
        pi = validate_rate(label_error_rate, "negative_label_error_rate")
        observed = validate_share(observed_prevalence, "observed_prevalence")
        positives = 1 - (1 - pi) * (1 - observed) / (1 - rho)
        refuse_contradiction(
            pi * (1 - observed) > positives + ROUNDING,
            "negative_noise_rate",
            "negative_label_error_rate",
        )
        return cls.from_noise_rates(part_of(pi * (1 - observed), positives), rho, observed)

    @classmethod
    def from_label_error_rates(
        cls, positive: float, negative: float, observed_prevalence: float
    ) -> NoiseRates:
        """Return all rates from the two label error rates, such as those found by an audit.

        Parameters
        ----------
        positive : float
            Share of positive labels that are wrong (pi_1).
        negative : float
            Share of negative labels that are wrong (pi_0).
        observed_prevalence : float
            Share of positive labels.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> rates = NoiseRates.from_label_error_rates(0.5, 0.125, observed_prevalence=0.2)
        >>> rates.positive_noise_rate, rates.negative_noise_rate
        (0.5, 0.125)
        """
        pi1 = validate_rate(positive, "positive_label_error_rate")
        pi0 = validate_rate(negative, "negative_label_error_rate")
        observed = validate_share(observed_prevalence, "observed_prevalence")
        if pi1 + pi0 >= 1 - ROUNDING:
            raise ValueError(
                "positive_label_error_rate + negative_label_error_rate must be below 1, got "
                f"{pi1:g} + {pi0:g} = {pi1 + pi0:g}. Check which class is positive."
            )
        wrong_positive, wrong_negative = pi1 * observed, pi0 * (1 - observed)
        prevalence = observed - wrong_positive + wrong_negative
        return cls.from_noise_rates(
            part_of(wrong_negative, prevalence), part_of(wrong_positive, 1 - prevalence), observed
        )

    def with_known(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> NoiseRates:
        """Return the rates with one or both noise rates replaced by known ones.

        Known rates take precedence: an estimate that contradicts them is adjusted.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> estimated = NoiseRates.from_noise_rates(0.3, 0.1, observed_prevalence=0.25)
        >>> estimated.with_known(negative=0.0).positive_label_error_rate
        0.0
        """
        observed = self.observed_prevalence
        if positive is not None:
            positive = validate_rate(positive, "positive_noise_rate")
        if negative is not None:
            negative = validate_rate(negative, "negative_noise_rate")
        fixed = positive, negative
        if fixed == (None, None):
            return self
        # Known rates must be possible by themselves before an estimate is adjusted to them.
        refuse_impossible(positive or 0.0, negative or 0.0, observed)
        clipped = False
        if positive is None:
            limit = min(1 - observed, (1 - (negative or 0.0)) * (1 - EDGE))
            positive, clipped = drawn_in(self.positive_noise_rate, limit)
            clipped |= self.clipped and positive >= (1 - observed) * (1 - EDGE)
        elif negative is None:
            limit = min(observed, (1 - positive) * (1 - EDGE))
            negative, clipped = drawn_in(self.negative_noise_rate, limit)
            clipped |= self.clipped and negative >= observed * (1 - EDGE)
        rates = NoiseRates.from_noise_rates(positive, negative or 0.0, observed)
        return replace(
            rates,
            positive_threshold=self.positive_threshold,
            negative_threshold=self.negative_threshold,
            counts=self.counts,
            n_positive=self.n_positive,
            n_negative=self.n_negative,
            reliable=self.reliable,
            clipped=clipped,
            intervals=self.intervals and intervals_with_known(rates, self.intervals, *fixed),
        )

    @property
    def wrong_share(self) -> float:
        """Return the share of all labels that are wrong, of either class.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> rates = NoiseRates.from_label_error_rates(0.25, 0.1, observed_prevalence=0.2)
        >>> round(rates.wrong_share, 2)
        0.13
        """
        observed = self.observed_prevalence
        return (
            observed * self.positive_label_error_rate
            + (1 - observed) * self.negative_label_error_rate
        )

    @property
    def joint(self) -> NDArray[np.float64]:
        """Return the share of all rows by given label (rows) and true class (columns).

        The negative label comes first; the table sums to 1.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> rates = NoiseRates.from_label_error_rates(0.25, 0.0, observed_prevalence=0.5)
        >>> rates.joint.tolist()
        [[0.5, 0.0], [0.125, 0.375]]
        """
        observed = self.observed_prevalence
        wrong_positive = observed * self.positive_label_error_rate
        wrong_negative = (1 - observed) * self.negative_label_error_rate
        return np.array(
            [
                [1 - observed - wrong_negative, wrong_negative],
                [wrong_positive, observed - wrong_positive],
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dictionary that can be stored as JSON.

        Examples
        --------
        >>> from rankprune import NoiseRates
        >>> NoiseRates.from_noise_rates(0.2, 0.1, 0.38).to_dict()["negative_noise_rate"]
        0.1
        """
        return asdict(self)

    def __repr__(self) -> str:
        parts = [
            f"{field.name}={_shown(getattr(self, field.name))}"
            for field in fields(self)
            if getattr(self, field.name) is not None and field.name not in _NOT_SHOWN
        ]
        parts += ["reliable=False"] * (not self.reliable) + ["clipped=True"] * self.clipped
        return f"NoiseRates({', '.join(parts)})"

    def _shown_rate(self, field: str) -> str:
        """Return a rate in percent, with its interval if it has one."""
        found = getattr(self.intervals, field, None)
        return f"{getattr(self, field):.1%}" if found is None else str(found)

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><td>{name}</td><td style='text-align:right'>{self._shown_rate(field)}</td></tr>"
            for field, name in RATE_NAMES.items()
        )
        return (
            f"<table><caption>{rates_title(self.reliable)}</caption><tbody>{body}</tbody></table>"
        )


def intervals_with_known(
    rates: NoiseRates,
    intervals: NoiseRateIntervals,
    positive: float | None,
    negative: float | None,
) -> NoiseRateIntervals:
    """Return intervals that follow from known noise rates, which get no width.

    Parameters
    ----------
    rates : NoiseRates
        With the known rates inserted.
    intervals : NoiseRateIntervals
        Of the estimate; if one rate is known, the interval of the other is kept.
    positive, negative : float or None
        The known rates.
    """
    observed = rates.observed_prevalence
    if positive is not None and negative is not None:
        possible = [rates]
    elif positive is not None:
        limit = min(observed, (1 - positive) * (1 - EDGE))
        others = _along(intervals.negative_noise_rate, limit)
        possible = [NoiseRates.from_noise_rates(positive, rate, observed) for rate in others]
    else:
        limit = min(1 - observed, (1 - (negative or 0.0)) * (1 - EDGE))
        others = _along(intervals.positive_noise_rate, limit)
        possible = [NoiseRates.from_noise_rates(rate, negative or 0.0, observed) for rate in others]
    found: dict[str, Any] = {}
    for name, interval in intervals.items():
        values = [float(getattr(one, name)) for one in (rates, *possible)]
        estimate, low, high = values[0], min(values), max(values)
        found[name] = Interval(estimate, low, high, interval.covers)
    return replace(intervals, **found)


def without_width(rates: NoiseRates) -> NoiseRateIntervals:
    """Return the intervals of rates that are known."""
    found: dict[str, Any] = {}
    for name in WITH_INTERVALS:
        value = float(getattr(rates, name))
        found[name] = Interval(value, value, value, TRUTH)
    return NoiseRateIntervals(**found, level=LEVEL)


def _along(interval: Interval, limit: float) -> list[float]:
    """Return rates along an interval, as far as they are possible."""
    low, high = min(interval.low, limit), min(interval.high, limit)
    return [float(rate) for rate in np.linspace(low, high, _N_STEPS)]


def validate_noise_rates(noise_rates: Any, name: str = "noise_rates") -> None:
    """Raise a TypeError unless the argument is an instance of NoiseRates."""
    if not isinstance(noise_rates, NoiseRates):
        raise TypeError(
            f"{name} must be NoiseRates, got {type(noise_rates).__name__}. Pass what "
            "estimate_noise_rates returns, or NoiseRates.from_noise_rates(...)."
        )


def rates_of_rows(
    positive: float,
    negative: float,
    labels: BoolArray,
    sample_weight: NDArray[np.float64] | None,
) -> NoiseRates:
    """Return the possible rates nearest to the two given ones, with the mass of each label."""
    is_positive = labels.view(bool)
    weight = np.ones(len(is_positive)) if sample_weight is None else sample_weight
    masses = float(weight[~is_positive].sum()), float(weight[is_positive].sum())
    return rates_of_masses(positive, negative, masses)


def rates_of_masses(positive: float, negative: float, masses: tuple[float, float]) -> NoiseRates:
    """Return the possible rates nearest to the two given ones.

    ``masses`` are those of the negative and of the positive labels.
    """
    n_negative, n_positive = masses
    observed = n_positive / (n_positive + n_negative)
    positive, negative, clipped = possible_noise_rates(positive, negative, observed)
    return replace(
        NoiseRates.from_noise_rates(positive, negative, observed),
        n_positive=n_positive,
        n_negative=n_negative,
        clipped=clipped,
    )


def _shown(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"
