"""Out-of-fold probabilities: every row is scored by a model that was not fitted to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import StackingClassifier
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from rankprune.core._inputs import (
    NEAR_ONE,
    BinaryLabels,
    BoolArray,
    FloatArray,
    as_array,
    count_true,
)
from rankprune.core.classes._class_inputs import refuse_for_two_labels
from rankprune.core.classes._class_labels import Labels, validate_any_labels
from rankprune.learners._class_order import columns_of, in_class_order, labels_to_fit
from rankprune.learners._cloning import (
    RandomState,
    draw_seed,
    fresh_clone,
    private_random_state,
    seeded_splitter,
)
from rankprune.learners._out_of_bag import OutOfBag
from rankprune.learners._progress import log_progress
from rankprune.learners._sample_weights import fit_weighted, warn_if_weights_are_lost

# Sums of float32 or averaged probabilities may leave [0, 1] by this much through rounding.
_ROUNDING = 1e-6

# The consequence if a scorer takes no weights.
NO_EFFECT = "the weights have no effect on the probabilities"

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def out_of_fold_probabilities(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 3,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    pos_label: Any = None,
) -> NDArray[np.float64]:
    """Return P(positive label) of every row, or P(each label), from a model of the other folds.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        Cloned for each fold; the one passed in is not changed.
    X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
        Any input that the estimator accepts and whose rows can be selected.
    y : array-like of shape (n_rows,)
        Given labels, of any two or more values.
    cv : int, splitter or iterable of (train, test), default=3
        An int is a number of folds, stratified by label and shuffled by ``random_state``; with
        groups, no group is split. The test sets must contain every row exactly once, and every
        training set must contain every class.
    groups : array-like of shape (n_rows,), default=None
        Groups of rows that belong together, for the splitter.
    sample_weight : array-like of shape (n_rows,), default=None
        Passed to the estimator. Rows of weight 0 are scored but never used to fit.
    n_jobs : int, default=None
        Number of folds fitted at the same time. Does not change the result.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and seeds the estimator if its own ``random_state`` is None.
    pos_label : default=None
        The label whose probability is returned; by default the last of the two in sorted order.
        For two labels alone.

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_classes)
        With more than two labels, one column for each, in sorted order.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from rankprune import out_of_fold_probabilities
    >>> X, y = make_classification(random_state=0)
    >>> out_of_fold_probabilities(LogisticRegression(), X, y, random_state=0).shape
    (100,)
    >>> X, y = make_classification(n_informative=4, n_classes=3, random_state=0)
    >>> out_of_fold_probabilities(LogisticRegression(), X, y, random_state=0).shape
    (100, 3)
    """
    X, groups = check_rows(X, y, groups)
    labels, weight = validate_any_labels(y, sample_weight, pos_label=pos_label, name="y")
    if not isinstance(labels, BinaryLabels):
        refuse_for_two_labels(pos_label=pos_label)
    check_predicts_probabilities(estimator, "estimator")
    warn_if_weights_are_lost(estimator, weight, NO_EFFECT)
    generator = private_random_state(random_state)
    splits = make_splits(cv, X, labels, groups, weight, draw_seed(generator))
    return Folds((estimator,), X, labels, splits, n_jobs, draw_seed(generator)).score(weight)


def check_rows(X: Any, y: Any, groups: Any) -> tuple[Any, Any]:
    """Return X and groups with selectable rows, after checking that y and groups match X."""
    if X is None:
        raise ValueError("X must have one row per label, got None. Pass the features.")
    (X,), (groups,) = indexable(X), indexable(groups)
    n_rows = _num_samples(X)
    for name, values in (("y", y), ("groups", groups)):
        n_values = n_rows if values is None else len(np.atleast_1d(as_array(values, name)))
        if n_values != n_rows:
            raise ValueError(
                f"{name} must have one value per row of X, got {n_values} for {n_rows} rows. Check "
                "that both come from the same table."
            )
    if groups is not None:
        _refuse_other_groups(as_array(groups, "groups"))
    return X, groups


def _refuse_other_groups(groups: NDArray[Any]) -> None:
    if groups.ndim != 1:
        raise ValueError(
            f"groups must be one-dimensional, one group per row, got shape {groups.shape}. "
            "Pass a single column."
        )
    try:
        set(groups.tolist())
    except TypeError as error:
        raise ValueError(
            f"groups must be single values such as numbers or names: {error}. Convert them, e.g. "
            "with astype(str)."
        ) from error


def check_predicts_probabilities(estimator: Any, name: str) -> None:
    """Raise ValueError if an estimator lacks predict_proba; a stack is only checked once fitted."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, StackingClassifier):
        _refuse_without_probabilities(estimator, name)


