"""Outputs hold the cells of their sources: each is read back by another program and compared."""

import csv
import datetime
import decimal
import gzip
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune.exceptions import TableError
from rankprune.table import open_table
from rankprune.table._json_lines import json_members
from rankprune.table._losses import parquet_loss
from rankprune.table._write import write_table

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LONG = "1234567890" * 4
STRANGE = [
    *("", " ", "  a ", '"', '""', "'", "a\nb", "\r", "\r\n", "a,b;c|d\te", "\\", "\\N", "#x"),
    *("007", "-0", "+1", "1.10", "1e400", "1e-400", "1_000", LONG, f"0.{LONG}", "nan", "inf"),
    *("NULL", "null", "None", "NA", "\\x00", "true", "FALSE", "2020-01-01", "24:00:00"),
    *("\ufeffx", "\u2028", "\u00a0", "é", "e\u0301", "😀", "=1+1", "x" * 20_000),
]
texts = st.one_of(
    st.sampled_from(STRANGE),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20),
)
# A JSON value as it is written.
spelled = st.one_of(
    st.sampled_from(["0", "-0", "1.10", "1E5", "1e400", "-1e-400", LONG, f"0.{LONG}", "true"]),
    st.sampled_from(["null", "false", "[ ]", "{ }", f'[1.0,  {LONG}, "a\\u0062"]', '{"x": 1.50}']),
    texts.map(json.dumps),
    texts.map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**45), 10**45).map(str),
)


def grids(cell, n_columns):
    return st.lists(st.tuples(*[cell] * n_columns), min_size=1, max_size=6)


def written(path, source, **options):
    """Write each kind of output of a source, and return its cells as other programs see them."""
    found = {}
    with open_table(source, **options) as table:
        for ending in ("csv", "tsv", "parquet"):
            output = path / f"out.{ending}"
            write_table(table, output)
            found[ending] = read_parquet(output) if ending == "parquet" else read_csv(output)
    return found


def read_csv(path):
    csv.field_size_limit(1 << 25)
    with path.open(encoding="utf-8", newline="") as lines:
        _, *rows = csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ",")
    return [tuple(row) for row in rows]


