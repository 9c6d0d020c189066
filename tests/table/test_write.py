import numpy as np
import pytest

from noisy_table import NAMES, write_csv
from rankprune.exceptions import TableError
from rankprune.storage._claims import PART, sweep
from rankprune.table import _write, open_table
from rankprune.table._write import output_format, write_table

pytest.importorskip("duckdb")

ROWS = [["a", "007", "NA", "x, y", "1"], ["b", "", '"quoted"\nnewline', "ü", "0"]]


def cells(table):
    """Return the cells of a table, with empty strings for empty cells."""
    found = table.cells(np.arange(table.n_rows), range(len(table.names)))
    return [[cell or "" for cell in row] for row in found]


def test_a_table_is_written_as_it_was_read(tmp_path):
    rows = [*ROWS, ["=1+1", "-5", "@x", "+ab", "-cd"]]
    path = write_csv(tmp_path / "t.csv", rows, delimiter=";")
    with open_table(path) as table:
        assert write_table(table, tmp_path / "copy.csv") == 3
        assert write_table(table, tmp_path / "copy.tsv", where="c0 = 'a'") == 1
        assert write_table(table, tmp_path / "copy.parquet") == 3
        write_table(table, tmp_path / "safe.csv", safe=True)
    assert (tmp_path / "copy.csv").read_bytes().decode().splitlines()[0] == ";".join(NAMES)
    for name in ("copy.csv", "copy.parquet"):
        with open_table(tmp_path / name) as table:
            assert table.names == tuple(NAMES)
            assert cells(table) == rows
    with open_table(tmp_path / "copy.tsv") as table:
        assert cells(table) == rows[:1]
    with open_table(tmp_path / "safe.csv") as table:
        assert cells(table)[2] == ["'=1+1", "-5", "'@x", "'+ab", "'-cd"]


def test_a_write_that_loses_rows_leaves_no_file(tmp_path):
    with open_table(write_csv(tmp_path / "t.csv", ROWS)) as table:
        with pytest.raises(RuntimeError, match="expected to write 2 rows, but got 1"):
            write_table(table, tmp_path / "copy.csv", where="c0 = 'a'", n_expected=2)
        names = table.names
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv"}
    assert names == tuple(NAMES)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_unfinished_files_can_be_swept_once_the_process_ends_but_not_before(
    tmp_path, monkeypatch, ending
):
    (tmp_path / "out").mkdir()
    copied = _write._copy
    sizes = []

    def copied_and_swept(table, query, path, options):
        count = copied(table, query, path, options)
        assert all(PART.fullmatch(found.name) for found in path.parent.iterdir())
        sweep(path.parent)
        sizes.append(path.stat().st_size)
        return count

    monkeypatch.setattr(_write, "_copy", copied_and_swept)
    with open_table(write_csv(tmp_path / "t.csv", ROWS)) as table:
        write_table(table, tmp_path / "out" / f"copy.{ending}")
    assert min(sizes) > 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"copy.{ending}"]


def test_parquet_cannot_hold_names_that_differ_in_case(tmp_path):
    with (
        open_table(write_csv(tmp_path / "t.csv", [["1", "2"]], ["a", "A"])) as table,
        pytest.raises(TableError, match=r"differ by more than case.*\.csv"),
    ):
        write_table(table, tmp_path / "copy.parquet")


def test_the_ending_decides_the_delimiter(tmp_path):
    with open_table(
        write_csv(tmp_path / "t.tsv", [["1", "2"]], ["a", "b"], delimiter="\t")
    ) as table:
        write_table(table, tmp_path / "copy.csv")
        write_table(table, tmp_path / "copy.TSV")
    assert (tmp_path / "copy.csv").read_text() == "a,b\n1,2\n"
    assert (tmp_path / "copy.TSV").read_text() == "a\tb\n1\t2\n"


def test_outputs_of_other_formats_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"must end in \.csv, \.tsv or \.parquet, got 'a\.xlsx'"):
        output_format(tmp_path / "a.xlsx")
