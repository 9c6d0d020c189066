import csv
import gzip
import io
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisy_table import NAMES, noisy_rows, write_csv, write_json_lines
from rankprune.exceptions import TableError
from rankprune.table import open_table
from rankprune.table._write import write_table

duckdb = pytest.importorskip("duckdb")

ROWS = [["a", "007", "NA", "x, y", "1"], ["b", "", '"quoted"\nnewline', "ü", "0"]]


def cells(table):
    return table.cells(np.arange(table.n_rows), range(len(table.names)))


def as_read(rows):
    return [[cell if cell != "" else None for cell in row] for row in rows]


def from_bytes(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_cells_of_csv_are_unchanged(tmp_path, delimiter):
    path = write_csv(tmp_path / "t.csv", ROWS, delimiter=delimiter)
    with open_table(path) as table:
        assert table.names == tuple(NAMES)
        assert table.delimiter == delimiter
        assert cells(table) == as_read(ROWS)
        assert table.types == ("VARCHAR",) * 5


def _is_name(text):
    # A lone carriage return in a name makes DuckDB give up, with an error.
    return text.strip() != "" and "\r" not in text


CELL = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=8)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(CELL.filter(_is_name), min_size=2, max_size=5, unique=True),
    rows=st.lists(st.lists(CELL, min_size=5, max_size=5), min_size=1, max_size=6),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_any_cells_survive_reading_and_writing(tmp_path, names, rows, delimiter):
    rows = [row[: len(names)] for row in rows]
    path = tmp_path / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([names, *rows])
    with open_table(path, delimiter=delimiter) as table:
        assert table.names == tuple(names)
        assert cells(table) == as_read(rows)
        write_table(table, tmp_path / "copy.csv")
    written = "," if delimiter == "\t" else delimiter
    with open_table(tmp_path / "copy.csv", delimiter=written) as copy:
        assert copy.names == tuple(names)
        assert cells(copy) == as_read(rows)


def test_gzip_json_lines_parquet_and_frames_give_the_same_table(tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows, _, _ = noisy_rows(20)
    frame = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    path = tmp_path / "t.parquet"
    pl.DataFrame(frame).write_parquet(path)
    packed = write_csv(tmp_path / "t.csv.gz", rows, packed=True)
    lines = write_json_lines(tmp_path / "t.jsonl", rows)
    for source in (path, packed, lines, pd.DataFrame(frame), pl.DataFrame(frame)):
        with open_table(source) as table:
            assert table.names == tuple(NAMES)
            assert cells(table) == rows


def test_the_format_is_recognised_by_content(tmp_path):
    rows, _, _ = noisy_rows(5)
    for made in (
        write_json_lines(tmp_path / "lines.data", rows),
        write_csv(tmp_path / "cells.data", rows),
    ):
        with open_table(made) as table:
            assert cells(table) == rows
    pl = pytest.importorskip("polars")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "columns.data")
    with open_table(tmp_path / "columns.data") as table:
        assert table.format == "parquet"


