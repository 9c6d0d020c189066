"""The warnings users may catch or filter; errors are plain ``ValueError`` and ``TypeError``."""


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
