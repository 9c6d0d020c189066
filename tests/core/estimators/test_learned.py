"""The learned estimator: symmetry, repeated rows, ranges, and the paper's answer in two clumps."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseRates, ScoreSketch, estimate_noise_rates
from rankprune.core.counting._bins import N_BINS
from rankprune.core.estimators._learned import (
    ARTEFACT,
    NO_WRONG_SHARE,
    QUANTITIES,
    learned,
    learned_answer,
    shipped_network,
)
from rankprune.core.estimators._learned_network import (
    N_RAW,
    Network,
    label_error_rates,
    sparseness_of,
)
from rankprune.core.estimators._summaries import curve_rates, summaries

LEVELS = (0.5, 0.65, 0.8, 0.9, 0.95, 0.97, 0.99)
KINDS = ("overlap", "sharp", "coarse", "overconfident", "separable")
RATES = ((0.2, 0.1), (0.05, 0.02), (0.4, 0.3), (0.3, 0.0))


def rows(seed, kind="overlap", n_rows=400):
    """Labels of a problem of one kind, some of them flipped, and scores."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    truth = random.random(n_rows) < random.uniform(0.1, 0.9)
    truth[:2] = True, False
    noise = random.uniform(0, 0.4, 2)
    labels = np.where(random.random(n_rows) < noise[truth.astype(int)], ~truth, truth)
    labels[:2] = True, False
    spread = {"sharp": 5.0, "overconfident": 3.0, "separable": 20.0}.get(kind, 1.5)
    logits = spread * (2.0 * truth - 1) + random.normal(0, 1.5, n_rows)
    logits *= 6.0 if kind == "overconfident" else 1.0
    scores = 1 / (1 + np.exp(-np.clip(logits, -40, 40)))
    return labels, np.round(scores, 1) if kind == "coarse" else scores


def sketch_of_rows(*arguments):
    return ScoreSketch.from_rows(*rows(*arguments))


def many(sketch, copies):
    """The sketch of every row repeated."""
    merged = sketch
    for _ in range(copies - 1):
        merged = merged.merge(sketch)
    return merged


def four(rates):
    return [getattr(rates, name) for name in QUANTITIES[:4]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(40, 3000))
def test_swapping_the_classes_swaps_the_answer(seed, kind, n_rows):
    sketch = sketch_of_rows(seed, kind, n_rows)
    here, there = learned_answer(sketch), learned_answer(sketch.swap())
    swapped = [1, 0, 3, 2]
    assert four(here.rates) == pytest.approx([four(there.rates)[i] for i in swapped], abs=1e-9)
    mine, others = here.ranges(0.9), there.ranges(0.9)
    for name, other in zip(
        QUANTITIES, [*(QUANTITIES[i] for i in swapped), "wrong_share"], strict=True
    ):
        assert mine[name] == pytest.approx(others[other], abs=1e-9)


@pytest.mark.parametrize("sign", [0.0, -0.3])
def test_scores_that_do_not_tell_the_labels_apart_leave_open_all_that_is_possible(sign):
    random = np.random.default_rng(0)
    labels = random.random(1000) < 0.4
    scores = np.clip(0.5 + sign * labels + random.normal(0, 0.1, 1000), 0, 1)
    observed = labels.mean()
    ranges = learned_answer(ScoreSketch.from_rows(labels, scores)).ranges(0.5)
    assert ranges == {
        "positive_noise_rate": (0.0, pytest.approx(1 - observed)),
        "negative_noise_rate": (0.0, pytest.approx(observed)),
        "positive_label_error_rate": (0.0, 0.98),
        "negative_label_error_rate": (0.0, 0.98),
        "wrong_share": (0.0, 0.5),
    }


@pytest.mark.parametrize("score", [0.8, 0.6, 0.99])
def test_rows_that_are_their_own_mirror_image_get_the_same_answer_for_both_classes(score):
    """Two scores, each with one label in five against it: many curves fit alike."""
    kind = np.repeat([0, 1], 500)
    labels = np.where(np.arange(1000) % 5 == 0, 1 - kind, kind)
    sketch = ScoreSketch().update(labels, np.where(kind, score, 1 - score))
    np.testing.assert_array_equal(sketch.counts, sketch.swap().counts)
    answer = learned_answer(sketch)
    rho1, rho0, pi1, pi0 = four(answer.rates)
    assert (rho1, pi1) == pytest.approx((rho0, pi0), abs=1e-9)
    ranges = answer.ranges(0.95)
    for name in ("noise_rate", "label_error_rate"):
        mine, others = ranges[f"positive_{name}"], ranges[f"negative_{name}"]
        assert mine == pytest.approx(others, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(40, 3000))
