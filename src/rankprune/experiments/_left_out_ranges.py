"""The ranges that the estimator would give for answers of networks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core.estimators._learned import NO_WRONG_SHARE
from rankprune.core.estimators._learned_network import Network, quantities, range_limits
from rankprune.experiments._training import Answers

Reals = NDArray[np.float64]


def ranges_of(answers: Answers, network: Network) -> tuple[Reals, Reals]:
    """Return the lower and upper ends: problems x quantities x levels."""
    prevalence, found = answers.problems.prevalence, answers.point()[..., None]
    center = np.sqrt(quantities(answers.label_error_rates, prevalence))[..., None]
    widths = network.widths(answers.raw, answers.problems.rows)
    limits = range_limits(prevalence)[..., None]
    low = np.minimum(np.maximum(center - widths[:, :, 0], 0.0) ** 2, found)
    high = np.maximum(np.minimum((center + widths[:, :, 1]) ** 2, limits), found)
    return np.where(low < NO_WRONG_SHARE, 0.0, low), high
