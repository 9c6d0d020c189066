"""Parquet and Arrow files as batches.

Their libraries keep threads, which a forked process lacks, so mutation testing leaves this out.
"""

import numpy as np
import pytest

from rankprune import stream
from streamed_rows import assert_same, noisy_rows


def test_parquet(rows, expected, tmp_path):
    pytest.importorskip("duckdb")
    import polars as pl

    path = tmp_path / "it's.parquet"
    pl.DataFrame({'the "s"': rows[0], "g": rows[1]}).write_parquet(path, row_group_size=600)
    source = stream.read_scores(path, 'the "s"', "g", batch_rows=1000)
    assert_same(stream.prune_labels(source, n_jobs=2), expected)
    with pytest.raises(ValueError, match=r"columns 's' and 'g'.*Check the file"):
        stream.estimate_noise_rates(stream.read_scores(path, "s", "g"))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        stream.read_scores(tmp_path / "none.parquet", "s", "g")


def test_missing_scores_are_named(tmp_path):
    pytest.importorskip("duckdb")
    import polars as pl

    pl.DataFrame({"s": [0, 1], "g": [0.5, None]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="probabilities must not be missing; row 1"):
        stream.estimate_noise_rates(stream.read_scores(tmp_path / "t.parquet", "s", "g"))
    pl.DataFrame({"s": [0, None, 1], "g": [0.5, 0.6, 0.7]}).write_parquet(tmp_path / "t.parquet")
    source = stream.read_scores(tmp_path / "t.parquet", "s", "g")
    for asked in ({}, {"pos_label": 1}):
        for batches in (source, iter(source)):
            with pytest.raises(ValueError, match="labels must not be missing; row 1"):
                stream.estimate_noise_rates(batches, **asked)


def test_a_name_with_wildcards_is_one_file(tmp_path):
    pytest.importorskip("duckdb")
    import polars as pl

    for name, n_rows in (("s[1].parquet", 3000), ("s1.parquet", 1000), ("s.pq", 2000)):
        labels, scores = noisy_rows(n_rows)
        pl.DataFrame({"s": labels, "g": scores}).write_parquet(tmp_path / name)
        found = stream.estimate_noise_rates(stream.read_scores(tmp_path / name, "s", "g"))
        assert found.n_positive + found.n_negative == n_rows


@pytest.mark.parametrize("batch_rows", [0, -1, 1.5, "a"])
def test_rows_of_a_batch(tmp_path, batch_rows):
    (tmp_path / "t.parquet").touch()
    with pytest.raises(ValueError, match="batch_rows must be a whole number"):
        stream.read_scores(tmp_path / "t.parquet", "s", "g", batch_rows=batch_rows)


def test_what_is_no_arrow_file_or_lacks_values(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "scores.arrow"
    path.write_bytes(b"nothing")
    with pytest.raises(ValueError, match="must be an Arrow file with columns 's' and 'g'"):
        list(stream.read_scores(path, "s", "g"))
    table = pa.table({"s": [0, 1], "g": [0.5, None]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match="g must not be missing; 1 of 2"):
        list(stream.read_scores(path, "s", "g"))
    with pytest.raises(ValueError, match="columns 's' and 'p'"):
        list(stream.read_scores(path, "s", "p"))


def test_arrow(rows, expected, tmp_path):
    pa = pytest.importorskip("pyarrow")

    path = tmp_path / "scores.arrow"
    table = pa.table({"s": rows[0].astype(np.int32), "g": rows[1]})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=800)
    assert_same(stream.prune_labels(stream.read_scores(path, "s", "g")), expected)


def test_arrow_says_what_it_needs(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "scores.arrow").touch()
    with pytest.raises(ImportError, match="Install pyarrow"):
        list(stream.read_scores(tmp_path / "scores.arrow", "s", "g"))


def test_parquet_says_what_it_needs(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "scores.parquet").touch()
    with pytest.raises(ImportError, match=r"Install rankprune\[cli\]"):
        list(stream.read_scores(tmp_path / "scores.parquet", "s", "g"))
