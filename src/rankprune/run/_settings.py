"""What a check was asked to do: kept with the run, and printed as the command that repeats it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields
from typing import Any

from rankprune.core import NOISE_ESTIMATORS
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR
from rankprune.learners._named_models import MODELS
from rankprune.table._labels import means_none

AN_ARRAY = "(an array)"
STDIN = "-"
# What the command line calls arguments by other names.
_FLAGS = {"groups": "group"}
_SINGLE = ("id", "groups", "probabilities", "trusted", "embeddings", "encoding", "delimiter")
_REPEATED = ("drop", "keep", "text", "redact")


@dataclass(frozen=True)
class CheckSettings:
    """The arguments of `check_table` or `check_labels`, as plain values.

    Attributes
    ----------
    table : str or None
        The path as it was passed, ``"-"`` for standard input; None for a data frame or arrays.
    label : str or None
        The column of labels; None where labels came as an array.
    pos_label, neg_label : str or None
        The two labels of a table as text; of arrays, what was passed.
    id, groups, probabilities, trusted : str or None
        Columns with a special role.
    drop, keep, text, redact : tuple of str
    embeddings : str or None
        The path of the file; ``"(an array)"`` for an array.
    embeddings_sha256 : str or None
        Of the numbers in it.
    estimator, scorer, noise_estimator : str or None
        Names, or how an object of the caller's shows itself.
    rounds, random_state : int
    cv : str
    drop_unlabeled : bool
    encoding, delimiter : str or None
    """

    table: str | None = None
    label: str | None = None
    pos_label: str | None = None
    neg_label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    groups: str | None = None
    probabilities: str | None = None
    trusted: str | None = None
    embeddings: str | None = None
    embeddings_sha256: str | None = None
    estimator: str | None = None
    scorer: str | None = "committee"
    noise_estimator: str = DEFAULT_ESTIMATOR
    rounds: int = 1
    cv: int | None = 3
    random_state: int = 0
    drop_unlabeled: bool = False
    redact: tuple[str, ...] = ()
    encoding: str | None = None
    delimiter: str | None = None

    @property
    def is_of_table(self) -> bool:
        """Return whether a table was checked, rather than arrays."""
        return self.label is not None

    def columns(self) -> dict[str, Any]:
        """Return the columns that were named, by the argument that names them."""
        roles = ("id", "groups", "probabilities", "trusted")
        return {name: getattr(self, name) for name in (*roles, *_REPEATED)}

    def hides(self, column: str | None) -> bool:
        """Return whether cells of a column are kept out of sight."""
        return column in self.redact

    def __str__(self) -> str:
        """Return what repeats the check: a command, or a call where a command cannot say it."""
        if not self.is_of_table:
            return f"rankprune.check_labels({', '.join(['X', 'y', *self._arguments()])})"
        if self._needs_python():
            return f"rankprune.check_table({', '.join(['table', *self._arguments()])})"
        return shlex.join(self._words())

    def _arguments(self) -> list[str]:
        told = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("table", "embeddings_sha256")
        }
        shown = {name: value for name, value in told.items() if value != getattr(_DEFAULT, name)}
        return [f"{name}={self._as_code(name, value)}" for name, value in shown.items()]

    def _as_code(self, name: str, value: Any) -> str:
        if isinstance(value, tuple):
            return repr(list(value))
        # Objects of the caller's are kept as they show themselves, and labels of arrays too.
        is_code = name in ("estimator", "scorer", "noise_estimator") and not _is_name(value)
        return value if is_code or (name == "pos_label" and not self.is_of_table) else repr(value)

    def _words(self) -> list[str]:
        """Return the command, word by word."""
        words = ["rankprune", "check", str(self.table), "--label", str(self.label)]
        words += ["--positive", str(self.pos_label)]
        if means_none(str(self.neg_label)):
            words += ["--negative", str(self.neg_label)]
        for name in (*_SINGLE, *_REPEATED):
            values: Any = getattr(self, name)
            for value in values if name in _REPEATED else [values]:
                words += [] if value is None else [f"--{_FLAGS.get(name, name)}", value]
        words += ["--model", str(self.estimator), "--scorer", self.scorer or "model"]
        words += ["--noise-estimator", self.noise_estimator, "--rounds", str(self.rounds)]
        words += ["--folds", str(self.cv), "--seed", str(self.random_state)]
        return [*words, "--drop-unlabeled"] if self.drop_unlabeled else words

    def _needs_python(self) -> bool:
        """Return whether a frame, an array or an object of the caller's was used."""
        model = self.estimator or ""
        return (
            self.table is None
            or not _is_name(model)
            or self.scorer not in ("committee", None)
            or not _is_name(self.noise_estimator)
            or self.embeddings == AN_ARRAY
            or self.cv is None
        )


_DEFAULT = CheckSettings()


def _is_name(text: str | None) -> bool:
    """Return whether a model or an estimator is called by a name that the command line takes."""
    known = text in (None, "committee", *MODELS, *NOISE_ESTIMATORS)
    return known or re.fullmatch(r"[\w.]+:\w+", str(text)) is not None


def column_names(names: Any) -> tuple[str, ...]:
    """Return names of columns as a tuple of texts; a single text is one column."""
    return (names,) if isinstance(names, str) else tuple(str(name) for name in names)


def column_name(name: Any) -> str | None:
    """Return the name of a column as text: columns of a frame may be called by numbers."""
    return None if name is None else str(name)
