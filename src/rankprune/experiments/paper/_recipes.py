"""Every method of the paper's tables as what it makes of labels: one weight for each row.

A weight of 0 leaves a row out. Told so, one fit of any classifier is all that a method needs.
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
from rankprune.core._registry import DEFAULT_ESTIMATOR

Weights = NDArray[np.float64]
Labels = NDArray[np.bool_]
Scores = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Recipe:
    """One row of the tables.

    Attributes
    ----------
    title : str
        Its name in the rendered tables.
    weigh : callable
        ``(labels, probabilities, true_rates) -> weights``.
    is_published : bool
        Whether the paper has figures for it, under the same name.
    rounds : int
        How often the rows are scored and pruned.
    divides : bool
        Whether probabilities are divided by the share of positives that are labeled so.
    needs_cleanlab : bool
    """

    title: str
    weigh: Callable[[Labels, Scores, NoiseRates], Weights]
    is_published: bool = False
    rounds: int = 1
    divides: bool = False
    needs_cleanlab: bool = False

    def finish(self, probabilities: Scores, true_rates: NoiseRates) -> Weights:
        """Return the score whose threshold is 1/2, from the fitted model's probability.

        A quotient may exceed 1 and stays so: cut off, rows would tie that can be told apart.
        """
        scores = np.asarray(probabilities, dtype=np.float64)
        return scores / (1 - true_rates.positive_noise_rate) if self.divides else scores


def _all_rows(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:  # noqa: ARG001 (one signature for all)
    return np.ones(len(labels))


def pruned_weights(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:
    """Return Rank Pruning's weights: 0 on pruned rows, the correction on the others."""
    mask = prune_labels(labels, probabilities, rates).mask
    return np.where(mask, 0.0, correction_weights(labels, rates))


def papers_rates(labels: Labels, probabilities: Scores) -> NoiseRates:
    """Return the paper's estimate, without our guard against scores that tell nothing."""
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
    """Return importance weights as the paper's authors coded them: where its Liu16 comes from.

    Rows labeled negative, too, are weighed by the probability of the positive label: whoever is
    less likely labeled positive than rho_1 has a weight below 0, which is nearly every negative.
    The solver of the time passed over rows whose weight is not above 0, and so do we.
    """
    score = np.asarray(probabilities, dtype=np.float64)
    noise = np.where(labels, rates.negative_noise_rate, rates.positive_noise_rate)
    rest = 1 - rates.positive_noise_rate - rates.negative_noise_rate
    share = np.where(noise > 0, 0.0, 1.0)
    np.divide(score - noise, score, out=share, where=score > 0)
    return np.maximum(share, 0.0) / rest


def _cleanlab_weights(labels: Labels, probabilities: Scores, rates: NoiseRates) -> Weights:  # noqa: ARG001 (one signature for all)
    from cleanlab.classification import CleanLearning

    # Its last fit is ours to make; the weights that it would fit with are all that is needed.
    learner = CleanLearning(DummyClassifier())
    both = np.column_stack([1 - probabilities, probabilities]).astype(np.float64)
    with warnings.catch_warnings():
        # That rows are not looked at where probabilities are given is what we want.
        warnings.simplefilter("ignore", UserWarning)
        learner.fit(np.zeros((len(labels), 1)), labels.astype(int), pred_probs=both)
    return np.asarray(learner.get_label_issues()["sample_weight"], dtype=np.float64)


# Right labels come first: they are what all others are measured against.
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
    "rp_curve": Recipe("Rank Pruning, our default", partial(_pruned_by, DEFAULT_ESTIMATOR)),
    "rp_rounds": Recipe(
        "Rank Pruning, our default, 4 rounds", partial(_pruned_by, DEFAULT_ESTIMATOR), rounds=4
    ),
    "cleanlab": Recipe("cleanlab 2.9", _cleanlab_weights, needs_cleanlab=True),
}
