"""The noise of any number of classes: one table of given and true labels, and its algebra."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import NEAR_ONE, as_array, real_numbers, values_of_labels
from rankprune.core._interval_records import LEVEL, TRUTH, Interval
from rankprune.core._label_values import are_equal
from rankprune.core._noise_rates import NoiseRates
from rankprune.core._verdict_reasons import rates_title
from rankprune.core.classes._class_inputs import codes_of_labels, validate_classes

Reals = NDArray[np.float64]

# The tables in representations show no more classes than this.
_MOST_SHOWN = 12
# Sums this close to 1 are left as they are, so that the order of the classes changes nothing.
_ROUNDING = 1e-9
_EM_STEPS = 300


@dataclass(frozen=True)
class MatrixIntervals:
    """Ranges of the share of wrong labels, of all labels and by given label.

    Attributes
    ----------
    wrong_share : Interval
        Share of all labels that are wrong.
    error_rates : tuple of Interval
        Share of each label's rows that are wrong, in the order of the classes.
    level : float
        Confidence level, meant for each range separately.

    Examples
    --------
    >>> from rankprune.core import Interval, MatrixIntervals
    >>> total = Interval(0.1, 0.05, 0.2, covers="truth")
    >>> MatrixIntervals(total, error_rates=(total, total, total)).covers
    'truth'
    """

    wrong_share: Interval
    error_rates: tuple[Interval, ...]
    level: float = LEVEL

    @property
    def covers(self) -> str:
        """Return what the ranges cover."""
        return self.wrong_share.covers


@dataclass(frozen=True, repr=False, eq=False)
class NoiseMatrix:
    """How many labels of each class are wrong, and which class they should name.

    Returned by `estimate_noise_rates` for more than two classes, or built from a known table.

    Attributes
    ----------
    joint : ndarray of shape (n_classes, n_classes)
        Share of all rows by given label (rows) and true class (columns). It sums to 1.
    classes : ndarray of shape (n_classes,)
        The label values, in the order of rows and columns.
    thresholds : ndarray of shape (n_classes,) or None
        A row whose score of a class reaches this may belong to it confidently; infinite for a
        class without labels. None if the matrix was not estimated.
    n_labels : ndarray of shape (n_classes,) or None
        Number of rows with each label. None if the matrix was not computed from rows.
    uncounted : tuple
        Classes without any confident row: nothing is known of their noise, and none of their
        true rows are assumed to have another label.
    reliable : bool
        False if the probabilities did not tell the labels apart. With such a matrix, nothing is
        pruned and no weight is corrected.
    intervals : MatrixIntervals or None
        95 % ranges of the truth; None if the matrix was not estimated.

    Notes
    -----
    ``joint[i, j]`` is the share of rows with given label i and true class j: P(s=i, y=j).

    Examples
    --------
    >>> from rankprune import NoiseMatrix
    >>> matrix = NoiseMatrix(
    ...     [[0.3, 0.0, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.3]], classes=["cat", "dog", "owl"]
    ... )
    >>> matrix
    NoiseMatrix(3 classes, wrong_share=0.1)
    >>> matrix.noise_rates.round(2).tolist(), matrix.error_rates.round(2).tolist()
    ([0.25, 0.0, 0.0], [0.0, 0.25, 0.0])
    >>> round(matrix.one_vs_rest("cat").positive_noise_rate, 3)
    0.25
    """

    joint: Reals
    classes: NDArray[Any]
    thresholds: Reals | None = None
    n_labels: NDArray[np.int64] | None = None
    uncounted: tuple[Any, ...] = ()
    reliable: bool = True
    intervals: MatrixIntervals | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values, so that all other code can trust the matrix."""
        classes = validate_classes(self.classes)
        joint = _table(self.joint, "joint", len(classes))
        total = float(joint.sum())
        if not abs(total - 1) <= NEAR_ONE:
            raise ValueError(
                f"joint must sum to 1, got {total:.6g}. Divide a table of counts by its total."
            )
        self._keep("joint", joint if abs(total - 1) < _ROUNDING else joint / total)
        self._keep("classes", classes)
        for name in ("thresholds", "n_labels"):
            if getattr(self, name) is not None:
                self._keep(name, np.asarray(getattr(self, name)))

    def _keep(self, name: str, values: NDArray[Any]) -> None:
        kept = values.copy()
        kept.flags.writeable = False
        object.__setattr__(self, name, kept)

    @classmethod
    def from_true_labels(
        cls, true_labels: ArrayLike, labels: ArrayLike, *, classes: ArrayLike | None = None
    ) -> NoiseMatrix:
        """Return the matrix counted from known true labels.

        Parameters
        ----------
        true_labels, labels : array-like of shape (n_rows,)
            True and given labels of the same rows.
        classes : array-like of shape (n_classes,), default=None
            The label values in the order wanted; by default all that occur, sorted.

        Examples
        --------
        >>> from rankprune import NoiseMatrix
        >>> NoiseMatrix.from_true_labels([0, 0, 1, 2], [0, 1, 1, 2]).joint.tolist()
        [[0.25, 0.0, 0.0], [0.25, 0.25, 0.0], [0.0, 0.0, 0.25]]
        """
        truth = values_of_labels(true_labels, "true_labels")
        given = values_of_labels(labels, "labels")
        if len(truth) != len(given):
            raise ValueError(
                f"true_labels must have one value per label, got {len(truth)} for {len(given)} "
                "labels. Pass both for the same rows."
            )
        both = np.concatenate([given, truth])
        if classes is None:
            classes = codes_of_labels(both, None, "labels and true_labels")[1]
        codes, known = codes_of_labels(given, classes)
        true_codes, _ = codes_of_labels(truth, classes, "true_labels")
        k = len(known)
        cells = np.bincount(codes.astype(np.intp) * k + true_codes, minlength=k * k)
        counts = cells.reshape(k, k)
        return cls(counts / len(codes), known, n_labels=counts.sum(axis=1))

    @classmethod
    def from_transition(
        cls, transition: ArrayLike, label_shares: ArrayLike, *, classes: ArrayLike
    ) -> NoiseMatrix:
        """Return the matrix from known noise and the share of rows with each label.

        Parameters
        ----------
        transition : array-like of shape (n_classes, n_classes)
            P(given label | true class): rows the given label, columns the true class. Each column
            sums to 1.
        label_shares : array-like of shape (n_classes,)
            Share of the rows with each label.
        classes : array-like of shape (n_classes,)
            The label values, in the order of rows and columns.

        Examples
        --------
        >>> from rankprune import NoiseMatrix
        >>> transition = [[0.5, 0, 0], [0.5, 1, 0], [0, 0, 1]]
        >>> matrix = NoiseMatrix.from_transition(transition, [0.2, 0.5, 0.3], classes=list("abc"))
        >>> matrix.class_shares.round(3).tolist()
        [0.4, 0.3, 0.3]
        """
        known = validate_classes(classes)
        table = validate_transition(transition, len(known))
        shares = real_numbers(
            as_array(label_shares, "label_shares"), "label_shares", "Pass one share per class."
        ).astype(np.float64)
        if shares.shape != (len(known),) or not (
            (shares >= 0).all() and abs(shares.sum() - 1) <= NEAR_ONE
        ):
            raise ValueError(
                "label_shares must hold one share per class, with a sum of 1, got "
                f"{shares.tolist()}. Divide the number of rows with each label by their total."
            )
        joint, possible = joint_of(table, shares)
        if not possible:
            raise ValueError(
                "transition must be possible with the share of each label, but no shares of true "
                f"classes make {shares.tolist()} of it. Check both for the same rows and order."
            )
        return cls(joint, known)

    @property
    def label_shares(self) -> Reals:
        """Return the share of rows with each given label."""
        return _row_sums(self.joint)

    @property
    def class_shares(self) -> Reals:
        """Return the estimated share of rows of each true class."""
        return _row_sums(self.joint.T)

    @property
    def transition(self) -> Reals:
        """Return P(given label | true class): rows the given label; each column sums to 1."""
        shares = self.class_shares
        # A class without any true row keeps its labels.
        return np.where(shares > 0, self.joint / np.where(shares > 0, shares, 1), np.eye(len(self)))

    @property
    def error_rates(self) -> Reals:
        """Return the share of each given label's rows that are wrong; 0 without such rows."""
        return _off_diagonal(self.joint, self.label_shares)

    @property
    def noise_rates(self) -> Reals:
        """Return the share of each true class's rows that have another label."""
        return _off_diagonal(self.joint.T, self.class_shares)

    @property
    def wrong_share(self) -> float:
        """Return the share of all labels that are wrong.

        Examples
        --------
        >>> from rankprune import NoiseMatrix
        >>> NoiseMatrix([[0.5, 0.0], [0.25, 0.25]], classes=[0, 1]).wrong_share
        0.25
        """
        return float(np.sort(_wrong(self.joint)).sum())

    def __len__(self) -> int:
        return len(self.classes)

    def column_of(self, label: Any) -> int:
        """Return the number of a class, given its label value."""
        for column, value in enumerate(self.classes.tolist()):
            if are_equal(label, value):
                return column
        raise ValueError(
            f"label must be one of {self.classes.tolist()[:_MOST_SHOWN]}, got {label!r}. Pass a "
            "label value, not the number of its column."
        )

    def one_vs_rest(self, label: Any) -> NoiseRates:
        """Return the paper's rates of one class against all others.

        Parameters
        ----------
        label : label value
            The class that is positive.

        Examples
        --------
        >>> from rankprune import NoiseMatrix
        >>> matrix = NoiseMatrix([[0.3, 0, 0], [0.1, 0.3, 0], [0, 0, 0.3]], classes=[1, 2, 3])
        >>> rates = matrix.one_vs_rest(2)
        >>> round(rates.positive_label_error_rate, 2), round(rates.negative_noise_rate, 3)
        (0.25, 0.143)
        """
        k = self.column_of(label)
        given, true = float(self.label_shares[k]), float(self.class_shares[k])
        right = float(self.joint[k, k])
        return NoiseRates(
            positive_noise_rate=max(1 - right / true, 0.0) if true else 0.0,
            negative_noise_rate=_part(given - right, 1 - true),
            positive_label_error_rate=_part(given - right, given),
            negative_label_error_rate=_part(true - right, 1 - given),
            observed_prevalence=given,
            estimated_prevalence=min(true, 1.0),
            positive_threshold=self._threshold(k),
            n_positive=None if self.n_labels is None else float(self.n_labels[k]),
            n_negative=(
                None if self.n_labels is None else float(self.n_labels.sum() - self.n_labels[k])
            ),
            reliable=self.reliable,
        )

    def _threshold(self, k: int) -> float | None:
        if self.thresholds is None or not self.thresholds[k] <= 1:
            return None
        return float(self.thresholds[k])

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as a dictionary that can be stored as JSON.

        Examples
        --------
        >>> from rankprune import NoiseMatrix
        >>> NoiseMatrix([[0.5, 0.0], [0.25, 0.25]], classes=["a", "b"]).to_dict()["error_rates"]
        [0.0, 0.5]
        """
        found: dict[str, Any] = {
            "classes": self.classes.tolist(),
            "joint": self.joint.tolist(),
            "transition": self.transition.tolist(),
            "error_rates": self.error_rates.tolist(),
            "noise_rates": self.noise_rates.tolist(),
            "wrong_share": self.wrong_share,
            "thresholds": None,
            "n_labels": None if self.n_labels is None else self.n_labels.tolist(),
            "uncounted": list(self.uncounted),
            "reliable": self.reliable,
            "intervals": None,
        }
        if self.thresholds is not None:
            found["thresholds"] = [
                value if np.isfinite(value) else None for value in self.thresholds.tolist()
            ]
        if self.intervals is not None:
            ranges = {"wrong_share": self.intervals.wrong_share}
            found["intervals"] = {
                **{name: _ends(one) for name, one in ranges.items()},
                "error_rates": [_ends(one) for one in self.intervals.error_rates],
                "level": self.intervals.level,
                "covers": self.intervals.covers,
            }
        return found

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NoiseMatrix:
        """Return the matrix that `to_dict` converted to these values.

        Examples
        --------
        >>> from rankprune import NoiseMatrix
        >>> matrix = NoiseMatrix([[0.5, 0.0], [0.25, 0.25]], classes=["a", "b"])
        >>> NoiseMatrix.from_dict(matrix.to_dict()) == matrix
        True
        """
        thresholds, n_labels, ranges = (
            values[name] for name in ("thresholds", "n_labels", "intervals")
        )
        matrix = cls(
            values["joint"],
            values["classes"],
            thresholds=None
            if thresholds is None
            else np.array([np.inf if one is None else float(one) for one in thresholds]),
            n_labels=None if n_labels is None else np.array(n_labels, dtype=np.int64),
            uncounted=tuple(values["uncounted"]),
            reliable=bool(values["reliable"]),
        )
        if ranges is None:
            return matrix
        covers, level = str(ranges["covers"]), float(ranges["level"])
        total, *by_label = (
            Interval(estimate, float(low), float(high), covers)
            for estimate, (low, high) in zip(
                [matrix.wrong_share, *matrix.error_rates.tolist()],
                [ranges["wrong_share"], *ranges["error_rates"]],
                strict=True,
            )
        )
        return replace(matrix, intervals=MatrixIntervals(total, tuple(by_label), level))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoiseMatrix) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.joint.tobytes(), len(self)))

    def __repr__(self) -> str:
        parts = [f"{len(self)} classes", f"wrong_share={self.wrong_share:.4g}"]
        if self.intervals is not None:
            found = self.intervals.wrong_share
            parts.append(f"range={found.low:.4g} to {found.high:.4g}")
        if self.uncounted:
            parts.append(f"uncounted={list(self.uncounted)}")
        parts += ["reliable=False"] * (not self.reliable)
        return f"NoiseMatrix({', '.join(parts)})"

    def _repr_html_(self) -> str:
        shown = min(len(self), _MOST_SHOWN)
        names = [escape(str(value)) for value in self.classes.tolist()[:shown]]
        style = "style='text-align:right'"
        head = "".join(f"<th {style}>{name}</th>" for name in names)
        body = "".join(
            f"<tr><th>{name}</th>{_cells(row[:shown], style)}<td {style}>{rate:.1%}</td></tr>"
            for name, row, rate in zip(names, self.joint.tolist(), self.error_rates, strict=False)
        )
        total = (
            f"{self.wrong_share:.1%}" if self.intervals is None else str(self.intervals.wrong_share)
        )
        rest = "" if shown == len(self) else f" First {shown} of {len(self)} classes."
        caption = (
            f"{rates_title(self.reliable)}: {total} of all labels. "
            f"Rows: given label; columns: true class; share of all rows.{rest}"
        )
        return (
            f"<table><caption>{caption}</caption><thead><tr><th></th>{head}"
            f"<th {style}>wrong</th></tr></thead><tbody>{body}</tbody></table>"
        )


def intervals_without_width(matrix: NoiseMatrix) -> MatrixIntervals:
    """Return the ranges of a matrix that is known."""
    points = [Interval(rate, rate, rate, TRUTH) for rate in matrix.error_rates.tolist()]
    total = matrix.wrong_share
    return MatrixIntervals(Interval(total, total, total, TRUTH), tuple(points))


def validate_transition(transition: ArrayLike, n_classes: int) -> Reals:
    """Return P(given | true) as a table whose columns sum to 1."""
    table = _table(transition, "transition", n_classes)
    sums = table.sum(axis=0)
    bad = np.flatnonzero(~(np.abs(sums - 1) <= NEAR_ONE))
    if bad.size:
        raise ValueError(
            "transition must have columns that sum to 1, since columns are true classes and rows "
            f"given labels; column {bad[0]} has a sum of {sums[bad[0]]:.6g}. Pass the transposed "
            "table if its rows sum to 1."
        )
    return np.asarray(table / sums)


def joint_of(transition: Reals, label_shares: Reals) -> tuple[Reals, bool]:
    """Return the joint that mixes the columns of a transition so that the labels come out.

    And whether there are such shares of true classes; if not, the nearest by likelihood are used,
    and the rows are scaled to the labels.
    """
    try:
        shares = np.linalg.solve(transition, label_shares)
        possible = bool((shares >= -_ROUNDING).all() and abs(shares.sum() - 1) < _ROUNDING)
    except np.linalg.LinAlgError:
        possible = False
    if not possible:
        shares = _likeliest(transition, label_shares)
    joint = transition * np.maximum(shares, 0.0)
    rows = joint.sum(axis=1)
    scale = np.divide(label_shares, rows, out=np.zeros(len(rows)), where=rows > 0)
    joint = joint * scale[:, None]
    # A label that no column explains is right.
    joint[np.diag_indices(len(rows))] += np.where(rows > 0, 0.0, label_shares)
    return joint, possible


def _likeliest(transition: Reals, label_shares: Reals) -> Reals:
    """Return shares of true classes with the largest likelihood: the EM algorithm of mixtures."""
    shares = np.full(len(label_shares), 1 / len(label_shares))
    for _ in range(_EM_STEPS):
        expected = transition @ shares
        ratio = np.divide(label_shares, expected, out=np.zeros(len(expected)), where=expected > 0)
        shares = shares * (transition.T @ ratio)
        shares = shares / shares.sum()
    return np.asarray(shares)


def _table(values: ArrayLike, name: str, n_classes: int) -> Reals:
    table = real_numbers(as_array(values, name), name, "Pass a square table of shares.")
    if table.shape != (n_classes, n_classes):
        raise ValueError(
            f"{name} must have one row and one column per class, got shape {table.shape} for "
            f"{n_classes} classes. Rows are given labels, columns are true classes."
        )
    # Written so that NaN, which compares false, is caught too.
    bad = np.argwhere(~((table >= 0) & (table <= 1 + NEAR_ONE)))
    if len(bad):
        row, column = bad[0].tolist()
        raise ValueError(
            f"{name} must hold shares from 0 to 1; row {row}, column {column} holds "
            f"{table[row, column]:g}. Divide a table of counts by its total."
        )
    return table.astype(np.float64)


def _row_sums(table: Reals) -> Reals:
    """Return the sum of each row, added by size, so that the order of columns changes nothing."""
    return np.asarray(np.sort(table, axis=1).sum(axis=1))


def _wrong(joint: Reals) -> Reals:
    """Return the sum of each row without its place on the diagonal."""
    return _row_sums(np.where(np.eye(len(joint), dtype=bool), 0.0, joint))


def _off_diagonal(joint: Reals, sums: Reals) -> Reals:
    return np.divide(_wrong(joint), sums, out=np.zeros(len(sums)), where=sums > 0)


def _part(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _ends(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def _cells(values: list[float], style: str) -> str:
    return "".join(f"<td {style}>{value:.3f}</td>" for value in values)