def test_repeating_every_row_moves_no_point_and_widens_no_range(seed, kind, n_rows):
    sketch = sketch_of_rows(seed, kind, n_rows)
    once, repeated = learned_answer(sketch), learned_answer(many(sketch, 10))
    assert four(repeated.rates) == pytest.approx(four(once.rates), abs=1e-6)
    for level in (0.5, 0.95, 0.99):
        before, after = once.ranges(level), repeated.ranges(level)
        for name in QUANTITIES:
            assert np.diff(after[name]) <= np.diff(before[name]) + 0.01


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(10, 3000))
def test_ranges_hold_the_point_and_grow_with_the_level(seed, kind, n_rows):
    answer = learned_answer(sketch_of_rows(seed, kind, n_rows))
    last = dict.fromkeys(QUANTITIES, (1.0, 0.0))
    for level in LEVELS:
        found = answer.ranges(level)
        assert tuple(found) == QUANTITIES
        for name, (low, high) in found.items():
            assert 0 <= low <= getattr(answer.rates, name) <= high <= 1
            assert low == 0 or low >= NO_WRONG_SHARE
            assert low <= last[name][0]
            assert high >= last[name][1]
        last = found


def test_order_and_batches_do_not_matter():
    labels, scores = rows(3, "sharp", 900)
    whole = learned(ScoreSketch.from_rows(labels, scores))
    order = np.random.default_rng(0).permutation(900)
    parts = ScoreSketch()
    for part in np.array_split(order, 7):
        parts.update(labels[part], scores[part])
    assert learned(parts) == whole


def test_is_an_estimator_by_name():
    labels, scores = rows(5, "sharp", 900)
    rates = estimate_noise_rates(labels, scores, method="learned")
    assert replace(rates, intervals=None) == learned(ScoreSketch.from_rows(labels, scores))
    assert (rates.n_positive, rates.n_negative) == (labels.sum(), (~labels).sum())
    assert estimate_noise_rates(ScoreSketch.from_rows(labels, scores), method="learned") == rates


def betas(truth, _, random):
    return np.where(truth, random.beta(20, 3, len(truth)), random.beta(2, 20, len(truth)))


def ranges(truth, _, random):
    return random.uniform(0, 0.3, len(truth)) + 0.7 * truth


def constants(truth, _, random):
    return 0.1 + 0.8 * truth + random.uniform(-0.05, 0.05, len(truth))


def calibrated(truth, rates, random):
    expected = rates[1] + (1 - rates[0] - rates[1]) * truth
    return np.clip(expected + random.normal(0, 0.02, len(truth)), 0, 1)


def logits(truth, _, random):
    return 1 / (1 + np.exp(6 - 12.0 * truth - random.normal(0, 1, len(truth))))


