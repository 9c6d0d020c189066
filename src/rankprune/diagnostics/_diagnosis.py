"""The verdict, separability and calibration of one set of scores in one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankprune.core import Verdict, judge_labels
from rankprune.core._inputs import Inputs, validate_weighted_labels
from rankprune.core._verdict import probability_columns
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._registry import NoiseEstimator
from rankprune.diagnostics._calibration import Calibration, calibration
from rankprune.diagnostics._separability import SeparabilityCurve, separability_curve


@dataclass(frozen=True)
class Diagnosis:
    """What the scores show about the labels, and how reliable this is.

    Attributes
    ----------
    verdict : Verdict
        Clean, noise found, or cannot tell, with the reasons and the AUC.
    separability : SeparabilityCurve
        Flat ends support the noise rates, rising ends suggest overlap.
    calibration : Calibration
        Calibration of the probabilities against the given labels.
    contradicted : float
        Share of labels that the probabilities contradict (on the other side of 1/2).
    explained_by_noise : float
        Estimated share of labels that are wrong.
    left_to_overlap : float
        Share of contradicted labels that noise does not explain: rows that look like the other
        class but belong to their own, or a model too weak to separate the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune.diagnostics import diagnose
    >>> truth = np.repeat([0, 1], 500)
    >>> found = diagnose(truth, 0.1 + 0.8 * truth)
    >>> found.verdict.level, found.contradicted
    ('clean', 0.0)
    """

    verdict: Verdict
    separability: SeparabilityCurve
    calibration: Calibration
    contradicted: float
    explained_by_noise: float
    left_to_overlap: float

    def __str__(self) -> str:
        flat = [
            f"{name} end {'flat' if side.flat else 'rising, which suggests overlap'}"
            for name, side in (
                ("positive", self.separability.positive),
                ("negative", self.separability.negative),
            )
            if side.flat is not None
        ]
        lines = [
            str(self.verdict),
            f"separability curve: {', '.join(flat) or 'too few rows to say'}",
            f"labels that the scores contradict: {self.contradicted:.1%}; labels estimated to be "
            f"wrong: {self.explained_by_noise:.1%}; left to overlap or a weak model: "
            f"{self.left_to_overlap:.1%}",
            f"AUC {self.verdict.auc:.3f}, calibration error {self.calibration.error:.3f}, both "
            "against the given labels",
        ]
        return "\n".join(lines)


def diagnose(
    labels: ArrayLike,
    probabilities: ArrayLike,
    *,
    method: str | NoiseEstimator | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> Diagnosis:
    """Return what the scores show about the labels, and how reliable this is.

    Parameters
    ----------
    labels, probabilities, method, sample_weight, pos_label
        As in `judge_labels`. With several columns of probabilities, the verdict uses each column
        and everything else their mean.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import flip_labels
    >>> from rankprune.diagnostics import diagnose
    >>> truth = np.repeat([0, 1], 500)
    >>> labels = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0, random_state=0)
    >>> diagnosis = diagnose(labels, 0.8 * truth)
    >>> diagnosis.verdict.level, diagnosis.contradicted, round(diagnosis.explained_by_noise, 3)
    ('noise found', 0.1, 0.1)
    """
    weighted = {"sample_weight": sample_weight, "pos_label": pos_label}
    verdict = judge_labels(labels, probabilities, method=method, **weighted)
    checked, weight = validate_weighted_labels(labels, sample_weight, pos_label=pos_label)
    mean = np.mean(probability_columns(probabilities, len(checked.is_positive)), axis=0)
    sketch = sketch_of(Inputs(checked.is_positive, mean, weight))
    contradicted = float(np.average((mean > 0.5) != checked.is_positive, weights=weight))
    wrong = verdict.noise_rates.wrong_share
    return Diagnosis(
        verdict=verdict,
        separability=separability_curve(sketch),
        calibration=calibration(sketch),
        contradicted=contradicted,
        explained_by_noise=wrong,
        left_to_overlap=max(0.0, contradicted - wrong),
    )
