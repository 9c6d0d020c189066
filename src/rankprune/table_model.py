"""The classifier that right labels would have given, fitted to a checked table and kept in a file.

Files are written and read with skops: they hold data, never code, and types that are not known to
be harmless are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune._features import Category, Encoder, Number
from rankprune._files import refuse_same_file, whole_file
from rankprune._fitting import fit_weighted, fresh_clone
from rankprune._label_check import LabelCheck
from rankprune._models import MODELS, find_model
from rankprune._plain import from_plain, to_plain
from rankprune._table_rows import feature_options, read_embeddings, read_features, read_labels
from rankprune.exceptions import TableError
from rankprune.tables import Table, open_table

SCHEMA = 1
PREDICTED = ("rankprune_probability", "rankprune_label")
# Parts of the models that come with this package, which skops does not know to be harmless.
_OURS = (
    "rankprune._committee.Boosting",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)


@dataclass(frozen=True)
class TableModel:
    """A classifier of a table's rows, with what it takes to read them.

    Attributes
    ----------
    encoder : Encoder
        How a table becomes features.
    classifier : classifier
        Fitted; its positive class is True.
    label : str
        The column it predicts.
    positive, negative : str
        Its two values.
    noise_rates : dict
        By which it was corrected.
    """

    encoder: Encoder
    classifier: Any
    label: str
    positive: str
    negative: str
    noise_rates: dict[str, Any]

    def predict_proba(self, table: Table, embeddings: Any = None) -> NDArray[np.float64]:
        """Return the probability of the positive label for each row of an open table."""
        vectors = read_embeddings(embeddings, table.n_rows)
        n_given = 0 if vectors is None else vectors.shape[1]
        if n_given != self.encoder.n_embedded:
            raise TableError(
                f"--embeddings must have the {self.encoder.n_embedded} columns that the model was "
                f"fitted with, got {n_given}."
            )
        columns = self.classifier.predict_proba(self.encoder.transform(table, vectors))
        position = list(self.classifier.classes_).index(True)
        return np.asarray(columns[:, position], dtype=np.float64)

    def save(self, path: Any) -> Path:
        """Write the model to a file."""
        skops = _skops()
        place = Path(path)
        content = {
            "schema": SCHEMA,
            "numbers": to_plain(self.encoder.numbers),
            "categories": to_plain(self.encoder.categories),
            "words": self.encoder.words,
            "n_embedded": self.encoder.n_embedded,
            "classifier": self.classifier,
            "label": self.label,
            "positive": self.positive,
            "negative": self.negative,
            "noise_rates": self.noise_rates,
        }
        with whole_file(place) as part:
            skops.dump(content, part)
        return place


def train_model(
    run: LabelCheck, table: Any = None, *, embeddings: Any = None, model: Any = None
) -> TableModel:
    """Return the classifier fitted to the rows that the check keeps, with correction weights.

    Parameters
    ----------
    run : LabelCheck
    table : path or data frame, default=None
        The table that was checked; by default where it lay. A changed one is refused.
    embeddings : path or array, default=None
        As in `check_table`; by default the file that was named then.
    model : default=None
        As in `check_table`; by default the model of the check.
    """
    asked = run.settings
    if "label" not in asked or (table is None and run.source.path is None):
        raise TableError(
            f"The run must know the table it checked; it was read from {run.source.name}. Check a "
            "file, or pass the same table with --table."
        )
    if embeddings is None:
        embeddings = asked["embeddings"]
    if model is None and asked["model"] not in MODELS:
        # What a file names is not imported and called because a file says so.
        raise TableError(
            f"The run used a model of your own, {asked['model']!r}. Pass it again with --model."
        )
    chosen = find_model(asked["model"] if model is None else model)
    with open_table(
        table if table is not None else run.source.path,
        encoding=asked["encoding"],
        delimiter=asked["delimiter"],
    ) as opened:
        refuse_changed(run, opened)
        labels = read_labels(opened, asked["label"], asked["positive"], asked["drop_unlabeled"])
        vectors = read_embeddings(embeddings, opened.n_rows)
        features = read_features(opened, labels, **feature_options(asked), embeddings=vectors)
    keep = np.flatnonzero(run.scores.weight > 0)
    weight = run.scores.weight[keep]
    classifier = fit_weighted(
        fresh_clone(chosen, asked["random_state"]),
        features.X[keep],
        labels.is_positive[keep],
        None if (weight == 1).all() else weight,
    )
    return TableModel(
        features.encoder,
        classifier,
        asked["label"],
        labels.positive,
        labels.negative,
        run.noise_rates.to_dict(),
    )


def train_plain(
    table: Any, label: str, *, positive: Any = None, model: Any = "logistic", random_state: int = 0
) -> TableModel:
    """Return a classifier fitted to a table's labels as they are, for comparison.

    Parameters
    ----------
    table, label, positive, model, random_state
        As in `check_table`.
    """
    with open_table(table) as opened:
        named = None if positive is None else str(positive)
        labels = read_labels(opened, label, named, drop_unlabeled=False)
        features = read_features(
            opened, labels, apart=[label], drop=(), keep=(), text=(), embeddings=None
        )
    classifier = fresh_clone(find_model(model), random_state).fit(features.X, labels.is_positive)
    return TableModel(features.encoder, classifier, label, labels.positive, labels.negative, {})


def predict_table(
    model: TableModel,
    table: Any,
    output: Path | None = None,
    *,
    embeddings: Any = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> NDArray[np.float64]:
    """Return the probability of the positive label for each row, and write the table with it.

    Parameters
    ----------
    model : TableModel
    table, embeddings, encoding, delimiter
        As in `check_table`.
    output : Path, default=None
        Where the table goes with two more columns, the probability and the label.
    """
    with open_table(table, encoding=encoding, delimiter=delimiter) as opened:
        if output is not None:
            refuse_same_file(output, opened.path)
            opened.refuse_taken(PREDICTED)
        found = model.predict_proba(opened, embeddings)
        if output is not None:
            labels = np.asarray([model.negative, model.positive], dtype=object)
            beside = dict(zip(PREDICTED, (found, labels[(found > 0.5).astype(int)]), strict=True))
            opened.write(output, beside=beside, n_expected=opened.n_rows)
    return found


def refuse_changed(run: LabelCheck, table: Table) -> None:
    """Raise an error where a table is not the one that was checked."""
    if table.sha256 != run.source.sha256 or table.n_rows != run.source.n_rows:
        raise TableError(
            f"{table.name} is not the table that was checked: its content has changed since. Check "
            "it again."
        )


def load_model(path: Any, *, trusted: Sequence[str] = ()) -> TableModel:
    """Return a model from its file, after refusing types that may do harm.

    Parameters
    ----------
    path : path
    trusted : sequence of str
        Types to allow beside those of scikit-learn and this package, as the error names them.
    """
    skops = _skops()
    place = Path(path)
    if not place.is_file():
        raise TableError(f"MODEL must be a file; {place} is none. Make one with: rankprune train")
    allowed = {*_OURS, *trusted}
    try:
        unknown = [name for name in skops.get_untrusted_types(file=place) if name not in allowed]
    except Exception as error:  # a broken archive fails in many ways
        raise TableError(f"{place} is not a model of rankprune: {error}.") from error
    if unknown:
        raise TableError(
            f"{place} holds types that are not known to be harmless: {', '.join(unknown)}. If you "
            f"made the file, allow them: {' '.join(f'--trust {name}' for name in unknown)}"
        )
    content = skops.load(place, trusted=sorted(allowed))
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise TableError(f"{place} is not a model that this version reads. Train it again.")
    encoder = Encoder(
        tuple(from_plain(Number, number) for number in content["numbers"]),
        tuple(from_plain(Category, category) for category in content["categories"]),
        content["words"],
        content["n_embedded"],
    )
    return TableModel(
        encoder,
        content["classifier"],
        content["label"],
        content["positive"],
        content["negative"],
        content["noise_rates"],
    )


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Models in files need skops, which is not installed. Install rankprune[cli]."
        ) from error
    return skops.io
