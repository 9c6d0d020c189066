"""Model files, written and read with skops, so that they hold data and never code.

Loading refuses types that are not known to be harmless.
"""

from __future__ import annotations

import operator
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.exceptions import TableError
from rankprune.storage._atomic import whole_file
from rankprune.storage._json_records import from_plain, to_plain
from rankprune.table import Table
from rankprune.table._embeddings import read_embeddings
from rankprune.table._features import (
    Category,
    Encoder,
    Number,
)

# Of models of two labels, and of more, which versions that know two alone must not read.
SCHEMA, MANY = 1, 2
# Files may unpack to this many bytes, or to this many times their size; skops does not compress.
_SMALL, _MAX_RATIO = 1 << 26, 10
# Harmless types in the models of this package that skops does not trust by default.
_OURS = (
    "rankprune.learners._committee.Boosting",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)


@dataclass(frozen=True)
class TableModel:
    """A fitted classifier of table rows, with the encoder of its features.

    Attributes
    ----------
    encoder : Encoder
        Encodes a table as features.
    classifier : classifier
        Fitted classifier; its classes are the numbers of the labels, or, of two labels, False and
        True for the positive one.
    label : str
        Name of the label column.
    classes : tuple of str
        The labels in the order of their numbers: the negative and the positive one, or more.
    noise_rates : dict
        Noise rates used to correct the fit; empty for a plain fit.
    n_rows, n_pruned : int
        Numbers of labeled rows and of rows left out of the fit; 0 if the model was loaded from a
        file.
    """

    encoder: Encoder
    classifier: Any
    label: str
    classes: tuple[str, ...]
    noise_rates: dict[str, Any]
    n_rows: int = 0
    n_pruned: int = 0

    @property
    def positive(self) -> str:
        """Return the positive label of two."""
        return self.classes[1]

    @property
    def negative(self) -> str:
        """Return the negative label of two."""
        return self.classes[0]

    @property
    def are_many(self) -> bool:
        """Return whether there are more than two labels."""
        return len(self.classes) > 2

    def predict_proba(self, table: Table, embeddings: Any = None) -> NDArray[np.float64]:
        """Return the probability of the positive label for each row of an open table.

        Of more than two labels, return one column for each, in the order of ``classes``.
        """
        vectors = read_embeddings(embeddings, table.n_rows)
        n_given = 0 if vectors is None else vectors.shape[1]
        if n_given != self.encoder.n_embedded:
            raise TableError(
                f"embeddings must have the {self.encoder.n_embedded} columns that the model was "
                f"fitted with, got {n_given}."
            )
        try:
            columns = self.classifier.predict_proba(self.encoder.transform(table, vectors))
            found = self._of_labels(np.asarray(columns))
        except (TableError, OSError):
            raise
        except Exception as error:
            raise TableError(
                f"The model cannot score these rows: {error!r:.200}. Its file may be damaged: "
                "train it again."
            ) from error
        if not ((found >= 0) & (found <= 1)).all():
            raise TableError(
                "The model predicts values that are not probabilities, so its file is damaged. "
                "Train it again."
            )
        return found

    def _of_labels(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        """Return one column for each label; one that no row had in the fit has probability 0."""
        known = list(self.classifier.classes_)
        if not self.are_many:
            return np.asarray(columns[:, known.index(True)], dtype=np.float64)
        found = np.zeros((len(columns), len(self.classes)))
        found[:, known] = columns
        return found

    def predicted(self, probabilities: NDArray[np.float64]) -> NDArray[np.object_]:
        """Return the label that each row most likely has, given the result of `predict_proba`."""
        names = np.asarray(self.classes, dtype=object)
        if self.are_many:
            return np.asarray(names[probabilities.argmax(axis=1)])
        return np.asarray(names[(probabilities > 0.5).astype(int)])

    def save(self, path: Any) -> Path:
        """Write the model to a file, and return its path."""
        skops = _skops()
        _refuse_odd_clock()
        place = Path(path)
        names: dict[str, Any] = {"positive": self.positive, "negative": self.negative}
        if self.are_many:
            names = {"classes": list(self.classes)}
        content = {
            "schema": MANY if self.are_many else SCHEMA,
            "numbers": to_plain(self.encoder.numbers),
            "categories": to_plain(self.encoder.categories),
            "words": self.encoder.words,
            "n_embedded": self.encoder.n_embedded,
            "classifier": self.classifier,
            "label": self.label,
            **names,
            "noise_rates": self.noise_rates,
        }
        with whole_file(place) as part:
            skops.dump(content, part)
        return place


def load_model(path: Any, *, trusted: Sequence[str] = ()) -> TableModel:
    """Return the model in a file, or raise an error if the file holds types that may do harm.

    Parameters
    ----------
    path : path
    trusted : sequence of str
        Types to allow besides those of scikit-learn and this package, as named by the error.
    """
    skops = _skops()
    place = Path(path)
    if not place.is_file():
        raise TableError(f"path must be a model file; {place} does not exist. Train one first.")
    _refuse_bomb(place)
    allowed = {*_OURS, *trusted}
    with _reading(place):
        unknown = [name for name in skops.get_untrusted_types(file=place) if name not in allowed]
    moved = [name for name in unknown if name.startswith("rankprune.")]
    if moved:
        raise TableError(
            f"{place} was written by an earlier version of rankprune ({', '.join(moved)}). Train "
            "the model again."
        )
    if unknown:
        raise TableError(
            f"{place} holds types that are not known to be harmless: {', '.join(unknown)}. If you "
            f"made the file, pass trusted={unknown!r}."
        )
    with _reading(place):
        content = skops.load(place, trusted=sorted(allowed))
        if not isinstance(content, dict) or content.get("schema") not in (SCHEMA, MANY):
            raise TableError(f"{place} is not a model that this version can read. Train it again.")
        return _model_of(content)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the errors of a broken archive, which are of all kinds, into one that names it."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        raise TableError(
            f"{path} is not a rankprune model, or it is damaged: {error!r:.200}. Train the model "
            "again."
        ) from error


