"""The evaluation of the methods on small data: what is measured, cached, resumed and printed."""

import numpy as np
import pytest
from click.testing import CliRunner

from rankprune.cli._group import cli
from rankprune.core import NoiseRates
from rankprune.experiments import _bank, _contenders, _mnist_methods, _situations, methods
from rankprune.experiments._bank import Problem, load_split
from rankprune.experiments._contenders import CONTENDERS, known_rates
from rankprune.experiments._published import published
from rankprune.experiments._situations import SITUATIONS, Rows, situation_rows

CELLS = ((0.0, 0.5), (0.5, 0.5))


@pytest.fixture
def small(data, toy, monkeypatch):
    """One problem, two situations, one digit, two cells, four methods."""
    problems = (Problem("toy: a", "toy", toy, tune=True), Problem("other: b", "other", toy))
    monkeypatch.setattr(methods, "PROBLEMS", problems)
    monkeypatch.setattr(methods, "LEVELS", ((0.0, 0.0), (0.2, 0.2)))
    chosen = ("Rank Pruning, true rates", "Rank Pruning", "Elkan-Noto, true c", "one-class SVM")
    contenders = {name: CONTENDERS[name] for name in chosen}
    for module in (methods, _mnist_methods, _situations):
        monkeypatch.setattr(module, "CONTENDERS", contenders)
    situations = {name: SITUATIONS[name] for name in ("symmetric noise", "small data")}
    for module in (methods, _situations):
        monkeypatch.setattr(module, "SITUATIONS", situations)
    monkeypatch.setattr(methods, "FOUR_CELLS", CELLS)
    monkeypatch.setattr(methods, "METHOD_DIGITS", (1,))
    monkeypatch.setattr(_mnist_methods, "SLOW_ROWS", 300)
    monkeypatch.setattr(_mnist_methods, "CELLS", CELLS)
    _mnist_methods._images.cache_clear()
    yield data
    _mnist_methods._images.cache_clear()


def test_the_command_prints_every_table_and_caches_its_measurements(small, evaluation, titles):
    command = evaluation("methods", small)
    first = command.run("-q")
    assert titles(first) == [
        "### F1 in eight situations",
        "### error in eight situations",
        "### average precision in eight situations",
        "### How often a method is worse than none",
        "### Error of the noise estimators",
        "### MNIST, F1, 60,000 rows",
        "### MNIST, F1, 6,000 rows",
        "### MNIST, error, 60,000 rows",
        "### MNIST, error, 6,000 rows",
        "### MNIST, AUC-PR, 60,000 rows",
        "### MNIST, AUC-PR, 6,000 rows",
    ]
    assert "nan" not in first
    table = first.split("### MNIST, F1, 60,000 rows")[1].split("###")[0]
    assert "one-class" not in table
    assert "(0.873)" in table  # Rank Pruning with given rates at (0, .5), as the paper prints it
    command.check_that_it_resumes_and_forgets(first, methods)
    assert not any(name.startswith("mnist-methods") for name in command.cached())


def test_missing_data_is_reported(tmp_path, no_openml, monkeypatch):
    monkeypatch.setenv("RANKPRUNE_DATA", str(tmp_path))
    monkeypatch.setattr(methods, "PROBLEMS", (Problem("mnist: 3", "mnist", _bank._mnist),))
    result = CliRunner().invoke(cli, ["evaluate", "methods", "-q"])
    assert result.exit_code == 1
    assert "MNIST is needed" in result.output


class TestSituations:
    @pytest.fixture
    def rows(self, toy):
        X, y = toy()
        return Rows(X, y, y)

    @pytest.mark.parametrize(
        ("name", "positive", "negative"),
        [
            ("clean labels", 0, 0),
            ("symmetric noise", 0.2, 0.2),
            ("asymmetric noise", 0.4, 0.05),
            ("high noise", 0.4, 0.3),
            ("positive-unlabeled", 0.5, 0),
            ("few positives labeled", 0.9, 0),
        ],
    )
    def test_labels_are_flipped_at_these_rates(self, name, positive, negative, rows):
        made = SITUATIONS[name](rows)
        rates = NoiseRates.from_true_labels(made.true_labels, made.labels)
        assert rates.positive_noise_rate == pytest.approx(positive, abs=0.01)
        assert rates.negative_noise_rate == pytest.approx(negative, abs=0.01)

    def test_rows_from_elsewhere_are_added(self, rows):
        made = SITUATIONS["rows from elsewhere"](rows)
        assert len(made.X) == len(made.labels) == 320
        assert len(made.true_labels) == 240
        assert abs(made.X[240:]).max() > 9

    def test_few_rows_hold_both_classes(self, rows):
        made = SITUATIONS["small data"](rows)
        assert len(made.X) == 100
        assert made.true_labels.sum() == 33  # as common as among all rows

    def test_the_number_of_rows_is_limited(self, toy, monkeypatch):
        monkeypatch.setattr(_situations, "MAX_ROWS", 50)
        split = load_split(Problem("toy", "toy", toy))
        assert len(situation_rows(split, "symmetric noise").X) == 50


def test_the_published_figures_are_complete():
    figures = published()
    # Of 2,670 in all, 24 means over CIFAR-10 appear in two tables, with the same value.
    assert len(figures) == 2646
    assert figures["mnist", "logreg", "f1", "avg", 0.5, 0.5, "liu16"] == 0.163
    assert {key[-1] for key in figures} == {
        *("true", "rp_estimated", "rp_given", "nat13", "elk08", "liu16")
    }


def test_contenders_get_the_rates_that_the_paper_gave_them():
    rates = NoiseRates.from_noise_rates(0.3, 0.1, observed_prevalence=0.4)
    assert known_rates(CONTENDERS["Rank Pruning"], rates) == {}
    both = known_rates(CONTENDERS["label-dependent cost, true rates"], rates)
    assert both == {"positive_noise_rate": 0.3, "negative_noise_rate": 0.1}
    assert known_rates(CONTENDERS["Elkan-Noto, true c"], rates) == {"positive_noise_rate": 0.3}
    for contender in CONTENDERS.values():
        assert contender.make(**known_rates(contender, rates)).get_params()


def test_the_authors_weight_negative_labels_by_the_wrong_probability(monkeypatch):
    """rho1 = .5, rho0 = 0: s=0 at g = .1 has (.1 - .5) / .1 instead of (.9 - .5) / .9."""
    seen = {}
    monkeypatch.setattr(
        _contenders.AuthorsReweightingClassifier,
        "_fit_estimator",
        lambda *given: seen.update(weights=given[4]),
    )
    y, g = np.array([1, 1, 0, 0] * 5), np.array([0.8, 0.4, 0.1, 0.75] * 5)
    contender = CONTENDERS["importance reweighting, authors' formula"]
    model = contender.make(positive_noise_rate=0.5, negative_noise_rate=0.0)
    model.fit(np.zeros((20, 1)), y, probabilities=g)
    # Weights below 0 leave a row out, as in the authors' solver.
    expected = [2, 2, 0, (0.75 - 0.5) / (0.5 * 0.75)]
    assert seen["weights"][:4].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("name", [name for name, one in CONTENDERS.items() if not one.knows_rates])
def test_a_new_default_does_not_change_what_was_printed(name):
    """Every method that estimates rates names its estimator, so that a resumed run mixes no two."""
    assert CONTENDERS[name].make().get_params(deep=False).get("noise_estimator", "") is not None
