"""The warnings and errors users may catch; other errors are ``ValueError`` and ``TypeError``."""

import sys
import warnings


class RankPruneWarning(UserWarning):
    """Base of every warning this package gives."""


class UninformativeProbabilitiesWarning(RankPruneWarning):
    """The probabilities do not tell the given labels apart, so rates from them mean little."""


class NoiseRatesClippedWarning(RankPruneWarning):
    """Estimated noise rates contradicted the observed prevalence and were moved to the nearest
    possible ones."""


class ClassAlmostEmptiedWarning(RankPruneWarning):
    """The rates ask for pruning a whole class; its most confident row was kept."""


class SampleWeightIgnoredWarning(RankPruneWarning):
    """The base estimator takes no ``sample_weight``, so it was fitted without."""


class AssumptionWarning(RankPruneWarning):
    """The rows look as if they broke what a method takes for granted."""


class TableError(ValueError):
    """A table cannot be read, or is not what it must be; the message says where and what to do."""


def warn_caller(message: str, category: type[RankPruneWarning]) -> None:
    """Warn, pointing at the line outside this package that led here."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("rankprune."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
