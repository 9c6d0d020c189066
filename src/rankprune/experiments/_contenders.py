"""The measured methods, by name: Rank Pruning and the methods that it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from rankprune.classifier import RankPruningClassifier
from rankprune.core import NoiseRates
from rankprune.experiments.paper._recipes import authors_weights
from rankprune.learners._base import FitRows
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    ConsistencyPruningClassifier,
    DensityRatioClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    OneClassPUClassifier,
    RESVMClassifier,
    UnbiasedLossClassifier,
    WeightedLogisticPUClassifier,
)
from rankprune.methods._reweighting import WeightedRows


@dataclass(frozen=True)
class Contender:
    """One method and how it is measured.

    Attributes
    ----------
    make : callable
        Returns the classifier; takes the true noise rates as keywords if `knows_rates`.
    paper : str or None
        Name of the method in the paper's tables, or None if they do not show it.
    knows_rates : bool
        Whether it is given the true noise rates, as all methods but one were in the paper.
    is_slow : bool
        Whether it is fitted to fewer rows on MNIST.
    borrows : bool
        Whether it uses the shared out-of-fold probabilities.
    on_mnist : bool
        Whether it is measured on MNIST too.
    """

    make: Callable[..., Any]
    paper: str | None = None
    knows_rates: bool = False
    is_slow: bool = False
    borrows: bool = True
    on_mnist: bool = True


def base() -> LogisticRegression:
    """Return the base classifier of every method that does not have its own."""
    return LogisticRegression(max_iter=1000)


# The noise estimator of the figures in results/methods.md; a resumed run must not mix two.
_PRINTED_WITH = "curve"


def _with(method: type[Any], **parameters: Any) -> Callable[..., Any]:
    def make(**rates: float) -> Any:
        return method(base(), random_state=0, **parameters, **rates)

    return make


def _alone(method: type[Any], **parameters: Any) -> Callable[[], Any]:
    return lambda: method(**parameters)


def known_rates(contender: Contender, rates: NoiseRates) -> dict[str, float]:
    """Return the true rates as keywords, or no keywords if the contender is not given them."""
    if not contender.knows_rates:
        return {}
    taken = contender.make().get_params(deep=False)
    names = ("positive_noise_rate", "negative_noise_rate")
    return {name: getattr(rates, name) for name in names if name in taken}


class AuthorsReweightingClassifier(ImportanceReweightingClassifier):
    """Importance reweighting with `authors_weights`, the formula behind the paper's figures."""

    def _weighted_rows(self, rows: FitRows, rates: NoiseRates) -> WeightedRows:
        inputs = rows.status.inputs(self.probabilities_)
        kept = authors_weights(inputs.is_positive, inputs.probabilities, rates)
        return WeightedRows(np.flatnonzero(rows.status.doubted), inputs.is_positive, kept)


CONTENDERS: dict[str, Contender] = {
    "Rank Pruning, true rates": Contender(
        _with(RankPruningClassifier), paper="rp_given", knows_rates=True
    ),
    "Rank Pruning, as published": Contender(
        _with(RankPruningClassifier, noise_estimator="confident-counts"), paper="rp_estimated"
    ),
    "Rank Pruning": Contender(_with(RankPruningClassifier, noise_estimator=_PRINTED_WITH)),
    "Rank Pruning, no wrong positives": Contender(
        _with(RankPruningClassifier, negative_noise_rate=0.0, noise_estimator=_PRINTED_WITH)
    ),
    "Rank Pruning, committee": Contender(
        _with(RankPruningClassifier, scorer="committee", noise_estimator=_PRINTED_WITH),
        borrows=False,
        on_mnist=False,
    ),
    "label-dependent cost, true rates": Contender(
        _with(LabelDependentCostClassifier), paper="nat13", knows_rates=True
    ),
    "label-dependent cost": Contender(
        _with(LabelDependentCostClassifier, noise_estimator=_PRINTED_WITH)
    ),
    "label-dependent cost, cross-validation": Contender(
        _with(LabelDependentCostClassifier, noise_estimator="cross-validation"),
        is_slow=True,
        borrows=False,
    ),
    "unbiased loss, true rates": Contender(_with(UnbiasedLossClassifier), knows_rates=True),
    "unbiased loss": Contender(_with(UnbiasedLossClassifier, noise_estimator=_PRINTED_WITH)),
    "unbiased loss, cross-validation": Contender(
        _with(UnbiasedLossClassifier, noise_estimator="cross-validation"),
        borrows=False,
        on_mnist=False,
    ),
    "importance reweighting, true rates": Contender(
        _with(ImportanceReweightingClassifier), paper="liu16", knows_rates=True
    ),
    "importance reweighting, authors' formula": Contender(
        _with(AuthorsReweightingClassifier), paper="liu16", knows_rates=True
    ),
    "importance reweighting": Contender(
        _with(ImportanceReweightingClassifier, noise_estimator=_PRINTED_WITH)
    ),
    "importance reweighting, min-probability": Contender(
        _with(ImportanceReweightingClassifier, noise_estimator="min-probability")
    ),
    "importance reweighting, uLSIF": Contender(
        _with(
            ImportanceReweightingClassifier,
            scorer=DensityRatioClassifier(),
            noise_estimator=_PRINTED_WITH,
        ),
        borrows=False,
    ),
    "Elkan-Noto, true c": Contender(_with(ElkanNotoClassifier), paper="elk08", knows_rates=True),
    "Elkan-Noto": Contender(_with(ElkanNotoClassifier)),
    "Elkan-Noto, weighting": Contender(_with(ElkanNotoClassifier, weighting=True)),
    "weighted logistic regression": Contender(
        _alone(WeightedLogisticPUClassifier, random_state=0), borrows=False
    ),
    "biased SVM": Contender(
        _alone(BiasedSVMClassifier, random_state=0), is_slow=True, borrows=False
    ),
    "bagging PU": Contender(_with(BaggingPUClassifier), is_slow=True, borrows=False),
    "RESVM": Contender(_alone(RESVMClassifier, random_state=0), borrows=False),
    "RESVM, linear": Contender(
        _alone(RESVMClassifier, kernel="linear", random_state=0), borrows=False, on_mnist=False
    ),
    "consistency pruning": Contender(
        _with(ConsistencyPruningClassifier), is_slow=True, borrows=False
    ),
    "one-class SVM": Contender(_alone(OneClassPUClassifier), is_slow=True, borrows=False),
}
