"""Compare models trained with and without the suspects, on audited rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankprune.audit import AuditSample, compare_errors
from rankprune.core._inputs import FloatArray, validate_labels
from rankprune.core.classes._class_labels import ClassLabels, Labels
from rankprune.exceptions import TableError
from rankprune.learners._class_based import class_rows
from rankprune.learners._probabilities import Folds, make_splits
from rankprune.run._check_record import CheckRecord
from rankprune.run._checked_table import chosen_model, read_checked_rows
from rankprune.run._findings import BeforeAfter


def judge_on_audit(
    run: CheckRecord,
    sample: AuditSample,
    answers: Sequence[Any],
    table: Any = None,
    *,
    estimator: Any = None,
    n_jobs: int | None = None,
) -> BeforeAfter:
    """Return the errors of the plain model and of the model without suspects, on audited rows.

    Both are fitted to the given labels of the other folds: no model is evaluated on rows that it
    was fitted to, and neither of the two learns from the answers that it is judged by. (The model
    that `rankprune.model.train_model` fits later does, so it cannot be judged by them.)

    Parameters
    ----------
    run : LabelCheck or ClassCheck
    sample, answers
        As in `rankprune.audit.estimate`; ``sample.rows`` are positions in the table.
    table : path, default=None
        Current path of the table (default: its original path). A changed table raises an error.
    estimator : default=None
        As in `check_table`. By default the model of the check, which must then be a named model.
    n_jobs : int, default=None
        Number of folds to fit in parallel.
    """
    settings = run.settings
    if not run.out_of_fold:
        raise TableError("Nothing was fitted: the probabilities were given with the table.")
    if settings.cv is None:
        raise TableError("The check used your own splitter. Check again with a number of folds.")
    rows = read_checked_rows(run, table)
    assert rows.features is not None  # the features are always read here
    X, seed = rows.features.X, settings.random_state
    labels: Labels
    if rows.labels.are_many:
        labels = ClassLabels(rows.labels.codes, np.arange(len(rows.labels.names)))
        read = class_rows(X, rows.groups, labels, None, None, settings.rare, settings.cv)
        left_alone = read.status.left_alone
    else:
        labels, left_alone = validate_labels(rows.labels.is_positive, pos_label=True), None
    splits = make_splits(settings.cv, X, labels, rows.groups, None, seed, left_alone=left_alone)
    folds = Folds((chosen_model(run, estimator),), X, labels, splits, n_jobs, seed)
    keep = ~run.scores.suspect
    if not folds.keep_classes(keep):
        lacks = "lacks a label" if rows.labels.are_many else "has rows of only one label"
        raise TableError(f"Without its suspects, a fold {lacks}.")
    place = np.searchsorted(run.scores.rows, sample.rows)
    before, after = (
        _predicted(scores[place], sample)
        for scores in (folds.score(None), folds.score(run.scores.weight, keep))
    )
    judged = sum(answer is not None for answer in answers)
    return BeforeAfter(judged, *compare_errors(sample, answers, before, after))


def _predicted(scores: FloatArray, sample: AuditSample) -> list[Any]:
    """Return the label that each row is predicted to have, as answers name it."""
    codes = scores > 0.5 if scores.ndim == 1 else scores.argmax(axis=1)
    return [sample.values[code] for code in codes.astype(np.intp).tolist()]
