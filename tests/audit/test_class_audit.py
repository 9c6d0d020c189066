"""Audits of more than two labels on arrays: what is drawn, and what the answers show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from many_classes import class_labels
from rankprune import NoiseMatrix, NoiseRates, estimate_noise_rates, prune_labels
from rankprune.audit import compare_errors, draw, estimate, plan

NAMES = ("ant", "bee", "cow", "dog")


@pytest.fixture(scope="module")
def rows():
    """Return given labels, true ones, probabilities, the matrix and the suspects."""
    labels, truth, probabilities = class_labels(2000, NAMES)
    labels, truth = labels.astype(str), truth.astype(str)
    matrix = estimate_noise_rates(labels, probabilities)
    return labels, truth, probabilities, matrix, prune_labels(labels, probabilities, matrix).mask


def scores_of(rows, *, how):
    _, _, probabilities, matrix, _ = rows
    return {
        "alone": {},
        "scores": {"probabilities": probabilities},
        "model": {"probabilities": probabilities, "noise_rates": matrix},
    }[how]


@pytest.mark.parametrize(("how", "n_strata"), [("alone", 2), ("scores", 8), ("model", 8)])
def test_the_sample_knows_labels_and_strata(rows, how, n_strata):
    labels, _, _, _, suspects = rows
    sample = draw(labels, suspects, 100, random_state=0, **scores_of(rows, how=how))
    assert len(sample.sizes) == n_strata
    assert sum(sample.drawn) == 100 == len(set(sample.rows.tolist()))
    assert sample.classes == sample.values == NAMES
    assert [sample.classes[code] for code in sample.given] == labels[sample.rows].tolist()
    assert (sample.suspect == suspects[sample.rows]).all()
    assert [sample.kinds[number][1] for number in sample.stratum] == sample.suspect.tolist()
    assert not sample.is_positive.any()
    assert sample.positive is sample.negative is None
    np.testing.assert_array_equal(sample.sizes_by_label.sum(axis=1), sample.sizes)
    np.testing.assert_array_equal(
        sample.sizes_by_label.sum(axis=0), [(labels == name).sum() for name in NAMES]
    )


@pytest.mark.parametrize("how", ["alone", "scores", "model"])
def test_limits_hold_the_truth(rows, how):
    labels, truth, _, _, suspects = rows
    wrong = labels != truth
    held = {}
    for seed in range(30):
        sample = draw(labels, suspects, 100, random_state=seed, **scores_of(rows, how=how))
        found = estimate(sample, truth[sample.rows])
        shares = dict(found.items())
        assert list(shares) == [
            "wrong_share",
            *(f"labels {name!r} that are wrong" for name in NAMES),
            "suspect_precision",
            "missed_share",
        ]
        known = [
            wrong.mean(),
            *(wrong[labels == name].mean() for name in NAMES),
            wrong[suspects].mean(),
            wrong[~suspects].mean(),
        ]
        for (name, one), share in zip(shares.items(), known, strict=True):
            held.setdefault(name, []).append(one.low - 1e-9 <= share <= one.high + 1e-9)
        assert wrong[~suspects].sum() <= found.missed_at_most
    assert min(map(np.mean, held.values())) >= 0.86


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_all_rows_judged_give_the_exact_shares(data):
    n = data.draw(st.integers(6, 30))
    values = st.lists(st.sampled_from(NAMES), min_size=n, max_size=n)
    labels, truth = np.array(data.draw(values)), data.draw(values)
    labels[:3] = NAMES[:3]
    suspects = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    sample = draw(labels, suspects, n, random_state=0)
    found = estimate(sample, np.array(truth)[sample.rows])
    wrong = labels != np.array(truth)
    assert found.wrong_share.estimate == pytest.approx(wrong.mean())
    for name, one in zip(found.classes, found.error_rates, strict=True):
        share = wrong[labels == name].mean()
        assert (one.low, one.estimate, one.high) == pytest.approx((share,) * 3)
    assert found.missed_at_most == wrong[~suspects].sum()
    assert (found.suspect_precision is None) == (not suspects.any())
    assert (found.missed_share is None) == suspects.all()


def test_labels_without_drawn_rows_may_be_wrong_or_right():
    labels = np.array(["cat"] * 60 + ["dog"] * 60 + ["owl"])
    sample = draw(labels, np.zeros(121, dtype=bool), 20, random_state=0)
    assert "owl" not in labels[sample.rows]
    found = estimate(sample, ["dog"] * 10 + [None] * 10)
    one = found.error_rates[2]
    assert (one.low, one.high) == (0.0, 1.0)
    assert 0 < one.estimate < 1
    assert found.n_unsure == 10
    matrix = NoiseMatrix(np.eye(4) / 4, classes=["cat", "dog", "owl", "yak"])
    scores = np.full((121, 4), 0.25)
    sample = draw(
        labels, labels == "cat", 20, probabilities=scores, noise_rates=matrix, random_state=0
    )
    found = estimate(sample, labels[sample.rows])
    assert found.classes[3] == "yak"
    assert (found.error_rates[3].low, found.error_rates[3].high) == (0.0, 0.0)


def test_in_words(rows):
    labels, truth, _, _, suspects = rows
    sample = draw(labels, suspects, 100, random_state=0)
    lines = str(estimate(sample, truth[sample.rows])).splitlines()
    assert lines[0].startswith("wrong share: ")
    assert lines[1].startswith("labels 'ant' that are wrong: ")
    assert lines[-3].startswith("missed share: ")
    assert lines[-2].startswith("missed at most: ")
    many = np.arange(300) % 20
    sample = draw(many, np.zeros(300, dtype=bool), 60, random_state=0)
    lines = str(estimate(sample, many[sample.rows])).splitlines()
    assert "and 8 more labels" in lines
    assert not any(line.startswith("suspect precision") for line in lines)


def test_plans_of_larger_samples_are_narrower(rows):
    labels, _, probabilities, matrix, suspects = rows
    found = plan(labels, probabilities, matrix, suspects, sizes=(50, 200, 5000))
    assert list(found) == [50, 200]
    few, many = found.values()
    assert few.wrong_share.high - few.wrong_share.low > many.wrong_share.high - many.wrong_share.low
    assert many.wrong_share.estimate == pytest.approx(matrix.wrong_share, abs=0.03)
    assert many.n_drawn == 200


def test_models_are_compared(rows):
    labels, truth, _, _, suspects = rows
    sample = draw(labels, suspects, 300, random_state=0)
    right = truth[sample.rows].tolist()
    answers = [None, *right[1:]]
    before, after, low, high = compare_errors(sample, answers, labels[sample.rows], right)
    assert before == pytest.approx((labels != truth).mean(), abs=0.06)
    assert after == 0
    assert low < after - before < high < 0
    strange = compare_errors(sample, answers, ["none of them"] * 300, right)
    assert strange[0] == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"pos_label": "ant"}, ValueError, "pos_label must be None for more than two classes"),
        ({"noise_rates": 0.1}, TypeError, "noise_rates must be a NoiseMatrix .* got float"),
        (
            {"noise_rates": NoiseRates.from_noise_rates(0.1, 0.1, 0.5)},
            TypeError,
            "noise_rates must be a NoiseMatrix .* got NoiseRates",
        ),
        ({"matrix": True}, ValueError, "probabilities must be given with noise_rates, got None"),
        ({"probabilities": np.full(2000, 0.5)}, ValueError, "must be two-dimensional"),
        ({"n": 2001}, ValueError, "n must be at most the number of rows, 2000, got 2001"),
        ({"suspects": [True]}, ValueError, "suspects must have one value per label"),
    ],
)
def test_impossible_draws_are_refused(rows, arguments, error, message):
    labels, _, _, matrix, suspects = rows
    named = {"suspects": suspects, "n": 100, **arguments}
    if named.pop("matrix", False):
        named["noise_rates"] = matrix
    with pytest.raises(error, match=message):
        draw(labels, named.pop("suspects"), named.pop("n"), **named)


def test_impossible_plans_and_answers_are_refused(rows):
    labels, truth, probabilities, matrix, suspects = rows
    with pytest.raises(TypeError, match=r"must be a NoiseMatrix .* got NoneType"):
        plan(labels, probabilities, None, suspects)
    with pytest.raises(ValueError, match="pos_label must be None"):
        plan(labels, probabilities, matrix, suspects, pos_label="ant")
    with pytest.raises(TypeError, match="sizes must be a sequence"):
        plan(labels, probabilities, matrix, suspects, sizes=5)
    sample = draw(labels, suspects, 20, random_state=0)
    message = "answers must be 'ant', 'bee', 'cow', 'dog' or None; answer 19 is 'eel'"
    with pytest.raises(ValueError, match=message):
        estimate(sample, [*truth[sample.rows[:19]], "eel"])
    many = np.arange(300) % 20
    sample = draw(many, np.zeros(300, dtype=bool), 20, random_state=0)
    with pytest.raises(ValueError, match=r"answers must be 0, 1, 2, 3, 4, 5, \.\.\. or None"):
        estimate(sample, ["x"] * 20)
