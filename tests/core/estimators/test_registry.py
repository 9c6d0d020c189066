"""Known rates on scores that do not tell the labels apart: used, but with a warning."""

import warnings

import numpy as np
import pytest

from rankprune import NoiseRates, ScoreSketch
from rankprune.core.estimators._registry import warn_if_uninformative
from rankprune.exceptions import UninformativeProbabilitiesWarning

RATES = NoiseRates.from_noise_rates(0.1, 0.2, observed_prevalence=0.5)
LABELS = np.tile([True, False], 50)


def test_scores_of_chance_are_warned_of():
    with pytest.warns(UninformativeProbabilitiesWarning, match="is not above 1/2"):
        assert (
            warn_if_uninformative(ScoreSketch.from_rows(LABELS, np.full(100, 0.5)), RATES) is True
        )


def test_scores_that_tell_the_labels_apart_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        informative = ScoreSketch.from_rows(LABELS, np.where(LABELS, 0.9, 0.1))
        assert warn_if_uninformative(informative, RATES) is False
