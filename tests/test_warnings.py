"""Warnings point at the line that called us."""

from dataclasses import replace

import pytest

from rankprune import NoiseRates, estimate_noise_rates, prune_labels
from rankprune.exceptions import ClassAlmostEmptiedWarning, UninformativeProbabilitiesWarning


def test_uninformative_scores_point_at_the_caller():
    with pytest.warns(UninformativeProbabilitiesWarning) as warned:
        estimate_noise_rates([1, 0] * 9, [0.1, 0.9] * 9)
    assert [warning.filename for warning in warned] == [__file__]


@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 1.0, 1.0]])
def test_an_emptied_class_points_at_the_caller(weight):
    rates = NoiseRates.from_noise_rates(0, 0, 0.5)
    rates = replace(rates, positive_label_error_rate=1.0, negative_label_error_rate=1.0)
    with pytest.warns(ClassAlmostEmptiedWarning) as warned:
        prune_labels([1, 0, 1, 0], [0.9, 0.1, 0.8, 0.2], rates, sample_weight=weight)
    assert [warning.filename for warning in warned] == [__file__, __file__]