def read_parquet(path):
    columns = parquet.read_table(path).columns
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@settings(max_examples=30)
@given(
    grids(texts, 3),
    st.sampled_from([("t.csv", ","), ("t.tsv", "\t")]),
    st.booleans(),
    st.booleans(),
)
def test_cells_of_text_files_stay_as_they_are(tmp_path_factory, rows, named, packed, quoted):
    folder, (name, delimiter) = tmp_path_factory.mktemp("t"), named
    source = folder / (name + ".gz" if packed else name)
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    opener = gzip.open if packed else open
    with opener(source, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
        writer.writerows([("a", "b", "c"), *rows])
    for ending, cells in written(folder, source).items():
        assert cells == rows, ending


@settings(max_examples=30)
@given(grids(spelled, 2), st.booleans(), st.booleans())
def test_values_of_json_lines_keep_their_text(tmp_path_factory, rows, packed, spaced):
    folder = tmp_path_factory.mktemp("j")
    source = folder / ("t.jsonl.gz" if packed else "t.jsonl")
    space = " " if spaced else ""
    line = f'{space}{{{space}"a"{space}:{space}%s{space},"b\\u0062":%s{space}}}{space}\n'
    content = "".join(line % row for row in rows).encode()
    source.write_bytes(gzip.compress(content) if packed else content)
    found = written(folder, source)
    expected = [tuple(map(cell_of, row)) for row in rows]
    assert found.pop("parquet") == expected
    for ending, cells in found.items():
        assert cells == [tuple(cell or "" for cell in row) for row in expected], ending


def cell_of(value):
    return None if value == "null" else json.loads(value) if value[0] == '"' else value


def test_a_missing_key_and_null_are_missing_and_an_empty_string_is_not(tmp_path):
    source = tmp_path / "t.jsonl"
    source.write_text('{"a": "", "b": 1}\n{"b": null, "a": null}\n{"b": 2}\n')
    found = written(tmp_path, source)
    assert found["parquet"] == [("", "1"), (None, None), (None, "2")]
    assert (tmp_path / "out.csv").read_text() == 'a,b\n"",1\n,\n,2\n'


MOMENTS = st.integers(-(2**52), 2**52)
TYPES = {
    "i8": (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    "i64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "u64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "f32": (pa.float32(), st.floats(width=32)),
    "f64": (pa.float64(), st.floats()),
    "flag": (pa.bool_(), st.booleans()),
    "text": (pa.string(), texts),
    "blob": (pa.binary(), st.binary(max_size=12)),
    "day": (pa.date32(), st.dates()),
    "dec": (pa.decimal128(38, 3), st.decimals(-(10**34), 10**34, places=3)),
    "time": (pa.time64("us"), st.times()),
    "ms": (pa.timestamp("ms"), MOMENTS.map(lambda n: n // 1000)),
    "us": (pa.timestamp("us"), MOMENTS),
    "ns": (pa.timestamp("ns"), MOMENTS),
    "zone": (pa.timestamp("us", "America/New_York"), MOMENTS),
    "list": (pa.list_(pa.string()), st.lists(st.none() | texts.filter(lambda t: len(t) < 99))),
    "lists": (pa.list_(pa.list_(pa.int32())), st.lists(st.lists(st.integers(0, 9), max_size=2))),
    "struct": (
        pa.struct([("x", pa.float64()), ("a b", pa.string())]),
        st.fixed_dictionaries({"x": st.floats(), "a b": st.none() | st.sampled_from(STRANGE[:40])}),
    ),
}


@st.composite
def typed_tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=2, max_size=5, unique=True))
    n_rows = draw(st.integers(1, 4))
    rows = {
        name: draw(st.lists(st.none() | TYPES[name][1], min_size=n_rows, max_size=n_rows))
        for name in names
    }
    return pa.table({name: pa.array(cells, TYPES[name][0]) for name, cells in rows.items()})


def same(left, right):
    """Return whether two values are the same, where NaN is itself."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    return left == right


def numbers_of(column):
    """Return the cells of a column; moments as numbers of their unit."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


@settings(max_examples=30)
@given(typed_tables())
def test_columns_of_parquet_keep_their_types_and_cells(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("p")
    source = folder / "t.parquet"
    parquet.write_table(content, source)
    with open_table(source) as table:
        write_table(table, folder / "out.parquet")
        write_table(table, folder / "out.csv")
        types = dict(zip(table.names, table.types, strict=True))
    copy = parquet.read_table(folder / "out.parquet")
    for name in content.column_names:
        before, after = content[name], copy[name]
        if pa.types.is_timestamp(before.type):
            # Milliseconds become microseconds, and the name of a time zone becomes UTC.
            zone = None if before.type.tz is None else "UTC"
            before = before.cast(pa.timestamp(after.type.unit, zone))
        assert before.type == after.type
        assert same(numbers_of(before), numbers_of(after)), name
    # What DuckDB printed as text, it reads back as the same values.
    rows = read_csv(folder / "out.csv")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for position, (name, kind) in enumerate(types.items()):
            cells = [row[position] for row in rows]
            found = connection.execute(
                f"SELECT CASE WHEN cell = '' THEN coalesce(CAST(v AS VARCHAR), '') = '' "
                f"ELSE CAST(cell AS {kind}) = v END "
                f"FROM (SELECT unnest($cells) AS cell) POSITIONAL JOIN "
                f"(SELECT \"{name}\" AS v FROM read_parquet('{folder / 'out.parquet'}'))",
                {"cells": cells},
            ).fetchall()
            assert found == [(True,)] * len(rows), (name, kind, cells)


def test_an_empty_text_and_a_missing_one_differ_in_every_output(tmp_path):
    parquet.write_table(pa.table({"a": ["", None], "b": ["x", "y"]}), tmp_path / "t.parquet")
    found = written(tmp_path, tmp_path / "t.parquet")
    assert found["parquet"] == [("", "x"), (None, "y")]
    assert (tmp_path / "out.csv").read_text() == 'a,b\n"",x\n,y\n'


LARGE = pa.array([decimal.Decimal("1" * 40)], pa.decimal256(40, 0))


@pytest.mark.parametrize(
    ("cells", "options", "what"),
    [
        (LARGE, {}, "decimals of more than 38 digits"),
        (
            pa.array([[LARGE[0].as_py()]], pa.list_(LARGE.type)),
            {},
            "decimals of more than 38 digits",
        ),
        (
            pa.array([1], pa.timestamp("ns")),
            {"use_deprecated_int96_timestamps": True},
            "INT96 timestamps, which may be in nanoseconds",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_would_be_rounded_are_refused_by_name(tmp_path, cells, options, what, ending):
    content = pa.table({"nested": [[1, 2]], "amount": cells, "b": [1]})
    parquet.write_table(content, tmp_path / "t.parquet", **options)
    with (
        open_table(tmp_path / "t.parquet") as table,
        pytest.raises(TableError, match=f"Column 'amount' of t.parquet holds {what}"),
    ):
        write_table(table, tmp_path / f"out.{ending}")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_nanoseconds_are_refused_where_duckdb_would_round_them():
    moment = ("INT64", "TimestampType(unit=TimeUnit(NANOS=NanoSeconds()))", None)
    assert parquet_loss([moment], "TIMESTAMP_NS", is_spark=False) is None
    assert parquet_loss([moment], "TIMESTAMP", is_spark=False) == "times in nanoseconds"


def test_timestamps_of_spark_are_written(tmp_path):
    when = pa.array([1_234_567_000], pa.timestamp("ns"))
    content = pa.table({"when": when, "b": [1]})
    content = content.replace_schema_metadata({"org.apache.spark.version": "4.0.0"})
    parquet.write_table(content, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    found = written(tmp_path, tmp_path / "t.parquet")
    assert found["parquet"] == [(datetime.datetime(1970, 1, 1, 0, 0, 1, 234567), 1)]


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ([decimal.Decimal("1" * 40), decimal.Decimal("1")], "numbers that a common type"),
        ([decimal.Decimal("1" * 38), decimal.Decimal("1.5")], "numbers that a common type"),
        ([0.5, 2**70 + 1], "numbers that a common type"),
    ],
)
def test_numbers_of_a_data_frame_that_would_be_rounded_are_refused(tmp_path, cells, what):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.Series(cells, dtype=object), "b": [1, 2]})
    with (
        open_table(frame) as table,
        pytest.raises(TableError, match=f"Column 'a' of data frame holds {what}"),
    ):
        write_table(table, tmp_path / "out.csv")


def test_exact_numbers_of_a_data_frame_are_written(tmp_path):
    pandas = pytest.importorskip("pandas")
    cells = [decimal.Decimal("1.5"), None, decimal.Decimal("2")]
    frame = pandas.DataFrame(
        {
            "a": pandas.Series(cells, dtype=object),
            "b": pandas.Series([1, 2.5, float("nan")], dtype=object),
            "c": pandas.to_timedelta([1000, 2000, None], unit="us").as_unit("ns"),
        }
    )
    with open_table(frame) as table:
        write_table(table, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "1.5,1.0,00:00:00.001"


def test_durations_in_nanoseconds_are_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.to_timedelta([1, None], unit="ns"), "b": [1, 2]})
    with open_table(frame) as table, pytest.raises(TableError, match="durations in nanoseconds"):
        write_table(table, tmp_path / "out.csv")


def test_types_that_parquet_cannot_hold_are_refused_there(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.Series([2**100, 1], dtype=object), "b": [1, 2]})
    with open_table(frame) as table:
        write_table(table, tmp_path / "out.csv")
        with pytest.raises(TableError, match=r"'a' of data frame holds integers of 128.*\.csv"):
            write_table(table, tmp_path / "out.parquet")
    assert (tmp_path / "out.csv").read_text() == f"a,b\n{2**100},1\n1,2\n"


@pytest.mark.parametrize(
    ("cells", "kind", "what"),
    [
        ([2**100], "Int128", "integers of 128 bits"),
        ([datetime.timedelta(1)], "Duration", "durations"),
    ],
)
def test_types_of_polars_that_its_files_lose_are_refused(tmp_path, cells, kind, what):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": polars.Series(cells, dtype=getattr(polars, kind)), "b": [1]})
    with (
        open_table(frame) as table,
        pytest.raises(TableError, match=f"Column 'a' of data frame holds {what}"),
    ):
        write_table(table, tmp_path / "out.csv")


def test_a_column_without_a_name_needs_a_text_file(tmp_path):
    (tmp_path / "t.csv").write_text(",a\n1,2\n")
    with open_table(tmp_path / "t.csv") as table:
        write_table(table, tmp_path / "out.csv")
        with pytest.raises(TableError, match=r"need names; column 1 of t\.csv has none.*\.csv"):
            write_table(table, tmp_path / "out.parquet")
    assert (tmp_path / "out.csv").read_text() == '"",a\n1,2\n'


@pytest.mark.parametrize(
    "line",
    [
        *("", "[1]", '{"a": 1', '{"a" 1}', '{"a": 1}}', '{,"a": 1}', "{,}", "{} {}"),
        *('{"a": 1{"b": 2}', '{"a": 1 "b": 2}', '{"a": }', '{"a": 1,}', ',"a": 1}'),
    ],
)
def test_a_line_that_is_no_object_is_refused(line):
    with pytest.raises(ValueError, match=r"JSON object|Expecting"):
        list(json_members(line))


@given(
    st.dictionaries(texts, st.recursive(st.none() | st.floats(allow_nan=False) | texts, st.lists))
)
def test_the_members_of_an_object_are_its_values(content):
    line = json.dumps(content)
    found = {json.loads(key): json.loads(line[i:j]) for key, i, j in json_members(line)}
    assert found == content
