"""Before the data line: true labels flipped at known rates, and the paper's synthetic rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from rankprune.core._inputs import (
    as_array,
    count_true,
    validate_features,
    validate_labels,
)
from rankprune.core._parameters import (
    as_number,
    validate_count,
    validate_finite,
    validate_rate,
    validate_share,
)
from rankprune.core._random import RandomState, as_generator
from rankprune.core.classes._class_weights import flip_by_transition

# Variance of the paper's positive class; its negative class has unit variance.
_POSITIVE_VARIANCE = 0.8
# Added rows come from a cube of this half-width.
_ADDED_HALF_WIDTH = 10.0


def flip_labels(
    true_labels: ArrayLike,
    *,
    positive_noise_rate: float | None = None,
    negative_noise_rate: float | None = None,
    positive_label_error_rate: float | None = None,
    transition: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    exact: bool = True,
    random_state: RandomState = None,
    pos_label: Any = None,
) -> NDArray[Any]:
    """Return labels with class-conditional noise: some rows of each class get another label.

    Parameters
    ----------
    true_labels : array-like of shape (n_rows,)
        True labels, of any two values; with a transition, of any number.
    positive_noise_rate : float
        Share of positives to label negative (rho_1).
    negative_noise_rate : float, default=None
        Share of negatives to label positive (rho_0).
    positive_label_error_rate : float, default=None
        Alternative to ``negative_noise_rate``: the share of positive labels that will be wrong
        (pi_1), as in the paper's tables.
    transition : array-like of shape (n_classes, n_classes), default=None
        Alternative to all rates, for any number of classes: P(given label | true class). Rows are
        given labels, columns true classes, and each column sums to 1.
    classes : array-like of shape (n_classes,), default=None
        The label values, in the order of the transition; by default the sorted values of
        ``true_labels``.
    exact : bool, default=True
        True flips the rounded number of rows of each class, False each row independently.
    random_state : int, Generator, RandomState or None, default=None
        Controls which rows are flipped.
    pos_label : default=None
        The positive label; the larger of the two values by default.

    Returns
    -------
    ndarray
        A new array; ``true_labels`` is not changed.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> truth = np.repeat([1, 0], [100, 300])
    >>> labels = flip_labels(
    ...     truth, positive_noise_rate=0.5, positive_label_error_rate=0.5, random_state=0
    ... )
    >>> int(((truth == 1) & (labels == 0)).sum()), int(((truth == 0) & (labels == 1)).sum())
    (50, 50)

    A fifth of the cats become dogs:

    >>> animals = np.repeat(["cat", "dog", "owl"], 10)
    >>> transition = [[0.8, 0, 0], [0.2, 1, 0], [0, 0, 1]]
    >>> labels = flip_labels(animals, transition=transition, random_state=0)
    >>> [int((labels == name).sum()) for name in ("cat", "dog", "owl")]
    [8, 12, 10]
    """
    exact = _validate_exact(exact)
    if transition is not None or classes is not None:
        if transition is None:
            raise ValueError(
                f"classes must be None without a transition, got {classes!r}. Pass transition, or "
                "name the positive label with pos_label."
            )
        for name, value in (
            ("positive_noise_rate", positive_noise_rate),
            ("negative_noise_rate", negative_noise_rate),
            ("positive_label_error_rate", positive_label_error_rate),
            ("pos_label", pos_label),
        ):
            if value is not None:
                raise ValueError(
                    f"{name} must be None with a transition, got {value!r}. Pass one or the other."
                )
        return flip_by_transition(
            true_labels, transition, classes, exact=exact, random_state=random_state
        )
    if positive_noise_rate is None:
        raise TypeError(
            "flip_labels() needs positive_noise_rate for two labels, or transition for any number "
            "of classes. Pass one of them."
        )
    checked = validate_labels(true_labels, pos_label=pos_label, name="true_labels")
    is_positive = checked.is_positive
    n_positive = count_true(is_positive)
    n_negative = len(is_positive) - n_positive
    positive_rate = validate_rate(positive_noise_rate, "positive_noise_rate")
    negative_rate = _negative_rate(
        positive_rate, negative_noise_rate, positive_label_error_rate, n_positive / n_negative
    )
    generator = as_generator(random_state)
    if exact:
        is_flipped = np.zeros(len(is_positive), dtype=bool)
        for label, rate in ((True, positive_rate), (False, negative_rate)):
            members = np.flatnonzero(is_positive == label)
            n_flipped = round(rate * len(members))
            is_flipped[generator.choice(members, n_flipped, replace=False)] = True
    else:
        rates = np.where(is_positive, positive_rate, negative_rate)
        is_flipped = generator.random(len(is_positive)) < rates
    column = checked.positive_column
    flipped: NDArray[Any] = checked.classes[np.where(is_positive != is_flipped, column, 1 - column)]
    return flipped


def _validate_exact(exact: Any) -> bool:
    if not isinstance(exact, bool | np.bool_):
        raise ValueError(
            f"exact must be True or False, got {exact!r}. Pass True to flip the rounded number of "
            "rows of each class."
        )
    return bool(exact)


def make_gaussians(
    n_rows: int = 5000,
    *,
    separability: float = 4.0,
    n_features: int = 2,
    prevalence: float = 0.2,
    random_state: RandomState = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the rows and true labels of the paper's synthetic data (Section 4.1).

    Negatives come from N(0, I), positives from N(d 1, 0.8 I) with d the separability; the number
    of positives is exact.

    Parameters
    ----------
    n_rows, n_features : int
        Number of rows and of features.
    separability : float, default=4.0
        Distance d between the class means in every feature.
    prevalence : float, default=0.2
        Share of positives.
    random_state : int, Generator, RandomState or None, default=None

    Examples
    --------
    >>> from rankprune.core import make_gaussians
    >>> X, true_labels = make_gaussians(100, random_state=0)
    >>> X.shape, int(true_labels.sum())
    ((100, 2), 20)
    """
    generator = as_generator(random_state)
    n_rows = validate_count(n_rows, "n_rows", 5000)
    n_features = validate_count(n_features, "n_features", 2)
    distance = validate_finite(separability, "separability", 4)
    true_labels = np.zeros(n_rows, dtype=np.int64)
    true_labels[: round(validate_share(prevalence, "prevalence") * n_rows)] = 1
    generator.shuffle(true_labels)
    scale = np.where(true_labels == 1, np.sqrt(_POSITIVE_VARIANCE), 1.0)[:, None]
    X = generator.standard_normal((n_rows, n_features)) * scale
    return X + distance * true_labels[:, None], true_labels


