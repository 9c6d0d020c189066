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