def _model_of(content: dict[str, Any]) -> TableModel:
    encoder = Encoder(
        tuple(from_plain(Number, number) for number in content["numbers"]),
        tuple(from_plain(Category, category) for category in content["categories"]),
        content["words"],
        operator.index(content["n_embedded"]),
    )
    classifier, label, are_many = content["classifier"], content["label"], content["schema"] == MANY
    names = content["classes"] if are_many else (content["negative"], content["positive"])
    if not all(isinstance(text, str) for text in (label, *names)):
        raise TypeError("its labels must be texts")
    known = list(classifier.classes_)
    knows_all = _are_numbers_of(known, names) if are_many else True in known
    if not callable(classifier.predict_proba) or not knows_all:
        raise ValueError("its classifier does not know the labels")
    return TableModel(encoder, classifier, label, tuple(names), content["noise_rates"])


def _are_numbers_of(known: list[Any], names: Sequence[str]) -> bool:
    """Return whether the classes of a classifier are numbers of more than two different labels."""
    numbers = [operator.index(code) for code in known]
    return (
        2 < len(names) == len(set(names))
        and len(set(numbers)) == len(numbers)
        and all(0 <= number < len(names) for number in numbers)
    )


def _refuse_bomb(path: Path) -> None:
    """Raise an error if a file would unpack to far more than it holds, before it is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise TableError(
            f"{path} is not a rankprune model: {error}. Pass the file that training wrote."
        ) from error
    if n_bytes > max(_SMALL, _MAX_RATIO * path.stat().st_size):
        raise TableError(
            f"{path} would unpack to {n_bytes >> 20:,} MiB, far more than a model of its size "
            "holds. Download it again from a source you trust."
        )


def _refuse_odd_clock() -> None:
    """Raise an error if the clock shows a year that a zip archive, such as a model, cannot hold."""
    year = time.localtime(time.time()).tm_year
    if not 1980 <= year <= 2107:
        raise ValueError(
            f"The clock of this computer says {year}, but model files are zip archives, whose "
            "dates lie between 1980 and 2107. Set the clock, and try again."
        )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Models in files need skops, which is not installed. Install rankprune[cli]."
        ) from error
    return skops.io
