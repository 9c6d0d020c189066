"""Train a classifier on the noisy labels of a checked table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.classifier import RankPruningClassifier
from rankprune.core import NOISE_ESTIMATORS
from rankprune.core._answer import acts
from rankprune.exceptions import CopiedRowsWarning, TableError
from rankprune.learners._cloning import fresh_clone
from rankprune.learners._committee import NAMED_SCORERS
from rankprune.learners._named_models import find_model
from rankprune.learners._sample_weights import fit_weighted
from rankprune.model._file import TableModel
from rankprune.run import LabelCheck
from rankprune.run._checked_table import chosen_model, read_checked_rows
from rankprune.run._pruned import pruned_rows
from rankprune.run._rows import TableRows
from rankprune.table import open_table
from rankprune.table._features import Features, read_features
from rankprune.table._labels import read_labels


def train_model(
    run: LabelCheck,
    table: Any = None,
    *,
    embeddings: Any = None,
    estimator: Any = None,
    prune: bool = False,
) -> TableModel:
    """Return a classifier fitted to the rows that the check keeps, with correction weights.

    Parameters
    ----------
    run : LabelCheck
    table : path or data frame, default=None
        Current path of the table (default: its original path). A changed table raises an error.
    embeddings : path or array, default=None
        As in `check_table`; by default the file passed to the check.
    estimator : default=None
        As in `check_table`; by default the model of the check.
    prune : bool, default=False
        Drop the least believable rows even if the check did not find noise. By default no rows are
        dropped in that case.
    """
    chosen = chosen_model(run, estimator)
    rows = read_checked_rows(run, table, embeddings)
    labels, features = rows.labels, _features(rows)
    _, weights = pruned_rows(run, prune=prune, trusted=rows.trusted)
    keep = np.flatnonzero(weights > 0)
    weight = weights[keep]
    classifier = fit_weighted(
        fresh_clone(chosen, run.settings.random_state),
        features.X[keep],
        labels.is_positive[keep],
        None if (weight == 1).all() else weight,
    )
    return TableModel(
        features.encoder,
        classifier,
        str(run.settings.label),
        labels.positive,
        labels.negative,
        (run.estimated_rates if prune else run.noise_rates).to_dict(),
        n_rows=len(weights),
        n_pruned=len(weights) - len(keep),
    )


@dataclass(frozen=True)
class ReviewedModel:
    """A model trained with settled labels.

    Attributes
    ----------
    model : TableModel
    n_rows, n_trusted, n_pruned : int
        Numbers of labeled rows, of trusted or settled rows, and of other rows left out of the fit.
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
    estimator: Any = None,
    prune: bool = False,
    n_jobs: int | None = None,
) -> ReviewedModel:
    """Return a classifier fitted with settled labels, which are treated as trusted.

    Settled rows are never pruned and have no correction weight. All rows are scored again with the
    settled labels, and the noise rates are estimated from the remaining rows.

    Parameters
    ----------
    run, table, embeddings, estimator, prune
        As in `train_model`.
    rows : ndarray of int
        Positions in the table of the settled rows.
    is_positive : ndarray of bool
        Settled labels of these rows.
    n_jobs : int, default=None
        Number of folds to fit in parallel.
    """
    settings = run.settings
    for name, known in (("scorer", (*NAMED_SCORERS, None)), ("noise_estimator", NOISE_ESTIMATORS)):
        if getattr(settings, name) not in known:
            raise TableError(
                f"The check used your own {name}, {getattr(settings, name)}. Fit it in Python: "
                "RankPruningClassifier(...).fit(X, y, trusted=settled)"
            )
    chosen = chosen_model(run, estimator)
    found = read_checked_rows(run, table, embeddings)
    labels, features = found.labels, _features(found)
    y = labels.is_positive.copy()
    settled = np.zeros(len(y), dtype=bool) if found.trusted is None else found.trusted
    place = np.searchsorted(labels.rows, rows)
    y[place], settled[place] = is_positive, True
    # If no noise was found, nothing is pruned: the noise rates are assumed to be 0.
    assumed = None if prune or acts(run.verdict) else 0.0
    learner = RankPruningClassifier(
        chosen,
        positive_noise_rate=assumed,
        negative_noise_rate=assumed,
        scorer=settings.scorer,
        noise_estimator=settings.noise_estimator,
        rounds=settings.rounds,
        cv=3 if settings.cv is None else settings.cv,
        n_jobs=n_jobs,
        random_state=settings.random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CopiedRowsWarning)  # the check reported them
        classifier = learner.fit(
            features.X, y, groups=found.groups, probabilities=found.probabilities, trusted=settled
        )
    n_pruned = int(classifier.prune_mask_.sum())
    fitted = TableModel(
        features.encoder,
        classifier.estimator_,
        str(settings.label),
        labels.positive,
        labels.negative,
        classifier.noise_rates_.to_dict(),
        n_rows=len(y),
        n_pruned=n_pruned,
    )
    return ReviewedModel(fitted, len(y), int(settled.sum()), n_pruned)


def _features(rows: TableRows) -> Features:
    assert rows.features is not None  # always computed when a checked table is read again
    return rows.features


def train_plain(
    table: Any,
    label: str,
    *,
    pos_label: Any = None,
    estimator: Any = "logistic",
    random_state: int = 0,
) -> TableModel:
    """Return a classifier fitted to the given labels of a table, for comparison.

    Parameters
    ----------
    table, label, pos_label, estimator, random_state
        As in `check_table`.
    """
    with open_table(table) as opened:
        named = None if pos_label is None else str(pos_label)
        labels = read_labels(opened, label, pos_label=named)
        features = read_features(opened, labels, special=[label])
    classifier = fresh_clone(find_model(estimator), random_state).fit(
        features.X, labels.is_positive
    )
    return TableModel(features.encoder, classifier, label, labels.positive, labels.negative, {})
