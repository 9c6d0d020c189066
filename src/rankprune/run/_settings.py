"""The settings of a check: stored with the run, and printed as the command that repeats it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, fields
from typing import Any

from rankprune.core import MATRIX_ESTIMATORS, NOISE_ESTIMATORS
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR
from rankprune.learners._committee import NAMED_SCORERS
from rankprune.learners._named_models import MODELS
from rankprune.table._labels import means_none

AN_ARRAY = "(an array)"
STDIN = "-"
# Arguments whose flags have another name on the command line.
_FLAGS = {"groups": "group"}
_SINGLE = ("id", "groups", "probabilities", "trusted", "embeddings", "encoding", "delimiter")
_REPEATED = ("drop", "keep", "text", "redact")


@dataclass(frozen=True)
class AnswersSettings:
    """Where the labels came from, if they are the consensus of several annotators.

    Attributes
    ----------
    table, features : str or None
        Paths as passed; None for a data frame.
    row, annotator, seconds : str or None
        Columns, as in `check_answers`.
    duplicates : str
    encoding, delimiter : str or None
        Those of both tables.
    redact_annotators : bool
        Whether annotators became numbers.
    """

    table: str | None
    row: str
    annotator: str
    features: str | None
    seconds: str | None = None
    duplicates: str = "last"
    encoding: str | None = None
    delimiter: str | None = None
    redact_annotators: bool = False

    def arguments(self, labeled: str | None) -> list[str]:
        """Return the arguments of the Python call, after those that other checks have."""
        told = {"row": self.row, "annotator": self.annotator, "seconds": self.seconds}
        told |= {"encoding": self.encoding, "delimiter": self.delimiter, "labeled": labeled}
        told |= {"duplicates": None if self.duplicates == "last" else self.duplicates}
        shown = [f"{name}={value!r}" for name, value in told.items() if value is not None]
        return ["features=features", *shown]

    def words(self, labeled: str) -> list[str]:
        """Return the words of the command that are about answers, after the label."""
        words = ["--row", self.row, "--annotator", self.annotator]
        words += ["--features", str(self.features), "--labeled", labeled]
        for name in ("seconds", "encoding", "delimiter"):
            value = getattr(self, name)
            words += [] if value is None else [f"--{name}", value]
        words += [] if self.duplicates == "last" else ["--duplicates", self.duplicates]
        return [*words, "--redact", self.annotator] if self.redact_annotators else words


@dataclass(frozen=True)
class CheckSettings:
    """The arguments of `check_table` or `check_labels`, as plain values.

    Attributes
    ----------
    table : str or None
        The path as passed, or ``"-"`` for standard input; None for a data frame or arrays.
    label : str or None
        The label column; None if labels were passed as an array.
    pos_label, neg_label : str or None
        The two labels of a table, as text; for arrays, the ``repr`` of what was passed.
    id, groups, probabilities, trusted : str or None
        Columns with a special role.
    drop, keep, text, redact : tuple of str
        Columns, as in `check_table`.
    embeddings : str or None
        Absolute path of the file, or ``"(an array)"`` for an array.
    embeddings_sha256 : str or None
        SHA-256 hash of the embeddings.
    estimator, scorer, noise_estimator : str or None
        Names, or the ``repr`` of objects.
    rounds, random_state : int
        As in `RankPruningClassifier`.
    cv : int or None
        Number of folds; None if a splitter was passed.
    drop_unlabeled : bool
        As in `check_table`.
    rare : str
        As in `RankPruningClassifier`.
    encoding, delimiter : str or None
        As in `check_table`.
    answers : AnswersSettings or None
        If the labels of the table are the consensus of several annotators.
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
    answers: AnswersSettings | None = None
    rare: str = "error"

    @property
    def is_of_table(self) -> bool:
        """Return whether a table was checked rather than arrays."""
        return self.label is not None

    def columns(self) -> dict[str, Any]:
        """Return the column arguments, by name."""
        roles = ("id", "groups", "probabilities", "trusted")
        return {name: getattr(self, name) for name in (*roles, *_REPEATED)}

    def hides(self, column: str | None) -> bool:
        """Return whether the cells of a column must not be shown."""
        return column in self.redact

    def __str__(self) -> str:
        """Return the command that repeats the check, or a Python call if no command can."""
        if not self.is_of_table:
            return f"rankprune.check_labels({', '.join(['X', 'y', *self._arguments()])})"
        if self._needs_python():
            name = "table" if self.answers is None else "answers"
            return f"rankprune.check_{name}({', '.join([name, *self._arguments()])})"
        return shlex.join(self._words())

    def _arguments(self) -> list[str]:
        told = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("table", "embeddings_sha256", "answers")
        }
        if self.answers is not None:
            # These follow from the answers.
            told |= {"id": None, "drop_unlabeled": False}
            return [*self._shown(told), *self.answers.arguments(self.table)]
        return self._shown(told)

    def _shown(self, told: dict[str, Any]) -> list[str]:
        shown = {name: value for name, value in told.items() if value != getattr(_DEFAULT, name)}
        return [f"{name}={self._as_code(name, value)}" for name, value in shown.items()]

    def _as_code(self, name: str, value: Any) -> str:
        if isinstance(value, tuple):
            return repr(list(value))
        # Objects, and labels of arrays, are already stored as their repr.
        is_code = name in ("estimator", "scorer", "noise_estimator") and not _is_name(value)
        return value if is_code or (name == "pos_label" and not self.is_of_table) else repr(value)

    def _words(self) -> list[str]:
        """Return the words of the command."""
        source = self if self.answers is None else self.answers
        words = ["rankprune", "check", str(source.table), "--label", str(self.label)]
        if self.answers is not None:
            words += self.answers.words(str(self.table))
        if self.pos_label is not None:
            words += ["--positive", str(self.pos_label)]
        if self.neg_label is not None and means_none(self.neg_label):
            words += ["--negative", str(self.neg_label)]
        for name in (*(_SINGLE if self.answers is None else _SINGLE[1:]), *_REPEATED):
            values: Any = getattr(self, name)
            for value in values if name in _REPEATED else [values]:
                words += [] if value is None else [f"--{_FLAGS.get(name, name)}", value]
        words += ["--model", str(self.estimator), "--scorer", self.scorer or "model"]
        words += ["--noise-estimator", self.noise_estimator, "--rounds", str(self.rounds)]
        words += ["--folds", str(self.cv), "--seed", str(self.random_state)]
        words += [] if self.rare == _DEFAULT.rare else ["--rare", self.rare]
        drops = self.drop_unlabeled and self.answers is None
        return [*words, "--drop-unlabeled"] if drops else words

    def _needs_python(self) -> bool:
        """Return whether a data frame, an array or an object was passed, which needs Python."""
        model = self.estimator or ""
        return (
            self.table is None
            or (self.answers is not None and None in (self.answers.table, self.answers.features))
            or not _is_name(model)
            or self.scorer not in (*NAMED_SCORERS, None)
            or not _is_name(self.noise_estimator)
            or self.embeddings == AN_ARRAY
            or self.cv is None
        )


_DEFAULT = CheckSettings()


def _is_name(text: str | None) -> bool:
    """Return whether the command line accepts this name of a model or an estimator."""
    known = text in (None, *NAMED_SCORERS, *MODELS, *NOISE_ESTIMATORS, *MATRIX_ESTIMATORS)
    return known or re.fullmatch(r"[\w.]+:\w+", str(text)) is not None
