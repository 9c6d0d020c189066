"""Commands work whatever the clock says, or say that the clock is wrong."""

import os
import time

import pytest

from noisy_table import noisy_csv

pytest.importorskip("duckdb")
pytest.importorskip("skops")


@pytest.mark.parametrize(("now", "year"), [(86_400, 1970), (7_258_204_800, 2200)])
def test_a_clock_far_off_stops_only_model_files(command, tmp_path, monkeypatch, now, year):
    table, *_ = noisy_csv(tmp_path, n=150)
    monkeypatch.chdir(tmp_path)
    check = ("check", table, "--label", "label", "--scorer", "model", "-q", "-o", "run")
    assert command(*check)[0] == 0
    assert command("train", "run", "-q", "-o", "m.skops")[0] == 0
    # Old and future files are read like others, and so is a model from another time.
    for path in (table, tmp_path / "m.skops", tmp_path / "run" / "result.json"):
        os.utime(path, (now, now))
    local = time.localtime
    monkeypatch.setattr(time, "time", lambda: float(now))
    monkeypatch.setattr(time, "localtime", lambda s=None: local(now if s is None else s))
    for words in (
        (*check, "--force"),
        ("report", "run", "-q", "-o", "r.html"),
        ("export", "run", "-q", "-o", "o.csv"),
        ("export", "run", "-q", "-o", "o.parquet"),
        ("predict", "m.skops", table, "-q", "-o", "p.csv"),
    ):
        assert command(*words)[0] == 0, words
    code, _, err = command("train", "run", "-q", "-o", "again.skops")
    assert code == 2
    assert f"The clock of this computer says {year}" in err
    assert "Set the clock" in err
    assert not (tmp_path / "again.skops").exists()
