"""Importance reweighting: each row counts as much as it would if all labels were correct."""

from __future__ import annotations

import numpy as np

from rankprune.core import NoiseRates, importance_weights
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
from rankprune.learners._base import FitRows
from rankprune.methods._reweighting import (
    ReweightingClassifier,
    WeightedRows,
    weigh_by_factors,
)


class ImportanceReweightingClassifier(ReweightingClassifier):
    """Learn from noisy labels by importance reweighting (Liu and Tao 2016; the paper's Liu16).

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier to fit, which must take ``sample_weight``; cloned. Logistic regression by
        default.
    scorer : classifier with ``predict_proba``, "committee", "with-trees" or None
        The classifier that computes the out-of-fold probabilities, from which the weights follow;
        see `RankPruningClassifier`. `DensityRatioClassifier` computes them from density ratios, as
        the source proposes.
    pos_label, positive_noise_rate, negative_noise_rate
        As in `RankPruningClassifier`.
    noise_estimator : str or callable, default="learned"
        See ``method`` of `estimate_noise_rates`. The source uses ``"min-probability"``.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimator_, classes_, noise_rates_, probabilities_, verdict_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    A row labeled s has weight (P(s|x) - r) / ((1 - rho_1 - rho_0) P(s|x)), at least 0, where P(s|x)
    is the probability of its own label and r the noise rate of the other class: rho_0 for s=1,
    rho_1 for s=0. In expectation the weighted loss is the clean loss.

    Use it if the probabilities are well calibrated: no row is pruned, and doubtful rows lose weight
    gradually. It fails if probabilities are overconfident: a label whose probability is below r
    gets no weight, whether it is right or wrong.

    References
    ----------
    T. Liu and D. Tao: Classification with Noisy Labels by Importance Reweighting. IEEE TPAMI 38,
    2016.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import ImportanceReweightingClassifier
    >>> X, truth = make_classification(2000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    >>> model = ImportanceReweightingClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, truth) > 0.97)
    True
    """

    _weighs_by_scores = True

    def _weighted_rows(self, rows: FitRows, rates: NoiseRates) -> WeightedRows:
        inputs = rows.status.inputs(self.probabilities_)
        factors = importance_weights(inputs.is_positive, inputs.probabilities, rates)
        for value in (True, False):
            members = np.flatnonzero(inputs.is_positive == value)
            if not factors[members].any():
                sign = 1 if value else -1
                factors[members[np.argmax(sign * inputs.probabilities[members])]] = 1.0
                warn_caller(
                    "The noise rates give every row of a class weight 0; only its most credible "
                    "row was kept. Check the rates, or use RankPruningClassifier.",
                    ClassAlmostEmptiedWarning,
                )
        return weigh_by_factors(rows, factors)
