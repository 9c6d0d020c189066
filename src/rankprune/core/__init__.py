"""The algorithm as pure functions on arrays: NumPy and SciPy only, without scikit-learn."""

from rankprune.core._interval_records import Interval, NoiseRateIntervals
from rankprune.core._intervals import noise_rate_intervals
from rankprune.core._noise_rates import ConfidentCounts, NoiseRates
from rankprune.core._pruning import (
    Cutoff,
    Cutoffs,
    Marker,
    Pruning,
    Suspects,
    prune_labels,
    rank_suspects,
)
from rankprune.core._reweighting import (
    importance_weights,
    label_dependent_weights,
    unbiased_loss_weights,
    unlabeled_weights,
)
from rankprune.core._simulation import (
    add_uniform_rows,
    flip_labels,
    gaussian_posterior,
    make_gaussians,
)
from rankprune.core._theory import (
    ExpectedNoiseRates,
    expected_noise_rates,
    expected_thresholds,
    ideal_thresholds,
    perfect_probabilities,
    robustness_conditions,
)
from rankprune.core._verdict import Verdict, judge_labels
from rankprune.core._weights import correction_weights
from rankprune.core.classes._class_pruning import ClassMarker, ClassPruning, ClassSuspects
from rankprune.core.classes._class_state import ClassState
from rankprune.core.classes._class_verdict import ClassVerdict, judge_matrix
from rankprune.core.classes._matrix_estimators import MATRIX_ESTIMATORS
from rankprune.core.classes._noise_matrix import MatrixIntervals, NoiseMatrix
from rankprune.core.classes._ratio_search import ClassCutoffs
from rankprune.core.counting._sketch import ScoreSketch
from rankprune.core.counting._state import ConfidentState
from rankprune.core.estimators._registry import NOISE_ESTIMATORS, estimate_noise_rates

__all__ = [
    "MATRIX_ESTIMATORS",
    "NOISE_ESTIMATORS",
    "ClassCutoffs",
    "ClassMarker",
    "ClassPruning",
    "ClassState",
    "ClassSuspects",
    "ClassVerdict",
    "ConfidentCounts",
    "ConfidentState",
    "Cutoff",
    "Cutoffs",
    "ExpectedNoiseRates",
    "Interval",
    "Marker",
    "MatrixIntervals",
    "NoiseMatrix",
    "NoiseRateIntervals",
    "NoiseRates",
    "Pruning",
    "ScoreSketch",
    "Suspects",
    "Verdict",
    "add_uniform_rows",
    "correction_weights",
    "estimate_noise_rates",
    "expected_noise_rates",
    "expected_thresholds",
    "flip_labels",
    "gaussian_posterior",
    "ideal_thresholds",
    "importance_weights",
    "judge_labels",
    "judge_matrix",
    "label_dependent_weights",
    "make_gaussians",
    "noise_rate_intervals",
    "perfect_probabilities",
    "prune_labels",
    "rank_suspects",
    "robustness_conditions",
    "unbiased_loss_weights",
    "unlabeled_weights",
]
