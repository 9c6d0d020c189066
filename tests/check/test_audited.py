from dataclasses import replace

import numpy as np
import pytest

from noisy_table import NAMES, noisy_rows, write_csv
from rankprune import check_table
from rankprune.audit import draw
from rankprune.check._audited import judge_on_audit
from rankprune.exceptions import TableError
from rankprune.model import train_model

pytest.importorskip("duckdb")


@pytest.fixture
def embedded(tmp_path):
    """A check of a table with embeddings in a file, an audit of it, and the truth."""
    rows, labels, truth = noisy_rows(300)
    vectors = np.random.RandomState(0).randn(300, 3) + truth[:, None]
    np.save(tmp_path / "v.npy", vectors)
    path = write_csv(tmp_path / "t.csv", rows, NAMES)
    check = check_table(path, "label", embeddings=tmp_path / "v.npy", scorer=None)
    sample = draw(labels == 1, check.scores.suspect, 60, random_state=0)
    return check, sample, [bool(truth[row]) for row in sample.rows], tmp_path / "v.npy"


def test_models_are_compared_on_audited_rows(embedded):
    check, sample, answers, _ = embedded
    found = judge_on_audit(check, sample, answers)
    assert found.n_rows == 60
    assert found.low <= found.after - found.before <= found.high


def test_changed_embeddings_are_refused_by_the_audit_as_by_training(embedded):
    check, sample, answers, path = embedded
    np.save(path, np.load(path) + 1)
    with pytest.raises(TableError, match=r"embeddings must be those of the check"):
        judge_on_audit(check, sample, answers)
    with pytest.raises(TableError, match=r"embeddings must be those of the check"):
        train_model(check)


def test_a_custom_splitter_cannot_be_repeated(tmp_path):
    from sklearn.model_selection import StratifiedKFold

    rows, labels, truth = noisy_rows(300)
    path = write_csv(tmp_path / "t.csv", rows, NAMES)
    check = check_table(path, "label", scorer=None, cv=StratifiedKFold(4))
    assert check.settings.cv is None
    sample = draw(labels == 1, check.scores.suspect, 30, random_state=0)
    with pytest.raises(TableError, match=r"your own splitter"):
        judge_on_audit(check, sample, [bool(truth[row]) for row in sample.rows])


def pets_csv(folder, n_rows=300, n_rare=0):
    """Write a table of three labels, some of them wrong, and a rare one; return the right ones."""
    rng = np.random.default_rng(0)
    truth = np.arange(n_rows) % 3
    given = np.where(rng.random(n_rows) < 0.15, (truth + 1) % 3, truth)
    x = np.round(np.eye(3)[truth] * 4 + rng.normal(size=(n_rows, 3)), 3)
    names = np.array(["cat", "dog", "owl", "yak"])
    rows = [[*map(str, cells), names[code]] for cells, code in zip(x, given, strict=True)]
    rows[:n_rare] = [[*row[:-1], "yak"] for row in rows[:n_rare]]
    return write_csv(folder / "pets.csv", rows, ["a", "b", "c", "animal"]), names[truth]


@pytest.mark.parametrize(("n_rare", "rare"), [(0, "error"), (2, "keep")])
def test_models_of_many_labels_are_compared(tmp_path, n_rare, rare):
    path, truth = pets_csv(tmp_path, n_rare=n_rare)
    check = check_table(path, "animal", scorer=None, rare=rare)
    sample = check.draw_audit(60, method="design", random_state=0)
    answers = [None, *truth[sample.rows[1:]].tolist()]
    found = judge_on_audit(check, sample, answers)
    assert found.n_rows == 59
    assert found.before < 0.2
    assert found.low <= found.after - found.before <= found.high


def test_without_suspects_every_fold_needs_all_labels(tmp_path):
    path, truth = pets_csv(tmp_path)
    check = check_table(path, "animal", scorer=None)
    suspect = check.given_codes == 2
    check = replace(check, scores=replace(check.scores, suspect=suspect))
    sample = check.draw_audit(60, method="design", random_state=0)
    with pytest.raises(TableError, match="a fold lacks a label"):
        judge_on_audit(check, sample, truth[sample.rows].tolist())
