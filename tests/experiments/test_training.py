"""The training of the learned estimator on a small bank: resumed, repeatable, and printed."""

import gzip
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits

from rankprune.cli._group import cli
from rankprune.core.estimators._learned import shipped_network
from rankprune.experiments import (
    _flipped_problems,
    _known_tables,
    _separable_scores,
    _simulated_problems,
    _training,
    _verdict_limits,
    candidates,
    learned,
)
from rankprune.experiments._bank import Problem
from rankprune.experiments._flip_chances import (
    CLASS_CONDITIONAL,
    CLEAN,
    DIFFICULTY,
    FEW,
    KINDS,
    World,
    draw_rates,
    flip_chances,
    with_mean,
)
from rankprune.experiments._left_out_ranges import blind_networks, left_out_ranges, ranges_of
from rankprune.experiments._network_training import Schedule
from rankprune.experiments._sketched_problems import pack, sketched, unpack

COLUMNS = ["name", "description", "price"]


def rows_of(seed):
    def load():
        random = np.random.default_rng(seed)
        y = random.random(260) < 0.4
        return random.normal(2.0 * y[:, None], 1, (260, 3)), y

    return load


@pytest.fixture
def small(data, monkeypatch):
    """Three families, one round, a few simulated problems, and a stand-in for cleanlab."""
    names = ("digits: a", "pima: diabetes", "mnist: b")
    problems = tuple(
        Problem(name, name.split(":")[0], rows_of(seed)) for seed, name in enumerate(names)
    )
    for module in (_flipped_problems, _training, learned):
        monkeypatch.setattr(module, "TRAINING_PROBLEMS", problems)
        monkeypatch.setattr(module, "BANK_FAMILIES", ("digits", "pima", "mnist"))
    X, digits = load_digits(return_X_y=True)
    for name, value in {
        "PROBLEMS": problems,
        "load_digits": lambda return_X_y: (X[:300], digits[:300]),
        "DIGITS": (3,),
        "GRID": ((0.0, 0.0), (0.2, 0.2), (0.1, 0.5)),
    }.items():
        monkeypatch.setattr(_known_tables, name, value)
    shapes = {name: _separable_scores.SHAPES[name] for name in list(_separable_scores.SHAPES)[:2]}
    for name, value in {"N_SEEDS": 3, "SIZES": (300,), "SHAPES": shapes}.items():
        monkeypatch.setattr(_separable_scores, name, value)
    monkeypatch.setattr(_flipped_problems, "_KINDS", (CLEAN, CLASS_CONDITIONAL))
    monkeypatch.setattr(_simulated_problems, "CHUNK", 12)
    monkeypatch.setattr(_simulated_problems, "_MOST_DRAWN", 8000)
    for name, value in {"N_CHUNKS": 1, "N_ROUNDS": 1, "N_FOLDS": 2, "N_MEMBERS": 2}.items():
        monkeypatch.setattr(_training, name, value)
    monkeypatch.setattr(_training, "SCHEDULE", Schedule(width=4, epochs=2, batch=16))
    count = types.ModuleType("cleanlab.count")
    count.compute_confident_joint = lambda *_: np.eye(2)
    count.estimate_latent = lambda *_: (np.ones(2) / 2, np.zeros((2, 2)), np.zeros((2, 2)))
    for name, module in (("cleanlab", types.ModuleType("cleanlab")), ("cleanlab.count", count)):
        monkeypatch.setitem(sys.modules, name, module)
    return data


