"""The tables that networks fill: resumed, reproducible, and methods that expect noise."""

from dataclasses import replace

import numpy as np
import pytest

from rankprune.experiments.paper import Choice, render, run_experiment, verify_experiment
from rankprune.experiments.paper._network_methods import NETWORK_METHODS, flipped_by_difficulty
from rankprune.experiments.paper._one_vs_rest import VERSION, load_images, noisy_class
from rankprune.experiments.paper._records import Results

pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def test_network_tables_are_resumed_and_reproducible(tmp_path):
    choice = Choice(
        tmp_path / "results",
        small=True,
        images=("1",),
        cells=((0.5, 0.5),),
        methods=("true", "noisy", "elk08", "rp_estimated", "rp_rounds"),
        epochs=2,
    )
    steps = list(run_experiment("table4", choice))
    assert steps[-1].total == 1
    found = Results(choice.results / "digits_cnn.csv").records
    # Only logistic regression is run with several rounds.
    assert {key.method for key in found} == {"true", "noisy", "elk08", "rp_estimated"}
    assert {key.classifier for key in found} == {"cnn-2"}
    assert next(run_experiment("table4", choice)).total == 0
    kept = sorted(path.name for path in (tmp_path / "data" / "experiments").iterdir())
    # Division by a constant needs no additional network.
    assert kept == [
        f"digits-cnn2-1-{name}-seed0-v{VERSION}.npz"
        for name in ("0-0-true", "50-50-folds", "50-50-noisy", "50-50-rp_estimated")
    ]
    assert verify_experiment("table4", replace(choice, methods=("rp_estimated",))).agrees


def test_methods_that_expect_noise_are_measured_under_all_kinds_of_noise(tmp_path, monkeypatch):
    quick = {"max_epochs": 1}
    for settings in ("_POINTS", "_TEN"):
        name = f"rankprune.experiments.paper._network_noise.{settings}"
        monkeypatch.setitem(_settings(name), "max_epochs", 1)
    monkeypatch.setitem(_settings(NETWORKS)["digits"], "max_epochs", quick["max_epochs"])
    monkeypatch.setattr("rankprune.experiments.paper._network_noise.N_TRIALS", 1)
    monkeypatch.setattr("rankprune.experiments.paper._network_noise.SHARES", (0.25,))
    choice = Choice(tmp_path / "results", small=True, images=("8",), cells=((0.25, 0.25),))
    assert list(run_experiment("networks", choice))[-1].name
    found = Results(choice.results / "networks.csv").records
    seen = {(key.dataset, key.method) for key in found}
    for name, method in NETWORK_METHODS.items():
        for dataset in ("gaussians, added noise", "digits", "digits, difficulty"):
            assert (dataset, name) in seen
        assert (("digits, ten classes", name) in seen) != method.is_for_two
    assert ("digits, difficulty", "rp_estimated") in seen
    assert all(np.isfinite(record.value) for record in found.values())
    assert next(run_experiment("networks", choice)).total == 0
    pages = render(choice.results, tmp_path / "docs", small=True)
    text = (tmp_path / "docs" / "networks.md").read_text()
    assert tmp_path / "docs" / "networks.md" in pages
    assert all(method.title in text for method in NETWORK_METHODS.values())


NETWORKS = "rankprune.experiments.paper._network_tables.NETWORKS"


def _settings(name):
    module, attribute = name.rsplit(".", 1)
    return getattr(__import__(module, fromlist=[attribute]), attribute)


def test_flips_that_follow_difficulty_are_as_many_as_at_the_cell_and_hit_hard_rows(tmp_path):
    cell = (0.25, 0.25)
    difficult = flipped_by_difficulty("digits", "8", cell, 0)
    plain = noisy_class("digits", "8", (cell,), 0)
    for noisy in (difficult, plain):
        rates = noisy.true_rates(0)
        assert rates.positive_noise_rate == pytest.approx(0.25, abs=0.01)
        assert rates.positive_label_error_rate == pytest.approx(0.25, abs=0.01)
    with np.load(next((tmp_path / "data" / "experiments").glob("*doubt*"))) as kept:
        scores = kept["scores"]
    is_class = load_images("digits", "train").digits == 8
    doubt = np.where(is_class, 1 - scores, scores)
    flipped = difficult.column(0) != is_class
    assert doubt[flipped].mean() > 3 * doubt[~flipped].mean()
