"""The ranges that the estimator would give, by networks that saw nothing of a family.

Not only layers and gate are learned: what stretches the ranges is, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankprune.core.estimators._learned import NO_WRONG_SHARE
from rankprune.core.estimators._learned_network import (
    LEVELS,
    N_QUANTITIES,
    Network,
    quantities,
    range_limits,
)
from rankprune.experiments import _training
from rankprune.experiments._training import Answers, Collection

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


def blind_networks(networks: Sequence[Network], answers: Answers) -> list[Network]:
    """Return one network for each fold of which no part ever saw a family of that fold.

    Parameters
    ----------
    networks : sequence of Network
        Those of `left_out_networks`.
    answers : Answers
        What they say about families that they never saw.
    """
    fold = _folds_of(answers)
    return [
        _training.calibrated(network, answers.select(fold != number))
        for number, network in enumerate(networks)
    ]


def network_without_kind(kind: str, problems: Collection, answers: Answers) -> Network:
    """Return a network of which no part ever saw one kind of noise by itself.

    Parameters
    ----------
    kind : str
    problems : Collection
    answers : Answers
        As in `blind_networks`.
    """
    network = _training.trained(problems.select(problems.kind != kind))
    return _training.calibrated(network, answers.select(answers.problems.kind != kind))


def left_out_ranges(answers: Answers, blind: Sequence[Network]) -> tuple[Reals, Reals]:
    """Return the ends of ranges, each by the network that never saw the family."""
    fold = _folds_of(answers)
    low, high = np.empty((2, len(fold), N_QUANTITIES, len(LEVELS)))
    for number, network in enumerate(blind):
        chosen = fold == number
        low[chosen], high[chosen] = ranges_of(answers.select(chosen), network)
    return low, high


def _folds_of(answers: Answers) -> NDArray[np.intp]:
    fold_of = _training.folds()
    return np.array([fold_of[family] for family in answers.problems.family.tolist()], np.intp)
