import numpy as np
import pytest

from noisy_table import write_csv
from rankprune.exceptions import TableError
from rankprune.table import open_table
from rankprune.table._embeddings import read_embeddings
from rankprune.table._labels import find_labels, read_labels
from rankprune.table._special_columns import read_flags, read_probabilities, read_texts

pytest.importorskip("duckdb")


def opened(tmp_path, cells, name="y"):
    return open_table(write_csv(tmp_path / "t.csv", [[c, "x"] for c in cells], [name, "b"]))


def labels_of(tmp_path, cells, positive=None, drop_unlabeled=False, negative=None):
    with opened(tmp_path, cells) as table:
        return read_labels(
            table, "y", pos_label=positive, neg_label=negative, drop_unlabeled=drop_unlabeled
        )


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (("0", "1"), "1"),
        (("True", "False"), "True"),
        (("yes", "No"), "yes"),
        (("-1", "1"), "1"),
        (("spam", "ham"), "spam"),
        (("POSITIVE", "negative"), "POSITIVE"),
    ],
)
def test_the_positive_label_follows_convention(tmp_path, values, positive):
    found = labels_of(tmp_path, values * 3)
    assert (found.positive, found.notes) == (positive, ())
    assert found.is_positive.tolist() == [value == positive for value in values * 3]


def test_a_positive_label_that_is_not_obvious_gets_a_note(tmp_path):
    found = labels_of(tmp_path, ["cat", "dog", "cat"])
    assert (found.positive, found.negative) == ("dog", "cat")
    assert found.notes == (
        "'dog' is used as the positive label (last in sorted order). To use the other, pass "
        "pos_label='cat'.",
    )
    found = labels_of(tmp_path, ["cat", "dog", "cat"], positive="cat")
    assert (found.positive, found.notes) == ("cat", ())
    assert found.is_positive.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["a", "a"], r"two values; 'y' has one: 'a' \(2 rows\)"),
        (["", " "], r"two values; 'y' is empty in every row"),
        ([str(i) for i in range(1100)], r"at most 1,000 values; 'y' has more:.*and more"),
        (["a", "b", ""], r"1 of 3 rows have no 'y'.*drop_unlabeled=True"),
        (["a", "b", "NA"], r"1 of 3 rows have no 'y'"),
        (["a", "NA", "a"], r"two values; 'y' has one: 'a' \(2 rows\)"),
    ],
)
def test_labels_of_one_value_or_of_too_many_are_refused(tmp_path, cells, message):
    with pytest.raises(TableError, match=message):
        labels_of(tmp_path, cells)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["a", "b", "c", "a"],
            r"two values; 'y' has 3: 'a' \(2 rows\).*one value against the rest",
        ),
        ([str(i) for i in range(30)], r"'y' has 20 or more:.*and more"),
    ],
)
def test_more_than_two_labels_are_refused_where_there_must_be_two(tmp_path, cells, message):
    with opened(tmp_path, cells) as table, pytest.raises(TableError, match=message):
        find_labels(table, "y")


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["b", "c", "a", "b"], ("a", "b", "c")),
        (["10", "9", "-1", "9"], ("-1", "9", "10")),
        (["10", "9", "x", "9"], ("10", "9", "x")),
        (["it's", '"; --', "x", "x"], ('"; --', "it's", "x")),
    ],
)
def test_more_than_two_labels_are_numbered_in_sorted_order(tmp_path, cells, names):
    found = labels_of(tmp_path, [*cells, ""], drop_unlabeled=True)
    assert found.names == names
    assert found.are_many
    assert [names[code] for code in found.codes] == cells
    assert found.rows.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("argument", ["positive", "negative"])
def test_names_of_two_labels_are_refused_for_more(tmp_path, argument):
    with pytest.raises(
        TableError, match="must be None for more than two labels; 'y' has 3, got 'a'"
    ):
        labels_of(tmp_path, ["a", "b", "c"], **{argument: "a"})


def test_rows_without_a_label_are_left_out_with_drop_unlabeled(tmp_path):
    found = labels_of(tmp_path, ["", "1", "0", "NA", "1"], drop_unlabeled=True)
    assert found.rows.tolist() == [1, 2, 4]
    assert found.is_positive.tolist() == [True, False, True]
    assert found.notes == ("2 rows without a label were left out.",)


def test_a_value_that_looks_missing_can_be_named_as_a_label(tmp_path):
    found = labels_of(tmp_path, ["NA", "EU", "NA"], positive="NA")
    assert (found.positive, found.negative) == ("NA", "EU")


@pytest.mark.parametrize(
    ("values", "asked", "positive"),
    [(("true", "false"), "True", "true"), (("0.0", "1.0"), "1", "1.0"), (("1", "2"), "2.0", "2")],
)
def test_the_positive_label_may_be_spelled_differently(tmp_path, values, asked, positive):
    assert labels_of(tmp_path, values * 2, positive=asked).positive == positive


