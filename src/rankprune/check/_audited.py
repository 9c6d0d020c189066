"""Compare models trained with and without the suspects, on audited rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankprune.audit import AuditSample, compare_errors
from rankprune.core._inputs import validate_labels
from rankprune.exceptions import TableError
from rankprune.learners._probabilities import Folds, make_splits
from rankprune.run import LabelCheck
from rankprune.run._checked_table import chosen_model, read_checked_rows
from rankprune.run._findings import BeforeAfter


def judge_on_audit(
    run: LabelCheck,
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
    run : LabelCheck
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
    labels = validate_labels(rows.labels.is_positive, pos_label=True)
    X, seed = rows.features.X, settings.random_state
    splits = make_splits(settings.cv, X, labels, rows.groups, None, seed)
    folds = Folds((chosen_model(run, estimator),), X, labels, splits, n_jobs, seed)
    keep = ~run.scores.suspect
    if not folds.keep_classes(keep):
        raise TableError("Without its suspects, a fold has rows of only one label.")
    place = np.searchsorted(run.scores.rows, sample.rows)
    before, after = (
        (scores[place] > 0.5).tolist()
        for scores in (folds.score(None), folds.score(run.scores.weight, keep))
    )
    judged = sum(answer is not None for answer in answers)
    return BeforeAfter(judged, *compare_errors(sample, answers, before, after))
