"""The warnings and errors users may catch; other errors are ``ValueError`` and ``TypeError``."""

import sys
import warnings

__all__ = [
    "AssumptionWarning",
    "ClassAlmostEmptiedWarning",
    "CopiedRowsWarning",
    "NoiseRatesClippedWarning",
    "RankPruneWarning",
    "SampleWeightIgnoredWarning",
    "TableError",
    "UninformativeProbabilitiesWarning",
]


class RankPruneWarning(UserWarning):
    """Base class of all warnings of this package.

    Examples
    --------
    >>> import warnings
    >>> from rankprune import estimate_noise_rates
    >>> from rankprune.exceptions import RankPruneWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", RankPruneWarning)  # stop at anything doubtful
    ...     try:
    ...         estimate_noise_rates([0, 1] * 50, [0.5] * 100)
    ...     except RankPruneWarning as warning:
    ...         print(type(warning).__name__)
    UninformativeProbabilitiesWarning
    """


class UninformativeProbabilitiesWarning(RankPruneWarning):
    """The probabilities do not tell the given labels apart, so estimated rates are unreliable.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rankprune import estimate_noise_rates
    >>> from rankprune.exceptions import UninformativeProbabilitiesWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rates = estimate_noise_rates([0, 1] * 50, [0.5] * 100)
    >>> issubclass(caught[0].category, UninformativeProbabilitiesWarning)
    True
    >>> rates.reliable
    False
    """


class NoiseRatesClippedWarning(RankPruneWarning):
    """Noise rates contradicted the observed prevalence; the nearest possible rates were used.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rankprune import NoiseRates
    >>> from rankprune.exceptions import NoiseRatesClippedWarning
    >>> from rankprune.metrics import clean_metrics
    >>> rates = NoiseRates.from_noise_rates(0.0, 0.3, observed_prevalence=0.5)
    >>> labels = np.repeat([1, 0], [20, 80])  # fewer positive labels than rho_0 makes by itself
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = clean_metrics(labels, labels, rates)
    >>> caught[0].category.__name__
    'NoiseRatesClippedWarning'
    """


class ClassAlmostEmptiedWarning(RankPruneWarning):
    """The rates would prune a whole class; its most confident row was kept.

    Examples
    --------
    >>> import warnings
    >>> from rankprune import NoiseRates, prune_labels
    >>> rates = NoiseRates.from_label_error_rates(0.9, 0.0, observed_prevalence=0.5)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mask = prune_labels([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], rates).mask
    >>> mask.tolist(), caught[0].category.__name__
    ([False, True, False, False], 'ClassAlmostEmptiedWarning')
    """


class SampleWeightIgnoredWarning(RankPruneWarning):
    """The base estimator does not accept ``sample_weight``, so it was fitted without weights.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from rankprune import RankPruningClassifier, flip_labels
    >>> X, truth = make_classification(500, class_sep=2, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = RankPruningClassifier(KNeighborsClassifier(), random_state=0).fit(X, y)
    >>> caught[0].category.__name__
    'SampleWeightIgnoredWarning'
    """


class AssumptionWarning(RankPruneWarning):
    """The data appear to violate an assumption of the method.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import flip_labels
    >>> from rankprune.methods import ElkanNotoClassifier
    >>> X, truth = make_classification(2000, class_sep=2, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.3, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = ElkanNotoClassifier(random_state=0).fit(X, y)
    >>> caught[0].category.__name__
    'AssumptionWarning'
    """


class CopiedRowsWarning(RankPruneWarning):
    """Many rows have an exact copy in another fold, which may hide that their labels are wrong.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import RankPruningClassifier
    >>> X, y = make_classification(500, class_sep=2, random_state=0)
    >>> copies = np.repeat(np.arange(500), 2)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = RankPruningClassifier(random_state=0).fit(X[copies], y[copies])
    >>> caught[0].category.__name__
    'CopiedRowsWarning'
    >>> model = RankPruningClassifier(random_state=0).fit(X[copies], y[copies], groups=copies)
    """


class TableError(ValueError):
    """A table cannot be read or is invalid; the message says where, and what to do about it.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankprune import check_table
    >>> from rankprune.exceptions import TableError
    >>> try:
    ...     check_table(pd.DataFrame({"x": [1, 2, 3], "y": ["a", "a", "a"]}), "y")
    ... except TableError as error:
    ...     print(str(error).split(";")[0])
    label must have at least two values
    """


def warn_caller(message: str, category: type[RankPruneWarning]) -> None:
    """Emit a warning that points at the calling line outside this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("rankprune."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
