"""Networks whose loss is corrected for known or estimated noise."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.parallel import Parallel, delayed

from rankprune.core import NOISE_ESTIMATORS, NoiseRates
from rankprune.core._inputs import (
    Inputs,
    validate_class_probabilities,
    validate_labels,
    validate_probabilities,
)
from rankprune.core._transition import anchor_transition, transition_of_rates, validate_transition
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR, estimate_unknown_rates
from rankprune.learners._cloning import draw_seed, private_random_state, seeded_splitter
from rankprune.learners._probabilities import (
    check_rows,
    out_of_fold_probabilities,
    refuse_no_partition,
)
from rankprune.torch._load import load_torch
from rankprune.torch._losses import backward_corrected, forward_corrected
from rankprune.torch._net import Given, NetClassifier, NetworkClassifier
from rankprune.torch._networks import Module


class CorrectedNetClassifier(NetworkClassifier):
    """A network whose loss is corrected for the noise (Patrini et al. 2017).

    Parameters
    ----------
    module, shape
        As in `NetClassifier`.
    correction : {"forward", "backward"}, default="forward"
        ``"forward"`` compares the given labels with the predicted classes after the noise;
        ``"backward"`` changes the loss so that its expectation over the noise is the clean loss.
    transition : array-like of shape (n_classes, n_classes), default=None
        Known noise: row i holds the probability of each given label if the true class is i, in the
        order of ``classes_``.
    positive_noise_rate, negative_noise_rate : float, default=None
        Known rates of two classes; unknown ones are estimated.
    noise_estimator : str or callable, default="learned"
        How unknown rates of two classes are estimated from out-of-fold probabilities. With more
        classes the matrix is read off at one anchor row per class, as in the source.
    pos_label : label, default=None
        The positive class of two; by default the last one in sorted order.
    cv : int or splitter, default=3
        Folds of the plain network that scores the rows, if anything is to be estimated.
    max_epochs, patience, validation_fraction, batch_size, learning_rate, device, half_precision, \
