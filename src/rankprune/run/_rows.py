"""Read the rows of a table according to the settings of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.run._settings import CheckSettings
from rankprune.table import Table
from rankprune.table._embeddings import array_sha256, read_embeddings
from rankprune.table._features import Features, read_features
from rankprune.table._labels import Labels, read_labels
from rankprune.table._special_columns import (
    class_columns,
    named_columns,
    read_class_probabilities,
    read_flags,
    read_probabilities,
    read_texts,
)


@dataclass(frozen=True)
class TableRows:
    """The labeled rows of a table.

    Attributes
    ----------
    labels : Labels
    features : Features or None
        None if ``read_rows`` was called with ``features=False``.
    embeddings : ndarray or None
        Embeddings of all rows of the table, labeled or not.
    embeddings_sha256 : str or None
        SHA-256 hash of the embeddings.
    probabilities, groups, trusted, ids : ndarray or None
        Values of the columns with a special role; None if no column was named.
    """

    labels: Labels
    features: Features | None
    embeddings: NDArray[np.float64] | None
    embeddings_sha256: str | None
    probabilities: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    trusted: NDArray[np.bool_] | None
    ids: NDArray[Any] | None


def read_rows(
    table: Table, settings: CheckSettings, embeddings: Any, *, features: bool = True
) -> TableRows:
    """Return the labeled rows of an open table.

    Parameters
    ----------
    table : Table
    settings : CheckSettings
    embeddings : path, array or None
    features : bool, default=True
        Whether to compute features and read the embeddings.
    """
    labels = read_labels(
        table,
        str(settings.label),
        pos_label=settings.pos_label,
        neg_label=settings.neg_label,
        drop_unlabeled=settings.drop_unlabeled,
    )
    columns = settings.columns()
    if labels.are_many:
        columns["probabilities"] = None
    special = named_columns(table, **columns)
    of_labels: list[str] = []
    vectors = made = probabilities = groups = ids = trusted = None
    if labels.are_many and settings.probabilities is not None:
        of_labels = class_columns(settings.probabilities, labels.names)
        probabilities = read_class_probabilities(table, of_labels, labels.rows)
    elif "probabilities" in special:
        probabilities = read_probabilities(table, special["probabilities"], labels.rows)
    if features:
        vectors = read_embeddings(embeddings, table.n_rows)
        made = read_features(
            table,
            labels,
            special=[str(settings.label), *special.values(), *of_labels],
            drop=settings.drop,
            keep=settings.keep,
            text=settings.text,
            embeddings=vectors,
        )
    if "groups" in special:
        groups = read_texts(table, special["groups"], "groups", labels.rows)
    if "id" in special:
        ids = read_texts(table, special["id"], "id", labels.rows)
    if "trusted" in special:
        trusted = read_flags(table, special["trusted"], "trusted", labels.rows)
    sha256 = None if vectors is None else array_sha256(vectors)
    return TableRows(labels, made, vectors, sha256, probabilities, groups, trusted, ids)