def _refuse_without_probabilities(estimator: Any, name: str) -> None:
    if not hasattr(estimator, "fit"):
        raise ValueError(
            f"{name} must have fit, got {estimator!r}. An estimator with partial_fit alone can be "
            "wrapped in a class whose fit calls it once."
        )
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"{name} must have predict_proba, got {estimator!r}. Wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or pass a classifier that has it."
        )


def positive_probability(
    estimator: Any, X: Any, classes: NDArray[Any], column: int
) -> NDArray[np.float64]:
    """Return P(positive) of every row from a fitted estimator; the positive class has a column."""
    columns = in_class_order(estimator.predict_proba(X), estimator, classes)
    scores = np.asarray(columns[:, column], dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError(
            f"estimator must predict probabilities in [0, 1]; {type(estimator).__name__} gave "
            f"nan for row {int(np.isnan(scores).argmax())}. Check its features and "
            "the sample weights."
        )
    return scores


def is_number_of_folds(cv: Any) -> bool:
    """Return whether the folds are drawn here, rather than passed or drawn by a splitter."""
    return isinstance(cv, int | np.integer) and not isinstance(cv, bool | np.timedelta64)


def make_splits(
    cv: Any,
    X: Any,
    labels: Labels,
    groups: Any,
    sample_weight: NDArray[np.float64] | None,
    seed: int,
    units: NDArray[np.intp] | None = None,
    left_alone: BoolArray | None = None,
) -> list[Split]:
    """Return (train, test) row numbers; a row of weight 0 is in no training set.

    Rows with equal numbers in ``units`` are copies: if the folds are drawn here and there are no
    groups, copies stay in one fold. Rows that are left alone are scored only, too.
    """
    n_rows, codes = len(labels), labels.codes
    counted = np.ones(n_rows, dtype=bool) if sample_weight is None else sample_weight > 0
    if left_alone is not None:
        counted &= ~left_alone
    sizes = np.bincount(codes[counted], minlength=len(labels.classes))
    if is_number_of_folds(cv):
        n_groups = None if groups is None else len(set(np.asarray(groups)[counted].tolist()))
        cv = _stratified_splitter(int(cv), labels, sizes, n_groups, seed)
        if groups is None and units is not None:
            cv, groups = _CopiesTogether(cv), units
    if hasattr(cv, "split") and not isinstance(cv, str | bytes):
        splits = _split_counted(seeded_splitter(cv, seed), X, labels, groups, counted)
    else:
        splits = _given_splits(cv, counted)
    refuse_no_partition([test for _, test in splits], n_rows)
    for fold, (train, test) in enumerate(splits):
        is_trained_on = np.zeros(n_rows, dtype=bool)
        is_trained_on[train] = True
        if is_trained_on[test].any():
            raise ValueError(
                f"cv must keep test rows out of training; fold {fold} is fitted to rows that it "
                "scores. Pass (train, test) pairs that share no rows."
            )
        lacking = (sizes > 0) & (np.bincount(codes[train], minlength=len(sizes)) == 0)
        if lacking.any():
            raise ValueError(_lacking_class(labels, lacking, fold))
    return splits


def _lacking_class(labels: Labels, lacking: BoolArray, fold: int) -> str:
    if isinstance(labels, BinaryLabels):
        return (
            f"cv must leave both classes in every training set; fold {fold} has only one. "
            "Use fewer folds, or a splitter that stratifies by label."
        )
    return (
        f"cv must leave every class in every training set; fold {fold} has no row of class "
        f"{labels.classes[lacking].tolist()[0]!r} to train on. Use a splitter that stratifies by "
        "label, merge the class with another, or leave its rows out."
    )


@dataclass(frozen=True)
class _CopiesTogether:
    """Folds of the first row of each group, which takes its copies with it."""

    splitter: StratifiedKFold

    def get_n_splits(self) -> int:
        """Return the number of folds."""
        return int(self.splitter.n_splits)

    def split(self, _: Any, y: NDArray[Any], groups: NDArray[np.intp]) -> Iterator[Split]:
        """Yield (train, test) row numbers; copies are split if too few distinct rows are left."""
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        classes, sizes = np.unique(y[first], return_counts=True)
        if len(classes) < len(np.unique(y)) or sizes.min() < self.get_n_splits():
            first, group = np.arange(len(y)), np.arange(len(y))
        for _, test in self.splitter.split(first, y[first]):
            is_test = np.zeros(len(first), dtype=bool)
            is_test[test] = True
            yield np.flatnonzero(~is_test[group]), np.flatnonzero(is_test[group])


@dataclass(frozen=True)
class Folds:
    """One or several estimators, the rows they score, and the splits into folds.

    Trees that score out of bag may join them; ``times`` is how often each counts in the mean, once
    each by default.
    """

    estimators: tuple[Any, ...]
    X: Any
    labels: Labels
    splits: list[Split]
    n_jobs: int | None
    seed: int
    out_of_bag: OutOfBag | None = None
    times: tuple[int, ...] | None = None

    def keep_classes(self, is_trained_on: NDArray[np.bool_]) -> bool:
        """Return whether every training set keeps all its classes if it uses only these rows."""
        codes = self.labels.codes
        return all(
            len(np.unique(codes[train[is_trained_on[train]]])) == len(np.unique(codes[train]))
            for train, _ in self.splits
        )

    def score(
        self,
        sample_weight: NDArray[np.float64] | None,
        is_trained_on: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64]:
        """Return P(positive) or P(each class) of every row, averaged over the models."""
        return np.asarray(self.mean(self.score_each(sample_weight, is_trained_on)))

    def mean(self, columns: FloatArray) -> FloatArray:
        """Return the mean of the models' probabilities, a new array even for a single column."""
        if columns.shape[1] == 1:
            return np.asarray(columns[:, 0].copy())
        return np.asarray(np.average(columns, axis=1, weights=self.times), dtype=np.float64)

    def score_each(
        self,
        sample_weight: NDArray[np.float64] | None,
        is_trained_on: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64]:
        """Return P(positive) or P(each class) of every row, per estimator, then of the trees.

        With more than two classes, the second axis is that of the models, and the last that of the
        classes.
        """
        y = labels_to_fit(self.labels)
        splits = self.splits
        if is_trained_on is not None:
            splits = [(train[is_trained_on[train]], test) for train, test in splits]
        calls = (
            partial(
                _score_fold,
                fresh_clone(estimator, self.seed),
                self.X,
                y,
                self.labels,
                split,
                sample_weight,
                fold,
            )
            for estimator in self.estimators
            for fold, split in enumerate(splits)
        )
        if effective_n_jobs(self.n_jobs) == 1:
            scores = (call() for call in calls)
        else:
            scores = Parallel(n_jobs=self.n_jobs, return_as="generator")(
                delayed(call)() for call in calls
            )
        many = () if isinstance(self.labels, BinaryLabels) else (len(self.labels.classes),)
        probabilities = np.empty((len(y), len(self.estimators), *many), dtype=np.float64)
        n_fits = len(splits) * len(self.estimators)
        for number, fold_scores in enumerate(scores):
            log_progress("scored %d of %d folds", "scoring rows", number + 1, n_fits)
            column, fold = divmod(number, len(splits))
            probabilities[splits[fold][1], column] = fold_scores
        if self.out_of_bag is None:
            return probabilities
        trees = self.out_of_bag.score(
            self.labels, sample_weight, is_trained_on, self.seed, self.n_jobs
        )
        return np.concatenate([probabilities, trees[:, None]], axis=1)


def _stratified_splitter(
    n_folds: int, labels: Labels, sizes: NDArray[np.intp], n_groups: int | None, seed: int
) -> Any:
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2, got {n_folds}. Pass e.g. cv=3.")
    if isinstance(labels, BinaryLabels):
        _refuse_few_of_two(n_folds, labels, sizes)
    else:
        _refuse_few_of_many(n_folds, labels, sizes)
    if n_groups is None:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    if n_groups < n_folds:
        raise ValueError(
            f"cv={n_folds} needs at least {n_folds} groups, got {n_groups}. Use fewer folds (down "
            "to 2), or omit groups."
        )
    return StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)


