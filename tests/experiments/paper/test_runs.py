"""Each experiment on data that ships with scikit-learn: complete, resumable, reproducible."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from rankprune.core import NoiseRates
from rankprune.experiments._mnist import noisy_labels
from rankprune.experiments.paper import (
    Choice,
    _run,
    _synthetic,
    run_experiment,
    verify_experiment,
)
from rankprune.experiments.paper._logistic_tables import LogisticRun
from rankprune.experiments.paper._measure import score_figures
from rankprune.experiments.paper._measure import test_figures as figures_of
from rankprune.experiments.paper._one_vs_rest import load_images, noisy_class
from rankprune.experiments.paper._records import Key, Results

HALF = (0.5, 0.5)


@pytest.fixture
def choice(tmp_path):
    return Choice(tmp_path / "results", small=True)


def run(name, choice):
    *_, last = run_experiment(name, choice)
    return last


def values(choice, file):
    return {key: one.value for key, one in Results(choice.results / file).records.items()}


def test_only_missing_units_of_a_table_are_run(choice):
    some = replace(choice, images=("0", "1"), cells=(HALF,))
    assert run("table3", some).total == 2
    first = values(choice, "digits_logreg.csv")
    assert run("table3", some).total == 0
    more = replace(choice, images=("1", "2"), cells=(HALF,))
    last = run("table3", more)
    assert (last.total, last.done, last.name) == (1, 1, "digits 2, logistic regression")
    assert first.items() <= values(choice, "digits_logreg.csv").items()


def test_the_manifest_has_the_command_without_the_results_folder(choice):
    chosen = replace(choice, images=("1",), cells=((0.0, 0.5), HALF), methods=("true",), seed=2)
    run("table3", chosen)
    manifest = (choice.results / "manifest.json").read_text()
    command = "rankprune paper table3 --images 1 --cells 0/0.5,0.5/0.5 --methods true"
    assert f'"{command} --seed 2 --small"' in manifest
    assert str(choice.results) not in manifest


def test_a_selection_gives_the_same_figures_as_a_full_run(choice):
    run("table3", replace(choice, images=("3",), cells=(HALF,), methods=("rp_given",)))
    few = values(choice, "digits_logreg.csv")
    whole = replace(choice, results=choice.results / "whole", images=("3",))
    run("table3", whole)
    found = values(whole, "digits_logreg.csv")
    assert few.items() <= found.items()
    assert {key.method for key in few} == {"rp_given"}
    assert {key.method for key in found} >= {"true", "noisy", "rp_rounds", "elk08"}


def test_rank_pruning_beats_a_plain_fit_to_noisy_labels(choice):
    run("table3", replace(choice, images=("0", "2", "6"), methods=("true", "noisy", "rp_given")))
    found = values(choice, "digits_logreg.csv")

    def mean_f1(method):
        return np.mean([v for k, v in found.items() if (k.metric, k.method) == ("f1", method)])

    assert mean_f1("noisy") < 0.75 < mean_f1("rp_given") < mean_f1("true")


def test_every_unit_measures_the_figures_it_announces(choice):
    some = replace(choice, images=("1",), cells=(HALF,))
    for name in ("fig1", "fig4", "fig5", "figb", "table3"):
        for units in _run.EXPERIMENTS[name](some).values():
            for unit in units[:2]:
                assert {one.key for one in unit.compute()} == set(unit.keys), unit.name


def test_figures_measured_again_are_the_same(choice):
    some = replace(choice, images=("1",), cells=(HALF,))
    run("table3", some)
    found = verify_experiment("table3", some)
    assert found.agrees
    assert found.largest == pytest.approx(0, abs=1e-8)  # the file has eight digits
    assert found.n_compared > 50


def test_a_figure_that_differs_is_reported(choice):
    some = replace(choice, images=("1",), cells=(HALF,))
    run("table3", some)
    path = choice.results / "digits_logreg.csv"
    key = Key("digits", "logreg", "error", "1", *HALF, "rp_given", 0)
    right = Results(path).records[key]
    wrong = replace(right, value=right.value + 1e-4)
    with path.open("a") as file:
        file.write(",".join(wrong.cells()) + "\n")
    found = verify_experiment("table3", some)
    assert not found.agrees
    assert found.largest == pytest.approx(1e-4, rel=1e-3)
    assert found.where == "digits logreg error 1 0.5 0.5 rp_given 0"


def test_nothing_to_compare_is_an_error(choice):
    with pytest.raises(
        ValueError, match=r"results must hold selected figures of table3.*Run rankprune paper"
    ):
        verify_experiment("table3", choice)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"images": ("11",)}, "^images must be among 0, .*got 11"),
        ({"methods": ("rp",)}, "^methods must be among true, .*got rp"),
        ({"cells": ((0.9, 0.9),)}, "^cells must be among .*got 0.9/0.9"),
    ],
)
def test_an_unknown_selection_is_refused(choice, wrong, message):
    with pytest.raises(ValueError, match=message):
        next(run_experiment("table3", replace(choice, **wrong)))


def test_another_seed_flips_different_labels(choice):
    truth = load_images("digits", "train").digits == 1
    first, again, other = (noisy_labels(truth, 1, (HALF,), seed) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()
    assert first.sum() == other.sum()
    run("table3", replace(choice, images=("1",), cells=(HALF,), seed=1))
    assert {key.seed for key in values(choice, "digits_logreg.csv")} == {1}


def test_later_rounds_prune_by_the_first_rates():
    one = LogisticRun("digits", "8", (HALF,))
    scores = one.out_of_fold()
    found = {name: one._weights(name, scores) for name in ("rp_curve", "rp_rounds")}
    for weights in found.values():
        labels = one.noisy.column(0)
        positive, negative = weights[labels, 0], weights[~labels, 0]
        # Every round prunes the same number of rows, but not the same rows.
        assert (positive == 0).sum() == (found["rp_curve"][labels, 0] == 0).sum()
        assert (negative == 0).sum() == (found["rp_curve"][~labels, 0] == 0).sum()
    assert ((found["rp_curve"] == 0) != (found["rp_rounds"] == 0)).any()


@pytest.mark.parametrize("cell", [(0.0, 0.5), (0.5, 0.0), (0.25, 0.75)])
def test_labels_have_the_noise_of_their_cell(cell):
    """The two rates must not be swapped: most cells of the tables come with their mirror image."""
    pi1, rho1 = cell
    noisy = noisy_class("digits", "3", (cell,), 0)
    labels, is_class = noisy.column(0), noisy.is_class
    assert (~is_class[labels]).mean() == pytest.approx(pi1, abs=0.02)
    assert (~labels[is_class]).mean() == pytest.approx(rho1, abs=0.01)
    rates = noisy.true_rates(0)
    assert rates.positive_label_error_rate == pytest.approx(pi1, abs=0.02)
    assert rates.positive_noise_rate == pytest.approx(rho1, abs=0.01)


def test_the_grid_does_not_swap_the_two_rates(choice):
    chosen = replace(choice, images=("0",), cells=((0.0, 0.5), (0.5, 0.0)))
    run("fig5", chosen)
    found = values(choice, "digits_grid.csv")
    for method in ("rp_estimated", "rp_curve", "theory"):
        for cell in chosen.cells:
            rho1, pi1 = (
                found[Key("digits, grid", "logreg", metric, "0", *cell, method, 0)]
                for metric in ("rho1_hat", "pi1_hat")
            )
            assert (pi1, rho1) == pytest.approx(cell, abs=0.1)


def test_part_of_the_grid_gives_the_same_figures_as_the_whole(choice):
    for cell in ((0.5, 0.5), (0.0, 0.5)):
        run("fig5", replace(choice, images=("1",), cells=(cell,)))
    other = replace(choice, results=choice.results / "both", images=("1",))
    run("fig5", replace(other, cells=((0.5, 0.5), (0.0, 0.5))))
    assert values(choice, "digits_grid.csv") == values(other, "digits_grid.csv")


class TestGaussians:
    def test_theory_is_close_to_the_estimate_with_many_rows(self):
        found = _synthetic._trial(_synthetic.Setting(separability=2.0), [0, 0])
        assert all(0 <= one[_synthetic.THEORY] < 0.05 for one in found.values())

    def test_theory_against_estimate_by_hand(self):
        truth, scores = np.arange(6) < 3, np.array([0.9, 0.8, 0.3, 0.7, 0.2, 0.1])
        true = NoiseRates.from_noise_rates(0.2, 0.1, observed_prevalence=0.45)
        found = replace(true, positive_threshold=0.6, negative_threshold=0.25)
        # One negative is above LB and one positive is not; no positive is below UB.
        expected = 0.7 * 1 / (3 - 1 + 1)
        assert _synthetic.theory_difference(truth, scores, true, found) == pytest.approx(expected)

    def test_labels_have_the_noise_of_their_cell(self):
        trial = _synthetic._draw(_synthetic.Setting(), [0, 0])
        for (pi1, rho1), labels in trial.labels.items():
            assert (~trial.truth[labels]).mean() == pytest.approx(pi1, abs=1e-3)
            assert (~labels[trial.truth]).mean() == pytest.approx(rho1, abs=1e-3)

    def test_the_meaning_of_given_rates_matters_with_added_rows(self):
        found = _synthetic._trial(_synthetic.Setting(added_noise=1.0), [0, 0])[HALF]
        assert found["rp_estimated"] > 0.85
        assert found["rp_given"] < 0.5
        assert found["rp_given_shares"] > 0.9
        assert found["true"] > 0.95
        assert _synthetic.THEORY not in found

    def test_one_setting_is_varied_at_a_time(self):
        assert _synthetic.setting_of("examples", 50) == _synthetic.Setting(examples=50)
        assert _synthetic.setting_of("dimension", 5) == _synthetic.Setting(dimension=5)
        assert _synthetic.setting_of("separability", 0) == _synthetic.Setting(separability=0)
        assert _synthetic.setting_of("added noise", 0.5) == _synthetic.Setting(added_noise=0.5)

    def test_the_panel_of_added_noise_has_no_theory(self):
        units = _synthetic.synthetic_units({"added noise": (0, 1)}, [HALF], 1, 0)
        assert not any(key.metric == _synthetic.THEORY for unit in units for key in unit.keys)

    def test_f1_equals_that_of_scikit_learn(self):
        generator = np.random.default_rng(0)
        for share in (0.0, 0.3, 1.0):
            truth, predicted = generator.random(50) < 0.4, generator.random(50) < share
            expected = f1_score(truth, predicted, zero_division=0)
            assert _synthetic._f1(truth, predicted) == pytest.approx(expected)


def test_a_constant_score_has_the_prevalence_as_average_precision():
    truth = np.repeat([True, False], [100, 900])
    found = figures_of(truth, np.full(1000, 0.4))
    assert found == pytest.approx(
        {
            "f1": 0.0,
            "error": 0.1,
            "auc_pr": 0.55,
            "average_precision": 0.1,
            "f1_at_0.3": 2 * 0.1 / 1.1,
        }
    )


def test_perfect_probabilities_have_distance_zero():
    truth = np.arange(100) < 30
    rates = NoiseRates.from_noise_rates(0.2, 0.1, observed_prevalence=0.3 * 0.8 + 0.7 * 0.1)
    perfect = np.where(truth, 0.8, 0.1)
    found = score_figures(truth, perfect, rates, rates)
    assert found == pytest.approx({"mean_delta_g": 0, "rho1_hat": 0.2, "rho0_hat": 0.1})
    assert score_figures(truth, perfect + 0.05, rates, rates)["mean_delta_g"] == pytest.approx(0.05)


def test_without_cleanlab_its_row_is_left_out(choice, monkeypatch):
    monkeypatch.setattr(_run, "find_spec", lambda _: None)
    assert "cleanlab" not in choice.of_methods(["true", "nat13", "cleanlab"])
