"""Liu and Tao's noise estimator: the ends of the probabilities are the noise rates.

P(s=1 | x) = (1 - rho_1 - rho_0) P(y=1 | x) + rho_0 runs from rho_0, where a row is surely
negative, to 1 - rho_1, where it is surely positive.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.core._inputs import BoolArray, FloatArray
from rankprune.core._noise_rates import NoiseRates, rates_of_rows


def min_probability(
    labels: BoolArray,
    probabilities: FloatArray,
    *,
    sample_weight: NDArray[np.float64] | None = None,
) -> NoiseRates:
    """Return rho_0 = min g and rho_1 = 1 - max g."""
    counted = probabilities if sample_weight is None else probabilities[sample_weight > 0]
    return rates_of_rows(1 - float(counted.max()), float(counted.min()), labels, sample_weight)
