"""The order of rows of many classes, and how likely their labels are wrong."""

import numpy as np
import pytest

from rankprune import NoiseMatrix
from rankprune.core.classes._class_inputs import validate_class_inputs
from rankprune.core.classes._class_ranking import (
    chances_by_margin,
    margins_of,
    order_by_margin,
    stretches_by_chance,
)

MATRIX = NoiseMatrix([[0.2, 0.1, 0.0], [0.0, 0.3, 0.0], [0.1, 0.0, 0.3]], classes=[0, 1, 2])


def rows(n_rows=900, seed=0):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 3, n_rows)
    scores = random.dirichlet([0.5] * 3, n_rows)
    return validate_class_inputs(codes, scores, None), codes


def test_margins_are_logarithms_of_the_ratio_to_the_best_other_score():
    inputs = validate_class_inputs(
        [0, 1, 2], [[0.5, 0.25, 0.25], [0.8, 0.1, 0.1], [0.1] * 2 + [0.8]], None
    )
    assert margins_of(inputs) == pytest.approx(np.log([2, 1 / 8, 8]), abs=1e-4)


def test_mask_comes_first_and_ties_keep_their_order():
    margins = np.array([0.5, -1.0, 2.0, -1.0, -3.0])
    mask = np.array([False, True, False, True, False])
    assert order_by_margin(margins, mask).tolist() == [1, 3, 4, 0, 2]


def test_mean_chance_of_a_label_is_its_error_rate():
    inputs, codes = rows()
    chances = chances_by_margin(margins_of(inputs), codes, MATRIX)
    for k, rate in enumerate(MATRIX.error_rates):
        assert chances[codes == k].mean() == pytest.approx(rate, abs=1e-6)
    assert (chances[codes == 1] == 0).all()


def test_chance_falls_along_the_margin():
    inputs, codes = rows()
    margins = margins_of(inputs)
    chances = chances_by_margin(margins, codes, MATRIX)
    for k in (0, 2):
        members = np.flatnonzero(codes == k)
        ordered = chances[members][np.argsort(margins[members])]
        assert (np.diff(ordered) <= 1e-12).all()


def test_label_without_rows_has_no_chances():
    inputs, codes = rows()
    few = codes != 2
    assert len(chances_by_margin(margins_of(inputs)[few], codes[few], MATRIX)) == few.sum()


def test_stretches_add_up_to_the_expected_number():
    ordered = np.linspace(1, 0, 500)
    stretches = stretches_by_chance(ordered, 120)
    assert [(one.first, one.last) for one in stretches] == [
        (1, 10),
        (11, 50),
        (51, 100),
        (101, 120),
    ]
    assert sum(one.expected_wrong for one in stretches) == pytest.approx(
        (ordered[:120] * (1 - 0.12 * ordered[:120])).sum()
    )
    assert stretches_by_chance(ordered, 0) == ()
