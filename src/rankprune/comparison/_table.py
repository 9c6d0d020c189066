"""The methods compared on the labels of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rankprune.comparison._compare import compare
from rankprune.comparison._result import Comparison
from rankprune.learners._named_models import find_model
from rankprune.table import open_table
from rankprune.table._embeddings import read_embeddings
from rankprune.table._features import read_features
from rankprune.table._labels import read_labels
from rankprune.table._special_columns import read_flags, read_texts
from rankprune.table._table import column_names


def compare_table(
    table: Any,
    label: str,
    *,
    pos_label: Any = None,
    neg_label: Any = None,
    truth: str | None = None,
    groups: str | None = None,
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    embeddings: Any = None,
    drop_unlabeled: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
    methods: str | Iterable[str] | None = None,
    estimator: Any = "logistic",
    cv: Any = 3,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Comparison:
    """Return how the methods perform on a table.

    Parameters come in three groups: the labels and other special columns, how the table is read,
    and what is fitted.

    Parameters
    ----------
    table, label, pos_label, neg_label
        The table, its column of labels and their values, as in `check_table`.
    truth : str, default=None
        Column with the true labels, 1 or true for positive, used to measure the methods.
    groups, drop, keep, text, embeddings
        The column of groups, and the features to use, as in `check_table`.
    drop_unlabeled, encoding, delimiter
        How the table is read, as in `check_table`.
    methods : str or iterable of str, default=None
        Names of the methods, as in `compare`.
    estimator : str or classifier, default="logistic"
        Fitted by every method: a name or classifier, as in `check_table`.
    cv, n_jobs, random_state
        As in `compare`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.datasets import make_classification
    >>> from rankprune.comparison import compare_table
    >>> X, y = make_classification(400, random_state=0)
    >>> table = pd.DataFrame(X).add_prefix("x").assign(label=y)
    >>> compare_table(table, "label", methods=["rank-pruning"]).is_trusted
    False
    """
    with open_table(table, encoding=encoding, delimiter=delimiter) as opened:
        labels = read_labels(
            opened,
            label,
            pos_label=None if pos_label is None else str(pos_label),
            neg_label=None if neg_label is None else str(neg_label),
            drop_unlabeled=drop_unlabeled,
        )
        special = [name for name in (label, groups, truth) if name is not None]
        vectors = read_embeddings(embeddings, opened.n_rows)
        features = read_features(
            opened,
            labels,
            special=special,
            drop=column_names(drop),
            keep=column_names(keep),
            text=column_names(text),
            embeddings=vectors,
        )
        rows = labels.rows
        row_groups = None if groups is None else read_texts(opened, groups, "groups", rows)
        true_labels = None if truth is None else read_flags(opened, truth, "truth", rows)
    return compare(
        features.X,
        labels.is_positive,
        find_model(estimator),
        methods=methods,
        true_labels=true_labels,
        groups=row_groups,
        cv=cv,
        n_jobs=n_jobs,
        random_state=random_state,
    )
