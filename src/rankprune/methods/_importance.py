"""Importance reweighting: each labeled row counts as often as it would if labels were right."""

from __future__ import annotations

import numpy as np

from rankprune._learners import Table
from rankprune.core import NoiseRates, importance_weights
from rankprune.exceptions import ClassAlmostEmptiedWarning, warn_caller
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
        What is fitted in the end, with weights; cloned. Logistic regression by default.
    scorer : classifier with ``predict_proba``, "committee" or None, default=None
        What gives the out-of-fold probabilities, on which the weights hang; see
        `RankPruningClassifier`. `DensityRatioClassifier` takes them from a density ratio, as the
        source proposes.
    pos_label, positive_noise_rate, negative_noise_rate
        As in `RankPruningClassifier`.
    noise_estimator : str or callable, default="curve"
        See ``method`` of `estimate_noise_rates`. The source's is ``"min-probability"``.
    cv, n_jobs, random_state, verbose
        As in `RankPruningClassifier`.

    Attributes
    ----------
    estimator_, classes_, noise_rates_, probabilities_, verdict_, n_features_in_, feature_names_in_
        As in `RankPruningClassifier`.

    Notes
    -----
    A row labeled s weighs (P(s|x) - r) / ((1 - rho_1 - rho_0) P(s|x)), at least 0, where P(s|x) is
    the probability of the label it carries and r the noise rate of the other class: rho_0 for s=1,
    rho_1 for s=0. In expectation the weighted loss is the clean loss.

    Use it where the probabilities are calibrated and the classifier fits them well: no row is
    thrown away, and doubtful rows fade out instead of falling off a cliff. It fails where
    probabilities are overconfident: a label that the model calls impossible weighs nothing, right
    or wrong, and one that it barely believes may weigh very much.

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

    def _weighted_rows(self, table: Table, rates: NoiseRates) -> WeightedRows:
        inputs = table.doubt.inputs(self.probabilities_)
        factors = importance_weights(inputs.is_positive, inputs.probabilities, rates)
        for value in (True, False):
            members = np.flatnonzero(inputs.is_positive == value)
            if not factors[members].any():
                sign = 1 if value else -1
                factors[members[np.argmax(sign * inputs.probabilities[members])]] = 1.0
                warn_caller(
                    "The noise rates leave no weight to any row of a class; its most believable "
                    "one was kept. Check the rates, or use RankPruningClassifier.",
                    ClassAlmostEmptiedWarning,
                )
        return weigh_by_factors(table, factors)
