"""The methods by name, and the function that compares them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from rankprune.classifier import RankPruningClassifier
from rankprune.comparison._measure import BASELINE, ORACLE, Measurement, SharedSettings
from rankprune.comparison._result import Comparison
from rankprune.comparison._split import match_labels, split_rows
from rankprune.core import NoiseRates
from rankprune.core._inputs import validate_labels, validate_probabilities
from rankprune.core._label_values import MoreThanTwoClasses
from rankprune.core._noise_rates import validate_noise_rates
from rankprune.learners._cloning import (
    RandomState,
    default_estimator,
    draw_seed,
    private_random_state,
)
from rankprune.learners._probabilities import check_rows
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    ConsistencyPruningClassifier,
    CoTrainingClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    OneClassPUClassifier,
    RESVMClassifier,
    UnbiasedLossClassifier,
    WeightedLogisticPUClassifier,
)

METHODS: dict[str, Any] = {
    "rank-pruning": RankPruningClassifier(),
    "rank-pruning, as published": RankPruningClassifier(noise_estimator="confident-counts"),
    "label-dependent-cost": LabelDependentCostClassifier(),
    "unbiased-loss": UnbiasedLossClassifier(),
    "importance-reweighting": ImportanceReweightingClassifier(),
    "elkan-noto": ElkanNotoClassifier(),
    "elkan-noto, weighting": ElkanNotoClassifier(weighting=True),
    "weighted-logistic": WeightedLogisticPUClassifier(),
    "biased-svm": BiasedSVMClassifier(),
    "bagging-pu": BaggingPUClassifier(),
    "resvm": RESVMClassifier(),
    "co-training": CoTrainingClassifier(),
    "consistency-pruning": ConsistencyPruningClassifier(),
    "one-class": OneClassPUClassifier(),
}

# Compared by default: methods that take only a few fits and can use most estimators.
_DEFAULT = (
    "rank-pruning",
    "label-dependent-cost",
    "unbiased-loss",
    "importance-reweighting",
    "elkan-noto",
    "elkan-noto, weighting",
)


def compare(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    methods: Iterable[str] | Mapping[str, Any] | None = None,
    noise_rates: NoiseRates | None = None,
    true_labels: ArrayLike | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    groups: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    pos_label: Any = None,
    cv: Any = 3,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Comparison:
    """Return how methods perform on the same rows, with the same out-of-fold probabilities.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
        Any input that the estimator accepts and whose rows can be selected.
    y : array-like of shape (n_rows,)
        Given labels, of any two values, some of them wrong.
    estimator : classifier with ``predict_proba``, default=None
        Fitted by every method that does not have its own. Logistic regression by default.
    methods : iterable of str, mapping of str to classifier, or None, default=None
        Names among ``rankprune.comparison.METHODS``, or your own classifiers by name. A classifier
        whose estimator is not set gets the shared estimator and the shared probabilities. By
        default, the methods that take only a few fits and can use the estimator. The noisy
        baseline, a plain fit, is always included; with ``true_labels`` so is the oracle, a plain
        fit to the true labels.
    noise_rates : NoiseRates, default=None
        Known rates, passed to every method that takes rates and was not given any.
    true_labels : array-like of shape (n_rows,), default=None
        True labels of the same rows, for the oracle and, without ``test``, to measure with.
    test : tuple of (X, labels), default=None
        Other rows with true labels. By default a quarter of the rows is held out.
    groups : array-like of shape (n_rows,), default=None
        Rows of a group are never split between folds, or between training and test rows.
    probabilities : array-like of shape (n_rows,), default=None
        Out-of-fold probabilities of the positive label by this estimator; computed by default.
        They require ``test``, because models that scored them may have seen the held-out rows.
    pos_label : default=None
        The positive label; by default the last of the two values in sorted order.
    cv, n_jobs, random_state
        As in `RankPruningClassifier`, for the shared probabilities and for the methods. Your own
        classifiers keep their ``cv``, and their other two settings unless these are None.

    Returns
    -------
    Comparison
        Without ``true_labels`` and ``test`` there are no correct labels to measure with. Then F1,
        error and ROC AUC are estimated from noisy held-out labels by `clean_metrics`, with the
        known or estimated noise rates, and ``note`` mentions it.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import compare, flip_labels
    >>> X, truth = make_classification(2000, class_sep=2, flip_y=0, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.4, negative_noise_rate=0.1, random_state=0)
    >>> found = compare(X, y, true_labels=truth, methods=["rank-pruning"], random_state=0)
    >>> [row.method for row in found.rows]
    ['noisy baseline', 'rank-pruning', 'oracle']
    >>> found.rows[0].error > found.rows[1].error
    True
    """
    X, groups = check_rows(X, y, groups)
    try:
        labels = validate_labels(y, pos_label=pos_label, name="y")
    except MoreThanTwoClasses:
        raise MoreThanTwoClasses(
            "y must hold two classes, since most methods are for two labels, and so are F1 and "
            "ROC AUC. To compare RankPruningClassifier, which takes any number of classes, with a "
            "plain fit, use their score(X_test, y_test) with correct labels; for one class against "
            "the others, pass y == value."
        ) from None
    truth = None if true_labels is None else match_labels(true_labels, labels, "true_labels")
    if truth is not None and len(truth) != len(labels.is_positive):
        raise ValueError(
            f"true_labels must have one label per row of X, got {len(truth)} for "
            f"{len(labels.is_positive)} rows. Check that both come from the same table."
        )
    if noise_rates is not None:
        validate_noise_rates(noise_rates)
    if probabilities is not None:
        if test is None:
            raise ValueError(
                "probabilities must come with test: without it, rows are held out, and the models "
                "behind these probabilities may have seen them. Pass test, or leave probabilities "
                "out."
            )
        probabilities = validate_probabilities(probabilities, len(labels.is_positive))
    generator = private_random_state(random_state)
    split = split_rows(X, labels, truth, test, groups, draw_seed(generator))
    shared = SharedSettings(
        default_estimator() if estimator is None else estimator,
        noise_rates,
        pos_label,
        cv,
        n_jobs,
        draw_seed(generator),
    )
    chosen, left_out = _chosen(methods, shared, truth is not None)
    return Measurement(split, shared, probabilities).run(chosen, left_out)


def _chosen(
    methods: Iterable[str] | Mapping[str, Any] | None, shared: SharedSettings, has_truth: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the classifiers to compare, and the names of those that cannot use the estimator."""
    if isinstance(methods, Mapping):
        for name in (BASELINE, ORACLE):
            if name in methods:
                raise ValueError(
                    f"methods must not be named {name!r}, which compare uses itself. Rename it."
                )
        return {name: clone(method) for name, method in methods.items()}, []
    if methods is None:
        made = {name: _named(name, shared) for name in _DEFAULT}
        left_out = [name for name, method in made.items() if not _takes_estimator(method)]
        return {name: method for name, method in made.items() if name not in left_out}, left_out
    names = [methods] if isinstance(methods, str) else list(methods)
    for name in names:
        if name not in (*METHODS, BASELINE, ORACLE):
            raise ValueError(
                f"methods must be among {', '.join(map(repr, sorted(METHODS)))}; got {name!r}. "
                "Your own classifiers go into a mapping of names to classifiers, in Python."
            )
    if ORACLE in names and not has_truth:
        raise ValueError(
            "methods must not include the oracle without true_labels, which it is fitted to. Pass "
            "true_labels, or leave the oracle out."
        )
    return {name: _named(name, shared) for name in names if name in METHODS}, []


def _named(name: str, shared: SharedSettings) -> Any:
    method = clone(METHODS[name])
    given = method.get_params(deep=False)
    offered = {"estimator": shared.estimator, "cv": shared.cv}
    return method.set_params(**{key: value for key, value in offered.items() if key in given})


def _takes_estimator(method: Any) -> bool:
    try:
        method._check_estimator()
    except ValueError:
        return False
    return True
