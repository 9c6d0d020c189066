"""What each strategy learns from flipped labels, measured on true labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.classifier import RankPruningClassifier
from rankprune.comparison._measure import trusted_figures
from rankprune.experiments._bank import MODELS, Problem, Scored, Split, scored, slug
from rankprune.experiments._cache import cached

# Boosting is left out because its weighted fits cost more than all others together.
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
    """Return an array of models x strategies x metrics, measured on true labels, cached."""
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


def _measure(fitted: Fitted, split: Split) -> NDArray[np.float64]:
    truth = split.true_test_labels
    predicted = np.asarray(fitted.predict(split.X_test)).astype(bool)
    probabilities = np.asarray(fitted.predict_proba(split.X_test)[:, 1])
    f1, error, _, average_precision, _ = trusted_figures(truth, predicted, probabilities)
    return np.array([f1, error, average_precision], dtype=float)
