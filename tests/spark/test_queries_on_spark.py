"""Queries in Spark SQL, on two threads: as in memory."""

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import types

from databases import EveryDatabase, edges, load, sketch_from
from rankprune import ScoreSketch
from rankprune.spark import local_session
from rankprune.sql import sketch_query

pytestmark = [
    pytest.mark.spark,
    # Spark's own: sockets and processes that end with the session.
    pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning"),
    pytest.mark.filterwarnings("default::FutureWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]

TYPES = {
    "int": types.LongType(),
    "float64": types.DoubleType(),
    "float32": types.FloatType(),
    "bool": types.BooleanType(),
    "text": types.StringType(),
    "decimal": types.DecimalType(4, 3),
}


class Spark:
    dialect = "spark"

    def __init__(self):
        self.session = local_session("local[2]", spark__sql__shuffle__partitions=3)
        self.session.sparkContext.setLogLevel("OFF")

    def load(self, name, columns):
        (part,) = (name,) if isinstance(name, str) else name
        schema = types.StructType(
            [types.StructField(column, TYPES[kind]) for column, (kind, _) in columns.items()]
        )
        rows = list(zip(*(values for _, values in columns.values()), strict=True))
        data = self.session.createDataFrame(rows, schema).repartition(3)
        data.createOrReplaceTempView("`" + part.replace("`", "``") + "`")

    def rows(self, query):
        return self.session.sql(query).collect()


@pytest.fixture(scope="module")
def database():
    opened = Spark()
    yield opened
    opened.session.stop()


class TestSpark(EveryDatabase):
    pass


def test_sums_are_of_a_type_that_cannot_overflow(database):
    labels, scores = edges(float)
    load(database, labels, scores)
    found = dict(database.session.sql(sketch_query("scores", "s", "g", "spark")).dtypes)
    assert found["score_sum"] == "decimal(30,0)"
    assert found["n_rows"] == "bigint"


def test_without_the_rules_of_ansi_too(database):
    database.session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        tests = TestSpark()
        tests.test_edges_and_their_neighbours_give_the_sketch_of_memory(database, float)
        tests.test_other_labels_and_scores_come_back_and_are_refused(database, (0, float("inf")))
    finally:
        database.session.conf.unset("spark.sql.ansi.enabled")


def test_tables_in_a_schema(database):
    data = database.session.createDataFrame([(1, 0.9), (0, 0.2)], ["s", "g"])
    data.createOrReplaceGlobalTempView("in_schema")
    expected = ScoreSketch().update([1, 0], [0.9, 0.2])
    assert sketch_from(database, "global_temp.in_schema") == expected