def _refuse_few_of_two(n_folds: int, labels: BinaryLabels, sizes: NDArray[np.intp]) -> None:
    positive = labels.positive_column
    for name, size in (("positive", sizes[positive]), ("negative", sizes[1 - positive])):
        if size < n_folds:
            raise ValueError(
                f"cv={n_folds} needs at least {n_folds} rows of each class; the {name} class has "
                f"{size}. Use fewer folds (down to 2), or collect more rows."
            )


def _refuse_few_of_many(n_folds: int, labels: Labels, sizes: NDArray[np.intp]) -> None:
    rare = (sizes > 0) & (sizes < n_folds)
    if not rare.any():
        return
    first, n_rare = int(rare.argmax()), count_true(rare)
    more = f" ({n_rare} of {len(sizes)} classes have too few)" if n_rare > 1 else ""
    fewer = "use fewer folds (down to 2), " if sizes[rare].min() > 1 and n_folds > 2 else ""
    raise ValueError(
        f"cv={n_folds} needs at least {n_folds} rows of each class; class "
        f"{labels.classes.tolist()[first]!r} has {sizes[first]}{more}. Merge it with another, "
        f'{fewer}or pass rare="keep" to RankPruningClassifier, which leaves its rows alone.'
    )


def _split_counted(
    splitter: Any, X: Any, labels: Labels, groups: Any, counted: NDArray[np.bool_]
) -> list[Split]:
    """Return the splits of the rows of positive weight; the others are only scored."""
    y = labels_to_fit(labels)
    if counted.all():
        return _checked_pairs(splitter.split(X, y, groups), len(y))
    rows, uncounted = np.flatnonzero(counted), np.flatnonzero(~counted)
    part = None if groups is None else _safe_indexing(groups, rows)
    splits = list(splitter.split(_safe_indexing(X, rows), y[rows], part))
    numbers = [np.asarray(part) for pair in splits for part in pair]
    if any(part.size and part.max() >= len(rows) for part in numbers):
        # A splitter made for this table, such as PredefinedSplit, numbers all rows.
        whole = _checked_pairs(splitter.split(X, y, groups), len(y))
        return [(train[counted[train]], test) for train, test in whole]
    splits = _checked_pairs(splits, len(rows))
    fold_of = _deal(uncounted, [rows[test] for _, test in splits], groups)
    return [
        (rows[train], np.concatenate([rows[test], uncounted[fold_of == fold]]))
        for fold, (train, test) in enumerate(splits)
    ]


