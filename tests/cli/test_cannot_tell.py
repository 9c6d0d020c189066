"""Commands on a hard problem whose overlap looks like noise: nothing is dropped silently."""

import numpy as np
import pytest

from noisy_table import write_csv

pytest.importorskip("duckdb")
pytest.importorskip("skops")


@pytest.fixture
def hard(command, tmp_path):
    rng = np.random.RandomState(0)
    truth = rng.rand(600) < 0.5
    x = truth + rng.randn(600)
    rows = [[f"{v:.6f}", "yes" if label else "no"] for v, label in zip(x, truth, strict=True)]
    path = write_csv(tmp_path / "hard.csv", rows, ["x", "label"])
    code, out, _ = command("check", path, "--label", "label", "--scorer", "model")
    assert code == 0
    assert out.startswith("Up to ")
    assert "The data alone cannot tell; a person who judges 25 rows" in out
    return tmp_path / "hard.csv.rankprune"


def test_train_drops_nothing_and_explains_how_to_prune_anyway(command, hard, tmp_path):
    code, _, err = command("train", hard, "-o", tmp_path / "m.skops")
    assert code == 0
    assert "Trained on all 600 rows. The check could not tell whether labels are wrong" in err
    assert "pass --prune to drop" in err
    code, _, err = command("train", hard, "-o", tmp_path / "n.skops", "--prune")
    assert code == 0
    kept = int(err.split("Trained on ")[1].split(" of 600 rows.")[0])
    assert 300 < kept < 600


def test_export_drops_nothing_unless_asked_to(command, hard, tmp_path):
    words = ("export", hard, "--drop-suspects", "-o")
    code, _, err = command(*words, tmp_path / "a.csv")
    assert (code, "600 of 600 rows kept, 0 left out." in err) == (0, True)
    code, _, err = command(*words, tmp_path / "b.csv", "--prune")
    kept = len((tmp_path / "b.csv").read_text().splitlines()) - 1
    assert (code, 300 < kept < 600) == (0, True)
    assert f"{kept} of 600 rows kept, {600 - kept} left out." in err


def test_pruning_an_export_requires_dropping_suspects(command, hard, tmp_path):
    code, _, err = command("export", hard, "--prune", "-o", tmp_path / "a.csv")
    assert (code, "--prune only works with --drop-suspects" in err) == (2, True)