def test_a_byte_order_mark_is_not_part_of_the_first_name(tmp_path):
    with open_table(from_bytes(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n")) as table:
        assert table.names == ("a", "b")
        assert cells(table) == [["1", "2"]]


def test_other_encodings_are_read_if_named_and_utf_16_by_its_mark(tmp_path):
    text = "größe,b\nä,2\n"
    with open_table(from_bytes(tmp_path, text.encode("latin-1")), encoding="latin-1") as table:
        assert table.names == ("größe", "b")
        assert cells(table) == [["ä", "2"]]
    with open_table(from_bytes(tmp_path, text.encode("utf-16"))) as table:
        assert cells(table) == [["ä", "2"]]


def test_standard_input_is_read_once(tmp_path, monkeypatch):
    content = write_csv(tmp_path / "t.csv", ROWS).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with open_table("-") as table:
        assert (table.name, table.path) == ("stdin", None)
        assert cells(table) == as_read(ROWS)


def test_the_hash_is_that_of_the_file(tmp_path):
    import hashlib

    path = write_csv(tmp_path / "t.csv.gz", ROWS, packed=True)
    with open_table(path) as table:
        assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_names_that_differ_in_case_or_look_like_sql_are_unchanged(tmp_path):
    names = ["A", "a", '"; DROP TABLE x; --', "", "select * from t"]
    path = write_csv(tmp_path / "a'b*[c].csv", [["1", "2", "3", "4", "5"]], names)
    with open_table(path) as table:
        assert table.names == tuple(names)
        assert cells(table) == [["1", "2", "3", "4", "5"]]
        write_table(table, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [names, ["1", "2", "3", "4", "5"]]


def test_cells_of_millions_of_characters_and_thousands_of_columns_are_read(tmp_path):
    path = write_csv(tmp_path / "long.csv", [["x" * 3_000_000, "1"]], ["a", "b"])
    with open_table(path) as table:
        assert len(cells(table)[0][0]) == 3_000_000
    names = [f"n{i}" for i in range(5000)]
    path = write_csv(tmp_path / "wide.csv", [[str(i) for i in range(5000)]], names)
    with open_table(path) as table:
        assert cells(table)[0][4999] == "4999"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"t\.csv is empty"),
        (b"a,b\n", r"has a header but no rows"),
        (b"\n1,2\n", r"first line is blank"),
        (b"a,b,a\n1,2,3\n", r"names must differ.*'a' more than once.*Rename"),
        (b"a,b\n1,2\n1,2,3\n", r"2 cells in every row.*line 3 has 3.*such as delimiter=';'"),
        (b"a,b\n1,2\n1\n", r"2 cells in every row.*line 3 has 1"),
        (b'a,b\n1,"open\n2,3\n', r"line 2: a quote is opened"),
        (b"a,b\n1,\x002\n", r"NUL byte.*near byte 6"),
        (
            b"a,b\n1,\xff\n",
            r"must be UTF-8 text; byte 6 \(0xff\) is not valid UTF-8.*encoding='latin-1'",
        ),
        (b"\x1f\x8b\x08\x00broken", r"not a complete gzip file"),
    ],
)
def test_errors_about_a_file_are_one_line(tmp_path, content, message):
    path = from_bytes(tmp_path, content)
    with pytest.raises(TableError, match=message) as error, open_table(path) as table:
        cells(table)
    assert "\n" not in str(error.value)


def test_the_position_of_a_wrong_byte_is_exact_far_into_the_file(tmp_path):
    good = b"a,b\n" + b"1,2\n" * 2_000_000
    with (
        pytest.raises(TableError, match=rf"byte {len(good) + 2} \(0xe4\)"),
        open_table(from_bytes(tmp_path, good + b"1,\xe4\n")),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.parquet", b"PAR1" + b"x" * 100, r"t\.parquet cannot be read.*write it again"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', r"one JSON object per line; line 2 is not one"),
        (
            "t.jsonl",
            b'{"a": 1}\n[1, 2]\n',
            r"one JSON object per line; line 2 is not one: '\[1, 2\]'",
        ),
        ("t.jsonl", b'{"a": 1, "A": 2}\n', r"differ by more than upper and lower case"),
    ],
)
def test_broken_files_of_other_formats_are_refused(tmp_path, name, content, message):
    with (
        pytest.raises(TableError, match=message),
        open_table(from_bytes(tmp_path, content, name)) as table,
    ):
        cells(table)


def test_json_lines_may_have_rare_keys_and_a_byte_order_mark(tmp_path):
    lines = [f'{{"key{i}": {i}, "y": "{i % 2}"}}' for i in range(400)]
    content = b"\xef\xbb\xbf" + "\n".join(lines).encode()
    with open_table(from_bytes(tmp_path, content, "t.jsonl")) as table:
        assert len(table.names) == 401
        assert cells(table)[7][table.names.index("key7")] == "7"
        assert cells(table)[7][table.names.index("key8")] is None


def test_flipped_bits_in_a_gzip_file_are_refused(tmp_path):
    whole = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 10_000))
    for place in range(12, len(whole) - 8, 3):
        whole[place] ^= 0xFF
    with (
        pytest.raises(TableError, match="not a complete gzip file"),
        open_table(from_bytes(tmp_path, bytes(whole), "t.csv.gz")),
    ):
        pass


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = write_csv(tmp_path / "t.csv", ROWS)

    def change():
        with open_table(path) as table:
            path.write_text("a,b\n1,2\n")
            return table.names

    with pytest.raises(TableError, match=r"t\.csv changed while it was being read"):
        change()


def test_a_file_that_is_replaced_by_one_of_the_same_size_and_time_is_refused(tmp_path):
    path = write_csv(tmp_path / "t.csv", ROWS)
    other = tmp_path / "other.csv"
    other.write_bytes(path.read_bytes().replace(b"007", b"008"))
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))

    def replace():
        with open_table(path) as table:
            other.replace(path)
            return table.names

    with pytest.raises(TableError, match=r"t\.csv changed while it was being read"):
        replace()


