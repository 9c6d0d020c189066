"""The result of a comparison: rows, shown as text, HTML, a data frame or a plot."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass, fields
from typing import Any

from rankprune.diagnostics import ComparisonDisplay


@dataclass(frozen=True)
class ComparedMethod:
    """How one method performed.

    Attributes
    ----------
    method : str
        Name of the method.
    positive_noise_rate, negative_noise_rate : float or None
        Noise rates that the method used, or None if it used none.
    f1, error, roc_auc : float or None
        Metrics on the test rows. Without trusted labels they are estimates for clean labels, which
        may lie outside [0, 1], or None if the probabilities do not separate the labels. The ROC
        AUC is also None if the method gives no scores.
    average_precision, auc_pr : float or None
        Average precision, and the area under the interpolated precision-recall curve, as the paper
        computes it. None without scores, and without trusted labels, because neither can then be
        estimated.
    fit_ratio : float
        Time of the whole fit, as a multiple of one plain fit. It includes the folds if the method
        needs them, unless probabilities were passed.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import compare
    >>> X, y = make_classification(400, random_state=0)
    >>> found = compare(X, y, methods=["rank-pruning"], true_labels=y, random_state=0)
    >>> [row.method for row in found.rows]
    ['noisy baseline', 'rank-pruning', 'oracle']
    """

    method: str
    positive_noise_rate: float | None
    negative_noise_rate: float | None
    f1: float | None
    error: float | None
    roc_auc: float | None
    average_precision: float | None
    auc_pr: float | None
    fit_ratio: float


_COLUMNS = tuple(field.name for field in fields(ComparedMethod))


@dataclass(frozen=True)
class Comparison:
    """How the methods performed on the same rows.

    Attributes
    ----------
    rows : tuple of ComparedMethod
        Results of the methods, baseline first and oracle last.
    is_trusted : bool
        Whether the metrics come from trusted labels.
    note : str
        Which rows and labels the metrics come from, and which methods were left out.
    classifiers : dict of str to classifier
        The fitted methods.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import compare
    >>> X, y = make_classification(400, random_state=0)
    >>> found = compare(X, y, methods=["rank-pruning"], random_state=0)
    >>> found.is_trusted, found.rows[1].method
    (False, 'rank-pruning')
    >>> print(found.note[:50])
    Measured on 100 held-out rows with noisy labels. T
    """

    rows: tuple[ComparedMethod, ...]
    is_trusted: bool
    note: str
    classifiers: dict[str, Any]

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per method."""
        try:
            import pandas as pd  # type: ignore[import-untyped]  # its types are a separate package
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed. Install pandas, or use rows."
            ) from error
        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(_COLUMNS))

    def plot(self, metric: str = "f1", ax: Any = None) -> Any:
        """Draw one bar per method.

        Parameters
        ----------
        metric : {"f1", "error", "roc_auc", "average_precision", "auc_pr", "fit_ratio"}
            The metric to draw.
        ax : matplotlib axes, default=None
            Axes to draw on; new ones by default.

        Returns
        -------
        ComparisonDisplay
        """
        names = _COLUMNS[3:]
        if metric not in names:
            raise ValueError(
                f"metric must be one of {list(names)}, got {metric!r}. Pass a column of to_frame()."
            )
        values = {row.method: getattr(row, metric) for row in self.rows}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise ValueError(
                f"metric must have a value for every method, but {metric} has none for "
                f"{missing[0]!r}. {self.note}"
            )
        is_estimate = not self.is_trusted and metric != "fit_ratio"
        name = _title(metric) + (", estimated" if is_estimate else "")
        return ComparisonDisplay(values, name).plot(ax=ax)

    def __str__(self) -> str:
        cells = [list(_COLUMNS)]
        cells += [[_shown(getattr(row, name)) for name in _COLUMNS] for row in self.rows]
        widths = [max(len(line[column]) for line in cells) for column in range(len(_COLUMNS))]
        lines = [
            "  ".join(
                text.rjust(width) if column else text.ljust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        return "\n".join([*lines, "", self.note])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{_title(name)}</th>" for name in _COLUMNS)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:{'right' if column else 'left'}'>"
                f"{html.escape(_shown(getattr(row, name)))}</td>"
                for column, name in enumerate(_COLUMNS)
            )
            + "</tr>"
            for row in self.rows
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{html.escape(self.note)}</p>"
        )


def _title(column: str) -> str:
    short = {"f1": "F1", "roc_auc": "ROC AUC", "auc_pr": "AUC-PR"}
    return short.get(column, column.replace("_", " "))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
