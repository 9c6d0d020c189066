"""The methods side by side, on the same rows, folds and probabilities."""

from __future__ import annotations

import html
import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    auc,
    average_precision_score,
    f1_score,
    precision_recall_curve,
    roc_auc_score,
    zero_one_loss,
)
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from rankprune._fitting import RandomState, draw_seed, fresh_clone, private_random_state
from rankprune.classifier import RankPruningClassifier
from rankprune.core import NoiseRates
from rankprune.core._inputs import (
    BinaryLabels,
    FloatArray,
    count_true,
    validate_labels,
    validate_probabilities,
)
from rankprune.core._noise_rates import validate_noise_rates
from rankprune.core._registry import estimate_noise_rates
from rankprune.diagnostics import ComparisonDisplay
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    ConsistencyPruningClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    OneClassPUClassifier,
    RESVMClassifier,
    UnbiasedLossClassifier,
    WeightedLogisticPUClassifier,
)
from rankprune.metrics import clean_metrics
from rankprune.probabilities import check_rows, labels_to_fit, out_of_fold_probabilities

_log = logging.getLogger("rankprune")

BASELINE, ORACLE = "noisy baseline", "oracle"

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
    "consistency-pruning": ConsistencyPruningClassifier(),
    "one-class": OneClassPUClassifier(),
}

# What is compared unless asked otherwise: what takes any estimator and costs a few fits.
_DEFAULT = (
    "rank-pruning",
    "label-dependent-cost",
    "unbiased-loss",
    "importance-reweighting",
    "elkan-noto",
    "elkan-noto, weighting",
)

# One part in so many is held out where no test rows are given.
_N_PARTS = 4


@dataclass(frozen=True)
class ComparedMethod:
    """How one method did.

    Attributes
    ----------
    method : str
    positive_noise_rate, negative_noise_rate : float or None
        The rates that it used, None where it used none.
    f1, error, roc_auc : float or None
        On the test rows. Without trusted labels they are estimates of what clean ones would say,
        and may leave [0, 1]; None where the probabilities do not tell the labels apart.
    average_precision, auc_pr : float or None
        Average precision, and the area under the interpolated precision-recall curve, as the paper
        computes it. None without trusted labels, from which neither can be estimated.
    fit_ratio : float
        Time of the whole fit, as a multiple of one plain fit: with the folds, where it needs
        them, unless their probabilities were given.
    """

    method: str
    positive_noise_rate: float | None
    negative_noise_rate: float | None
    f1: float | None
    error: float | None
    roc_auc: float | None
    average_precision: float | None
    auc_pr: float | None
    fit_ratio: float


# F1, error, ROC AUC, average precision and AUC-PR.
_Figures = tuple[float | None, float | None, float | None, float | None, float | None]

_COLUMNS = tuple(field.name for field in fields(ComparedMethod))