def test_nan_is_a_missing_label(tmp_path):
    pl = pytest.importorskip("polars")
    pl.DataFrame({"y": [1.0, float("nan"), 0.0, 1.0]}).write_parquet(tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as table:
        found = read_labels(table, "y", drop_unlabeled=True)
    assert (found.rows.tolist(), found.positive) == ([0, 2, 3], "1.0")


def test_a_positive_label_that_does_not_occur_is_refused(tmp_path):
    with pytest.raises(
        TableError, match=r"pos_label must be 'a' or 'b', the values of column 'y'; got 'c'"
    ):
        labels_of(tmp_path, ["a", "b"], positive="c")


def test_labels_with_quotes_are_not_read_as_sql(tmp_path):
    found = labels_of(tmp_path, ["it's", '"; --', "it's"])
    assert (found.positive, found.is_positive.tolist()) == ("it's", [True, False, True])


def test_probabilities_are_checked(tmp_path):
    rows = np.arange(3)
    with opened(tmp_path, ["0", "0.5", "1"]) as table:
        assert read_probabilities(table, "y", rows).tolist() == [0, 0.5, 1]
    for cell in ("1.5", "-0.1", "x", "", "nan"):
        with (
            opened(tmp_path, ["0", cell, "1"]) as table,
            pytest.raises(TableError, match=r"must lie in \[0, 1\].*row 2 of 'y'"),
        ):
            read_probabilities(table, "y", rows)


def test_flags_and_texts_are_checked(tmp_path):
    rows = np.asarray([0, 2, 3])
    with opened(tmp_path, ["1", "zzz", "false", ""]) as table:
        assert read_flags(table, "y", "trusted", rows).tolist() == [True, False, False]
        with pytest.raises(TableError, match=r"trusted must hold yes or no.*row 2.*'zzz'"):
            read_flags(table, "y", "trusted", np.arange(4))
        assert read_texts(table, "y", "id", np.arange(3)).tolist() == ["1", "zzz", "false"]
        with pytest.raises(TableError, match=r"groups must be filled in.*row 4 has no 'y'"):
            read_texts(table, "y", "groups", np.arange(4))


def test_embeddings_are_checked(tmp_path):
    np.save(tmp_path / "v.npy", np.ones((3, 2), dtype=np.float32))
    assert read_embeddings(tmp_path / "v.npy", 3).shape == (3, 2)
    assert read_embeddings(None, 3) is None
    with pytest.raises(TableError, match=r"one row of numbers for each of the 4 rows.*\(3, 2\)"):
        read_embeddings(tmp_path / "v.npy", 4)
    with pytest.raises(TableError, match=r"must be an npy file; .*no\.npy does not exist"):
        read_embeddings(str(tmp_path / "no.npy"), 4)
    with pytest.raises(TableError, match=r"must be finite"):
        read_embeddings(np.asarray([[np.nan]]), 1)


def broken_arrays(path):
    """Write one broken file after the other, and yield why it is broken."""
    for why, array in {"texts": np.array(["a"]), "complex": np.ones(3, dtype=complex)}.items():
        np.save(path, array)
        yield why
    with path.open("wb") as file:
        np.savez(file, np.ones((3, 2)))
    yield "several arrays"
    np.save(path, np.ones((3, 2)))
    content = path.read_bytes()
    contents = {
        "empty": b"",
        "text": b"no",
        "cut short": content[:-9],
        "no header": content[:20],
        "an open bracket": content.replace(b"(3, 2)", b"(3, 2["),
        "an open quote": content.replace(b"{'descr'", b'{"""scr\''),
        "a huge shape": content.replace(b"(3, 2), }" + b" " * 14, b"(300000000000000, 2), }"),
    }
    for why, content in contents.items():
        path.write_bytes(content)
        yield why


def test_embeddings_that_cannot_be_read_are_refused_by_name(tmp_path):
    path = tmp_path / "v.npy"
    for why in broken_arrays(path):
        with pytest.raises(
            TableError, match=r"npy file of numbers; .*v\.npy cannot be read as one"
        ):
            pytest.fail(f"{why}: {read_embeddings(path, 3)}")


def test_an_error_of_the_disk_is_not_taken_for_a_broken_array(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("the disk reports an error")

    np.save(tmp_path / "v.npy", np.ones((3, 2)))
    monkeypatch.setattr(np, "load", fail)
    with pytest.raises(OSError, match="the disk reports an error"):
        read_embeddings(tmp_path / "v.npy", 3)


def test_a_negative_label_that_looks_missing_can_be_named(tmp_path):
    cells = ["fraud", "none", "fraud", "none", "none"]
    with pytest.raises(
        TableError, match=r"'none' \(3 rows\) was read as a missing label.*pass neg_label='none'"
    ):
        labels_of(tmp_path, cells)
    found = labels_of(tmp_path, cells, negative="none")
    assert (found.positive, found.negative, found.notes) == ("fraud", "none", ())
    with pytest.raises(
        TableError, match=r"pos_label and neg_label must differ, got 'none' for both"
    ):
        labels_of(tmp_path, cells, positive="none", negative="none")
    with pytest.raises(
        TableError, match=r"neg_label must be .* the values of column 'y'; got 'zz'"
    ):
        labels_of(tmp_path, ["a", "b"], negative="zz")


def test_labels_that_are_the_same_number_are_distinguished_by_their_text(tmp_path):
    for positive in ("1", "01"):
        found = labels_of(tmp_path, ["1", "01", "1"], positive=positive)
        assert found.is_positive.tolist() == [cell == positive for cell in ("1", "01", "1")]
    with pytest.raises(TableError, match=r"pos_label must be '01' or '1'"):
        labels_of(tmp_path, ["1", "01"], positive="1.0")
