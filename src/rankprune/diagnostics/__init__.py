"""How far to trust the noise rates: do scores separate the classes, and are they calibrated?"""

from rankprune.core import Verdict, judge_labels
from rankprune.diagnostics._calibration import Calibration, calibration
from rankprune.diagnostics._calibration_display import CalibrationDisplay
from rankprune.diagnostics._comparison_display import ComparisonDisplay
from rankprune.diagnostics._diagnosis import Diagnosis, diagnose
from rankprune.diagnostics._noise_matrix_display import NoiseMatrixDisplay
from rankprune.diagnostics._noise_rate_display import NoiseRateDisplay
from rankprune.diagnostics._probability_display import ProbabilityDisplay
from rankprune.diagnostics._separability import (
    SeparabilityCurve,
    SeparabilitySide,
    separability_curve,
)
from rankprune.diagnostics._separability_display import SeparabilityDisplay

__all__ = [
    "Calibration",
    "CalibrationDisplay",
    "ComparisonDisplay",
    "Diagnosis",
    "NoiseMatrixDisplay",
    "NoiseRateDisplay",
    "ProbabilityDisplay",
    "SeparabilityCurve",
    "SeparabilityDisplay",
    "SeparabilitySide",
    "Verdict",
    "calibration",
    "diagnose",
    "judge_labels",
    "separability_curve",
]
