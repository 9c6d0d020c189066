"""The classifier that right labels would have given, fitted to a checked table and kept in a file.

Files are written and read with skops: they hold data, never code, and types that are not known to
be harmless are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from rankprune._table_rows import (
    Features,
    Labels,
    array_sha256,
    feature_options,
    read_embeddings,
    read_features,
    read_flags,
    read_labels,
    read_probabilities,
    read_texts,
)
from rankprune.classifier import RankPruningClassifier
from rankprune.core import NOISE_ESTIMATORS
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
    chosen = chosen_model(run, model)
    with open_checked(run, table) as opened:
        labels, features = _read(run, opened, embeddings)
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


@dataclass(frozen=True)
class ReviewedModel:
    """A model that was trained with settled labels.

    Attributes
    ----------
    model : TableModel
    n_rows, n_trusted, n_pruned : int
        Rows with a label, those that people settled, and those of the others that were left out.
    """

    model: TableModel
    n_rows: int
    n_trusted: int
    n_pruned: int


def train_reviewed(
    run: LabelCheck,
    rows: NDArray[np.intp],
    is_positive: NDArray[np.bool_],
    table: Any = None,
    *,
    embeddings: Any = None,
    model: Any = None,
    n_jobs: int | None = None,
) -> ReviewedModel:
    """Return the classifier fitted with labels that people settled, as `fit` does with trusted.

    Settled rows are never pruned and have no correction weight. All rows are scored again, with the
    settled labels, and the noise rates are estimated on the rest.

    Parameters
    ----------
    run, table, embeddings, model
        As in `train_model`.
    rows : ndarray of int
        Positions in the table of the rows that people settled.
    is_positive : ndarray of bool
        Their labels.
    n_jobs : int, default=None
        Folds fitted at the same time.
    """
    asked = run.settings
    for name, known in (("scorer", ("committee", None)), ("noise_estimator", NOISE_ESTIMATORS)):
        if asked[name] not in known:
            raise TableError(
                f"The run used a {name} of your own, {asked[name]}. Fit it in Python: "
                "RankPruningClassifier(...).fit(X, y, trusted=settled)"
            )
    chosen = chosen_model(run, model)
    with open_checked(run, table) as opened:
        labels, features = _read(run, opened, embeddings)
        groups = probabilities = trusted = None
        if asked["group"] is not None:
            groups = read_texts(opened, asked["group"], "--group", labels.rows)
        if asked["probabilities"] is not None:
            probabilities = read_probabilities(opened, asked["probabilities"], labels.rows)
        if asked["trusted"] is not None:
            trusted = read_flags(opened, asked["trusted"], "--trusted", labels.rows)
    y = labels.is_positive.copy()
    settled = np.zeros(len(y), dtype=bool) if trusted is None else trusted
    place = np.searchsorted(labels.rows, rows)
    y[place], settled[place] = is_positive, True
    classifier = RankPruningClassifier(
        chosen,
        scorer=asked["scorer"],
        noise_estimator=asked["noise_estimator"],
        rounds=asked["rounds"],
        cv=asked["folds"],
        n_jobs=n_jobs,
        random_state=asked["random_state"],
    ).fit(features.X, y, groups=groups, probabilities=probabilities, trusted=settled)
    fitted = TableModel(
        features.encoder,
        classifier.estimator_,
        asked["label"],
        labels.positive,
        labels.negative,
        classifier.noise_rates_.to_dict(),
    )
    return ReviewedModel(fitted, len(y), int(settled.sum()), int(classifier.prune_mask_.sum()))


def _read(run: LabelCheck, table: Table, embeddings: Any) -> tuple[Labels, Features]:
    """Return labels and features of an open table, as they were when it was checked."""
    asked = run.settings
    labels = read_labels(
        table,
        asked["label"],
        asked["positive"],
        asked["drop_unlabeled"],
        negative=asked["negative"],
    )
    vectors = read_embeddings(
        asked["embeddings"] if embeddings is None else embeddings, table.n_rows
    )
    if vectors is not None and array_sha256(vectors) != asked["embeddings_sha256"]:
        raise TableError(
            "--embeddings must be those of the check; their numbers have changed since. Check "
            "again, or name the right file."
        )
    return labels, read_features(table, labels, **feature_options(asked), embeddings=vectors)


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


def chosen_model(run: LabelCheck, model: Any) -> Any:
    """Return a model as it was named, or the one of the check."""
    name = run.settings["model"]
    if model is None and name not in MODELS:
        # What a file names is not imported and called because a file says so.
        raise TableError(f"The run used a model of your own, {name!r}. Pass it again with --model.")
    return find_model(name if model is None else model)


@contextmanager
def open_checked(run: LabelCheck, table: Any = None, *, watch: bool = True) -> Iterator[Table]:
    """Open the table of a run, and refuse it where it has changed since.

    Parameters
    ----------
    run : LabelCheck
    table : path or data frame, default=None
        Where it lies now; where it lay by default.
    watch : bool, default=True
        As in `open_table`.
    """
    asked = run.settings
    if "label" not in asked or (table is None and run.source.path is None):
        raise TableError(
            f"The run must know the table it checked; it was read from {run.source.name}. Check a "
            "file, or pass the same table with --table."
        )
    with open_table(
        table if table is not None else run.source.path,
        encoding=asked["encoding"],
        delimiter=asked["delimiter"],
        watch=watch,
    ) as opened:
        if opened.sha256 != run.source.sha256 or opened.n_rows != run.source.n_rows:
            raise TableError(
                f"{opened.name} is not the table that was checked: its content has changed since. "
                "Check it again."
            )
        yield opened


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
