"""What a check concludes from few rows: scores in bins, weighted by the rows in them."""

from __future__ import annotations

import logging
import platform
import warnings
from contextlib import suppress
from importlib import metadata
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rankprune.core import NoiseRateIntervals, NoiseRates
from rankprune.core._inputs import Inputs
from rankprune.core._intervals import row_intervals
from rankprune.diagnostics import calibration, separability_curve
from rankprune.exceptions import RankPruneWarning, warn_caller

_log = logging.getLogger("rankprune")

_N_RESAMPLES = 200
# Of the histogram that the report draws.
N_BINS = 50
_PACKAGES = ("rankprune", "numpy", "scipy", "scikit-learn", "duckdb")


def intervals_of(
    few: Inputs, estimated: NoiseRates, noise_estimator: Any, random_state: Any
) -> NoiseRateIntervals:
    """Return intervals around the estimate, by drawing rows again."""
    _log.debug("drawing rows again for the intervals")
    # Threads on matrices of four numbers take a hundred times as long as the sums.
    with threadpool_limits(limits=1, user_api="blas"):
        return row_intervals(
            few,
            noise_estimator,
            estimated,
            level=0.95,
            n_resamples=_N_RESAMPLES,
            random_state=random_state,
        )


def curves_of(few: Inputs) -> dict[str, Any]:
    """Return the curves that a check keeps, by their names in it."""
    rows, weight = (few.is_positive, few.probabilities), few.sample_weight
    return {
        "separability": separability_curve(*rows, sample_weight=weight),
        "calibration": calibration(*rows, sample_weight=weight),
    }


def said_once(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return what was warned of, after saying it again to the caller, each once."""
    said = {
        str(warning.message): warning.category
        for warning in caught
        if issubclass(warning.category, RankPruneWarning | ConvergenceWarning)
    }
    for message, category in said.items():
        warn_caller(message, category)
    return tuple(said)


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found
