"""From the labels that were kept to the sample weights that restore the balance of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._inputs import validate_labels
from rankprune.core._noise_rates import NoiseRates, validate_noise_rates
from rankprune.core.classes._class_inputs import refuse_for_two_labels
from rankprune.core.classes._class_weights import correction_weights_by_class
from rankprune.core.classes._noise_matrix import NoiseMatrix


def correction_weights(
    labels: ArrayLike, noise_rates: NoiseRates | NoiseMatrix, *, pos_label: Any = None
) -> NDArray[np.float64]:
    """Return the weight of each kept row that compensates for rows lost to wrong labels.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        The labels that were kept, of both classes.
    noise_rates : NoiseRates or NoiseMatrix
        The rates that drove the pruning. Rates with ``reliable=False`` correct nothing.
    pos_label : default=None
        As in `estimate_noise_rates`.

    Returns
    -------
    ndarray of float
        ``1 / (1 - positive_noise_rate)`` on positive labels, ``1 / (1 - negative_noise_rate)``
        on negative ones; with a matrix, ``1 / (1 - noise_rate)`` of the class of each label.

    Notes
    -----
    Step 2.2 of Algorithm 1: pruning leaves a share 1 - rho_1 of the true positives and 1 - rho_0
    of the true negatives, so these weights sum to n when the rates are exact.

    Examples
    --------
    >>> from rankprune import NoiseRates, correction_weights
    >>> rates = NoiseRates.from_noise_rates(0.5, 0.2, observed_prevalence=0.4)
    >>> correction_weights([1, 0, 0], rates).tolist()
    [2.0, 1.25, 1.25]
    """
    if isinstance(noise_rates, NoiseMatrix):
        refuse_for_two_labels(pos_label=pos_label)
        return correction_weights_by_class(labels, noise_rates)
    validate_noise_rates(noise_rates)
    is_positive = validate_labels(labels, pos_label=pos_label).is_positive
    return np.where(is_positive, *class_weights(noise_rates))


def class_weights(noise_rates: NoiseRates) -> tuple[float, float]:
    """Return the weight of a positive and of a negative label; 1 if the rates are not reliable."""
    if not noise_rates.reliable:
        return 1.0, 1.0
    return 1 / (1 - noise_rates.positive_noise_rate), 1 / (1 - noise_rates.negative_noise_rate)
