"""How the suspects depend on the folds: measured on small tables, and only there."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from rankprune import LabelCheck, RankPruningClassifier, check_labels, check_table, flip_labels
from rankprune.check import _stability
from rankprune.check._stability import compare_suspects, has_known_cost, with_other_folds
from rankprune.exceptions import UninformativeProbabilitiesWarning
from rankprune.run._findings import Stability
from rankprune.run._settings import CheckSettings

pytestmark = pytest.mark.usefixtures("two_scorings")


def noisy(n=300, spread=1.0, seed=0):
    """Return features of two overlapping classes, and labels of which some are wrong."""
    rng = np.random.RandomState(seed)
    truth = rng.randint(0, 2, n)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=seed)
    return rng.normal(3 * truth[:, None], spread, (n, 3)), y


def examined(X, y, **options):
    classifier = RankPruningClassifier(random_state=0, **options)
    return classifier, classifier.examine(X, y, groups=None)


def test_it_counts_the_suspects_of_a_second_scoring():
    X, y = noisy(n=600, spread=1.2)
    check = check_labels(X, y, scorer=None)
    found = check.stability
    assert check.verdict.level == found.level == "noise found"
    assert found.n_suspects == check.n_suspects > 0
    assert 0 < found.n_stay <= found.n_suspects
    assert found.n_new >= 0
    assert found == check_labels(X, y, scorer=None).stability


def test_the_second_scoring_has_other_folds_and_the_same_settings():
    X, y = noisy()
    classifier, found = examined(X, y, rounds=2, noise_estimator="tight")
    other = with_other_folds(classifier, found.rows, found.scored.folds)
    again = other.examine(X, y)
    tests = [
        {tuple(sorted(test)) for _, test in splits}
        for splits in (found.scored.folds.splits, again.scored.folds.splits)
    ]
    assert not tests[0] & tests[1]
    assert (other.cv, other.rounds, other.noise_estimator) == (3, 2, "tight")
    assert other.random_state != classifier.random_state
    assert not np.array_equal(again.scored.scores, found.scored.scores)


def test_suspects_that_stay_and_new_ones_are_counted():
    before = np.array([True, True, True, False, False])
    after = np.array([True, False, True, True, False])
    found = compare_suspects(before, after, "noise found")
    assert found == Stability(n_suspects=3, n_stay=2, n_new=1, level="noise found")


def test_clean_labels_stay_clean():
    X, _ = noisy(900)
    check = check_labels(X, X[:, 0] > 1.5, scorer=None)
    assert check.stability == Stability(0, 0, 0, check.verdict.level)


def test_trusted_rows_are_not_new_suspects():
    X, y = noisy(1200)
    found = check_labels(X, y, scorer=None, trusted=np.arange(1200) >= 300).stability
    assert 0 < found.n_stay + found.n_new < 80
    assert check_labels(X, y, scorer=None).stability.n_suspects > 150


def test_the_committee_is_repeated_as_a_whole(monkeypatch):
    seen = []
    monkeypatch.setattr(
        _stability,
        "RankPruningClassifier",
        lambda **options: seen.append(options) or RankPruningClassifier(**options),
    )
    X, y = noisy(120)
    assert check_labels(X, y).stability is not None
    (options,) = seen
    assert options["scorer"] == "committee"


def test_nothing_is_repeated_if_nothing_was_fitted():
    X, y = noisy()
    assert check_labels(X, y, probabilities=0.1 + 0.8 * y).stability is None


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": LogisticRegression()},
        {"estimator": "sklearn.linear_model:LogisticRegression"},
        {"scorer": LogisticRegression()},
        {"cv": StratifiedKFold(3)},
    ],
    ids=["model", "named", "scorer", "folds"],
)
def test_models_of_unknown_cost_and_given_folds_are_not_repeated(options):
    X, y = noisy(120)
    assert check_labels(X, y, **{"scorer": None, **options}).stability is None


def test_the_cost_is_known_for_the_own_models():
    for estimator in (None, "logistic", "boosting"):
        for scorer in (None, "committee", "with-trees"):
            assert has_known_cost(CheckSettings(estimator=estimator, scorer=scorer))
    assert not has_known_cost(CheckSettings(cv=None))


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "options", "is_repeated"),
    [
        (1500, 66, {}, True),
        (1501, 1, {}, False),
        (1500, 67, {}, False),
        (750, 2, {"rounds": 2}, True),
        (751, 2, {"rounds": 2}, False),
        (450, 2, {"cv": 10}, True),
        (451, 2, {"cv": 10}, False),
    ],
)
def test_only_small_tables_are_scored_again(n_rows, n_columns, options, is_repeated):
    _, y = noisy(n_rows)
    X = np.random.RandomState(0).normal(size=(n_rows, n_columns)) + 4 * y[:, None]
    classifier, found = examined(X, y, **options)
    assert (with_other_folds(classifier, found.rows, found.scored.folds) is not None) == is_repeated


def test_texts_in_a_list_are_not_scored_again():
    _, y = noisy(60)
    check = check_labels(["good day" if label else "bad day" for label in y], y, scorer=None)
    assert check.stability is None


def test_groups_that_can_be_split_in_one_way_only_are_not_scored_again():
    X, y = noisy()
    groups = np.arange(len(y)) % 3
    assert check_labels(X, y, scorer=None, groups=groups).stability is None
    assert check_labels(X, y, scorer=None, groups=np.arange(len(y)) % 30).stability is not None


def test_groups_whose_other_folds_lack_a_label_are_not_scored_again():
    groups = np.array([0, 1, 1, 0, 1, 1, 0, 2])
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    results = set()
    for seed in range(12):
        classifier = RankPruningClassifier(cv=2, random_state=seed)
        try:
            found = classifier.examine(y[:, None] * 1.0, y, groups=groups)
        except ValueError:
            continue
        results.add(with_other_folds(classifier, found.rows, found.scored.folds) is None)
    assert True in results


def test_its_warnings_are_not_added_to_those_of_the_check(monkeypatch):
    X, y = noisy(40, spread=4.0)
    with pytest.warns(UninformativeProbabilitiesWarning):
        repeated = check_labels(np.zeros_like(X), y, scorer=None)
    assert repeated.stability is not None
    monkeypatch.setattr(_stability, "_MAX_ROWS", 0)
    with pytest.warns(UninformativeProbabilitiesWarning):
        once = check_labels(np.zeros_like(X), y, scorer=None)
    assert once.stability is None
    assert repeated.warnings == once.warnings != ()


def test_it_is_saved_and_loaded(tmp_path):
    pytest.importorskip("duckdb")
    X, y = noisy()
    check = check_labels(X, y, scorer=None)
    run = check.save(tmp_path / "run")
    result = json.loads((run / "result.json").read_text())
    assert result["stability"] == {
        "n_suspects": check.n_suspects,
        "n_stay": check.stability.n_stay,
        "n_new": check.stability.n_new,
        "level": "noise found",
    }
    assert LabelCheck.load(run).stability == check.stability
    silent = replace(check, stability=None).save(tmp_path / "silent")
    assert LabelCheck.load(silent).stability is None


def test_a_table_is_scored_again_too():
    pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    X, y = noisy()
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y})
    check = check_table(table, "label", scorer=None)
    assert check.stability.n_suspects == check.n_suspects > 0


def test_rows_of_many_labels_are_scored_again():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 2)) + 6 * np.array([[0, 0], [0, 1], [1, 0]])[truth]
    check = check_labels(X, truth, scorer="with-trees")
    assert check.stability.level == check.verdict.level
    assert check.stability.n_suspects == check.n_suspects
    own = check_labels(X, truth, LogisticRegression(), scorer=None)
    assert own.stability is None
