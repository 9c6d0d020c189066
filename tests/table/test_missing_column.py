"""A mistyped column is noticed from the header alone."""

import gzip
import os

import pytest

pytest.importorskip("duckdb")

from rankprune.exceptions import TableError
from rankprune.table._missing_column import _HEAD, refuse_missing_column

TEXT = "size,target\n1,yes\n2,no\n"
# Without a timestamp, so that every process that collects the tests uses the same test ids.
PACKED = gzip.compress(TEXT.encode(), mtime=0)


def refuse(path, column="targt", **options):
    refuse_missing_column(path, column, "label", **options)


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.csv", TEXT.encode(), {}),
        ("t.csv.gz", PACKED, {}),
        ("t.csv", TEXT.encode("utf-16"), {}),
        ("t.csv", TEXT.replace("size", "größe").encode("latin-1"), {"encoding": "latin-1"}),
        ("t.txt", TEXT.replace(",", ":").encode(), {"delimiter": ":"}),
        ("t.csv", b'size,"target"\n' + b"1,yes\n" * _HEAD, {}),
        ("t.csv", b'"size\nin ""cm""",target\n1,yes\n2,no\n', {}),
    ],
)
def test_a_mistyped_column_of_text_is_named(tmp_path, name, content, options):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"label must be a column .* Did you mean 'target'"):
        refuse(path, **options)
    refuse(path, "target", **options)
    assert os.listdir(tmp_path) == [name]


def test_a_mistyped_column_of_parquet_is_named(tmp_path):
    import duckdb

    path = tmp_path / "t [1].parquet"
    duckdb.sql("SELECT 1 AS size, 'yes' AS target").write_parquet(str(path))
    with pytest.raises(TableError, match="Did you mean 'target'"):
        refuse(path)
    refuse(path, "target")


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("t.jsonl", b'{"size": 1, "target": "yes"}\n', {}),
        ("t.csv", b"", {}),
        ("t.csv.gz", PACKED[:12], {}),
        ("t.csv", b"x" * _HEAD, {}),
        ("t.csv", TEXT.encode(), {"encoding": "utf-16"}),
    ],
)
def test_what_the_first_bytes_do_not_show_is_left_to_the_reader(tmp_path, name, content, options):
    path = tmp_path / name
    path.write_bytes(content)
    refuse(path, **options)


@pytest.mark.skipif(os.name != "posix", reason="named pipes of other systems differ")
def test_a_pipe_is_not_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refuse(pipe)


def test_a_missing_file_and_an_unknown_encoding_are_errors(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        refuse(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text(TEXT)
    with pytest.raises(TableError, match="encoding must be the name of a text encoding"):
        refuse(tmp_path / "t.csv", encoding="zz")
