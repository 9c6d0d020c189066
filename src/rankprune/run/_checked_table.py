"""Open the table of a run again; raise an error if the table or its embeddings have changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rankprune.exceptions import TableError
from rankprune.learners._named_models import MODELS, find_model
from rankprune.run._check_record import CheckRecord
from rankprune.run._rows import TableRows, read_rows
from rankprune.table import Table, open_table


def chosen_model(run: CheckRecord, model: Any) -> Any:
    """Return the model that was passed, or by default the model used by the check."""
    name = run.settings.estimator
    if model is None and name not in MODELS:
        # Code is never imported because a file names it.
        raise TableError(
            f"The check used your own model, {name!r}, and files never decide what is imported. "
            "Pass it again, such as estimator='my_module:my_model'."
        )
    return find_model(name if model is None else model)


@contextmanager
def open_checked(run: CheckRecord, table: Any = None, *, watch: bool = True) -> Iterator[Table]:
    """Open the table of a run, or raise an error if it has changed since the check.

    Parameters
    ----------
    run : LabelCheck
    table : path or data frame, default=None
        Current path of the table, or the data frame (default: its original path).
    watch : bool, default=True
        As in `open_table`.
    """
    settings = run.settings
    if not settings.is_of_table or (table is None and run.source.path is None):
        raise TableError(
            f"The checked table cannot be opened again: it was read from {run.source.name}. Pass "
            "the same table again as table, or check a file."
        )
    path = run.source.path
    if table is None and path is not None and not Path(path).exists():
        raise TableError(
            f"The checked table is no longer at {path}. If it was moved, pass its new path, such "
            "as table='new/path.csv'."
        )
    with open_table(
        table if table is not None else run.source.path,
        encoding=settings.encoding,
        delimiter=settings.delimiter,
        watch=watch,
    ) as opened:
        if opened.sha256 != run.source.sha256:
            if table is None:
                reason = "has changed since it was checked. Check it again."
            else:
                reason = f"is not the table that was checked, {run.source.name}, or has changed."
            raise TableError(f"{opened.name} {reason}")
        if opened.n_rows != run.source.n_rows:
            raise TableError(
                f"The result of the check does not agree with the table: it counts "
                f"{run.source.n_rows:,} rows in {opened.name}, which has {opened.n_rows:,}. Check "
                "it again with force=True."
            )
        yield opened


def read_checked_rows(run: CheckRecord, table: Any = None, embeddings: Any = None) -> TableRows:
    """Return the rows of a run's table, with the embeddings used by the check.

    Parameters
    ----------
    run, table
        As in `open_checked`.
    embeddings : path or array, default=None
        By default the file passed to the check.
    """
    settings = run.settings
    with open_checked(run, table) as opened:
        rows = read_rows(
            opened, settings, settings.embeddings if embeddings is None else embeddings
        )
    if rows.embeddings_sha256 != settings.embeddings_sha256:
        raise TableError(
            "embeddings must be those of the check; their numbers have changed since. Check again, "
            "or pass the right file."
        )
    labels = rows.labels
    if (
        labels.names != run.classes
        or not np.array_equal(labels.rows, run.scores.rows)
        or not np.array_equal(labels.codes, run.given_codes)
    ):
        raise TableError(
            f"The result of the check does not agree with the table: {run.source.name} has other "
            f"labels in {settings.label!r}. Check it again with force=True."
        )
    return rows
