"""Check the labels of a table: a file, standard input or a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankprune.check._assemble import Shown, assemble
from rankprune.check._classes import check_classes, refuse_rare_labels
from rankprune.check._in_memory import (
    RowData,
    chosen_noise_estimator,
    gather,
    make_classifier,
)
from rankprune.check._leaks import leaks
from rankprune.check._out_of_core import gather_out_of_core
from rankprune.check._shown_rows import MAX_COLUMNS, shown_rows
from rankprune.check._stability import has_known_cost
from rankprune.check._subgroups import subgroups
from rankprune.classifier import RankPruningClassifier
from rankprune.exceptions import TableError
from rankprune.learners._copies import hash_rows
from rankprune.learners._named_models import find_model, model_name
from rankprune.run import ClassCheck, LabelCheck
from rankprune.run._findings import Source
from rankprune.run._rows import TableRows, read_rows
from rankprune.run._settings import AN_ARRAY, STDIN, CheckSettings
from rankprune.table import Table, open_table
from rankprune.table._labels import has_many_labels
from rankprune.table._table import column_name, column_names

AnyCheck = TypeVar("AnyCheck", LabelCheck, ClassCheck)

# With more rows than this, given probabilities are read in batches: slower per row, but in constant
# memory.
_MANY_ROWS = 20_000_000


def check_table(
    table: Any,
    label: str,
    *,
    pos_label: Any = None,
    neg_label: Any = None,
    id: str | None = None,
    groups: str | None = None,
    trusted: str | None = None,
    probabilities: str | None = None,
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    redact: str | Sequence[str] = (),
    embeddings: Any = None,
    drop_unlabeled: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    estimator: Any = "logistic",
    scorer: Any = "committee",
    noise_estimator: Any = None,
    rounds: int = 1,
    cv: Any = 3,
    rare: str = "error",
    n_jobs: int | None = None,
    random_state: int = 0,
) -> LabelCheck | ClassCheck:
    """Return how many labels of a table are wrong, which ones, and how certain that is.

    Parameters come in three groups: the labels and the columns with a special role, how to read the
    table, and how to score the rows.

    Parameters
    ----------
    table : path, "-" or data frame
        CSV, TSV, JSON lines or Parquet file, optionally compressed with gzip; ``"-"`` is standard
        input.
    label : str
        The label column, with two or more values.
    pos_label : default=None
        The positive label of two. By default the one that is positive by convention (1, yes, true,
        spam, ...), otherwise the last in sorted order, which is then recorded in the notes.
    neg_label : default=None
        The negative label of two; needed only if it looks like a missing value (none, NA, ...).
    id : str, default=None
        A column that identifies the rows.
    groups : str, default=None
        A column of groups; rows with the same value are never split between folds.
    trusted : str, default=None
        A column that is 1 or true if a person has confirmed the label of the row.
    probabilities : str, default=None
        A column of out-of-fold probabilities of the positive label. No model is fitted then. For
        more than two labels, name one column per label with a star: ``"p_*"`` stands for ``p_cat``,
        ``p_dog`` and so on.
    drop, keep, text : str or sequence of str
        Columns to leave out, to use even if they would be left out, and to use as free text, whose
        words become features. Most columns of free text are recognised without ``text``.
    redact : str or sequence of str
        Columns whose cells are never stored or shown.
    embeddings : path or array of shape (n_rows, n_features), default=None
        Additional numeric features, one vector per row in the order of the table; an array or the
        path of an npy file.
    drop_unlabeled : bool, default=False
        Leave out rows without a label; otherwise they raise an error.
    encoding, delimiter : str, default=None
        Encoding and delimiter of a text file. By default UTF-8, or UTF-16 if the file begins with a
        UTF-16 byte order mark, and the most frequent delimiter in the header.
    estimator : {"logistic", "boosting"}, "module:object" or classifier, default="logistic"
        The model to fit; ``"module:object"`` is imported.
    scorer : "committee", "with-trees", classifier or None, default="committee"
        As in `check_labels`.
    noise_estimator, rounds, cv, rare, n_jobs, random_state
        As in `RankPruningClassifier`.

    Returns
    -------
    LabelCheck or ClassCheck
        Of two labels, or of more.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankprune import check_table
    >>> lines = ["size,kind"] + [f"{i % 10},{'big' if i % 10 > 4 else 'small'}" for i in range(200)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sizes.csv"
    ...     _ = path.write_text("\\n".join(lines))
    ...     check = check_table(path, "kind", pos_label="big", scorer=None)
    >>> check.verdict.level, check.n_rows, check.n_suspects
    ('clean', 200, 0)
    """
    settings = CheckSettings(
        table=_table_name(table),
        label=str(label),
        pos_label=column_name(pos_label),
        neg_label=column_name(neg_label),
        id=column_name(id),
        drop=column_names(drop),
        keep=column_names(keep),
        text=column_names(text),
        groups=column_name(groups),
        probabilities=column_name(probabilities),
        trusted=column_name(trusted),
        embeddings=_embeddings_name(embeddings),
        estimator=model_name(estimator),
        scorer=model_name(scorer),
        noise_estimator="" if noise_estimator is None else str(model_name(noise_estimator)),
        rounds=rounds,
        cv=int(cv) if isinstance(cv, Integral) else None,
        random_state=random_state,
        rare=rare,
        drop_unlabeled=drop_unlabeled,
        redact=column_names(redact),
        encoding=encoding,
        delimiter=delimiter,
    )
    classifier = make_classifier(
        find_model(estimator), scorer, noise_estimator, rounds, cv, n_jobs, random_state, rare
    )
    index = _index(table)
    with open_table(table, encoding=encoding, delimiter=delimiter) as opened:
        return _check_opened(opened, settings, classifier, embeddings, index)


def _check_opened(
    table: Table,
    settings: CheckSettings,
    classifier: RankPruningClassifier,
    embeddings: Any,
    index: Any,
) -> LabelCheck | ClassCheck:
    path = None if table.path is None else str(table.path.resolve())
    source = Source(table.name, path, table.sha256, table.n_rows, len(table.names))
    unused = _refuse_unused(settings)
    is_given = settings.probabilities is not None
    are_many_rows = is_given and settings.trusted is None and table.n_rows > _MANY_ROWS
    if are_many_rows and not has_many_labels(table, str(settings.label)):
        return _check_out_of_core(table, settings, classifier, source, unused)
    rows = read_rows(table, settings, embeddings, features=not is_given)
    labels, repeat = rows.labels, has_known_cost(settings)
    names = None if labels.are_many else (labels.positive, labels.negative)
    chosen = chosen_noise_estimator(classifier.noise_estimator, are_two=names is not None)
    classifier.set_params(noise_estimator=chosen)
    settings = replace(
        settings,
        pos_label=names and names[0],
        neg_label=names and names[1],
        noise_estimator=str(model_name(chosen)),
        embeddings_sha256=rows.embeddings_sha256,
    )
    data = _row_data(table, rows, index)
    notes = () if rows.features is None else rows.features.plan.notes
    shown = Shown((*labels.notes, *notes, *unused), columns=_shown_columns(table, settings))
    if names is None:
        if not is_given:
            refuse_rare_labels(labels.names, labels.codes, classifier.cv, settings.rare)
        of_many = check_classes(
            data, classifier, labels.names, settings, source, shown, repeat=repeat
        )
        return _with_rows_of_table(of_many, table, rows)
    evidence = gather(data, classifier, repeat=repeat)
    told = tuple(leaks(rows.features, labels.is_positive))
    of_two = assemble(evidence, names, settings, source, replace(shown, warnings=told))
    return _with_rows_of_table(of_two, table, rows)


def _check_out_of_core(
    table: Table,
    settings: CheckSettings,
    classifier: RankPruningClassifier,
    source: Source,
    unused: tuple[str, ...],
) -> LabelCheck:
    """Return the check of so many rows that their scores are read in batches."""
    columns = _shown_columns(table, settings)
    chosen = chosen_noise_estimator(classifier.noise_estimator, are_two=True)
    evidence, labels, candidates = gather_out_of_core(table, settings, chosen, columns)
    names = (labels.positive, labels.negative)
    shown = Shown((*labels.notes, *unused), columns=columns, candidates=candidates)
    settings = replace(
        settings,
        pos_label=names[0],
        neg_label=names[1],
        noise_estimator=str(model_name(chosen)),
    )
    return assemble(evidence, names, settings, source, shown)


def _row_data(table: Table, rows: TableRows, index: Any) -> RowData:
    labels, features, hashes = rows.labels, rows.features, None
    if features is not None:
        hashes = table.row_hashes(features.plan.columns)[labels.rows]
        if rows.embeddings is not None:
            hashes ^= hash_rows(rows.embeddings)[labels.rows]
    return RowData(
        None if features is None else features.X,
        labels.codes if labels.are_many else labels.is_positive,
        labels.rows,
        rows.groups,
        rows.probabilities,
        rows.trusted,
        hashes,
        rows.ids,
        None if index is None else index[labels.rows],
    )


def _with_rows_of_table(check: AnyCheck, table: Table, rows: TableRows) -> AnyCheck:
    """Return the check with its subgroups and the cells of its candidates."""
    categories = () if rows.features is None else rows.features.encoder.categories
    hidden = {str(check.settings.label), *check.settings.redact}
    positions = [table.position(name) for name in check.columns]
    return replace(
        check,
        subgroups=tuple(subgroups(table, categories, check, rows.labels.rows, hidden)),
        candidates=shown_rows(check, lambda top: table.cells(top, positions)),
    )


def _shown_columns(table: Table, settings: CheckSettings) -> tuple[str, ...]:
    hidden = {settings.label, *settings.redact}
    return tuple(name for name in table.names if name not in hidden)[:MAX_COLUMNS]


def _refuse_unused(settings: CheckSettings) -> tuple[str, ...]:
    """Return a note on arguments that have no effect because probabilities were given."""
    if settings.probabilities is None:
        return ()
    if settings.rounds > 1:
        raise TableError(
            f"rounds must be 1 with probabilities, got {settings.rounds}: later rounds fit models. "
            "Leave one of the two out."
        )
    unused = [name for name in ("drop", "keep", "text", "embeddings") if getattr(settings, name)]
    return (f"Nothing was fitted, so {', '.join(unused)} had no effect.",) if unused else ()


def _table_name(table: Any) -> str | None:
    """Return the path of a table as it was passed, or None for a data frame."""
    if not isinstance(table, str | Path):
        return None
    return STDIN if str(table) == STDIN else str(table)


def _index(table: Any) -> Any:
    """Return the index of a pandas data frame, or None for other tables."""
    index = getattr(table, "index", None)
    return None if index is None or callable(index) else np.asarray(index, dtype=object)


def _embeddings_name(embeddings: Any) -> str | None:
    if embeddings is None:
        return None
    # Absolute, so that the file is found from any working directory.
    return str(Path(embeddings).resolve()) if isinstance(embeddings, str | Path) else AN_ARRAY