@dataclass(frozen=True)
class Comparison:
    """The methods side by side.

    Attributes
    ----------
    rows : tuple of ComparedMethod
    is_trusted : bool
        Whether the figures come from trusted labels.
    note : str
        What the figures were measured on, and what was left out.
    classifiers : dict of str to classifier
        The fitted methods.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import compare
    >>> X, y = make_classification(400, random_state=0)
    >>> found = compare(X, y, methods=["rank-pruning"], random_state=0)
    >>> found.is_trusted, found.rows[1].method
    (False, 'rank-pruning')
    >>> print(found.note[:50])
    Measured on 100 held-out rows with noisy labels. T
    """

    rows: tuple[ComparedMethod, ...]
    is_trusted: bool
    note: str
    classifiers: dict[str, Any]

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per method."""
        try:
            import pandas as pd  # type: ignore[import-untyped]  # its types are a package apart
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed. Install it, or use rows."
            ) from error
        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(_COLUMNS))

    def plot(self, metric: str = "f1", ax: Any = None) -> Any:
        """Draw one bar per method.

        Parameters
        ----------
        metric : {"f1", "error", "roc_auc", "average_precision", "auc_pr", "fit_ratio"}
            What is drawn.
        ax : matplotlib axes, default=None
            Where; new ones by default.

        Returns
        -------
        ComparisonDisplay
        """
        names = _COLUMNS[3:]
        if metric not in names:
            raise ValueError(
                f"metric must be one of {list(names)}, got {metric!r}. Pass a column of to_frame()."
            )
        values = {row.method: getattr(row, metric) for row in self.rows}
        missing = [name for name, value in values.items() if value is None]
        if missing:
            raise ValueError(
                f"metric must have a value for every method, but {metric} has none for "
                f"{missing[0]!r}. {self.note}"
            )
        is_estimate = not self.is_trusted and metric != "fit_ratio"
        name = _title(metric) + (", estimated" if is_estimate else "")
        return ComparisonDisplay(values, name).plot(ax=ax)

    def __str__(self) -> str:
        cells = [list(_COLUMNS)]
        cells += [[_shown(getattr(row, name)) for name in _COLUMNS] for row in self.rows]
        widths = [max(len(line[column]) for line in cells) for column in range(len(_COLUMNS))]
        lines = [
            "  ".join(
                text.rjust(width) if column else text.ljust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        ]
        return "\n".join([*lines, "", self.note])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{_title(name)}</th>" for name in _COLUMNS)
        body = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:{'right' if column else 'left'}'>"
                f"{html.escape(_shown(getattr(row, name)))}</td>"
                for column, name in enumerate(_COLUMNS)
            )
            + "</tr>"
            for row in self.rows
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{html.escape(self.note)}</p>"
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
    """Return how methods do on the same rows, with the same out-of-fold probabilities.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
        Anything the estimator takes and whose rows can be selected.
    y : array-like of shape (n_rows,)
        Given labels, of any two values, some of them wrong.
    estimator : classifier with ``predict_proba``, default=None
        What every method fits, unless it has a model of its own. Logistic regression by default.
    methods : iterable of str, mapping of str to classifier, or None, default=None
        Names among ``rankprune.comparison.METHODS``, or classifiers by names of your choice. A
        classifier without an estimator of its own gets the shared one and the shared
        probabilities. By default those that take any estimator and cost a few fits. The noisy
        baseline, a plain fit, is always there, and with ``true_labels`` the oracle, a plain fit to
        these.
    noise_rates : NoiseRates, default=None
        Known rates, for every method that takes rates and was not given any.
    true_labels : array-like of shape (n_rows,), default=None
        Right labels of the same rows: for the oracle and, without ``test``, for the measurement.
    test : tuple of (X, labels), default=None
        Other rows with right labels. By default a quarter of the rows is held out.
    groups : array-like of shape (n_rows,), default=None
        Rows that must not be split between folds, nor between fit and test.
    probabilities : array-like of shape (n_rows,), default=None
        Out-of-fold probabilities of the positive label by this estimator; computed by default.
        They go with ``test``: held-out rows must not have been scored with.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    cv, n_jobs, random_state
        As in `RankPruningClassifier`: for the shared probabilities, and for every method that
        leaves them open.

    Returns
    -------
    Comparison
        Without ``true_labels`` and ``test`` nobody knows how well a model does. Then F1, error and
        ROC AUC are estimated from noisy held-out labels by `clean_metrics`, with the noise rates
        that are known or estimated, and ``note`` says so.

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
    labels = validate_labels(y, pos_label=pos_label, name="y")
    truth = None if true_labels is None else _other_labels(true_labels, labels, "true_labels")
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
                "probabilities must come with test: rows are held out otherwise, and scores of the "
                "others may come from models that saw them. Pass test, or leave them out."
            )
        probabilities = validate_probabilities(probabilities, len(labels.is_positive))
    generator = private_random_state(random_state)
    arena = _arena(X, labels, truth, test, groups, draw_seed(generator))
    shared = _Shared(
        LogisticRegression(max_iter=1000) if estimator is None else estimator,
        noise_rates,
        pos_label,
        cv,
        n_jobs,
        draw_seed(generator),
    )
    chosen, left_out = _chosen(methods, shared, truth is not None)
    return _Race(arena, shared, probabilities).run(chosen, left_out)


