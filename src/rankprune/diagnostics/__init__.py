"""How far to trust the noise rates: what the scores separate, and what they cannot tell."""

from rankprune.core import Verdict, judge_labels
from rankprune.diagnostics._calibration import Calibration, calibration
from rankprune.diagnostics._diagnosis import Diagnosis, diagnose
from rankprune.diagnostics._displays import (
    CalibrationDisplay,
    ComparisonDisplay,
    NoiseRateDisplay,
    ProbabilityDisplay,
    SeparabilityDisplay,
)
from rankprune.diagnostics._separability import (
    SeparabilityCurve,
    SeparabilitySide,
    separability_curve,
)

__all__ = [
    "Calibration",
    "CalibrationDisplay",
    "ComparisonDisplay",
    "Diagnosis",
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
