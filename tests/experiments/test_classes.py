"""The evaluation of many classes, on two small tables and a few simulated problems."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris, load_wine

from rankprune.cli._group import cli
from rankprune.core.classes._matrix_model import MatrixModel
from rankprune.experiments import _class_problems, classes
from rankprune.experiments._cache import empty_cache
from rankprune.experiments._class_flips import CLASS_KINDS, ClassWorld, flip_classes
from rankprune.experiments._class_problems import ClassTable, people_class_problems

SMALL = (
    ClassTable("wine", "wine", lambda: load_wine(return_X_y=True)),
    ClassTable("iris", "iris", lambda: load_iris(return_X_y=True)),
)
NAMES = [
    f"cifar10n_{name}_{model}"
    for name in ("aggregate", "worst")
    for model in ("resnet18", "efficientnet_b1")
]


@pytest.fixture
def few_problems(monkeypatch):
    monkeypatch.setattr(classes, "TABLES", SMALL)
    monkeypatch.setattr(classes, "N_ROUNDS", len(CLASS_KINDS))
    monkeypatch.setattr(classes, "N_SIMULATED", len(CLASS_KINDS))
    monkeypatch.setattr(classes, "MADE_TABLES", (replace(SMALL[1], name="made", family="made"),))
    monkeypatch.setattr(classes, "N_MORE_ROUNDS", 1)
    monkeypatch.setattr(classes, "N_MORE_SIMULATED", 2)
    with empty_cache():
        yield


@pytest.fixture
def people(tmp_path):
    for number, name in enumerate(NAMES):
        problem = _class_problems.simulated_problem(number + 1)
        np.savez(
            tmp_path / f"{name}.npz",
            labels=problem.labels,
            truth=problem.truth,
            probabilities=problem.probabilities.astype(np.float32),
        )
    return tmp_path


def test_the_command_prints_every_table_and_writes_the_networks(few_problems, people, tmp_path):
    pytest.importorskip("cleanlab")
    target = tmp_path / "matrix.npz"
    command = ["evaluate", "classes", "-q", "--people", str(people), "--output", str(target)]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    titles = [line for line in result.output.splitlines() if line.startswith("### ")]
    assert len(titles) == 8
    assert '"counts-and-table"' in result.output
    assert '"learned"' in result.output
    with np.load(target) as arrays:
        model = MatrixModel.from_arrays(dict(arrays))
    assert model.total.stretch.shape == (2,)
    assert len(model.total.members) == len(model.by_label.members) == 2


def test_without_people_or_output_nothing_is_read_or_written(few_problems, tmp_path):
    pytest.importorskip("cleanlab")
    assert len(list(classes.class_tables(1, None, None))) == 6


def test_missing_labels_by_people_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="Labels by people are needed"):
        list(people_class_problems(tmp_path))


def test_measurements_can_be_forgotten(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path))
    kept = tmp_path / "experiments" / "classes-measured-wine-0.npz"
    kept.parent.mkdir()
    kept.touch()
    classes.forget_measurements()
    assert not kept.exists()


@pytest.mark.parametrize("kind", CLASS_KINDS)
def test_about_the_wanted_share_is_wrong(kind):
    random = np.random.default_rng(1)
    truth = random.integers(0, 5, 4000)
    scores = 0.6 * np.eye(5)[truth] + 0.4 * random.dirichlet(np.ones(5), 4000)
    world = ClassWorld(truth, scores, 4 * truth + random.integers(0, 4, 4000))
    labels = flip_classes(world, kind, 0.2, random)
    wrong = (labels != truth).mean()
    assert wrong == 0 if kind == CLASS_KINDS[0] else 0.12 < wrong < 0.26


def test_the_tables_of_the_bank_load_as_numbers_and_classes(monkeypatch):
    rows = [["1.5", "red", "a"], ["2.5", "blue", "b"], ["3.5", "red", "a"]]
    monkeypatch.setattr(_class_problems, "keel_rows", lambda table: rows)
    X, classes_of = _class_problems._keel("any")()
    assert X.shape == (3, 3)
    assert classes_of.tolist() == [0, 1, 0]
    X, digits = _class_problems._digits()
    assert len(X) == len(digits) == 1797


def test_classes_are_made_of_clusters_and_of_intervals(monkeypatch):
    random = np.random.default_rng(0)
    X = np.repeat([0.0, 5.0], [100, 15]) + random.normal(size=115) / 10
    rows = [[f"{x}", f"{2 * x}", "a"] for x in X]
    monkeypatch.setattr(_class_problems, "keel_rows", lambda table, kind: rows)
    kept, clusters = _class_problems._clusters("any", "balanced", 2)()
    assert kept.shape == (100, 2)
    assert set(clusters.tolist()) == {0}
    others, parts = _class_problems._intervals("any", "balanced", 5, 0)()
    assert others.shape == (115, 1)
    assert np.bincount(parts).tolist() == [23] * 5


def test_images_are_reduced_to_thirty_numbers(monkeypatch):
    from rankprune.experiments._images import Images

    random = np.random.default_rng(0)
    images = Images(random.random((50, 784)).astype(np.float32), np.arange(50, dtype=np.uint8) % 10)
    monkeypatch.setattr(_class_problems, "load_mnist", lambda part: images)
    X, digits = _class_problems._mnist()
    assert X.shape == (50, 30)
    assert digits.dtype == np.intp
