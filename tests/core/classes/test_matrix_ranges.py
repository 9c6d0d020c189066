"""Ranges around the noise matrix: they hold it, and are wide where nothing is known."""

import json

import numpy as np
import pytest

from rankprune import NoiseMatrix, estimate_noise_rates, flip_labels
from rankprune.core.classes._class_inputs import validate_class_inputs
from rankprune.core.classes._class_summaries import label_summaries_of, summaries_of
from rankprune.core.classes._estimate import estimate_noise_matrix
from rankprune.core.classes._matrix_model import MatrixModel, shipped_model
from rankprune.core.classes._matrix_ranges import intervals_of
from rankprune.core.classes._tally import Tally
from rankprune.exceptions import UninformativeProbabilitiesWarning


def noisy_rows(noise=0.2, n_rows=900, n_classes=4, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(0, n_classes, n_rows)
    transition = np.full((n_classes, n_classes), noise / (n_classes - 1))
    np.fill_diagonal(transition, 1 - noise)
    labels = flip_labels(truth, transition=transition, random_state=seed)
    scores = 0.1 * random.dirichlet(np.ones(n_classes), n_rows) + 0.9 * transition[truth]
    return labels, truth, scores


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2, 0.4])
def test_ranges_hold_estimate_and_truth(noise):
    labels, truth, scores = noisy_rows(noise)
    matrix = estimate_noise_rates(labels, scores)
    total = matrix.intervals.wrong_share
    assert total.estimate == matrix.wrong_share
    assert total.low <= min(matrix.wrong_share, (labels != truth).mean())
    assert total.high >= max(matrix.wrong_share, (labels != truth).mean())
    assert matrix.intervals.covers == "truth"
    for k, one in enumerate(matrix.intervals.error_rates):
        assert one.low <= one.estimate == matrix.error_rates[k] <= one.high
        assert one.low <= (labels != truth)[labels == k].mean() <= one.high


def test_ranges_are_permuted_with_the_classes():
    labels, _, scores = noisy_rows()
    order = [3, 1, 0, 2]
    plain = estimate_noise_rates(labels, scores)
    moved = estimate_noise_rates(labels, scores[:, order], classes=order)
    assert moved.intervals.wrong_share == plain.intervals.wrong_share
    assert moved.intervals.error_rates == tuple(plain.intervals.error_rates[k] for k in order)


def test_scores_that_say_nothing_leave_everything_open():
    with pytest.warns(UninformativeProbabilitiesWarning):
        matrix = estimate_noise_rates([0, 1, 2] * 20, np.full((60, 3), 1 / 3))
    total = matrix.intervals.wrong_share
    assert (total.low, total.high) == (0.0, 1.0)
    assert {(one.low, one.high) for one in matrix.intervals.error_rates} == {(0.0, 1.0)}


def test_summaries_are_finite_even_with_rare_and_missing_classes():
    labels, _, scores = noisy_rows(n_rows=60)
    labels[labels == 3] = 2
    labels[0] = 0
    tally = Tally.of(validate_class_inputs(labels, scores, [0, 1, 2, 3]))
    assert np.isfinite(summaries_of(tally)).all()
    assert np.isfinite(label_summaries_of(tally)).all()
    assert label_summaries_of(tally).shape[0] == 4


def test_classes_without_labels_change_nothing_for_the_others():
    labels, _, scores = noisy_rows()
    padded = np.hstack([scores, np.zeros((len(scores), 1))])
    plain = estimate_noise_rates(labels, scores)
    other = estimate_noise_rates(labels, padded, classes=[0, 1, 2, 3, 4])
    assert np.array_equal(other.joint[:4, :4], plain.joint)
    assert other.intervals.wrong_share == plain.intervals.wrong_share
    assert other.intervals.error_rates[:4] == plain.intervals.error_rates


def test_a_model_can_be_stored():
    again = MatrixModel.from_arrays(shipped_model().to_arrays())
    labels, _, scores = noisy_rows()
    inputs = validate_class_inputs(labels, scores)
    matrix = estimate_noise_matrix(inputs)
    assert intervals_of(Tally.of(inputs), matrix, again) == matrix.intervals


def test_ranges_are_shown_and_stored():
    labels, _, scores = noisy_rows()
    matrix = estimate_noise_rates(labels, scores)
    total = matrix.intervals.wrong_share
    assert f"range={total.low:.4g} to {total.high:.4g}" in repr(matrix)
    assert str(total) in matrix._repr_html_()
    kept = json.loads(json.dumps(matrix.to_dict()))["intervals"]
    assert kept["wrong_share"] == [total.low, total.high]
    assert len(kept["error_rates"]) == 4
    assert kept["level"] == 0.95
    assert isinstance(matrix, NoiseMatrix)
