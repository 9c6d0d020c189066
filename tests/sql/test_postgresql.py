"""Queries on a PostgreSQL server that the tests start: as in memory."""

import pytest

from databases import EveryDatabase, edges, load, sketch_from
from postgresql_server import PostgreSQL, why_not
from rankprune import ScoreSketch
from rankprune.sql import sketch_query

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
]


@pytest.fixture(scope="module")
def database():
    with PostgreSQL() as server:
        yield server


class TestPostgreSQL(EveryDatabase):
    pass


def test_sums_are_of_a_type_that_cannot_overflow(database):
    labels, scores = edges(float)
    load(database, labels, scores)
    query = sketch_query("scores", "s", "g", "postgresql")
    types = f"SELECT DISTINCT pg_typeof(score_sum), pg_typeof(n_rows) FROM ({query}) AS counted"
    assert database.rows(types) == [["numeric", "bigint"]]


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_text_with_backslashes_is_one_whatever_the_server_makes_of_them(database, setting):
    labels = ["\\'; DROP TABLE scores; --", "\\"]
    database.load("scores", {"s": ("text", labels), "g": ("float64", [0.9, 0.2])})
    database.rows(f"ALTER ROLE postgres SET standard_conforming_strings = {setting}")
    try:
        sketch = sketch_from(database, pos_label=labels[0], neg_label=labels[1])
    finally:
        database.rows("ALTER ROLE postgres RESET standard_conforming_strings")
    assert sketch == ScoreSketch().update([1, 0], [0.9, 0.2])
