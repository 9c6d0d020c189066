"""The answers of people as a long table: one row, one annotator and one label at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.annotators._codes import MISSING, Codes, as_column, codes_in, distinct

Duplicates = Literal["last", "error", "all"]


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of annotators about rows; create it by `from_long` or `from_wide`.

    Attributes
    ----------
    rows : tuple of shape (n_rows,)
        Ids of the rows, sorted unless given, with those that nobody has answered.
    annotators : tuple of shape (n_annotators,)
    classes : tuple of shape (n_classes,)
        The labels that answers may have, sorted unless given.
    row, annotator, label : ndarray of shape (n_answers,)
        Positions of each answer in the three tuples, sorted by row, then annotator.
    seconds : ndarray of shape (n_answers,) or None
        Time that each answer took.

    Examples
    --------
    >>> from rankprune.annotators import Answers
    >>> answers = Answers.from_long(
    ...     rows=["a", "a", "b", "b", "c"],
    ...     annotators=["ann", "bob", "ann", "bob", "ann"],
    ...     labels=["cat", "dog", "cat", "cat", None],
    ... )
    >>> print(answers)
    4 answers of 2 annotators about 3 rows, 2 classes
    >>> answers.per_row.tolist()
    [2, 2, 0]
    """

    rows: tuple[Any, ...]
    annotators: tuple[Any, ...]
    classes: tuple[Any, ...]
    row: Codes
    annotator: Codes
    label: Codes
    seconds: NDArray[np.float64] | None = None

    @classmethod
    def from_long(
        cls,
        rows: ArrayLike,
        annotators: ArrayLike,
        labels: ArrayLike,
        *,
        duplicates: Duplicates = "last",
        seconds: ArrayLike | None = None,
        all_rows: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Answers:
        """Return the answers of a long table, one answer per line.

        Parameters
        ----------
        rows, annotators, labels : array-like of shape (n_answers,)
            Values of any type that can be hashed; 1 and "1" are different. An answer without a
            label (None, NaN) is left out, but its row and its annotator are kept.
        duplicates : {"last", "error", "all"}, default="last"
            If an annotator answers a row again: the last answer counts, it is an error, or all
            answers count.
        seconds : array-like of shape (n_answers,), default=None
            Time that each answer took, for `annotator_report`.
        all_rows : array-like, default=None
            All rows in the order of the results, with those that nobody has answered.
        classes : array-like, default=None
            All labels that answers may have, in the order of the results.

        Returns
        -------
        Answers

        Examples
        --------
        >>> from rankprune.annotators import Answers
        >>> twice = dict(rows=[1, 1], annotators=["ann", "ann"], labels=["no", "yes"])
        >>> len(Answers.from_long(**twice)), len(Answers.from_long(**twice, duplicates="all"))
        (1, 2)
        """
        given = [
            as_column(values, name)
            for values, name in ((rows, "rows"), (annotators, "annotators"), (labels, "labels"))
        ]
        lengths = [len(column) for column in given]
        if len(set(lengths)) > 1:
            raise ValueError(
                "rows, annotators and labels must have the same length, got {}, {} and {}. Pass "
                "one value of each per answer.".format(*lengths)
            )
        if duplicates not in get_args(Duplicates):
            raise ValueError(
                f"duplicates must be 'last', 'error' or 'all', got {duplicates!r}. Pass 'last' to "
                "use the last answer of an annotator about a row."
            )
        times = None if seconds is None else _times(seconds, lengths[0])
        row_ids, row = _coded(given[0], "rows", all_rows, "all_rows")
        who, annotator = _coded(given[1], "annotators", None, "")
        values, label = _coded(given[2], "labels", classes, "classes")
        for codes, name in ((row, "rows"), (annotator, "annotators")):
            if (codes == MISSING).any():
                place = int((codes == MISSING).argmax())
                raise ValueError(
                    f"{name} must not be missing; answer {place} has none. Leave it out, or fill "
                    "in an id."
                )
        if len(values) < 2:
            raise ValueError(
                f"labels must hold at least two classes, got {list(values)}. Pass all possible "
                "labels as classes if only one was given."
            )
        kept = np.flatnonzero(label != MISSING)
        kept = kept[np.lexsort((kept, annotator[kept], row[kept]))]
        is_last = np.ones(len(kept), dtype=bool)
        same = (row[kept[1:]] == row[kept[:-1]]) & (annotator[kept[1:]] == annotator[kept[:-1]])
        is_last[:-1] = ~same
        if duplicates == "error" and not is_last.all():
            first = kept[np.flatnonzero(~is_last)[0]]
            raise ValueError(
                f"annotator {who[annotator[first]]!r} answered row {row_ids[row[first]]!r} more "
                "than once, an error with duplicates='error'. Pass duplicates='last' or 'all'."
            )
        if duplicates != "all":
            kept = kept[is_last]
        times = None if times is None else times[kept]
        return cls(row_ids, who, values, row[kept], annotator[kept], label[kept], times)

    @classmethod
    def from_wide(
        cls,
        table: Any,
        *,
        rows: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Answers:
        """Return the answers of a wide table: one line per row, one column per annotator.

        Parameters
        ----------
        table : array-like of shape (n_rows, n_annotators) or data frame
            Labels; missing values (None, NaN) where an annotator gave no answer. -1 is a label.
        rows, annotators : array-like, default=None
            Ids of the rows and annotators. By default the index and columns of a pandas data
            frame, or else positions.
        classes : array-like, default=None
            As in `from_long`.

        Returns
        -------
        Answers

        Examples
        --------
        >>> from rankprune.annotators import Answers
        >>> Answers.from_wide([["yes", None], ["no", "no"], [None, None]]).per_row.tolist()
        [1, 2, 0]
        """
        if hasattr(table, "iloc") and rows is None:
            rows = np.asarray(table.index)
        if hasattr(table, "columns") and annotators is None:
            annotators = list(table.columns)
        if isinstance(table, list | tuple):
            table = [as_column(line, "table") for line in table]
            cells = np.empty((len(table), len(table[0]) if table else 0), dtype=object)
            if any(len(line) != cells.shape[1] for line in table):
                raise ValueError(
                    "table must have one value per annotator in each row, but its rows differ in "
                    "length. Pass None where there is no answer."
                )
            for place, line in enumerate(table):
                cells[place] = line.tolist()
        else:
            cells = np.asarray(table)
        if cells.ndim != 2:
            raise ValueError(
                f"table must be two-dimensional, rows by annotators, got shape {cells.shape}. Use "
                "from_long for a long table."
            )
        n_rows, n_annotators = cells.shape
        row_ids = _ids(rows, n_rows, "rows")
        who = _ids(annotators, n_annotators, "annotators")
        return cls.from_long(
            np.repeat(row_ids, n_annotators),
            np.tile(who, n_rows),
            cells.ravel(),
            duplicates="error",
            all_rows=row_ids,
            classes=classes,
        )

    def __len__(self) -> int:
        return len(self.row)

    def __str__(self) -> str:
        return (
            f"{len(self)} answers of {len(self.annotators)} annotators about {len(self.rows)} "
            f"rows, {len(self.classes)} classes"
        )

    @property
    def per_row(self) -> NDArray[np.intp]:
        """Return the number of answers about each row."""
        return np.bincount(self.row, minlength=len(self.rows))

    @property
    def per_annotator(self) -> NDArray[np.intp]:
        """Return the number of answers of each annotator."""
        return np.bincount(self.annotator, minlength=len(self.annotators))


def _coded(
    column: NDArray[Any], name: str, known: ArrayLike | None, among: str
) -> tuple[tuple[Any, ...], Codes]:
    """Return distinct values and codes, in the order of the known values if there are any."""
    if known is None:
        return distinct(column, name)
    values: Sequence[Any] = as_column(known, among).tolist()
    found, codes = distinct(as_column(values, among), among)
    if len(found) < len(values) or (codes == MISSING).any():
        raise ValueError(f"{among} must be distinct and not missing. Pass each value once.")
    return tuple(values), codes_in(column, values, name, among)


def _ids(given: ArrayLike | None, n: int, name: str) -> NDArray[Any]:
    ids = np.arange(n) if given is None else as_column(given, name)
    if len(ids) != n or len(distinct(ids, name)[0]) != n:
        raise ValueError(
            f"{name} must be {n} distinct ids, as many as the table has {name}, got {len(ids)}. "
            "Use from_long if ids repeat."
        )
    return ids


def _times(seconds: ArrayLike, n_answers: int) -> NDArray[np.float64]:
    given = as_column(seconds, "seconds")
    try:
        times = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"seconds must be numbers, got dtype {given.dtype}. Convert times to seconds."
        ) from None
    if len(times) != n_answers:
        raise ValueError(
            f"seconds must have one value per answer, got {len(times)} for {n_answers} answers."
            " Pass NaN where the time is unknown."
        )
    bad = np.flatnonzero((times < 0) | np.isinf(times))
    if bad.size:
        raise ValueError(
            f"seconds must be finite and not negative; answer {bad[0]} took {times[bad[0]]:g}. "
            "Pass NaN where the time is unknown."
        )
    return times
