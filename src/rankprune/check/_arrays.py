"""Check labels given as arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankprune.check._assemble import Shown, assemble
from rankprune.check._classes import check_classes, refuse_rare_labels
from rankprune.check._in_memory import (
    RowData,
    chosen_noise_estimator,
    gather,
    make_classifier,
)
from rankprune.check._shown_rows import shown_rows
from rankprune.check._stability import has_known_cost
from rankprune.core._inputs import BinaryLabels
from rankprune.core._parameters import validate_count
from rankprune.core.classes._class_inputs import refuse_for_two_labels
from rankprune.core.classes._class_labels import validate_any_labels
from rankprune.learners._copies import hash_rows
from rankprune.learners._named_models import find_model, model_name
from rankprune.learners._preparation import prepared_logistic
from rankprune.learners._probabilities import check_rows
from rankprune.run import ClassCheck, LabelCheck
from rankprune.run._findings import Source
from rankprune.run._settings import CheckSettings


def check_labels(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    scorer: Any = "committee",
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    noise_estimator: Any = None,
    rounds: int = 1,
    cv: Any = 3,
    rare: str = "error",
    n_jobs: int | None = None,
    random_state: int = 0,
) -> LabelCheck | ClassCheck:
    """Return how many labels are wrong in each class, which ones, and how certain that is.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
        Any features the estimator accepts. May be None if probabilities are passed and ``rounds``
        is 1.
    y : array-like of shape (n_rows,)
        Given labels, with any two or more values.
    estimator : classifier, default=None
        The default is logistic regression on prepared data: numbers are scaled, missing values
        filled in, and categories and texts encoded as numbers, as in `check_table`.
    scorer : classifier, "committee", "with-trees" or None, default="committee"
        The model that scores the rows; see `RankPruningClassifier`. The committee (the estimator,
        boosting and extra trees) mistakes overlap for noise far less often than a single model.
        With None, the estimator alone scores the rows.
    pos_label : default=None
        The positive label of two. By default the last of the two in sorted order.
    groups, probabilities, trusted
        As in `RankPruningClassifier.fit`. If some rows are trusted, a plain fit and Rank Pruning
        are compared on them.
    noise_estimator, rounds, cv, rare, n_jobs, random_state
        As in `RankPruningClassifier`.

    Returns
    -------
    LabelCheck or ClassCheck
        Of two labels, or of more. Rows are positions, counted from 0; the index of a pandas object
        is kept too.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import check_labels, flip_labels
    >>> X, truth = make_classification(1000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    >>> check = check_labels(X, y, scorer=None)
    >>> check.verdict.level, round(check.wrong_share, 2)
    ('noise found', 0.16)
    >>> bool((y != truth)[check.suspect_rows()[:100]].mean() > 0.95)
    True
    """
    labels, _ = validate_any_labels(y, None, pos_label=pos_label, name="y")
    if X is None and (probabilities is None or validate_count(rounds, "rounds", 1) > 1):
        raise ValueError(
            "X must hold the features, got None. Pass it, or probabilities and rounds=1."
        )
    are_two, n_rows = isinstance(labels, BinaryLabels), len(labels)
    if X is not None:
        check_rows(X, labels.codes, groups)
    model = find_model(estimator)
    if model is None and X is not None and probabilities is None:
        model = prepared_logistic(X)
    noise_estimator = chosen_noise_estimator(noise_estimator, are_two=are_two)
    classifier = make_classifier(
        model, scorer, noise_estimator, rounds, cv, n_jobs, random_state, rare
    )
    index = getattr(X if hasattr(X, "index") else y, "index", None)
    data = RowData(
        X,
        labels.is_positive if isinstance(labels, BinaryLabels) else labels.codes,
        np.arange(n_rows),
        groups,
        probabilities,
        trusted,
        hashes=None if X is None else hash_rows(X),
        # The ``index`` of a list is a method.
        index=None if index is None or callable(index) else np.asarray(index, dtype=object),
    )
    settings = CheckSettings(
        pos_label=None if pos_label is None else repr(pos_label),
        estimator=model_name(estimator),
        scorer=model_name(scorer),
        noise_estimator=str(model_name(noise_estimator)),
        rounds=rounds,
        cv=int(cv)
        if isinstance(cv, int | np.integer) and not isinstance(cv, np.timedelta64)
        else None,
        random_state=random_state,
        rare=rare,
    )
    shape: tuple[int, ...] = getattr(X, "shape", ())
    source = Source("arrays", None, None, n_rows, int(shape[1]) if len(shape) > 1 else 1)
    check: LabelCheck | ClassCheck
    if isinstance(labels, BinaryLabels):
        negative = labels.classes[labels.classes != labels.pos_label][0]
        names = (str(labels.pos_label), str(negative))
        evidence = gather(data, classifier, repeat=has_known_cost(settings))
        check = assemble(evidence, names, settings, source, Shown())
    else:
        refuse_for_two_labels(pos_label=pos_label)
        classes = tuple(map(str, labels.classes.tolist()))
        if probabilities is None:
            refuse_rare_labels(classes, labels.codes, cv, rare)
        repeat = has_known_cost(settings)
        check = check_classes(data, classifier, classes, settings, source, Shown(), repeat=repeat)
    return replace(check, candidates=shown_rows(check))
