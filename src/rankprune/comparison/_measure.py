"""Every method fitted to the same rows and measured on the same test rows."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    auc,
    average_precision_score,
    f1_score,
    precision_recall_curve,
    roc_auc_score,
    zero_one_loss,
)

from rankprune.comparison._result import ComparedMethod, Comparison
from rankprune.comparison._split import Split
from rankprune.core import NoiseRates
from rankprune.core._inputs import FloatArray
from rankprune.core.estimators._registry import estimate_noise_rates
from rankprune.learners._class_order import labels_to_fit
from rankprune.learners._cloning import fresh_clone
from rankprune.learners._probabilities import out_of_fold_probabilities
from rankprune.learners._progress import log_stage
from rankprune.metrics import clean_metrics

BASELINE, ORACLE = "noisy baseline", "oracle"

# F1, error, ROC AUC, average precision and AUC-PR.
Figures = tuple[float | None, float | None, float | None, float | None, float | None]


@dataclass(frozen=True)
class SharedSettings:
    """Settings passed to every method."""

    estimator: Any
    noise_rates: NoiseRates | None
    pos_label: Any
    cv: Any
    n_jobs: int | None
    seed: int


class Measurement:
    """Fits the methods one after the other and measures each on the test rows."""

    def __init__(
        self, split: Split, shared: SharedSettings, probabilities: FloatArray | None
    ) -> None:
        self.split = split
        self.shared = shared
        self.scores = probabilities
        # Probabilities that were passed in take no time here.
        self.score_seconds = 0.0
        self.y = labels_to_fit(split.labels)
        self.positive = self.y[split.labels.is_positive.argmax()]

    def run(self, chosen: dict[str, Any], left_out: list[str]) -> Comparison:
        """Return the comparison, baseline first and oracle last."""
        split = self.split
        baseline = fresh_clone(self.shared.estimator, self.shared.seed)
        # The faster of two fits, since it is the unit of all times and the first fit may be slow.
        plain = min(_seconds(lambda: baseline.fit(split.X, self.y)) for _ in range(2))
        fitted = {BASELINE: (baseline, plain)}
        for name, method in chosen.items():
            log_stage(f"comparing {name}", logging.INFO)
            fitted[name] = self._fit(method, name)
        if split.true_labels is not None:
            oracle = fresh_clone(self.shared.estimator, self.shared.seed)
            right = labels_to_fit(replace(split.labels, is_positive=split.true_labels))
            fitted[ORACLE] = oracle, _seconds(lambda: oracle.fit(split.X, right))
        rates = None if split.is_trusted else self._rates()
        rows = [
            self._measure(name, model, seconds / plain, rates)
            for name, (model, seconds) in fitted.items()
        ]
        return Comparison(
            tuple(rows),
            split.is_trusted,
            " ".join(self._notes(rates, left_out)),
            {name: model for name, (model, _) in fitted.items()},
        )

    def _pos_label(self) -> Any:
        # Passed on only if it was given: every method has the same default.
        return None if self.shared.pos_label is None else self.positive

    def _shared_scores(self) -> FloatArray:
        """Return the out-of-fold probabilities, computed once, when first needed."""
        if self.scores is None:
            start = time.perf_counter()
            self.scores = out_of_fold_probabilities(
                self.shared.estimator,
                self.split.X,
                self.y,
                cv=self.shared.cv,
                groups=self.split.groups,
                n_jobs=self.shared.n_jobs,
                random_state=self.shared.seed,
                pos_label=self._pos_label(),
            )
            self.score_seconds = time.perf_counter() - start
        return self.scores

    def _fit(self, method: Any, name: str) -> tuple[Any, float]:
        """Return a method fitted with the shared settings, and the time it would take alone."""
        shared = self.shared
        given = method.get_params(deep=False)
        if given.get("pos_label") not in (None, self.split.labels.pos_label):
            raise ValueError(
                f"methods must agree on the positive label: {name!r} has pos_label="
                f"{given['pos_label']}, the comparison {self.split.labels.pos_label}. Pass "
                "pos_label to compare and leave it out of the methods."
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
        if "groups" in accepted and self.split.groups is not None:
            extra["groups"] = self.split.groups
        borrows = is_ours and "probabilities" in accepted and given.get("scorer") is None
        if borrows:
            extra["probabilities"] = self._shared_scores()
        seconds = _seconds(lambda: method.fit(self.split.X, self.y, **extra))
        needed_them = borrows and hasattr(method, "probabilities_")
        return method, seconds + (self.score_seconds if needed_them else 0.0)

    def _rates(self) -> NoiseRates:
        if self.shared.noise_rates is not None:
            return self.shared.noise_rates
        return estimate_noise_rates(self.split.labels.is_positive, self._shared_scores())

    def _measure(
        self, name: str, model: Any, fit_ratio: float, rates: NoiseRates | None
    ) -> ComparedMethod:
        split = self.split
        predicted = np.asarray(model.predict(split.X_test)) == self.positive
        scores = _positive_scores(model, split.X_test, self.positive)
        used: Any = getattr(model, "noise_rates_", None)
        is_used = used is not None and used.reliable
        if rates is None:
            figures: Figures = trusted_figures(split.test_labels, predicted, scores)
        elif rates.reliable:
            found = clean_metrics(split.test_labels, predicted, rates, scores=scores)
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
        notes = [self.split.description]
        if rates is not None and not rates.reliable:
            notes.append(
                "There are no trusted labels, and the probabilities do not separate the labels: "
                "no method can be judged. Pass true_labels or test to measure, known noise_rates, "
                "or a stronger estimator."
            )
        elif rates is not None:
            kind = "estimated" if self.shared.noise_rates is None else "known"
            notes.append(
                "There are no trusted labels: F1, error and ROC AUC are estimates of what clean "
                f"labels would show. They assume that the {kind} noise rates "
                f"({rates.positive_noise_rate:.1%} of the positives, "
                f"{rates.negative_noise_rate:.1%} of the negatives) are right and the same for "
                "every row of a class. Average precision cannot be estimated. Pass true_labels or "
                "test to measure."
            )
        notes += [f"Left out because it cannot use this estimator: {name}." for name in left_out]
        return notes


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _positive_scores(model: Any, X: Any, positive: Any) -> FloatArray | None:
    """Return scores that rise with the positive class, or None if the model has none."""
    classes = list(model.classes_)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, classes.index(positive)])
    if hasattr(model, "decision_function"):
        sign = 1 if classes.index(positive) == 1 else -1
        return np.asarray(sign * model.decision_function(X))
    return None


def trusted_figures(
    truth: NDArray[np.bool_], predicted: NDArray[np.bool_], scores: FloatArray | None
) -> Figures:
    """Return F1, error, ROC AUC, average precision and AUC-PR against true labels."""
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