@pytest.mark.parametrize("scores_of", [betas, ranges, constants, calibrated, logits])
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("n_rows", [500, 2000, 10_000])
def test_scores_that_separate_the_classes_get_the_confident_counts(scores_of, rates, n_rows):
    differences, papers = [], []
    for seed in range(25):
        random = np.random.default_rng([seed, n_rows])
        truth = random.random(n_rows) < 0.3
        labels = np.where(random.random(n_rows) < np.where(truth, *rates), ~truth, truth)
        scores = scores_of(truth, rates, random)
        found = estimate_noise_rates(labels, scores, method="learned")
        paper = estimate_noise_rates(labels, scores, method="confident-counts")
        papers.append(four(paper)[:2])
        differences.append(np.array(four(found)[:2]) - papers[-1])
    allowed = np.maximum(0.002, np.std(papers, axis=0, ddof=1) / 4)
    assert (np.abs(np.mean(differences, axis=0)) <= allowed).all()


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        ([1, 0], [0.5, 0.5]),
        ([1, 0], [1.0, 0.0]),
        ([1, 0], [0.0, 1.0]),
        ([1] * 1000 + [0], [0.5] * 1001),
        ([1, 0] * 50, [0.0, 1.0] * 50),
        ([1, 1, 0, 0], [1.0, 0.0, 1.0, 0.0]),
    ],
)
def test_answers_extreme_rows_too(labels, scores):
    answer = learned_answer(ScoreSketch.from_rows(labels, scores))
    assert isinstance(answer.rates, NoiseRates)
    for name, (low, high) in answer.ranges(0.99).items():
        assert 0 <= low <= getattr(answer.rates, name) <= high <= 1


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, N_BINS - 1), st.integers(1, 10**6)),
        min_size=1,
        max_size=12,
    )
)
def test_answers_every_sketch_with_both_labels(cells):
    counts = {(1, 0): 1, (0, N_BINS - 1): 1}
    for label, number, n_rows in cells:
        counts[label, number] = counts.get((label, number), 0) + n_rows
    label, number = np.array(list(counts)).T
    sketch = ScoreSketch.of_bins(label, number, np.array(list(counts.values())))
    answer = learned_answer(sketch)
    assert np.isfinite(answer.widths).all()
    assert answer.rates.positive_noise_rate + answer.rates.negative_noise_rate < 1


def test_weights_count_by_the_effective_number_of_rows():
    labels, scores = rows(7, "overlap", 600)
    weight = np.random.default_rng(1).exponential(1.0, 600)
    weighted = learned_answer(ScoreSketch.from_rows(labels, scores, sample_weight=weight))
    scaled = learned_answer(ScoreSketch.from_rows(labels, scores, sample_weight=100 * weight))
    assert four(scaled.rates) == pytest.approx(four(weighted.rates), abs=1e-9)
    assert scaled.widths == pytest.approx(weighted.widths)


def test_more_rows_are_less_sparse():
    sparse = sparseness_of(np.array([[20.0, 100.0], [200.0, 1000.0], [1e7, 1e7]]))
    assert sparse[0] > sparse[1] > sparse[2] > 0


def test_the_network_is_small_data_without_code():
    path = files("rankprune.core.estimators") / ARTEFACT
    assert len(path.read_bytes()) <= 200_000
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        kept = dict(arrays)
    assert all(np.isfinite(array).all() for array in kept.values())
    again = Network.from_arrays(kept).to_arrays()
    assert {name: array.tolist() for name, array in again.items()} == {
        name: array.tolist() for name, array in kept.items()
    }
    assert shipped_network() is shipped_network()


def test_the_answer_does_not_depend_on_the_order_of_sums(monkeypatch):
    sketch = sketch_of_rows(11, "sharp", 700)
    before = learned_answer(sketch)
    raw = Network.raw
    monkeypatch.setattr(Network, "raw", lambda *given: raw(*given) * (1 + 4e-16))
    after = learned_answer(sketch)
    assert after.rates == before.rates
    np.testing.assert_array_equal(after.widths, before.widths)
    np.testing.assert_array_equal(after.center, before.center)


def test_without_a_gate_the_network_answers_alone():
    values = summaries(sketch_of_rows(1))[None]
    network, prevalence = shipped_network(), np.array([0.4])
    raw = network.raw(values)
    alone = replace(network, gate=np.zeros(len(network.gate)))
    np.testing.assert_array_equal(
        alone.label_error_rates(values, raw, prevalence), label_error_rates(raw)
    )
    mixed = network.label_error_rates(values, raw, prevalence)
    curve = curve_rates(values)[:, 0, 2:4]
    low, high = np.minimum(curve, label_error_rates(raw)), np.maximum(curve, label_error_rates(raw))
    assert ((low <= mixed) & (mixed <= high)).all()


def test_no_range_exceeds_what_is_possible():
    labels, scores = rows(8, "overlap", 400)
    answer = learned_answer(ScoreSketch.from_rows(labels, scores))
    share = answer.rates.observed_prevalence
    found = answer.ranges(0.99)
    assert found["positive_noise_rate"][1] <= 1 - share
    assert found["negative_noise_rate"][1] <= share
    assert found["wrong_share"][1] <= 0.5


def test_summaries_fit_the_network():
    values = summaries(sketch_of_rows(0))
    network = shipped_network()
    assert values.shape == (2, len(network.center))
    assert network.raw(values[None]).shape == (1, N_RAW)
