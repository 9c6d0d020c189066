"""Checks of more than two labels, of arrays and of tables."""

import json

import numpy as np
import pytest

from noisy_table import write_csv
from pet_table import COLUMNS, PETS, pet_csv, pet_rows
from rankprune import ClassCheck, LabelCheck, NoiseMatrix, check_labels, check_table, load_check
from rankprune.exceptions import TableError, UninformativeProbabilitiesWarning
from rankprune.run._sentences import headline
from resealed import reseal

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """A table in a file with its check by the model alone."""
    path, labels, truth = pet_csv(tmp_path_factory.mktemp("pets"))
    return path, labels, truth, check_table(path, "kind", id="row id", scorer=None)


@pytest.fixture(scope="module")
def scored():
    """Labels of three kinds and probabilities of the given labels, noise that was found."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 1500)
    transition = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    labels = np.array([rng.choice(3, p=transition[:, true]) for true in truth])
    scores = 0.05 * rng.dirichlet(np.ones(3), 1500) + 0.95 * transition.T[truth]
    return labels, truth, scores


def test_the_answer_is_near_the_truth(pets):
    _, labels, truth, check = pets
    wrong = labels != truth
    assert isinstance(check, ClassCheck)
    assert check.classes == PETS
    assert check.n_rows == len(labels) == check.n_doubted
    assert check.estimated_matrix.wrong_share == pytest.approx(wrong.mean(), abs=0.04)
    total = check.wrong_share_interval
    assert total.low <= wrong.mean() <= total.high
    found = np.flatnonzero(wrong)
    first = check.candidate_rows()[: len(found)]
    assert np.isin(first, found).mean() > 0.85


def test_candidates_have_the_label_they_should_have(pets):
    _, labels, truth, check = pets
    rows = [one for one in check.candidates if (labels != truth)[one.row]][:80]
    right = [one.suggested == PETS[truth[one.row]] for one in rows]
    assert np.mean(right) > 0.95
    first = check.candidates[0]
    assert first.label == PETS[labels[first.row]]
    assert first.id == f"r{first.row:04d}"
    assert f"labeled {first.label}; models that did not see the row" in first.reason
    assert first.reason.endswith(f"and {first.suggested} {100 * first.suggested_probability:.1f}%")
    assert dict(zip(check.columns, first.cells, strict=True))["row id"] == first.id


def test_suspects_are_the_rows_that_are_pruned(scored):
    labels, truth, scores = scored
    check = check_labels(None, labels, probabilities=scores)
    assert check.verdict.level == "noise found"
    rates = check.noise_matrix.error_rates
    assert check.tally.n_labels == tuple(np.bincount(labels).tolist())
    assert check.tally.n_suspects_by_label == tuple(
        round(rate * n) for rate, n in zip(rates, check.tally.n_labels, strict=True)
    )
    suspects = check.suspect_rows()
    assert len(suspects) == check.n_suspects > 500
    assert (labels != truth)[suspects].mean() > 0.9
    kept = ~check.scores.suspect
    expected = 1 / (1 - check.noise_matrix.noise_rates)
    assert check.scores.weight[kept] == pytest.approx(expected[labels[kept]])
    assert (check.scores.weight[~kept] == 0).all()


def test_stretches_count_wrong_labels(scored):
    labels, truth, scores = scored
    check = check_labels(None, labels, probabilities=scores)
    wrong = (labels != truth)[check.candidate_rows()]
    assert check.stretches[-1].last == check.n_candidates
    for one in check.stretches[:5]:
        assert one.expected_wrong == pytest.approx(wrong[one.first - 1 : one.last].sum(), rel=0.25)


def test_headline_names_the_most_frequent_error(scored):
    labels, _, scores = scored
    check = check_labels(None, np.array(["cat", "dog", "owl"])[labels], probabilities=scores)
    most = check.confusions()[0]
    assert headline(check).startswith("Between ")
    assert headline(check).endswith(f"most often “{most.given}” should be “{most.true}”.")
    lines = str(check).splitlines()
    assert f"  “{most.given}” should be “{most.true}”: {most.share:.1%} of all labels" in lines
    assert sum(line.startswith("  labels “") for line in lines) == 3


def test_clean_labels_have_no_noise_and_no_suspects():
    labels = np.repeat(["a", "b", "c"], 2000)
    scores = 0.02 / 3 + 0.98 * np.repeat(np.eye(3), 2000, axis=0)
    check = check_labels(None, labels, probabilities=scores)
    assert check.estimated_matrix.wrong_share == 0
    assert check.n_suspects == 0
    assert check.confusions() == []
    assert any("proves nothing" in note for note in check.notes)


@pytest.mark.parametrize("values", [[3, 1, 2], ["x", "y", "z"], [2.0, 0.0, 1.0]])
def test_any_label_values(values):
    labels = np.repeat(np.array(values), 60)
    scores = np.repeat(np.eye(3)[np.argsort(np.argsort(values))], 60, axis=0)
    check = check_labels(None, labels, probabilities=0.1 / 3 + 0.9 * scores)
    assert check.classes == tuple(str(value) for value in sorted(values))
    assert check.agreement == 1


def test_two_labels_stay_a_label_check():
    labels = np.repeat([0, 1], 100)
    assert isinstance(check_labels(None, labels, probabilities=0.1 + 0.8 * labels), LabelCheck)


def test_trusted_rows_are_never_suspects(scored):
    labels, truth, scores = scored
    trusted = np.arange(len(labels)) % 5 == 0
    labels = np.where(trusted, truth, labels)
    check = check_labels(None, labels, probabilities=scores, trusted=trusted)
    assert check.n_doubted == (~trusted).sum()
    assert not check.scores.suspect[trusted].any()
    assert check.scores.rank[trusted].min() > check.n_doubted
    assert (check.scores.weight[trusted] == 1).all()
    assert (check.scores.chance[trusted] == 0).all()


def test_trusted_rows_compare_models(tmp_path):
    rows, _, truth = pet_rows(noise=0.3)
    rows = [
        [*row[:4], PETS[truth[i]] if i % 3 == 0 else row[4], str(int(i % 3 == 0))]
        for i, row in enumerate(rows)
    ]
    path = write_csv(tmp_path / "t.csv", rows, [*COLUMNS, "sure"])
    check = check_table(path, "kind", trusted="sure", id="row id")
    assert check.before_after.n_rows == 200
    assert 0 <= check.before_after.after <= 0.2


def test_scores_that_say_nothing(tmp_path):
    labels = np.repeat([0, 1, 2], 100)
    with pytest.warns(UninformativeProbabilitiesWarning):
        check = check_labels(None, labels, probabilities=np.full((300, 3), 1 / 3))
    assert check.verdict.level == "cannot tell"
    assert not check.says_something
    assert headline(check).startswith("This data does not show")
    assert check.n_suspects == 0


def test_a_run_directory_gives_the_check_back(pets, tmp_path):
    *_, check = pets
    place = check.save(tmp_path / "run")
    again = load_check(place)
    assert isinstance(again, ClassCheck)
    assert str(again) == str(check)
    assert again.folder == place.resolve()
    assert again.noise_matrix == check.noise_matrix
    assert list(again.ranked()) == list(check.ranked())
    for name in ("label", "suggested", "probability", "chance", "suspect", "rank", "weight", "ids"):
        assert getattr(again.scores, name).tolist() == getattr(check.scores, name).tolist()
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy/scores.parquet").read_bytes() == (
        place / "scores.parquet"
    ).read_bytes()
    with pytest.raises(TableError, match=r"Load it with rankprune\.load_check"):
        LabelCheck.load(place)


def test_result_has_the_answer_where_scripts_expect_it(pets, tmp_path):
    *_, check = pets
    result = json.loads((check.save(tmp_path / "run") / "result.json").read_text())
    assert result["schema"] == 4
    assert result["classes"] == list(PETS)
    assert result["wrong_share"] == check.wrong_share
    assert result["wrong_share_high"] == check.wrong_share_interval.high
    assert result["error_rates"] == {
        name: rate.estimate for name, rate in check.error_rates.items()
    }
    assert NoiseMatrix.from_dict(result["noise_matrix"]) == check.noise_matrix


@pytest.mark.parametrize(
    "change",
    [
        {"n_suspects": 3, "tally": {"n_labels": [1, 2, 3], "n_suspects_by_label": [0, 0, 9]}},
        {"classes": ["cat", "dog"]},
        {"classes": ["cat", "dog", "owl", "cow"]},
        {"n_doubted": 10**6},
        {"noise_matrix": {"joint": [[1.0]], "classes": ["x"]}},
        {"estimated_matrix": None},
        {"tally": {"n_labels": [600], "n_suspects_by_label": [0]}},
    ],
)
def test_records_that_contradict_themselves_are_refused(pets, tmp_path, change):
    *_, check = pets
    place = check.save(tmp_path / "run")
    reseal(place, **change)
    with pytest.raises(TableError, match="is incomplete"):
        load_check(place)


def test_labels_with_few_rows_are_named(tmp_path):
    rows, *_ = pet_rows(n=200)
    rows += [["r9", "1", "2", "red", "Cat"], ["r10", "1", "2", "red", "Cat"]]
    path = write_csv(tmp_path / "t.csv", rows, COLUMNS)
    with pytest.raises(TableError, match=r"fewer have 'Cat' \(2\). Correct misspelled labels"):
        check_table(path, "kind")
    check = check_table(path, "kind", scorer=None, rare="keep")
    assert check.classes[0] == "Cat"
    assert not check.scores.suspect[-2:].any()
    assert check.n_doubted == 200
    assert "--rare keep" in str(check.settings)


def test_given_probabilities_have_a_column_per_label(tmp_path):
    rows, labels, _ = pet_rows(n=400)
    scores = 0.1 / 4 + 0.9 * np.eye(4)[labels]
    rows = [[*row, *map(repr, part.tolist())] for row, part in zip(rows, scores, strict=True)]
    names = [*COLUMNS, *(f"p({name})" for name in PETS)]
    path = write_csv(tmp_path / "t.csv", rows, names)
    check = check_table(path, "kind", probabilities="p(*)")
    assert not check.out_of_fold
    assert check.scores.probability == pytest.approx(np.full(400, 0.925))
    assert "the given probability of this label is" in next(check.ranked()).reason
    with pytest.raises(TableError, match=r"with a star for the label.*; got 'p\(cat\)'"):
        check_table(path, "kind", probabilities="p(cat)")
    rows[7][5] = "0.5"
    path = write_csv(tmp_path / "t.csv", rows, names)
    with pytest.raises(TableError, match="must sum to 1 in every row; those of row 8 sum to"):
        check_table(path, "kind", probabilities="p(*)")


def test_what_is_for_two_labels_is_refused(scored):
    labels, _, scores = scored
    with pytest.raises(ValueError, match=r"noise_estimator must be one of .* for more than two"):
        check_labels(None, labels, probabilities=scores, noise_estimator="tight")
    with pytest.raises(ValueError, match="pos_label"):
        check_labels(None, labels, probabilities=scores, pos_label=1)


def test_copies_with_other_labels_are_counted():
    X = np.repeat(np.arange(100.0), 3)[:, None]
    labels = np.repeat([0, 1, 2], 100)
    check = check_labels(X, labels, scorer=None)
    # The copies of two of the values have both labels.
    assert (check.duplicates.n_rows, check.duplicates.n_contradicting) == (300, 6)


def test_command_that_repeats_the_check(pets):
    path, *_, check = pets
    assert str(check.settings) == (
        f"rankprune check {path} --label kind --id 'row id' --model logistic --scorer model "
        "--noise-estimator learned --rounds 1 --folds 3 --seed 0"
    )
