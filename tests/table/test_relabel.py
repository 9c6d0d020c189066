"""Labels change in a text file, and every other byte stays the same."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune.table._relabel import relabel_json, relabel_text


def relabel(tmp_path, content, labels, *, column=1, n_columns=2, delimiter=",", encoding=None):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(content)
    relabel_text(
        source,
        target,
        encoding=encoding,
        delimiter=delimiter,
        column=column,
        n_columns=n_columns,
        labels=labels,
    )
    return target.read_bytes()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a,y\n1,no\n2,no\n", b"a,y\n1,no\n2,yes\n"),
        (b"a,y\r\n1,no\r\n2,no\r\n", b"a,y\r\n1,no\r\n2,yes\r\n"),
        (b"a,y\r1,no\r2,no\r", b"a,y\r1,no\r2,yes\r"),
        (b"a,y\n1,no\n2,no", b"a,y\n1,no\n2,yes"),
        (b'"a","y"\n"1","no"\n"2","no"\n', b'"a","y"\n"1","no"\n"2","yes"\n'),
        (b'a,y\n"1,1","no"\n"2,""2""",no\n', b'a,y\n"1,1","no"\n"2,""2""",yes\n'),
        (b'a,y\n"1\n1",no\n"2\r\n2",no\n', b'a,y\n"1\n1",no\n"2\r\n2",yes\n'),
        (b'"a\nb",y\n1,no\n2,no\n', b'"a\nb",y\n1,no\n2,yes\n'),
        (b"a,y\n\n1,no\n\r\n2,no\n\n", b"a,y\n\n1,no\n\r\n2,yes\n\n"),
        (b"\xef\xbb\xbfa,y\n1,no\n2,no\n", b"\xef\xbb\xbfa,y\n1,no\n2,yes\n"),
        (b'a,y\n5" tube,no\n2" and 3",no\n', b'a,y\n5" tube,no\n2" and 3",yes\n'),
        (b'size 5",y\n1,no\n2,no\n', b'size 5",y\n1,no\n2,yes\n'),
        (b"a,y\n,no\n,no\n", b"a,y\n,no\n,yes\n"),
    ],
)
def test_nothing_but_the_label_of_the_row_changes(tmp_path, before, after):
    assert relabel(tmp_path, before, {1: "yes"}) == after


def test_labels_that_need_quotes_get_them(tmp_path):
    found = relabel(tmp_path, b"a,y\n1,no\n2,no\n", {0: "a,b", 1: 'say "x"'})
    assert found == b'a,y\n1,"a,b"\n2,"say ""x"""\n'


def test_any_column_can_be_relabeled_with_any_delimiter(tmp_path):
    found = relabel(tmp_path, b"y;a;b\nno;1;2\n", {0: "yes"}, column=0, n_columns=3, delimiter=";")
    assert found == b"y;a;b\nyes;1;2\n"
    found = relabel(tmp_path, b"y\nno\n", {0: "yes"}, column=0, n_columns=1)
    assert found == b"y\nyes\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
def test_the_encoding_is_kept(tmp_path, encoding):
    text = "a,y\nä,no\nö,no\n"
    found = relabel(tmp_path, text.encode(encoding), {1: "yes"}, encoding=encoding)
    assert found == "a,y\nä,no\nö,yes\n".encode(encoding)


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_recognised_by_its_mark(tmp_path, mark):
    content = "\ufeffa,y\nä,no\n".encode(mark)
    assert relabel(tmp_path, content, {0: "ja"}) == "\ufeffa,y\nä,ja\n".encode(mark)
    assert relabel(tmp_path, content, {0: "ja"}, encoding="utf-16") == (
        "\ufeffa,y\nä,ja\n".encode(mark)
    )


def test_compressed_files_are_read(tmp_path):
    found = relabel(tmp_path, gzip.compress(b"a,y\n1,no\n"), {0: "yes"})
    assert found == b"a,y\n1,yes\n"


def test_a_quote_that_is_never_closed_loses_nothing(tmp_path):
    content = b'a,y\n1,no\n"2,no\n3,no\n'
    assert relabel(tmp_path, content, {}) == content


def test_only_the_lines_of_new_labels_change_in_json(tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(
        b'{"a": 1.10,  "y": "no"}\r\n\n{"y": 0, "a": "\xc3\xa4"}\n{"y": true}\n{"y": false}'
    )
    relabel_json(source, target, "y", {1: "1", 3: "true"})
    assert target.read_bytes() == (
        b'{"a": 1.10,  "y": "no"}\r\n\n{"y": 1, "a": "\xc3\xa4"}\n{"y": true}\n{"y": true}'
    )


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6), st.data())
def test_without_new_labels_any_file_is_copied_and_with_them_only_they_differ(
    tmp_path_factory, rows, data
):
    import csv
    import io

    folder = tmp_path_factory.mktemp("any")
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["a", "y"], *[[a, "x" + b] for a, b in rows]])
    content = text.getvalue().encode()
    assert relabel(folder, content, {}) == content
    row = data.draw(st.integers(0, len(rows) - 1))
    found = relabel(folder, content, {row: "new"}).decode()
    expected = [["a", "y"], *[[a, "x" + b] for a, b in rows]]
    expected[row + 1][1] = "new"
    assert list(csv.reader(io.StringIO(found, newline=""))) == expected


def test_a_changed_line_of_json_keeps_the_spelling_of_its_other_values(tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    line = '\ufeff{ "a":1.10,"b" : 1e400, "\\u0079": %s ,"c":[1,  2]}\r\n'
    source.write_bytes((line % '"no"' + line[1:] % "0").encode())
    relabel_json(source, target, "y", {0: "yes", 1: "1"})
    assert target.read_bytes() == (line % '"yes"' + line[1:] % "1").encode()
