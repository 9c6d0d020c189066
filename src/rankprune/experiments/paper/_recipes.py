"""Every method of the paper's tables as a recipe for weights, one per row.

A weight of 0 leaves a row out. Given the weights, a method needs only one fit of any classifier.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from rankprune.core import (
    NOISE_ESTIMATORS,
    NoiseRates,
    correction_weights,
    estimate_noise_rates,
    importance_weights,
    label_dependent_weights,
    prune_labels,
)

Weights = NDArray[np.float64]
Labels = NDArray[np.bool_]
Scores = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Recipe:
    """A method: one row of the tables.

    Attributes
    ----------
    title : str
        Name in the rendered tables.
    weigh : callable
        ``(labels, probabilities, true_rates) -> weights``.
    is_published : bool
        Whether the paper has figures for it under this name.
    rounds : int
        Number of times that the rows are scored and pruned.
    divides : bool
        Whether probabilities are divided by the share of positives labeled positive.
    needs_cleanlab : bool
        Whether it runs only if cleanlab is installed.
    """

    title: str
    weigh: Callable[[Labels, Scores, NoiseRates], Weights]
    is_published: bool = False
    rounds: int = 1
    divides: bool = False
    needs_cleanlab: bool = False

    def finish(self, probabilities: Scores, true_rates: NoiseRates) -> Weights:
        """Return the fitted model's probabilities as scores to compare with a threshold of 1/2.

        Quotients above 1 are not clipped, because clipping would create ties.
        """
        scores = np.asarray(probabilities, dtype=np.float64)
        return scores / (1 - true_rates.positive_noise_rate) if self.divides else scores


def _all_rows(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:  # noqa: ARG001 (one signature for all)
    return np.ones(len(labels))


def pruned_weights(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:
    """Return Rank Pruning's weights: 0 for pruned rows, correction weights for the others."""
    mask = prune_labels(labels, probabilities, rates).mask
    return np.where(mask, 0.0, correction_weights(labels, rates))


def papers_rates(labels: Labels, probabilities: Scores) -> NoiseRates:
    """Return the paper's estimate, without our guard against uninformative scores."""
    return NOISE_ESTIMATORS["confident-counts"](labels.view(np.int8), probabilities)


def _pruned_as_published(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:  # noqa: ARG001 (one signature for all)
    return pruned_weights(labels, probabilities, papers_rates(labels, probabilities))


def _pruned_by(
    estimator: str,
    labels: Labels,
    probabilities: Scores,
    rates: NoiseRates,  # noqa: ARG001 (one signature for all)
) -> Weights:
    found = estimate_noise_rates(labels, probabilities, method=estimator)
    return pruned_weights(labels, probabilities, found)


def _label_dependent(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:  # noqa: ARG001 (one signature for all)
    return label_dependent_weights(labels, rates)


def authors_weights(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:
    """Return importance weights as coded by the paper's authors, the source of its Liu16 figures.

    Their code weights rows labeled negative by the probability of the positive label too. Rows
    whose probability is below rho_1, which is nearly every negative, get a weight below 0. The
    authors' solver skipped rows without a positive weight, and so do we.
    """
    score = np.asarray(probabilities, dtype=np.float64)
    noise = np.where(labels, rates.negative_noise_rate, rates.positive_noise_rate)
    rest = 1 - rates.positive_noise_rate - rates.negative_noise_rate
    share = np.where(noise > 0, 0.0, 1.0)
    np.divide(score - noise, score, out=share, where=score > 0)
    return np.maximum(share, 0.0) / rest


def _cleanlab_weights(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:  # noqa: ARG001 (one signature for all)
    from cleanlab.classification import CleanLearning

    # Only its weights are needed; the last fit is made elsewhere.
    learner = CleanLearning(DummyClassifier())
    both = np.column_stack([1 - probabilities, probabilities]).astype(np.float64)
    with warnings.catch_warnings():
        # It warns that X is not used with given probabilities, which is intended.
        warnings.simplefilter("ignore", UserWarning)
        learner.fit(np.zeros((len(labels), 1)), labels.astype(int), pred_probs=both)
    return np.asarray(learner.get_label_issues()["sample_weight"], dtype=np.float64)


# True labels come first, because all other methods are compared with them.
TRUE = "true"
RECIPES: dict[str, Recipe] = {
    "noisy": Recipe("Noisy labels as they are", _all_rows),
    "rp_estimated": Recipe(
        "Rank Pruning, rates estimated", _pruned_as_published, is_published=True
    ),
    "rp_given": Recipe("Rank Pruning, true rates given", pruned_weights, is_published=True),
    "nat13": Recipe("Nat13", _label_dependent, is_published=True),
    "elk08": Recipe("Elk08", _all_rows, is_published=True, divides=True),
    "liu16": Recipe("Liu16", importance_weights, is_published=True),
    "liu16_authors": Recipe("Liu16, the authors' formula", authors_weights),
    "rp_tight": Recipe("Rank Pruning, tight rates", partial(_pruned_by, "tight")),
    "rp_curve": Recipe("Rank Pruning, curve rates", partial(_pruned_by, "curve")),
    "rp_rounds": Recipe(
        "Rank Pruning, curve rates, 4 rounds", partial(_pruned_by, "curve"), rounds=4
    ),
    "cleanlab": Recipe("cleanlab 2.9", _cleanlab_weights, needs_cleanlab=True),
}
