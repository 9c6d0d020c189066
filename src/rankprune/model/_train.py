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
from rankprune.run._judged_labels import judged_labels, rates_of_rest
from rankprune.run._pruned import pruned_rows, pruning_rates
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

    Rows that people judged for an audit are trusted: they are kept with their right label and have
    weight 1.

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
    y = labels.is_positive.copy()
    judged, right = judged_labels(run)
    y[np.searchsorted(labels.rows, judged)] = right
    keep = np.flatnonzero(weights > 0)
    weight = weights[keep]
    classifier = fit_weighted(
        fresh_clone(chosen, run.settings.random_state),
        features.X[keep],
        y[keep],
        None if (weight == 1).all() else weight,
    )
    return TableModel(
        features.encoder,
        classifier,
        str(run.settings.label),
        labels.positive,
        labels.negative,
        (pruning_rates(run) if prune else run.noise_rates).to_dict(),
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
    settled labels. The noise rates of the remaining rows follow from the audited rates if people
    judged rows for an audit; otherwise they are estimated again.

    Parameters
    ----------
    run, table, embeddings, estimator, prune
        As in `train_model`.
    rows : ndarray of int
        Positions in the table of the settled rows. Rows that people judged for an audit are
        settled too, with the label of the audit unless another one is passed.
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
    trusted = np.zeros(len(y), dtype=bool) if found.trusted is None else found.trusted
    settled = trusted.copy()
    for judged, right in (judged_labels(run), (rows, is_positive)):
        place = np.searchsorted(labels.rows, judged)
        y[place], settled[place] = right, True
    known_rates = _known_rates(run, labels.is_positive, y, settled & ~trusted, ~trusted, prune)
    learner = RankPruningClassifier(
        chosen,
        positive_noise_rate=known_rates[0],
        negative_noise_rate=known_rates[1],
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


def _known_rates(
    run: LabelCheck,
    given: NDArray[np.bool_],
    right: NDArray[np.bool_],
    settled: NDArray[np.bool_],
    doubted: NDArray[np.bool_],
    prune: bool,
) -> tuple[float | None, float | None]:
    """Return the noise rates of the rows that nobody settled, None where they are estimated."""
    if not prune and not acts(run.verdict):
        # Nothing is pruned.
        return 0.0, 0.0
    if not len(judged_labels(run)[0]):
        return None, None
    places = np.flatnonzero(settled[doubted])
    rest = rates_of_rest(run.noise_rates, given[doubted], places, right[doubted][places])
    if rest is None or not rest.reliable:
        return 0.0, 0.0
    return rest.positive_noise_rate, rest.negative_noise_rate


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