n_threads, random_state, verbose
        As in `NetClassifier`.
    n_jobs : int, default=None
        Number of folds to score at the same time.

    Attributes
    ----------
    network_, classes_, n_iter_, best_epoch_, n_features_in_, feature_names_in_
        As in `NetClassifier`; the network predicts the true label.
    transition_ : ndarray of shape (n_classes, n_classes)
        The noise that the loss is corrected for.
    noise_rates_ : NoiseRates
        The rates of two classes, if ``transition`` is not given.

    Notes
    -----
    With T the matrix and q the predicted probabilities, ``"forward"`` minimises the cross-entropy
    of the given label with q T: its minimiser over all functions is that of the clean loss, though
    its expectation is another. ``"backward"`` multiplies the losses of all labels by the inverse of
    T: its expectation over the noise is the clean loss, as in Natarajan's first method
    (`rankprune.methods.UnbiasedLossClassifier`). Single terms may be below 0, so that a large
    network can lower it without limit by memorising rows; prefer ``"forward"`` unless the network
    is small or stops early.

    If the scores do not tell the given labels apart, estimated rates are not applied.

    References
    ----------
    G. Patrini, A. Rozza, A. K. Menon, R. Nock and L. Qu: Making deep neural networks robust to
    label noise: a loss correction approach. CVPR 2017.

    Examples
    --------
    >>> from rankprune.torch import CorrectedNetClassifier
    >>> model = CorrectedNetClassifier(positive_noise_rate=0.3, negative_noise_rate=0.1)
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **NetworkClassifier._parameter_constraints,
        "correction": [StrOptions({"forward", "backward"})],
        "noise_estimator": [StrOptions(set(NOISE_ESTIMATORS)), callable],
    }

    def __init__(
        self,
        module: Module | None = None,
        *,
        shape: tuple[int, ...] | None = None,
        correction: str = "forward",
        transition: ArrayLike | None = None,
        positive_noise_rate: float | None = None,
        negative_noise_rate: float | None = None,
        noise_estimator: str | Callable[..., NoiseRates] = DEFAULT_ESTIMATOR,
        pos_label: Any = None,
        cv: Any = 3,
        max_epochs: int = 30,
        patience: int = 10,
        validation_fraction: float = 0.1,
        batch_size: int | str = "auto",
        learning_rate: float = 0.004,
        device: str = "auto",
        half_precision: bool = False,
        n_threads: int | None = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            module,
            shape=shape,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            batch_size=batch_size,
            learning_rate=learning_rate,
            device=device,
            half_precision=half_precision,
            n_threads=n_threads,
            random_state=random_state,
            verbose=verbose,
        )
        self.correction = correction
        self.transition = transition
        self.positive_noise_rate = positive_noise_rate
        self.negative_noise_rate = negative_noise_rate
        self.noise_estimator = noise_estimator
        self.pos_label = pos_label
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
    ) -> Self:
        """Find the noise unless it is given, then train the network.

        Parameters
        ----------
        X, y, sample_weight
            As in `NetClassifier.fit`.
        groups : array-like of shape (n_rows,), default=None
            Rows of a group are scored in the same fold.
        probabilities : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
            Out-of-fold probabilities of the given labels, to estimate the noise from; one column
            for two classes, that of the positive label.

        Returns
        -------
        self : CorrectedNetClassifier
        """
        _, groups = check_rows(X, y, groups)
        given = self._read(X, y, sample_weight)
        if groups is not None:
            groups = np.asarray(groups)[given.used]
        self.transition_ = self._find_transition(given, groups, probabilities)
        matrix = load_torch().from_numpy(self.transition_)
        correct = forward_corrected if self.correction == "forward" else backward_corrected
        with self._task(given) as task:
            self._keep(task.train(task.build(self.module), correct(matrix)))
        return self

    def _find_transition(
        self, given: Given, groups: ArrayLike | None, probabilities: ArrayLike | None
    ) -> NDArray[np.float64]:
        n_classes = len(self.classes_)
        rates = (self.positive_noise_rate, self.negative_noise_rate)
        if self.transition is not None:
            if rates != (None, None):
                raise ValueError(
                    "transition must be given alone, without positive_noise_rate and "
                    "negative_noise_rate: it holds them. Leave out one or the other."
                )
            return validate_transition(self.transition, n_classes)
        if n_classes == 2:
            return self._transition_of_two(given, groups, probabilities)
        if rates != (None, None) or self.pos_label is not None:
            raise ValueError(
                "positive_noise_rate, negative_noise_rate and pos_label are for two classes, but y "
                f"has {n_classes}. Pass transition."
            )
        if self.noise_estimator != DEFAULT_ESTIMATOR:
            raise ValueError(
                f"noise_estimator={self.noise_estimator!r} is for two classes, but y has "
                f"{n_classes}. Leave it out, and the noise is read off at anchor rows."
            )
        if probabilities is not None:
            return anchor_transition(
                validate_class_probabilities(probabilities, len(given.X), n_classes)[given.used]
            )
        return anchor_transition(self._score_many(given, groups))

    def _transition_of_two(
        self, given: Given, groups: ArrayLike | None, probabilities: ArrayLike | None
    ) -> NDArray[np.float64]:
        labels = validate_labels(self.classes_[given.codes], pos_label=self.pos_label)
        n_positive = given.weights[given.used][labels.is_positive].sum(dtype=float)
        prevalence = n_positive / given.weights.sum(dtype=float)
        positive, negative = self.positive_noise_rate, self.negative_noise_rate
        # Refuses impossible rates before anything is trained.
        rates = NoiseRates.from_noise_rates(positive or 0.0, negative or 0.0, prevalence)
        self.noise_rates_ = rates
        if None in (positive, negative):
            inputs = self._scored(given, labels.is_positive, groups, probabilities)
            self.noise_rates_ = estimate_unknown_rates(
                inputs, self.noise_estimator, positive=positive, negative=negative
            )
        # Rates that cannot be estimated are not applied, but known ones are.
        applied = self.noise_rates_ if self.noise_rates_.reliable else rates
        return transition_of_rates(applied, labels.positive_column)

    def _scored(
        self,
        given: Given,
        is_positive: NDArray[np.bool_],
        groups: ArrayLike | None,
        probabilities: ArrayLike | None,
    ) -> Inputs:
        weights = given.weights[given.used]
        if probabilities is not None:
            scores = validate_probabilities(probabilities, len(given.X))[given.used]
        else:
            scores = out_of_fold_probabilities(
                self._plain(),
                given.X[given.used],
                is_positive,
                cv=self.cv,
                groups=groups,
                sample_weight=weights,
                n_jobs=self.n_jobs,
                random_state=self._seed(),
            )
        return Inputs(is_positive, scores, None if (weights == 1).all() else weights)

    def _score_many(self, given: Given, groups: Any) -> NDArray[np.float64]:
        """Return out-of-fold probabilities of more than two classes."""
        X, weights = given.X[given.used], given.weights[given.used]
        seed = self._seed()
        splits = list(self._splitter(given.codes, groups, seed).split(X, given.codes, groups))
        refuse_no_partition([test for _, test in splits], len(X))
        parts = Parallel(n_jobs=self.n_jobs)(
            delayed(_score_fold)(
                self._plain().set_params(random_state=seed), X, given.codes, weights, split
            )
            for split in splits
        )
        scores = np.empty((len(X), len(self.classes_)))
        for (_, test), part in zip(splits, parts, strict=True):
            scores[test] = part
        return scores

    def _splitter(self, codes: NDArray[np.intp], groups: Any, seed: int) -> Any:
        """Return the splitter of more than two classes, which shuffles as that of two does."""
        if not isinstance(self.cv, Integral) or isinstance(self.cv, bool):
            return seeded_splitter(check_cv(self.cv), seed)
        n_folds, counts = int(self.cv), np.bincount(codes)
        if not 2 <= n_folds <= counts.min():
            rarest = self.classes_.tolist()[counts.argmin()]
            raise ValueError(
                f"cv={n_folds} must be at least 2 and at most the number of rows of each class; "
                f"class {rarest!r} has {counts.min()}. Pass transition, or "
                "collect more rows of this class."
            )
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        return kind(n_folds, shuffle=True, random_state=seed)

    def _plain(self) -> NetClassifier:
        """Return the plain network with the same settings."""
        names = NetClassifier._get_param_names()
        return NetClassifier(**{name: getattr(self, name) for name in names})

    def _seed(self) -> int:
        return draw_seed(private_random_state(self.random_state))


def _score_fold(
    model: NetClassifier,
    X: NDArray[np.float32],
    codes: NDArray[np.intp],
    weights: NDArray[np.float64],
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> NDArray[np.float64]:
    train, test = split
    return model.fit(X[train], codes[train], weights[train]).predict_proba(X[test])
