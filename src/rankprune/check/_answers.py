"""Check labels that several annotators gave: their consensus becomes the label of each row."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankprune.annotators import Consensus, consensus
from rankprune.annotators._answers import Duplicates
from rankprune.check._answer_tables import LongTable, Matched, match, read_long_table
from rankprune.check._repeated_answers import repeated_answers
from rankprune.check._table import check_table
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR
from rankprune.exceptions import RankPruneWarning
from rankprune.learners._named_models import find_model
from rankprune.learners._probabilities import out_of_fold_probabilities
from rankprune.learners._progress import log_stage
from rankprune.run import LabelCheck
from rankprune.run._rows import TableRows, read_rows
from rankprune.run._settings import AnswersSettings, CheckSettings
from rankprune.storage._atomic import refuse_same_file, whole_file
from rankprune.storage._claims import temporary_folder
from rankprune.table import Table, open_table
from rankprune.table._table import column_name, column_names
from rankprune.table._write import output_format, write_table

# Rows of each label from which a classifier is one more witness.
_ENOUGH = 10
_Scorer = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def check_answers(
    answers: Any,
    label: str,
    *,
    row: str,
    annotator: str,
    features: Any,
    labeled: Any,
    seconds: str | None = None,
    duplicates: Duplicates = "last",
    pos_label: Any = None,
    neg_label: Any = None,
    groups: str | None = None,
    probabilities: str | None = None,
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    redact: str | Sequence[str] = (),
    embeddings: Any = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    estimator: Any = "logistic",
    scorer: Any = "committee",
    noise_estimator: Any = DEFAULT_ESTIMATOR,
    rounds: int = 1,
    cv: Any = 3,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> LabelCheck:
    """Return how many labels are wrong where several annotators answered, and how often each errs.

    The consensus of the answers about a row becomes its label, and the table of the rows is
    checked with it. What the answers themselves say is in ``repeated_answers`` of the result.

    Parameters
    ----------
    answers : path, "-" or data frame
        A long table with one answer per line.
    label : str
        The column of answers, which must have two values. Empty cells are no answers.
    row, annotator : str
        The columns that name the row and the annotator. Both tables need the column ``row``; its
        cells are compared as text.
    features : path or data frame
        The table of the rows, with their features.
    labeled : path
        Where to write that table again with the consensus as a new column, named as ``label``. Rows
        without answers have no label. This is the table that is checked, and later reviewed.
    seconds : str, default=None
        The column with the time that each answer took.
    duplicates : {"last", "error", "all"}, default="last"
        As in `rankprune.annotators.Answers.from_long`.
    redact : str or sequence of str
        As in `check_table`. If it names the column ``annotator``, annotators become numbers.
    pos_label, neg_label, groups, probabilities, drop, keep, text, embeddings
        As in `check_table`; columns are those of ``features``.
    encoding, delimiter, estimator, scorer, noise_estimator, rounds, cv, n_jobs, random_state
        As in `check_table`.

    Returns
    -------
    LabelCheck

    Notes
    -----
    The scores of ``estimator``, fitted out of fold, are one more witness of the consensus. With
    fewer than ten rows of a label nothing is fitted, and answers alone count.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankprune import check_answers
    >>> items, said = ["item,size"], ["item,worker,answer"]
    >>> for i in range(120):
    ...     items.append(f"i{i},{i % 10}")
    ...     for worker in ("ann", "bob", "cyd"):
    ...         is_slip = worker == "cyd" and i % 4 == 0
    ...         said.append(f"i{i},{worker},{'big' if (i % 10 > 4) != is_slip else 'small'}")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tables = Path(folder) / "answers.csv", Path(folder) / "items.csv"
    ...     for path, lines in zip(tables, (said, items)):
    ...         _ = path.write_text("\\n".join(lines))
    ...     check = check_answers(
    ...         tables[0],
    ...         "answer",
    ...         row="item",
    ...         annotator="worker",
    ...         features=tables[1],
    ...         labeled=Path(folder) / "labeled.csv",
    ...         pos_label="big",
    ...         scorer=None,
    ...     )
    >>> for one in check.repeated_answers.annotators:
    ...     print(one.annotator, f"{one.accuracy.estimate:.0%}")
    cyd 75%
    ann 100%
    bob 100%
    """
    place = Path(labeled)
    output_format(place)
    label, row, annotator = str(label), str(row), str(annotator)
    hidden = column_names(redact)
    options: dict[str, Any] = {
        "groups": groups,
        "probabilities": probabilities,
        "drop": drop,
        "keep": keep,
        "text": text,
        "embeddings": embeddings,
        "estimator": estimator,
        "cv": cv,
        "random_state": random_state,
    }
    reading: dict[str, Any] = {"encoding": encoding, "delimiter": delimiter}
    with open_table(answers, **reading) as opened:
        refuse_same_file(place, opened.path)
        given = read_long_table(
            opened,
            label,
            row=row,
            annotator=annotator,
            seconds=column_name(seconds),
            pos_label=column_name(pos_label),
            neg_label=column_name(neg_label),
            hide_annotators=annotator in hidden,
        )
    with open_table(features, **reading) as opened, temporary_folder() as folder:
        refuse_same_file(place, opened.path)
        opened.refuse_taken([label])
        matched = match(given, opened, row, duplicates)
        witness = _witness(opened, given, matched, label, row, options, n_jobs)
        log_stage(f"finding the consensus of {len(matched.answers):,} answers")
        found = consensus(matched.answers, probabilities=witness)
        # Checked before it takes its place, so that an error leaves no file behind.
        path = Path(folder) / place.name
        write_table(opened, path, beside={label: _labels(found, matched)})
        check = check_table(
            path,
            label,
            id=row,
            pos_label=given.positive,
            neg_label=given.negative,
            drop_unlabeled=matched.n_unanswered > 0,
            redact=[name for name in hidden if name != annotator],
            scorer=scorer,
            noise_estimator=noise_estimator,
            rounds=rounds,
            n_jobs=n_jobs,
            **options,
        )
        with whole_file(place) as part:
            shutil.copyfile(path, part)
    asked = AnswersSettings(
        table=_path(answers),
        row=row,
        annotator=annotator,
        features=_path(features),
        seconds=column_name(seconds),
        duplicates=duplicates,
        encoding=encoding,
        delimiter=delimiter,
        redact_annotators=annotator in hidden,
    )
    assert isinstance(check, LabelCheck)  # answers have two values
    return replace(
        check,
        settings=replace(check.settings, table=str(place), answers=asked),
        source=replace(check.source, path=str(place.resolve())),
        notes=(*given.notes, *_notes(matched, witness is None), *check.notes),
        repeated_answers=repeated_answers(given, matched, found, shown=row not in hidden),
    )


def _path(table: Any) -> str | None:
    return str(table) if isinstance(table, str | Path) else None


def _labels(found: Consensus, matched: Matched) -> NDArray[Any]:
    """Return the consensus of each row of the table of features; None without answers."""
    labels = found.labels[: matched.n_items].astype(object)
    labels[~matched.is_answered] = None
    return labels


def _notes(matched: Matched, alone: bool) -> list[str]:
    notes = []
    n = matched.n_without_features
    if n:
        have = "row of the answers has" if n == 1 else "rows of the answers have"
        notes.append(
            f"{n:,} {have} no features and {'was' if n == 1 else 'were'} not checked; the answers "
            "still count for the annotators."
        )
    n = matched.n_unanswered
    if n:
        notes.append(f"{n:,} {'row has' if n == 1 else 'rows have'} no answers, and so no label.")
    if alone:
        notes.append(
            f"Fewer than {_ENOUGH} rows have one of the labels, so the consensus is that of the "
            "answers alone."
        )
    return notes


def _witness(
    table: Table,
    given: LongTable,
    matched: Matched,
    label: str,
    row: str,
    options: dict[str, Any],
    n_jobs: int | None,
) -> NDArray[np.float64] | _Scorer | None:
    """Return the scores of the rows, or a function that makes them; None with too few rows."""
    votes = consensus(matched.answers, method="majority")
    n, answered = matched.n_items, matched.is_answered
    is_positive = votes.labels[:n] == given.positive
    counts = np.bincount(is_positive[answered], minlength=2)
    is_given = options["probabilities"] is not None
    if counts.min() < _ENOUGH and not is_given:
        return None
    rows = _rows_of_table(table, votes, given, label, row, options, features=not is_given)
    if rows.probabilities is not None:
        return _with_other_rows(rows.probabilities, votes.probabilities)
    estimator = find_model(options["estimator"])
    assert rows.features is not None  # they were asked for
    X = rows.features.X

    def scores(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        found = probabilities[:n]
        is_positive = found.argmax(axis=1) == 1
        if np.bincount(is_positive[answered], minlength=2).min() < _ENOUGH:
            return votes.probabilities  # a classifier could not be fitted
        log_stage("scoring rows for the consensus")
        with warnings.catch_warnings():
            # The check that follows fits the same model, and repeats them.
            warnings.simplefilter("ignore", RankPruneWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            positive = out_of_fold_probabilities(
                estimator,
                X,
                is_positive,
                cv=options["cv"],
                groups=rows.groups,
                # Rows of weight 0 are scored, but nothing is fitted to them.
                sample_weight=np.where(answered, found.max(axis=1), 0.0),
                n_jobs=n_jobs,
                random_state=options["random_state"],
            )
        return _with_other_rows(positive, probabilities)

    return scores


def _with_other_rows(
    positive: NDArray[np.float64], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return scores of both labels; rows without features have those of an average row."""
    scores = np.tile(probabilities.mean(axis=0), (len(probabilities), 1))
    scores[: len(positive), 0], scores[: len(positive), 1] = 1 - positive, positive
    return scores


def _rows_of_table(
    table: Table,
    votes: Consensus,
    given: LongTable,
    label: str,
    row: str,
    options: dict[str, Any],
    *,
    features: bool,
) -> TableRows:
    """Return the rows of the table of features, with votes as labels."""
    columns: dict[str, Any] = {
        "pos_label": given.positive,
        "neg_label": given.negative,
        **{name: column_name(options[name]) for name in ("groups", "probabilities")},
        **{name: column_names(options[name]) for name in ("drop", "keep", "text")},
    }
    settings = CheckSettings(label=label, id=row, **columns)
    with temporary_folder() as folder:
        path = folder / f"votes{'.parquet' if table.format == 'parquet' else '.csv'}"
        write_table(table, path, beside={label: votes.labels[: table.n_rows].astype(object)})
        with open_table(path) as opened:
            return read_rows(opened, settings, options["embeddings"], features=features)