def gaussian_posterior(
    X: ArrayLike, *, separability: float = 4.0, prevalence: float = 0.2
) -> NDArray[np.float64]:
    """Return P(y=1 | x) for rows of `make_gaussians`, which no classifier can beat.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    separability, prevalence : float
        As in `make_gaussians`.

    Examples
    --------
    >>> from rankprune.core import gaussian_posterior
    >>> gaussian_posterior([[0.0, 0.0], [4.0, 4.0]]).round(6).tolist()
    [0.0, 1.0]
    """
    rows = validate_features(X)
    separability = validate_finite(separability, "separability", 4)
    prevalence = validate_share(prevalence, "prevalence")
    log_odds = np.log(prevalence / (1 - prevalence))
    log_odds = log_odds - 0.5 * rows.shape[1] * np.log(_POSITIVE_VARIANCE)
    distance = ((rows - separability) ** 2).sum(axis=1) / _POSITIVE_VARIANCE
    return np.asarray(expit(log_odds - 0.5 * distance + 0.5 * (rows**2).sum(axis=1)))


def add_uniform_rows(
    X: ArrayLike, labels: ArrayLike, *, share: float, random_state: RandomState = None
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.bool_]]:
    """Return rows and labels with noise rows from a third distribution added, and a mask of these.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    labels : array-like of shape (n_rows,)
    share : float
        Number of rows to add, as a share of ``n_rows``. Their features are uniform in [-10, 10],
        their labels random with equal probability.
    random_state : int, Generator, RandomState or None, default=None

    Examples
    --------
    >>> from rankprune.core import add_uniform_rows, make_gaussians
    >>> X, true_labels = make_gaussians(100, random_state=0)
    >>> X, labels, is_added = add_uniform_rows(X, true_labels, share=0.5, random_state=0)
    >>> X.shape, int(is_added.sum())
    ((150, 2), 50)
    """
    rows, checked = validate_features(X), validate_labels(labels)
    n_labels = len(checked.is_positive)
    if len(rows) != n_labels:
        raise ValueError(
            f"X must have one row per label, got {len(rows)} rows for {n_labels} labels. Check that"
            " both come from the same rows."
        )
    generator = as_generator(random_state)
    times = as_number(share)
    if times is None or not 0 <= times < np.inf:
        raise ValueError(
            f"share must be a finite number of at least 0, got {share!r}. Pass 0.5 to add half as "
            "many rows as there are."
        )
    n_added = round(times * len(rows))
    added = generator.uniform(-_ADDED_HALF_WIDTH, _ADDED_HALF_WIDTH, (n_added, rows.shape[1]))
    return (
        np.concatenate([rows, added]),
        np.concatenate([as_array(labels, "labels"), generator.choice(checked.classes, n_added)]),
        np.repeat([False, True], [len(rows), n_added]),
    )


def _negative_rate(
    positive_rate: float,
    negative_noise_rate: float | None,
    positive_label_error_rate: float | None,
    odds: float,
) -> float:
    if (negative_noise_rate is None) == (positive_label_error_rate is None):
        raise ValueError(
            "flip_labels takes one of negative_noise_rate and positive_label_error_rate, got "
            f"{negative_noise_rate!r} and {positive_label_error_rate!r}. Pass 0.0 for no noise."
        )
    if positive_label_error_rate is not None:
        # Wrong positive labels: pi_1 / (1 - pi_1) of the right ones, taken from the negatives.
        error_rate = validate_rate(positive_label_error_rate, "positive_label_error_rate")
        rate = error_rate / (1 - error_rate) * (1 - positive_rate) * odds
        given = f"a positive_label_error_rate of {error_rate:g}"
    else:
        rate = validate_rate(negative_noise_rate, "negative_noise_rate")
        given = f"a negative_noise_rate of {rate:g}"
    if positive_rate + rate >= 1:
        raise ValueError(
            "positive_noise_rate + negative_noise_rate must be below 1, got "
            f"{positive_rate:g} + {rate:g} from {given}. Lower one of them."
        )
    return rate