@dataclass(frozen=True)
class _Arena:
    """Rows to learn from and rows to measure on."""

    X: Any
    labels: BinaryLabels
    true_labels: NDArray[np.bool_] | None
    groups: Any
    X_test: Any
    test_labels: NDArray[np.bool_]
    is_trusted: bool
    where: str


@dataclass(frozen=True)
class _Shared:
    """What every method is given."""

    estimator: Any
    noise_rates: NoiseRates | None
    pos_label: Any
    cv: Any
    n_jobs: int | None
    seed: int


def _arena(
    X: Any,
    labels: BinaryLabels,
    truth: NDArray[np.bool_] | None,
    test: tuple[Any, ArrayLike] | None,
    groups: Any,
    seed: int,
) -> _Arena:
    if test is not None:
        if not isinstance(test, tuple) or len(test) != 2:
            raise ValueError(
                f"test must be a pair (X, labels), got {type(test).__name__}. Pass "
                "(X_test, y_test) with right labels."
            )
        test_labels = _other_labels(test[1], labels, "the labels of test")
        X_test, _ = check_rows(test[0], test_labels, None)
        where = f"Measured on {len(test_labels)} test rows with trusted labels."
        return _Arena(X, labels, truth, groups, X_test, test_labels, True, where)
    is_positive = labels.is_positive
    train, held = _hold_out(is_positive, groups, seed)
    kind = "noisy" if truth is None else "trusted"
    return _Arena(
        _safe_indexing(X, train),
        replace(labels, is_positive=is_positive[train]),
        None if truth is None else truth[train],
        None if groups is None else _safe_indexing(groups, train),
        _safe_indexing(X, held),
        is_positive[held] if truth is None else truth[held],
        truth is not None,
        f"Measured on {len(held)} held-out rows with {kind} labels.",
    )