def test_timestamps_do_not_depend_on_the_time_zone(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.execute(f"COPY (SELECT TIMESTAMPTZ '2024-01-01 23:30:00+00' AS t) TO '{path}'")
    with open_table(path) as table:
        assert cells(table) == [["2024-01-01 23:30:00+00"]]
        assert table.query("hour(CAST(c0 AS TIMESTAMP))") == [(23,)]


def test_the_hash_of_a_frame_is_that_of_its_cells():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})
    hashes = []
    for made in (frame, frame.copy(), frame.iloc[::-1], frame.rename(columns={"a": "c"})):
        with open_table(made) as table:
            hashes.append(table.sha256)
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_frames_may_have_numbers_as_names_and_odd_categories():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({0: [1, 2], 1: pd.Categorical(["a\nb", "=c"]), 2: [None, None]})
    with open_table(frame) as table:
        assert table.names == ("0", "1", "2")
        assert table.column(1, "label") == 1
        assert cells(table) == [["1", "a\nb", None], ["2", "=c", None]]


def test_opening_a_table_does_not_change_the_limit_of_the_csv_module(tmp_path):
    limit = csv.field_size_limit()
    with open_table(write_csv(tmp_path / "t.csv", ROWS)):
        assert csv.field_size_limit() == limit


def test_a_gzip_file_cut_short_is_refused(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    with (
        pytest.raises(TableError, match="not a complete gzip file"),
        open_table(from_bytes(tmp_path, whole[: len(whole) // 2], "t.csv.gz")),
    ):
        pass


def test_a_missing_file_is_reported_with_a_similar_name(tmp_path):
    write_csv(tmp_path / "people.csv", ROWS)
    with pytest.raises(TableError, match=r"does not exist.*Did you mean.*people\.csv"):
        open_table(tmp_path / "poeple.csv").__enter__()
    with pytest.raises(TableError, match=r"is a folder"):
        open_table(tmp_path).__enter__()
    with pytest.raises(TypeError, match=r"path, '-' or a data frame, got list.*check_labels"):
        open_table([1, 2]).__enter__()


def test_an_unknown_encoding_or_delimiter_is_refused(tmp_path):
    path = write_csv(tmp_path / "t.csv", ROWS)
    with pytest.raises(
        TableError, match=r"encoding must be the name of a text encoding, got 'nope'"
    ):
        open_table(path, encoding="nope").__enter__()
    with pytest.raises(
        TableError, match=r"encoding must be the name of a text encoding, got 'hex'"
    ):
        open_table(path, encoding="hex").__enter__()
    with pytest.raises(
        TableError, match=r"encoding must be the name of a text encoding, got 'idna'"
    ):
        open_table(path, encoding="idna").__enter__()
    with pytest.raises(TableError, match=r"t\.csv must be UTF-16 text, but: .* Pass its encoding"):
        open_table(path, encoding="utf-16").__enter__()
    with pytest.raises(TableError, match=r"delimiter must be a single character"):
        open_table(path, delimiter=";;").__enter__()


def test_a_missing_column_is_reported_with_similar_names(tmp_path):
    with open_table(write_csv(tmp_path / "t.csv", ROWS)) as table:
        with pytest.raises(TableError, match=r"label must be a column.*Did you mean 'label'\?"):
            table.column("Lable", "label")
        with pytest.raises(TableError, match=r"It has 'row id', 'height'"):
            table.column("zzz", "label")


def test_nested_parquet_columns_have_one_name(tmp_path):
    path = tmp_path / "t.parquet"
    duckdb.execute(
        f"COPY (SELECT {{'a': 1, 'b': [1, 2]}} AS deep, 3 AS flat, [1] AS list) TO '{path}'"
    )
    with open_table(path) as table:
        assert table.names == ("deep", "flat", "list")
        assert table.types[1] == "INTEGER"


def test_without_duckdb_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=re.escape("Install rankprune[cli]")):
        open_table(write_csv(tmp_path / "t.csv", ROWS)).__enter__()


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b'5" disk,8" disk,label\n1,2,x\n', ('5" disk', '8" disk', "label")),
        (b'width 5",label\n1,x\n', ('width 5"', "label")),
        (b'"a;b;c;d",label\n1,x\n', ("a;b;c;d", "label")),
        (b'"a ""b"", c",label\n1,x\n', ('a "b", c', "label")),
    ],
)
def test_quotes_inside_names_are_ordinary_characters(tmp_path, content, names):
    with open_table(from_bytes(tmp_path, content)) as table:
        assert table.names == names
        assert table.n_rows == 1


