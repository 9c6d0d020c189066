"""The evaluation of scorers on a small bank: what is measured, cached, resumed and printed."""

import numpy as np
import pytest

from rankprune.experiments import _scorers, scorers
from rankprune.experiments._bank import Problem, load_split
from rankprune.experiments._scorers import (
    WAYS,
    Way,
    figures,
    noisy_labels,
    orders,
    outcomes,
    scored,
)


@pytest.fixture
def small(data, toy, monkeypatch):
    """Two problems, and few ways to score them."""
    problems = (Problem("toy: a", "toy", toy, tune=True), Problem("other: b", "other", toy))
    monkeypatch.setattr(scorers, "PROBLEMS", problems)
    few = {name: WAYS[name] for name in ("estimator", "committee of 0.1", "committee")}
    for module in (_scorers, scorers):
        monkeypatch.setattr(module, "WAYS", few)
    return data


def test_the_command_prints_every_table_and_caches_its_measurements(small, evaluation, titles):
    command = evaluation("scorers", small)
    first = command.run("-q")
    assert titles(first) == [
        "### Scorers",
        "### Clean labels",
        "### What is learned from the kept rows",
        "### Order of the suspects",
    ]
    assert "nan" not in first
    assert "| chosen on | committee of 0.1 |" in first
    kept = command.cached()
    assert command.run("-q") == first
    assert command.cached() == kept
    scorers.forget_measurements()
    assert {name.split("-")[1] for name in command.cached()} == {"part"}


def test_an_interrupted_run_resumes(small, monkeypatch):
    problem = scorers.PROBLEMS[0]
    split = load_split(problem)
    found = scored(problem, split, "hard rows")
    assert set(found.parts) == set(found.seconds) == set(_scorers.PARTS)
    monkeypatch.setattr(_scorers, "PARTS", dict.fromkeys(_scorers.PARTS))
    again = scored(problem, split, "hard rows")
    np.testing.assert_array_equal(again.parts["trees"], found.parts["trees"])
    with pytest.raises(TypeError):
        scored(problem, split, "clean")


def test_a_way_is_a_weighted_mean():
    parts = {"a": np.array([0.0, 1.0]), "b": np.array([0.6, 0.4])}
    assert Way({"a": 1, "b": 2}).scores(parts) == pytest.approx([0.4, 0.6])


def test_noise_that_follows_difficulty_flips_hard_rows(small):
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.3
    X = rng.normal(2.0 * truth[:, None], 1, (2000, 2))
    split = _scorers.Split(X, truth, X, truth)
    labels = noisy_labels(split, "hard rows")
    flipped = labels != truth
    assert flipped[truth].mean() == pytest.approx(0.25, abs=0.01)
    assert flipped[~truth].mean() == pytest.approx(0.25, abs=0.01)
    distance = np.abs(X.sum(axis=1) - 2)
    assert distance[flipped].mean() < 0.8 * distance[~flipped].mean()
    assert (noisy_labels(split, "clean") == truth).all()


def test_orders_by_hand():
    labels = np.array([True, True, False, False])
    scores = np.array([0.2, 0.8, 0.5, 0.1])
    mask = np.array([True, False, False, False])
    by_probability, by_class, by_margin = orders(labels, scores, mask)
    assert by_probability == pytest.approx([0.8, 0.2, 0.5, 0.1])
    assert by_class == pytest.approx([0.3, -0.3, 0.2, -0.2])
    assert by_margin == pytest.approx([0.0, -0.6, 0.0, -0.4])


def test_clean_labels_leave_nothing_to_rank_and_get_the_plain_fit(small):
    problem = scorers.PROBLEMS[0]
    split = load_split(problem)
    found = figures(problem, split, "clean", "committee")
    assert np.isnan(found.all_rows).all()
    assert found.verdict == _scorers.VERDICTS.index("clean")
    plain = outcomes(problem, split, "clean", None)
    np.testing.assert_allclose(outcomes(problem, split, "clean", "committee"), plain)
