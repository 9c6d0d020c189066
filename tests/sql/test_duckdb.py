"""Queries on DuckDB: the sketch, rates and rows of arrays in memory and of batches."""

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from databases import EDGE_SCORES, EveryDatabase, assert_as_in_memory, load, sketch_from
from rankprune import ScoreSketch
from rankprune.sql import sketch_query
from rankprune.storage._sql import sql_name

duckdb = pytest.importorskip("duckdb")

TYPES = {
    "int": pyarrow.int64(),
    "float64": pyarrow.float64(),
    "float32": pyarrow.float32(),
    "bool": pyarrow.bool_(),
    "text": pyarrow.string(),
    "decimal": pyarrow.decimal128(4, 3),
}


class DuckDB:
    dialect = "duckdb"

    def __init__(self):
        self.connection = duckdb.connect()

    def load(self, name, columns):
        parts = (name,) if isinstance(name, str) else name
        table = ".".join(map(sql_name, parts))
        arrays = {
            key: pyarrow.array(values, TYPES[kind]) for key, (kind, values) in columns.items()
        }
        self.connection.register("given", pyarrow.table(arrays))
        self.connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM given")

    def rows(self, query):
        return self.connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def database():
    opened = DuckDB()
    yield opened
    opened.connection.close()


class TestDuckDB(EveryDatabase):
    pass


SCORES = st.one_of(
    st.sampled_from(EDGE_SCORES.tolist()),
    st.floats(0, 1),
    st.floats(0, 1, width=32),
    st.integers(0, 10).map(lambda tenth: tenth / 10),
)


@given(
    st.lists(st.tuples(st.booleans(), SCORES), min_size=8, max_size=80),
    st.sampled_from([np.float64, np.float32, np.float16]),
)
def test_memory_batches_and_the_database_agree(database, rows, dtype):
    labels = np.array([label for label, _ in rows])
    labels[:2] = True, False
    scores = np.array([score for _, score in rows]).astype(dtype)
    assert_as_in_memory(database, labels, scores)


def test_schemas_and_dots_in_names(database):
    labels, scores = np.array([1, 0]), np.array([0.9, 0.2])
    database.connection.execute('CREATE SCHEMA "2026.11"')
    database.connection.execute("CREATE SCHEMA risk")
    expected = ScoreSketch.from_rows(labels, scores)
    load(database, labels, scores, name=("2026.11", "daily.scores"))
    assert sketch_from(database, ("2026.11", "daily.scores")) == expected
    load(database, labels, scores, name=("risk", "scores"))
    assert sketch_from(database, "risk.scores") == expected


def test_sums_are_of_a_type_that_cannot_overflow(database):
    load(database, np.array([1, 0]), np.array([0.9, 0.2]))
    query = sketch_query("scores", "s", "g")
    assert list(map(str, database.connection.sql(query).types[2:4])) == ["BIGINT", "HUGEINT"]


def test_a_file_is_a_table_of_one_name(database, tmp_path):
    path = tmp_path / "some scores.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"s": [1, 0], "g": [0.9, 0.2]}), path)
    assert sketch_from(database, (str(path),)) == ScoreSketch().update([1, 0], [0.9, 0.2])
