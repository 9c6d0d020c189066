"""The methods side by side on the labels of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rankprune._models import find_model
from rankprune._table_rows import (
    read_embeddings,
    read_features,
    read_flags,
    read_labels,
    read_texts,
)
from rankprune.comparison._compare import compare
from rankprune.comparison._result import Comparison
from rankprune.tables import open_table


def compare_table(
    table: Any,
    label: str,
    *,
    positive: Any = None,
    negative: Any = None,
    truth: str | None = None,
    group: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: Sequence[str] = (),
    embeddings: Any = None,
    model: Any = "logistic",
    methods: Iterable[str] | None = None,
    folds: int = 3,
    n_jobs: int | None = None,
    random_state: int = 0,
    drop_unlabeled: bool = False,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> Comparison:
    """Return how the methods do on a table; see `compare` and `check_table`.

    Parameters
    ----------
    table, label, positive, negative, group, drop, keep, text, embeddings, model, folds, n_jobs, \
    random_state, drop_unlabeled, encoding, delimiter
        As in `check_table`.
    truth : str, default=None
        A column with the true labels, 1 or true for positive, to judge the methods by.
    methods : iterable of str, default=None
        As in `compare`.

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
            None if positive is None else str(positive),
            drop_unlabeled,
            negative=None if negative is None else str(negative),
        )
        apart = [name for name in (label, group, truth) if name is not None]
        vectors = read_embeddings(embeddings, opened.n_rows)
        features = read_features(
            opened, labels, apart=apart, drop=drop, keep=keep, text=text, embeddings=vectors
        )
        rows = labels.rows
        groups = None if group is None else read_texts(opened, group, "--group", rows)
        true_labels = None if truth is None else read_flags(opened, truth, "--truth", rows)
    return compare(
        features.X,
        labels.is_positive,
        find_model(model),
        methods=methods,
        true_labels=true_labels,
        groups=groups,
        cv=folds,
        n_jobs=n_jobs,
        random_state=random_state,
    )
