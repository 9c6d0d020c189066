"""What each way to learn makes of flipped labels, measured on right ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, f1_score, zero_one_loss

from rankprune.classifier import RankPruningClassifier
from rankprune.experiments._bank import MODELS, Problem, Scored, Split, scored, slug
from rankprune.experiments._cache import cached

# Boosting is left out: its weighted fits cost more than all others together.
FINAL_MODELS = ("logistic", "naive Bayes", "neighbours", "forest")
METRICS = ("F1", "error", "average precision")

Fitted = Any


def _rank_pruning(noise_estimator: str, *, committee: bool = False) -> Callable[..., Fitted]:
    def fit(split: Split, scores: Scored, model: str) -> Fitted:
        probabilities = scores.committee(model) if committee else scores.of(model)
        classifier = RankPruningClassifier(MODELS[model](), noise_estimator=noise_estimator)
        return classifier.fit(split.X, scores.labels, probabilities=probabilities)

    return fit


def _plain(split: Split, scores: Scored, model: str) -> Fitted:
    return MODELS[model]().fit(split.X, scores.labels)


def _cleanlab(split: Split, scores: Scored, model: str) -> Fitted:
    from cleanlab.classification import CleanLearning

    probabilities = scores.of(model)
    return CleanLearning(MODELS[model]()).fit(
        split.X,
        scores.labels.astype(int),
        pred_probs=np.column_stack([1 - probabilities, probabilities]),
    )


STRATEGIES: dict[str, Callable[..., Fitted]] = {
    "plain fit": _plain,
    "paper": _rank_pruning("confident-counts"),
    "tight": _rank_pruning("tight"),
    "curve": _rank_pruning("curve"),
    "committee, tight": _rank_pruning("tight", committee=True),
    "committee, curve": _rank_pruning("curve", committee=True),
    "cleanlab": _cleanlab,
}


def outcomes(problem: Problem, split: Split, level: tuple[float, float]) -> NDArray[np.float64]:
    """Return an array of models x strategies x metrics, measured on right labels, cached."""
    columns = []
    for strategy, fit in STRATEGIES.items():
        name = f"outcomes-{strategy.replace(', ', '-').replace(' ', '-')}-{slug(problem, level)}"
        compute = partial(_measure_all, fit, problem, split, level)
        columns.append(cached(name, compute)["table"])
    return np.stack(columns, axis=1)


def _measure_all(
    fit: Callable[..., Fitted], problem: Problem, split: Split, level: tuple[float, float]
) -> dict[str, NDArray[Any]]:
    scores = scored(problem, split, level)
    rows = [_measure(fit(split, scores, model), split) for model in FINAL_MODELS]
    return {"table": np.array(rows)}


def _measure(fitted: Fitted, split: Split) -> tuple[float, float, float]:
    truth = split.true_test_labels
    predicted = np.asarray(fitted.predict(split.X_test)).astype(bool)
    probabilities = fitted.predict_proba(split.X_test)[:, 1]
    return (
        float(f1_score(truth, predicted, zero_division=0.0)),
        float(zero_one_loss(truth, predicted)),
        float(average_precision_score(truth, probabilities)),
    )