def _deal(
    uncounted: NDArray[np.intp], test_sets: list[NDArray[np.intp]], groups: Any
) -> NDArray[np.intp]:
    """Return the fold that scores each row of weight 0: that of its group, or the next in turn."""
    fold_of = np.arange(len(uncounted)) % len(test_sets)
    if groups is not None:
        values = np.asarray(groups).tolist()
        home = {values[row]: fold for fold, test in enumerate(test_sets) for row in test.tolist()}
        for i, row in enumerate(uncounted.tolist()):
            # A group whose rows all have weight 0 stays in one fold.
            fold_of[i] = home.setdefault(values[row], int(fold_of[i]))
    return fold_of


def _given_splits(cv: Any, counted: NDArray[np.bool_]) -> list[Split]:
    splits = _checked_pairs(cv, len(counted))
    return [(train[counted[train]], test) for train, test in splits]


def _checked_pairs(cv: Any, n_rows: int) -> list[Split]:
    try:
        pairs = [(train, test) for train, test in cv]
    except (TypeError, ValueError) as error:
        if hasattr(cv, "gi_frame"):  # a splitter's own error is more informative
            raise
        raise ValueError(
            f"cv must be an int, a splitter or an iterable of (train, test), got {cv!r}. "
            "Pass e.g. cv=3."
        ) from error
    if not pairs:
        raise ValueError(
            "cv must yield at least one split, got none. A generator can be used only once: pass "
            "a list of its splits."
        )
    return [(_row_numbers(train, n_rows), _row_numbers(test, n_rows)) for train, test in pairs]


