import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from rankprune.learners._preparation import prepared_logistic

RNG = np.random.RandomState(0)
Y = np.repeat([False, True], 100)
X = 1e6 * (Y + 0.1 * RNG.randn(200))


def columns():
    return {
        "number": np.where(np.arange(200) == 3, np.nan, X),
        "empty": np.full(200, np.nan),
        "category": np.where(np.arange(200) % 3 == 0, None, "red"),
        "flag": np.arange(200) % 2 == 0,
        "date": np.datetime64("2020-01-01") + np.arange(200) * np.timedelta64(1, "D"),
    }


def assert_learns(rows):
    model = clone(prepared_logistic(rows)).fit(rows, Y)
    assert model.score(rows, Y) > 0.95


def test_numbers_of_any_scale_with_gaps():
    assert_learns(np.column_stack([columns()["number"], columns()["empty"]]))


def test_a_pandas_frame_of_several_kinds():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(columns())
    frame["nullable"] = pd.array([1, None] * 100, dtype="Int64")
    frame["levels"] = pd.Categorical(["a", None] * 100)
    assert_learns(frame)


def test_a_polars_frame_of_several_kinds():
    pl = pytest.importorskip("polars")
    assert_learns(pl.DataFrame(columns()))


def test_an_array_of_objects():
    rows = np.empty((200, 2), dtype=object)
    rows[:, 0], rows[:, 1] = X, columns()["category"]
    assert_learns(rows)


def test_texts_and_sparse_rows():
    assert_learns([f"good {i}" if y else f"bad {i}" for i, y in enumerate(Y)])
    assert_learns(sparse.csr_matrix(X[:, None]))