def test_lines_may_end_in_different_ways(tmp_path):
    content = b'a,b\n1,x\r\n2,"y\nz"\n3,w\r\n\r\n4,v'
    with open_table(from_bytes(tmp_path, content)) as table:
        assert cells(table) == [["1", "x"], ["2", "y\nz"], ["3", "w"], ["4", "v"]]
    ragged = content + b"\r\n5\n"
    with pytest.raises(TableError, match=r"2 cells in every row.*line 8 has 1"):  # noqa: SIM117
        with open_table(from_bytes(tmp_path, ragged)):
            pass


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        (b'a,b\n1,"x\n\ny"\n2,z\n3\n', 6, 1),
        (b'"a\nb",c\n1,2\n3,4,5\n', 4, 3),
        (b"a,b\r\n1,2\r\n3,4,5\r\n", 3, 3),
    ],
)
def test_the_line_of_a_wrong_number_of_cells_is_as_in_an_editor(tmp_path, content, line, found):
    with pytest.raises(TableError, match=rf"line {line} has {found}"):  # noqa: SIM117
        with open_table(from_bytes(tmp_path, content)):
            pass


def test_a_named_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"a,b\n1,x\n"))
    writer.start()
    with open_table(pipe) as table:
        assert cells(table) == [["1", "x"]]
        assert table.path is None
    writer.join()


def test_a_closed_standard_input_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match=r"Standard input is closed"), open_table("-"):
        pass


def test_json_lines_may_have_a_byte_order_mark_and_a_named_encoding(tmp_path):
    content = b'\xef\xbb\xbf{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
    for encoding in (None, "utf-8", "utf-8-sig"):
        with open_table(from_bytes(tmp_path, content, "t.jsonl"), encoding=encoding) as table:
            assert table.names == ("a", "b")
            assert table.n_rows == 2


def test_an_array_of_objects_is_refused_with_the_command_that_converts_it(tmp_path):
    path = from_bytes(tmp_path, b'[{"a": 1}]', "t.json")
    with pytest.raises(TableError, match=r"one JSON object per line.*jq -c"), open_table(path):
        pass


# DuckDB assumes a notebook if there is no main file and IPython runs in a kernel application.
NOTEBOOK = """
import sys, types

class Kernel:
    config = {"IPKernelApp": {}}

sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = Kernel
sys.modules["ipywidgets"] = None  # which makes its import fail

from rankprune.table import open_table

with open_table(sys.argv[1]) as table:
    print(table.n_rows, table.query("current_setting('enable_progress_bar')")[0][0])
"""


def test_a_table_opens_in_a_notebook_without_ipywidgets(tmp_path):
    path = write_csv(tmp_path / "t.csv", [["1", "x"]] * 3, ["a", "b"])
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, path], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("3 False\n", "")


def test_half_of_a_pair_of_surrogates_is_refused_with_the_name_of_its_column(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = "".join(f"{i},{i % 2}\n" for i in range(4))
    frame = pandas.DataFrame([[1, 2]], columns=pandas.Index(["a\ud800", "label"], dtype=object))
    with pytest.raises(
        TableError,
        match=r"names and cells must be Unicode text, but the column name 'a.ud800' of the data "
        r"frame holds half of a pair of surrogates\. Replace it\.",
    ):
        open_table(frame).__enter__()
    for text, where in {
        f"x,a+2AA- b,label\n{rows}": r"the column name 'a.ud800 b' of t\.csv",
        f"a,label\n{rows}5,one+2AA-\n": r"the cell 'one.ud800' of t\.csv",
    }.items():
        with pytest.raises(TableError, match=where):
            open_table(from_bytes(tmp_path, text.encode()), encoding="utf-7").__enter__()
    for text, where in {
        '{"b": 1}\n{"a\\ud800": 1}\n': r"the column name 'a.ud800' of t\.jsonl",
        '{"b": 1}\n\n{"b": "x\\ud800"}\n': r"column 'b' in line 3 of t\.jsonl",
    }.items():
        path = tmp_path / "t.jsonl"
        path.write_text(text)
        with pytest.raises(TableError, match=where):
            open_table(path).__enter__()