def _row_numbers(rows: Any, n_rows: int) -> NDArray[np.intp]:
    numbers = np.asarray(rows)
    if numbers.dtype == bool and numbers.shape == (n_rows,):
        return np.flatnonzero(numbers)
    is_list = numbers.ndim == 1 and numbers.dtype.kind in "iu" and numbers.size > 0
    if is_list and numbers.min() >= 0 and numbers.max() < n_rows:
        return numbers.astype(np.intp, copy=False)
    raise ValueError(
        f"cv must hold row numbers from 0 to {n_rows - 1}, or masks of {n_rows} rows, in its "
        f"(train, test) pairs, got {np.array2string(numbers, threshold=6)} of dtype "
        f"{numbers.dtype}. Check that the splits were made for this table."
    )


def refuse_no_partition(test_sets: list[NDArray[np.intp]], n_rows: int) -> None:
    times = np.bincount(np.concatenate(test_sets), minlength=n_rows)
    if (times != 1).any():
        row = int(np.flatnonzero(times != 1)[0])
        raise ValueError(
            "cv must be a partition: every row in exactly one test set; "
            f"row {row} is in {times[row]}. Use a K-fold splitter, not repeated, shuffled or "
            "time-series splits."
        )


def _score_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    labels: Labels,
    split: Split,
    sample_weight: NDArray[np.float64] | None,
    fold: int,
) -> NDArray[np.float64]:
    train, test = split
    weights = None if sample_weight is None else sample_weight[train]
    fit_weighted(estimator, _safe_indexing(X, train), y[train], weights)
    _refuse_without_probabilities(estimator, "estimator")
    table = np.asarray(estimator.predict_proba(_safe_indexing(X, test)), dtype=np.float64)
    trained = np.unique(labels.codes[train])
    if table.shape != (len(test), len(trained)):
        number = "two" if isinstance(labels, BinaryLabels) else len(trained)
        raise ValueError(
            f"estimator must predict {number} columns, one for each class; predict_proba of "
            f"{type(estimator).__name__} gave shape {table.shape} for {len(test)} rows in fold "
            f"{fold}. Check its predict_proba."
        )
    scores = columns_of(table, estimator, labels.classes, trained)
    if isinstance(labels, BinaryLabels):
        scores = scores[:, labels.positive_column]
    bad = np.argwhere(~((scores >= -_ROUNDING) & (scores <= 1 + _ROUNDING)))
    if bad.size:
        raise ValueError(
            f"estimator must predict probabilities in [0, 1]; {type(estimator).__name__} gave "
            f"{scores[tuple(bad[0])]:g} for row {test[bad[0][0]]} in fold {fold}. Check the "
            "features of that row and the estimator's predict_proba."
        )
    if scores.ndim == 2:
        _refuse_other_sums(scores.sum(axis=1), estimator, test, fold)
    return np.asarray(np.clip(scores, 0.0, 1.0))


def _refuse_other_sums(
    sums: NDArray[np.float64], estimator: Any, test: NDArray[np.intp], fold: int
) -> None:
    bad = np.flatnonzero(np.abs(sums - 1) > NEAR_ONE)
    if bad.size:
        raise ValueError(
            "estimator must predict probabilities that sum to 1 in each row; "
            f"{type(estimator).__name__} gave a sum of {sums[bad[0]]:g} for row {test[bad[0]]} in "
            f"fold {fold}. Wrap it in sklearn.multiclass.OneVsRestClassifier, which divides by "
            "the sum, or check its predict_proba."
        )