def run(*arguments, code=0):
    result = CliRunner().invoke(cli, ["evaluate", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_training_is_resumed_and_writes_the_same_file_again(small, titles, tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    output = run("train", "-q", "--output", first)
    assert [title.split(",")[0] for title in titles(output)] == [
        "### Error of the learned estimator",
        "### Error of the learned estimator",
        "### Ranges of 95 %",
        "### The verdict",
    ]
    assert "class-conditional" in output
    assert "cleanlab" in output
    cache = small / "experiments"
    kept = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert run("train", "-q", "--output", second) == output
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == kept
    assert second.read_bytes() == first.read_bytes()
    # Nothing from the cache but the problems.
    assert run("train", "-q", "--again", "--output", second) == output
    assert second.read_bytes() == first.read_bytes()
    for path in cache.iterdir():
        path.unlink()
    run("train", "-q", "--output", second)
    assert second.read_bytes() == first.read_bytes()


def write_people(folder):
    """A few rows as the files of labels by people hold them."""
    folder.mkdir()
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 300).astype(np.int8)
    labels = np.where(random.random(300) < 0.2, 1 - truth, truth).astype(np.int8)
    scores = np.clip(np.eye(2)[truth] * 0.6 + random.random((300, 2)) * 0.4, 0, 1)
    for name in ("aggregate", "worst"):
        for model in ("resnet18", "efficientnet_b1"):
            np.savez(
                folder / f"cifar10n_{name}_{model}.npz",
                labels=labels,
                truth=truth,
                probabilities=scores.astype(np.float16),
            )
    header = ["pair", *(f"{column}_{side}" for side in "ab" for column in COLUMNS), "truth"]
    lines, answers = [",".join(header)], ["pair,worker,answer"]
    for number in range(200):
        same = number % 3 == 0
        other = f"camera {number}" if same else f"printer {number + 1}"
        price = "$1.0" if number % 2 else ""
        lines.append(f"p{number},camera {number},black,$9.99,{other},,{price},{int(same)}")
        for worker in range(3):
            wrong = random.random() < 0.2
            answers.append(f"p{number},{worker},{int(same != wrong)}")
    for name, rows in (("product_pairs", lines), ("product_answers", answers)):
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            file.write("\n".join(rows) + "\n")


def test_labels_by_people_are_reported_last(small, titles, tmp_path):
    people = tmp_path / "people"
    write_people(people)
    output = run("learned", "-q", "--people", people)
    assert titles(output)[-6:] == [
        "### A kind of noise left out",
        "### The limits of the verdict",
        "### Tables that many know, families left out",
        "### MNIST, the family left out",
        "### Scores that separate the classes",
        "### Labels by people",
    ]
    assert "Product pairs, first worker" in output
    assert "Labels by people" not in run("learned", "-q")


def test_tables_that_many_know_are_answered_by_two_networks(small):
    output = run("learned", "-q")
    part = output.split("Tables that many know")[1].split("###")[0]
    rows = [line.strip("| ").split(" | ") for line in part.splitlines()[6:] if line]
    assert [row[0].split(",")[0] for row in rows] == ["the demo", "Pima", "MNIST", "MNIST"]
    demo, pima, clean, noisy = rows
    assert len(demo) == 7
    assert demo[1].endswith(")")
    assert pima[1] == "as published"
    assert pima[6].endswith("pruned")
    assert clean[1] == "0.0% (0)"
    assert noisy[0] == "MNIST, 3 or not, rho1 0.2, pi1 0.2"
    # From the cache.
    assert run("learned", "-q") == output


def test_nothing_is_pruned_unless_noise_was_found():
    labels = np.arange(400) % 2 == 0
    known = _known_tables.Known("toy", "toy", labels, np.where(labels, 0.9, 0.1), labels)
    row = _known_tables._answer_row(known, shipped_network())
    assert row[:2] == ["toy", "0.0% (0)"]
    assert row[2] == row[3]
    assert row[3].startswith("0.0% (0.0% to ")
    assert row[4:] == ["nothing pruned", "nothing pruned", "0 of 0"]


def test_ranges_of_a_family_are_stretched_by_other_families(small):
    """What a family needs must not show in its own ranges, but in those of all others."""
    problems = _training.collect(1)
    networks = _training.left_out_networks(problems, 1)
    answers = _training.left_out_answers(problems, networks)
    fold_of = _training.folds()
    is_digits = answers.problems.family == "digits"
    truth = answers.problems.label_error_rates.copy()
    truth[is_digits] = 0.45
    other = replace(answers, problems=replace(answers.problems, label_error_rates=truth))
    before, after = (blind_networks(networks, one) for one in (answers, other))
    own, some = fold_of["digits"], next(f for f in fold_of.values() if f != fold_of["digits"])
    np.testing.assert_array_equal(after[own].stretch, before[own].stretch)
    np.testing.assert_array_equal(after[own].gate, before[own].gate)
    assert not np.array_equal(after[some].stretch, before[some].stretch)
    low, high = left_out_ranges(answers, before)
    assert low.shape == high.shape == (len(is_digits), 5, 4)
    assert (low <= high).all()
    alone = ranges_of(answers.select(is_digits), before[own])
    np.testing.assert_array_equal(low[is_digits], alone[0])


def some_problems(kinds, wrong, auc):
    """A collection of which only kinds, shares of wrong labels and AUC matter."""
    n_rows = len(kinds)
    pi = np.column_stack([wrong, wrong]).astype(float)
    empty = np.zeros(n_rows)
    names = np.array(["toy"] * n_rows)
    return _training.Collection(
        np.zeros((n_rows, 2, 1)),
        pi,
        pi,
        np.full((n_rows, 2), 100.0),
        empty > 0,
        np.array(auc, dtype=float),
        np.array(kinds),
        names,
        names,
    )


def test_limits_are_those_of_most_use_among_the_allowed_ones():
    problems = some_problems(
        [CLEAN, CLEAN, CLASS_CONDITIONAL, CLASS_CONDITIONAL],
        [0, 0, 0.3, 0.04],
        [0.99, 0.8, 0.9, 0.9],
    )
    low, high = np.array([0, 0.018, 0.1, 0]), np.array([0.055, 0.2, 0.5, 0.09])
    found = _verdict_limits.decisions(problems, low, high, (0.01, 0.1))
    assert (found.alarms_separated, found.alarms, found.found, found.clean) == (0, 1, 1, 0.5)
    assert found.not_clean == (0.5, 0)
    assert not found.is_allowed
    # Above the false alarm, and above the clean table but below the one that is not.
    assert _verdict_limits.searched_limits(problems, low, high) == (0.02, 0.06)
    # Where nothing is allowed, the strictest.
    always = np.full(4, 0.3), np.full(4, 0.5)
    assert _verdict_limits.searched_limits(problems, *always) == (0.05, 0.01)


def test_differences_beyond_the_limit_are_in_bold():
    paper = np.random.default_rng(0).normal([0.21, 0.1], 0.02, (50, 2))
    rates = (0.2, 0.1)
    assert _separable_scores._cell(rates, paper + [0.001, 0], paper).startswith("+0.0010/0.00")
    assert _separable_scores._cell(rates, paper - [0, 0.01], paper).startswith("**-0.0100/0.00")
    assert _separable_scores._cell(rates, paper, paper + [0.09, 0]).endswith(" (+0.100)")


@pytest.mark.parametrize("shape", _separable_scores.SHAPES)
def test_the_scores_of_every_shape_separate_the_classes(shape):
    random = np.random.default_rng(0)
    truth = np.arange(2000) % 3 == 0
    scores = _separable_scores.SHAPES[shape](truth, (0.2, 0.1), random)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert scores[truth].min() > scores[~truth].max() - 0.02


def test_a_missing_file_of_people_is_named(small, tmp_path):
    (tmp_path / "empty").mkdir()
    output = run("learned", "-q", "--people", tmp_path / "empty", code=1)
    assert "cifar10n_aggregate_resnet18.npz is missing" in output


def test_the_default_target_is_the_file_of_the_package(small, tmp_path, monkeypatch):
    assert learned.shipped_path().name == "learned.npz"
    monkeypatch.setattr(learned, "shipped_path", lambda: tmp_path / "own.npz")
    run("train", "-q")
    assert (tmp_path / "own.npz").exists()


def test_packed_problems_are_the_same_problems():
    random = np.random.default_rng(0)
    made = [_simulated_problems.overlapping_problem(random) for _ in range(6)]
    made += [_simulated_problems.separable_problem(random) for _ in range(6)]
    problems = [problem for problem in made if problem is not None]
    assert list(unpack(pack(problems))) == problems


def test_the_last_chunks_are_flipped_as_in_the_paper(small):
    problems = _simulated_problems.simulated_problems(_simulated_problems.FIRST_CHUNK_AS_IN_PAPER)
    assert len(problems) == 12
    assert not any(problem.separable for problem in problems)
    assert {problem.kind for problem in problems} <= {CLASS_CONDITIONAL, FEW}


def test_rows_that_teach_nothing_are_left_out():
    random = np.random.default_rng(0)
    truth = np.arange(300) % 2 == 0
    names = {"kind": CLEAN, "family": "toy", "model": "toy"}
    assert sketched(truth, truth, random.random(300), **names) is None
    assert sketched(truth, np.arange(300) < 5, truth.astype(float), **names) is None


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_chances_of_flips_have_the_wanted_means(kind):
    random = np.random.default_rng(0)
    truth = np.arange(2000) % 4 == 0
    world = World(truth, random.normal(2, 1, 2000), random.integers(0, 5, 2000) + 10 * truth)
    chances = flip_chances(world, kind, (0.1, 0.05), random)
    assert ((chances >= 0) & (chances <= 0.97)).all()
    wanted = (0.0, 0.0) if kind == CLEAN else (0.1, 0.05)
    found = chances[truth].mean(), chances[~truth].mean()
    assert found == pytest.approx(wanted, abs=0.03)
    for rate in draw_rates(random, 0.3):
        assert 0 <= rate < 1


def test_a_class_without_rows_is_never_flipped():
    random = np.random.default_rng(0)
    world = World(np.ones(50, bool), random.normal(size=50), np.zeros(50, np.intp))
    assert flip_chances(world, DIFFICULTY, (0.2, 0.2), random).mean() == pytest.approx(
        0.2, abs=0.01
    )
    assert not with_mean(np.zeros(4), 0.5).any()


def test_noise_rates_of_a_class_stay_below_one():
    random = np.random.default_rng(0)
    drawn = [
        draw_rates(random, prevalence, often_much=often_much)
        for prevalence in (0.03, 0.97)
        for often_much in (False, True)
        for _ in range(300)
    ]
    assert all(positive + negative < 1 for positive, negative in drawn)


def test_a_table_with_few_rows_of_a_class_is_skipped(monkeypatch):
    monkeypatch.setattr(_flipped_problems, "_KINDS", (CLEAN,))

    def load():
        y = np.arange(400) < 12
        return np.random.default_rng(0).normal(y[:, None], 1, (400, 2)), y

    problem = Problem("toy: rare", "toy", load)
    assert _flipped_problems._round(problem, np.random.default_rng(0), often_much=False) == []


def test_the_list_of_rows_to_look_at_is_measured(small, titles, monkeypatch):
    monkeypatch.setattr(candidates, "PROBLEMS", _training.TRAINING_PROBLEMS)
    output = run("candidates", "-q")
    assert [title.split(",")[0] for title in titles(output)] == [
        "### The first rows to look at",
        "### Two percent of the labels flipped",
    ]
    assert "| 2 % flipped | 3 |" in output
    # From the cache, and then measured again.
    assert run("candidates", "-q") == output
    assert run("candidates", "-q", "--again") == output


def test_lists_of_clean_labels_have_nothing_to_find():
    random = np.random.default_rng(0)
    truth = random.random(400) < 0.4
    scores = np.clip(0.2 + 0.6 * truth + random.normal(0, 0.1, 400), 0, 1)
    found = candidates.listed(CLEAN, "toy", truth, truth.copy(), scores, shipped_network())
    assert np.isnan([found.found, found.estimated]).all()
    assert found.n_wrong == 0
    assert candidates._few_table([]).rows == []
