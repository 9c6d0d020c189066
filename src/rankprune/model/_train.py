"""Train a classifier on the noisy labels of a checked table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.classifier import RankPruningClassifier
from rankprune.core import MATRIX_ESTIMATORS, NOISE_ESTIMATORS, NoiseMatrix, NoiseRates
from rankprune.core._answer import acts
from rankprune.exceptions import CopiedRowsWarning, TableError
from rankprune.learners._class_based import KEEP
from rankprune.learners._cloning import fresh_clone
from rankprune.learners._committee import NAMED_SCORERS
from rankprune.learners._named_models import find_model
from rankprune.learners._sample_weights import fit_weighted
from rankprune.model._file import TableModel
from rankprune.run._check_record import CheckRecord
from rankprune.run._checked_table import chosen_model, read_checked_rows
from rankprune.run._class_sentences import is_of_many
from rankprune.run._judged_labels import judged_codes, noise_of_rest
from rankprune.run._pruned import answered_noise, pruned_rows, pruning_rates
from rankprune.run._rows import TableRows
from rankprune.table import open_table
from rankprune.table._features import Features, read_features
from rankprune.table._labels import read_labels

# What the file of a model of more than two labels says about the noise; the whole matrix is in the
# run, and large.
_IN_FILE = ("wrong_share", "error_rates", "noise_rates", "reliable")


def train_model(
    run: CheckRecord,
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
    run : LabelCheck or ClassCheck
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
    y = labels.codes.copy()
    judged, right = judged_codes(run)
    y[np.searchsorted(labels.rows, judged)] = right
    keep = np.flatnonzero(weights > 0)
    weight = weights[keep]
    classifier = fit_weighted(
        fresh_clone(chosen, run.settings.random_state),
        features.X[keep],
        _targets(y[keep], labels.names),
        None if (weight == 1).all() else weight,
    )
    return TableModel(
        features.encoder,
        classifier,
        str(run.settings.label),
        labels.names,
        _in_file(pruning_rates(run) if prune else answered_noise(run)),
        n_rows=len(weights),
        n_pruned=len(weights) - len(keep),
    )


def _targets(codes: NDArray[np.intp], names: tuple[str, ...]) -> NDArray[Any]:
    """Return labels as a classifier gets them: numbers, or whether they are the positive of two."""
    return codes if len(names) > 2 else codes == 1


def _in_file(noise: NoiseRates | NoiseMatrix) -> dict[str, Any]:
    """Return what a model remembers of the noise."""
    found = noise.to_dict()
    return {name: found[name] for name in _IN_FILE} if isinstance(noise, NoiseMatrix) else found


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
    run: CheckRecord,
    rows: NDArray[np.intp],
    codes: NDArray[Any],
    table: Any = None,
    *,
    embeddings: Any = None,
    estimator: Any = None,
    prune: bool = False,
    n_jobs: int | None = None,
) -> ReviewedModel:
    """Return a classifier fitted with settled labels, which are treated as trusted.

    Settled rows are never pruned and have no correction weight. All rows are scored again with the
    settled labels. The noise of the other rows is what the check found, audited if people judged
    rows for an audit, without the wrong labels that were settled.

    Parameters
    ----------
    run, table, embeddings, estimator, prune
        As in `train_model`.
    rows : ndarray of int
        Positions in the table of the settled rows. Rows that people judged for an audit are
        settled too, with the label of the audit unless another one is passed.
    codes : ndarray of int or bool
        Settled labels of these rows, as their places in ``run.classes``.
    n_jobs : int, default=None
        Number of folds to fit in parallel.
    """
    settings = run.settings
    estimators = MATRIX_ESTIMATORS if is_of_many(run) else NOISE_ESTIMATORS
    for name, known in (("scorer", (*NAMED_SCORERS, None)), ("noise_estimator", estimators)):
        if getattr(settings, name) not in known:
            raise TableError(
                f"The check used your own {name}, {getattr(settings, name)}. Fit it in Python: "
                "RankPruningClassifier(...).fit(X, y, trusted=settled)"
            )
    chosen = chosen_model(run, estimator)
    found = read_checked_rows(run, table, embeddings)
    labels, features = found.labels, _features(found)
    y = labels.codes.copy()
    trusted = np.zeros(len(y), dtype=bool) if found.trusted is None else found.trusted
    settled = trusted.copy()
    for judged, right in (judged_codes(run), (rows, codes)):
        place = np.searchsorted(labels.rows, judged)
        y[place], settled[place] = right, True
    noise = _noise_of_rest(run, labels.codes, y, settled & ~trusted, ~trusted, prune)
    # Reviewers may have moved every row of a label to others.
    present = np.unique(y)
    learner = RankPruningClassifier(
        chosen,
        **_known(noise, present),
        scorer=settings.scorer,
        noise_estimator=settings.noise_estimator if len(present) == len(labels.names) else None,
        rounds=settings.rounds,
        cv=3 if settings.cv is None else settings.cv,
        n_jobs=n_jobs,
        random_state=settings.random_state,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CopiedRowsWarning)  # the check reported them
        classifier = learner.fit(
            features.X,
            _targets(y, labels.names),
            groups=found.groups,
            probabilities=_of_present(found.probabilities, present),
            trusted=settled,
        )
    n_pruned = int(classifier.prune_mask_.sum())
    fitted = TableModel(
        features.encoder,
        classifier.estimator_,
        str(settings.label),
        labels.names,
        _in_file(classifier.noise_matrix_ if len(present) > 2 else classifier.noise_rates_),
        n_rows=len(y),
        n_pruned=n_pruned,
    )
    return ReviewedModel(fitted, len(y), int(settled.sum()), n_pruned)


def _noise_of_rest(
    run: CheckRecord,
    given: NDArray[np.intp],
    right: NDArray[np.intp],
    settled: NDArray[np.bool_],
    doubted: NDArray[np.bool_],
    prune: bool,
) -> NoiseRates | NoiseMatrix:
    """Return the noise of the rows that nobody settled; none if nothing is pruned."""
    if not prune and not acts(run.verdict):
        return _none(run, given)
    noise = pruning_rates(run) if prune else answered_noise(run)
    places = np.flatnonzero(settled[doubted])
    rest = noise_of_rest(noise, given[doubted], places, right[doubted][places])
    return _none(run, given) if rest is None or not rest.reliable else rest


def _none(run: CheckRecord, given: NDArray[np.intp]) -> NoiseRates | NoiseMatrix:
    """Return noise with which nothing is pruned."""
    shares = np.bincount(given, minlength=len(run.classes)) / len(given)
    if is_of_many(run):
        return NoiseMatrix(np.diag(shares), np.array(run.classes, dtype=object))
    return NoiseRates.from_noise_rates(0.0, 0.0, float(shares[1]))


def _known(noise: NoiseRates | NoiseMatrix, present: NDArray[np.intp]) -> dict[str, Any]:
    """Return known noise as a classifier takes it, for the labels that some row still has."""
    if isinstance(noise, NoiseMatrix) and len(present) > 2:
        # Settled labels may leave a label with fewer rows than there are folds.
        return {"noise_matrix": _among(noise, present), "rare": KEEP}
    if isinstance(noise, NoiseMatrix):
        noise = _among(noise, present).one_vs_rest(present[-1])
    return {
        "positive_noise_rate": noise.positive_noise_rate,
        "negative_noise_rate": noise.negative_noise_rate,
    }


def _among(matrix: NoiseMatrix, present: NDArray[np.intp]) -> NoiseMatrix:
    """Return the noise among some of the labels, by their numbers, as if no row were of another."""
    if len(present) == len(matrix):
        return replace(matrix, classes=present, uncounted=())
    joint = matrix.joint[np.ix_(present, present)]
    np.fill_diagonal(joint, joint.diagonal() + matrix.label_shares[present] - joint.sum(axis=1))
    return NoiseMatrix(joint / joint.sum(), present)


def _of_present(
    probabilities: NDArray[np.float64] | None, present: NDArray[np.intp]
) -> NDArray[np.float64] | None:
    """Return probabilities as a classifier takes them, for some of the labels, by their numbers."""
    if probabilities is None or probabilities.ndim == 1 or probabilities.shape[1] == len(present):
        return probabilities
    # A row of other labels alone is of none of these.
    found = np.maximum(probabilities[:, present], np.finfo(np.float64).tiny)
    found = found / found.sum(axis=1, keepdims=True)
    return found if len(present) > 2 else np.asarray(found[:, 1])


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
        features.X, _targets(labels.codes, labels.names)
    )
    return TableModel(features.encoder, classifier, label, labels.names, {})