def _hold_out(
    is_positive: NDArray[np.bool_], groups: Any, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to learn from and a quarter to measure on, no group in both."""
    smallest = min(count_true(is_positive), count_true(~is_positive))
    n_groups = smallest if groups is None else len(set(np.asarray(groups).tolist()))
    if min(smallest, n_groups) < _N_PARTS:
        raise ValueError(
            f"test must be given where a quarter cannot be held out: that takes {_N_PARTS} rows of "
            f"each class and {_N_PARTS} groups, got {smallest} and {n_groups}. Pass "
            "(X_test, y_test)."
        )
    if groups is None:
        splitter = StratifiedKFold(_N_PARTS, shuffle=True, random_state=seed)
    else:
        splitter = StratifiedGroupKFold(_N_PARTS, shuffle=True, random_state=seed)
    train, held = next(splitter.split(is_positive, is_positive, groups))
    return train, held


def _other_labels(values: ArrayLike, labels: BinaryLabels, name: str) -> NDArray[np.bool_]:
    """Return which of some other labels are positive, which must have the same two values."""
    given = np.asarray(values)
    strangers = set(given.ravel().tolist()) - set(labels.classes.tolist())
    if given.ndim != 1 or strangers:
        raise ValueError(
            f"{name} must hold the values of y, {labels.classes.tolist()}, one per row; got "
            f"{sorted(map(str, strangers))[:3] or f'shape {given.shape}'}. Map them to the same "
            "values first."
        )
    return np.asarray(given == labels.pos_label)


def _chosen(
    methods: Iterable[str] | Mapping[str, Any] | None, shared: _Shared, has_truth: bool
) -> tuple[dict[str, Any], list[str]]:
    """Return the classifiers to compare, and the names of those that the estimator rules out."""
    if isinstance(methods, Mapping):
        for name in (BASELINE, ORACLE):
            if name in methods:
                raise ValueError(
                    f"methods must not be named {name!r}, which is always one of ours. Rename it."
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
                f"methods must be among {sorted(METHODS)}, got {name!r}. Pass a mapping of names "
                "to classifiers for others."
            )
    if ORACLE in names and not has_truth:
        raise ValueError(
            "methods must not name the oracle without true_labels, which it is fitted to. Pass "
            "them, or leave it out."
        )
    return {name: _named(name, shared) for name in names if name in METHODS}, []


def _named(name: str, shared: _Shared) -> Any:
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


class _Race:
    """Fits the methods one after the other and measures each."""

    def __init__(self, arena: _Arena, shared: _Shared, probabilities: FloatArray | None) -> None:
        self.arena = arena
        self.shared = shared
        self.scores = probabilities
        # Given ones cost nothing here, but somebody paid for them.
        self.score_seconds = 0.0
        self.y = labels_to_fit(arena.labels)
        self.positive = self.y[arena.labels.is_positive.argmax()]

    def run(self, chosen: dict[str, Any], left_out: list[str]) -> Comparison:
        """Return the comparison, baseline first and oracle last."""
        arena = self.arena
        baseline = fresh_clone(self.shared.estimator, self.shared.seed)
        # The faster of two, since it is the unit of all times and the first fit warms up.
        plain = min(_seconds(lambda: baseline.fit(arena.X, self.y)) for _ in range(2))
        fitted = {BASELINE: (baseline, plain)}
        for name, method in chosen.items():
            _log.info("comparing %s", name)
            fitted[name] = self._fit(method, name)
        if arena.true_labels is not None:
            oracle = fresh_clone(self.shared.estimator, self.shared.seed)
            right = labels_to_fit(replace(arena.labels, is_positive=arena.true_labels))
            fitted[ORACLE] = oracle, _seconds(lambda: oracle.fit(arena.X, right))
        rates = None if arena.is_trusted else self._rates()
        rows = [
            self._measure(name, model, seconds / plain, rates)
            for name, (model, seconds) in fitted.items()
        ]
        return Comparison(
            tuple(rows),
            arena.is_trusted,
            " ".join(self._notes(rates, left_out)),
            {name: model for name, (model, _) in fitted.items()},
        )

    def _pos_label(self) -> Any:
        # Said only where it is not what every method takes for granted.
        return None if self.shared.pos_label is None else self.positive

    def _shared_scores(self) -> FloatArray:
        """Return the out-of-fold probabilities, computed once and only if anybody asks."""
        if self.scores is None:
            start = time.perf_counter()
            self.scores = out_of_fold_probabilities(
                self.shared.estimator,
                self.arena.X,
                self.y,
                cv=self.shared.cv,
                groups=self.arena.groups,
                n_jobs=self.shared.n_jobs,
                random_state=self.shared.seed,
                pos_label=self._pos_label(),
            )
            self.score_seconds = time.perf_counter() - start
        return self.scores

    def _fit(self, method: Any, name: str) -> tuple[Any, float]:
        """Return a method fitted with what is shared, and how long that would take alone."""
        shared = self.shared
        given = method.get_params(deep=False)
        if given.get("pos_label") not in (None, self.arena.labels.pos_label):
            raise ValueError(
                f"methods must agree on the positive label: {name!r} has pos_label="
                f"{given['pos_label']}, the comparison {self.arena.labels.pos_label}. Pass "
                "pos_label to compare, and leave it out of the methods."
            )
        is_ours = given.get("estimator") in (None, shared.estimator) and "estimator" in given
        offered = {
            "estimator": shared.estimator,
            "n_jobs": shared.n_jobs,
            "random_state": shared.seed,
        }
        if shared.noise_rates is not None:
            offered["positive_noise_rate"] = shared.noise_rates.positive_noise_rate
            offered["negative_noise_rate"] = shared.noise_rates.negative_noise_rate
        taken = {key: value for key, value in offered.items() if given.get(key, 0) is None}
        if "pos_label" in given:
            taken["pos_label"] = self._pos_label()
        method.set_params(**taken)
        accepted = inspect.signature(method.fit).parameters
        extra: dict[str, Any] = {}
        if "groups" in accepted and self.arena.groups is not None:
            extra["groups"] = self.arena.groups
        borrows = is_ours and "probabilities" in accepted and given.get("scorer") is None
        if borrows:
            extra["probabilities"] = self._shared_scores()
        seconds = _seconds(lambda: method.fit(self.arena.X, self.y, **extra))
        needed_them = borrows and hasattr(method, "probabilities_")
        return method, seconds + (self.score_seconds if needed_them else 0.0)

    def _rates(self) -> NoiseRates:
        if self.shared.noise_rates is not None:
            return self.shared.noise_rates
        return estimate_noise_rates(self.arena.labels.is_positive, self._shared_scores())

    def _measure(
        self, name: str, model: Any, fit_ratio: float, rates: NoiseRates | None
    ) -> ComparedMethod:
        arena = self.arena
        predicted = np.asarray(model.predict(arena.X_test)) == self.positive
        scores = _positive_scores(model, arena.X_test, self.positive)
        used: Any = getattr(model, "noise_rates_", None)
        is_used = used is not None and used.reliable
        if rates is None:
            figures: _Figures = trusted_figures(arena.test_labels, predicted, scores)
        elif rates.reliable:
            found = clean_metrics(arena.test_labels, predicted, rates, scores=scores)
            ranked = found["roc_auc"].value if scores is not None else None
            figures = (found["f1"].value, found["error"].value, ranked, None, None)
        else:
            figures = (None, None, None, None, None)
        return ComparedMethod(
            name,
            used.positive_noise_rate if is_used else None,
            used.negative_noise_rate if is_used else None,
            *figures,
            fit_ratio,
        )

    def _notes(self, rates: NoiseRates | None, left_out: list[str]) -> list[str]:
        notes = [self.arena.where]
        if rates is not None and not rates.reliable:
            notes.append(
                "There are no trusted labels, and the probabilities do not tell the labels apart: "
                "nothing can be said of any method. Pass true_labels or test to measure, known "
                "noise_rates, or a stronger estimator."
            )
        elif rates is not None:
            kind = "estimated" if self.shared.noise_rates is None else "known"
            notes.append(
                "There are no trusted labels: F1, error and ROC AUC are what clean labels would "
                f"say if the {kind} noise rates ({rates.positive_noise_rate:.1%} of the positives, "
                f"{rates.negative_noise_rate:.1%} of the negatives) were right and the same for "
                "every row of a class. Average precision cannot be told. Pass true_labels or test "
                "to measure."
            )
        notes += [f"Left out, as the estimator does not fit it: {name}." for name in left_out]
        return notes


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _positive_scores(model: Any, X: Any, positive: Any) -> FloatArray | None:
    """Return scores that rise with the positive class, None where a model has none."""
    classes = list(model.classes_)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, classes.index(positive)])
    if hasattr(model, "decision_function"):
        sign = 1 if classes.index(positive) == 1 else -1
        return np.asarray(sign * model.decision_function(X))
    return None


def trusted_figures(
    truth: NDArray[np.bool_], predicted: NDArray[np.bool_], scores: FloatArray | None
) -> _Figures:
    """Return F1, error, ROC AUC, average precision and AUC-PR against right labels."""
    f1 = float(f1_score(truth, predicted, zero_division=0.0))
    error = float(zero_one_loss(truth, predicted))
    if scores is None or truth.all() or not truth.any():
        return f1, error, None, None, None
    precision, recall, _ = precision_recall_curve(truth, scores)
    return (
        f1,
        error,
        float(roc_auc_score(truth, scores)),
        float(average_precision_score(truth, scores)),
        float(auc(recall, precision)),
    )


def _title(column: str) -> str:
    short = {"f1": "F1", "roc_auc": "ROC AUC", "auc_pr": "AUC-PR"}
    return short.get(column, column.replace("_", " "))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
