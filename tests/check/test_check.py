import json
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import rankprune
from noisy_table import NAMES, noisy_csv, noisy_rows, write_csv
from rankprune import (
    LabelCheck,
    RankPruningClassifier,
    check_labels,
    check_table,
    flip_labels,
    rank_suspects,
)
from rankprune.check._before_after import _difference_interval
from rankprune.check._duplicates import count_duplicates
from rankprune.exceptions import TableError, UninformativeProbabilitiesWarning
from rankprune.learners._copies import hash_rows
from rankprune.learners._named_models import find_model
from rankprune.run._scores import reason_for
from rankprune.run._sentences import headline

pytest.importorskip("duckdb")

LEAK = (
    "Columns that almost determine the label by themselves: 'outcome' (AUC 0.998). If they were "
    "filled in after the label, wrong labels look right: leave them out with drop."
)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table in a file with its check by the model alone."""
    path, labels, truth = noisy_csv(tmp_path_factory.mktemp("people"), n=600)
    return path, labels, truth, check_table(path, "label", id="row id", scorer=None)


def test_the_answer_is_near_the_truth(people):
    _, labels, truth, check = people
    is_wrong = labels != truth
    assert check.verdict.level == "noise found"
    assert check.wrong_share == pytest.approx(is_wrong.mean(), abs=0.03)
    assert is_wrong[check.suspect_rows()].mean() > 0.9
    low, high = check.intervals.positive_noise_rate.low, check.intervals.positive_noise_rate.high
    assert low < 0.2 < high
    assert check.positive == "yes"
    total = check.wrong_share_interval
    assert headline(check).startswith(
        f"Between {total.low:.1%} and {total.high:.1%} of your labels are wrong, most likely 1"
    )
    assert total.low < is_wrong.mean() < total.high


def test_it_equals_what_the_classifier_finds(people):
    path, labels, _, check = people
    rows, _, _ = noisy_rows(600)
    x = np.asarray([[float(row[1]), float(row[2])] for row in rows])
    colors = [[float(row[3] == c) for c in ("blue", "green", "red")] for row in rows]
    counted = sorted(("blue", "green", "red"), key=lambda c: (-sum(r[3] == c for r in rows), c))
    order = [("blue", "green", "red").index(c) for c in counted]
    X = np.column_stack([(x - x.mean(0)) / x.std(0), np.asarray(colors)[:, order]])
    model = RankPruningClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(X, labels)
    np.testing.assert_allclose(check.scores.probability, model.probabilities_, atol=1e-6)
    np.testing.assert_array_equal(check.scores.suspect, model.prune_mask_)
    ranked = rank_suspects(labels, model.probabilities_, model.noise_rates_)
    np.testing.assert_array_equal(check.suspect_rows(), ranked.rows)
    kept = ~model.prune_mask_
    expected = np.where(
        labels == 1,
        1 / (1 - model.noise_rates_.positive_noise_rate),
        1 / (1 - model.noise_rates_.negative_noise_rate),
    )
    np.testing.assert_allclose(check.scores.weight, np.where(kept, expected, 0), rtol=1e-6)
    assert path.name == check.source.name


def test_a_run_directory_gives_the_check_back(people, tmp_path):
    check = people[3]
    run = check.save(tmp_path / "run")
    again = LabelCheck.load(run)
    assert again.to_dict() == check.to_dict()
    for name in ("rows", "is_positive", "probability", "suspect", "rank", "weight", "ids"):
        np.testing.assert_array_equal(getattr(again.scores, name), getattr(check.scores, name))
    assert str(again) == str(check)
    result = json.loads((run / "result.json").read_text())
    assert result["positive_noise_rate"] == check.noise_rates.positive_noise_rate
    assert (result["schema"], result["settings"]["random_state"]) == (4, 0)
    assert len(result["source"]["sha256"]) == 64
    assert "numpy" in result["versions"]


def test_the_scores_file_has_one_row_for_each_row_of_the_table(people, tmp_path):
    import duckdb

    check = people[3]
    run = check.save(tmp_path / "run")
    found = duckdb.sql(
        f"SELECT row, id, label, probability, suspect, rank, reason, kept FROM "
        f"'{run / 'scores.parquet'}' WHERE suspect ORDER BY rank"
    ).fetchall()
    expected = list(check.ranked())[: check.n_suspects]
    assert len(found) == check.n_suspects
    ranks = check.scores.rank
    assert sorted(ranks) == list(range(1, check.n_rows + 1))
    for row, one in zip(found, expected, strict=True):
        told = (one.number, one.id, one.label, one.probability, True, one.rank, one.reason, False)
        assert row == told


def test_rows_without_labels_have_no_score(tmp_path):
    import duckdb

    rows, labels, _ = noisy_rows(200)
    rows[3][4] = rows[150][4] = ""
    path = write_csv(tmp_path / "t.csv", rows)
    check = check_table(path, "label", scorer=None, drop_unlabeled=True)
    assert check.n_rows == 198
    assert check.scores.rows[3] == 4
    run = check.save(tmp_path / "run")
    again = LabelCheck.load(run)
    np.testing.assert_array_equal(again.scores.rows, check.scores.rows)
    found = duckdb.sql(f"SELECT row, label, kept FROM '{run / 'scores.parquet'}'").fetchall()
    assert [row[0] for row in found] == list(range(1, 201))
    assert found[3] == (4, None, None)
    kept = [i for i in range(200) if i not in (3, 150)]
    np.testing.assert_array_equal(check.scores.is_positive, labels[kept] == 1)


def test_an_earlier_run_is_replaced_only_with_force(people, tmp_path):
    check = people[3]
    check.save(tmp_path / "run")
    with pytest.raises(TableError, match=r"holds an earlier run.*force=True"):
        check.save(tmp_path / "run")
    check.save(tmp_path / "run", force=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(TableError, match=r"holds files that do not belong"):
        check.save(tmp_path / "other", force=True)
    with pytest.raises(TableError, match=r"is a file"):
        check.save(tmp_path / "other" / "thesis.tex")


def test_a_run_that_was_cut_short_is_noticed(people, tmp_path):
    check = people[3]
    run = check.save(tmp_path / "run")
    (run / "scores.parquet").write_bytes(b"other")
    with pytest.raises(TableError, match=r"does not belong to.*cut short.*force=True"):
        LabelCheck.load(run)
    (run / "scores.parquet").unlink()
    with pytest.raises(TableError, match=r"does not belong to"):
        LabelCheck.load(run)
    result = json.loads((run / "result.json").read_text())
    (run / "result.json").write_text(json.dumps({**result, "schema": 99}))
    with pytest.raises(
        TableError, match=r"another version of rankprune \(schema 99; this version reads 4\)"
    ):
        LabelCheck.load(run)
    for missing in ("settings", "files", "sha256", "verdict"):
        part = {name: value for name, value in result.items() if name != missing}
        (run / "result.json").write_text(json.dumps(part))
        with pytest.raises(TableError, match=r"result\.json was changed after it was written"):
            LabelCheck.load(run)
    (run / "result.json").write_text("no json")
    with pytest.raises(TableError, match=r"is not a rankprune result"):
        LabelCheck.load(run)
    (run / "result.json").unlink()
    with pytest.raises(TableError, match=r"has no result\.json"):
        LabelCheck.load(run)
    check.save(run)


def test_the_same_seed_gives_the_same_files(people, tmp_path):
    path, _, _, check = people
    again = check_table(path, "label", id="row id", scorer=None)
    first, second = check.save(tmp_path / "a"), again.save(tmp_path / "b")
    for name in ("result.json", "scores.parquet"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_the_committee_is_the_default_and_gives_its_verdict(tmp_path):
    path, _, truth = noisy_csv(tmp_path, n=200)
    check = check_table(path, "label")
    assert check.settings.scorer == "committee"
    assert check.verdict.n_opinions == 3
    clean = write_csv(
        tmp_path / "clean.csv",
        [
            [*row[:4], "yes" if t else "no"]
            for row, t in zip(noisy_rows(200)[0], truth, strict=True)
        ],
    )
    check = check_table(clean, "label")
    assert (check.verdict.level, check.n_suspects, check.wrong_share) == ("clean", 0, 0.0)
    assert "look clean" in str(check)


def test_groups_ids_and_special_columns_are_not_features(tmp_path):
    rows, _, _ = noisy_rows(200)
    rows = [[*row, f"g{i // 4}", "0.5"] for i, row in enumerate(rows)]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "group", "p"])
    check = check_table(
        path, "label", id="row id", groups="group", drop=["p", "color"], scorer=None
    )
    assert check.n_groups == 50
    assert check.subgroups == ()
    with pytest.raises(TableError, match=r"groups must be a column"):
        check_table(path, "label", groups="groop")


def test_probabilities_of_the_table_need_no_fit(people, tmp_path):
    check = people[3]
    rows, _, _ = noisy_rows(600)
    rows = [[*row, repr(float(p))] for row, p in zip(rows, check.scores.probability, strict=True)]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "p"])
    given = check_table(path, "label", probabilities="p")
    np.testing.assert_array_equal(given.scores.suspect, check.scores.suspect)
    assert (given.out_of_fold, given.duplicates) == (False, None)
    with pytest.raises(TableError, match=r"rounds must be 1 with probabilities, got 2"):
        check_table(path, "label", probabilities="p", rounds=2)
    noted = check_table(path, "label", probabilities="p", drop=["height"]).notes
    assert noted[-1] == "Nothing was fitted, so drop had no effect."
    with pytest.raises(TableError, match=r"text must be a column"):
        check_table(path, "label", probabilities="p", text=["zzz"])
    assert given.suspects[0].reason.endswith("%")
    assert "the given probability of this label is" in given.suspects[0].reason


def test_subgroups_that_are_labeled_worse_stand_out(tmp_path):
    rows, _, _ = noisy_rows(800, noise=(0.0, 0.0))
    rng = np.random.RandomState(1)
    for row in rows:
        if row[3] == "red" and rng.rand() < 0.4:
            row[4] = "no" if row[4] == "yes" else "yes"
    check = check_table(write_csv(tmp_path / "t.csv", rows), "label", scorer=None)
    found = {part.value: part for part in check.subgroups}
    assert set(found) == {"red", "green", "blue"}
    assert found["red"].stands_out
    assert found["red"].n_suspects > 5 * found["blue"].n_suspects
    assert sum(part.n_rows for part in check.subgroups) == 800


def test_a_column_that_almost_determines_the_label_causes_a_warning(tmp_path):
    rows, labels, _ = noisy_rows(400)
    leak = labels.astype(float)
    leak[0] = 1 - leak[0]
    rows = [[*row, repr(float(value))] for row, value in zip(rows, leak, strict=True)]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "outcome"])
    check = check_table(path, "label", scorer=None)
    assert check.warnings == (LEAK,)
    words = check_table(path, "label", scorer=None, text=["color"])
    assert words.warnings == (LEAK,)
    assert check_table(path, "label", scorer=None, drop=["outcome"]).warnings == ()


def test_few_rows_do_not_stand_out(tmp_path):
    rows, labels, truth = noisy_rows(400, noise=(0.1, 0.1))
    wrong = np.flatnonzero(labels != truth)[:2]
    for i, row in enumerate(rows):
        row[3] = "rare" if i in wrong else "usual"
    check = check_table(write_csv(tmp_path / "t.csv", rows), "label", scorer=None)
    found = {part.value: part for part in check.subgroups}
    assert found["rare"].n_rows == 2
    assert not found["rare"].stands_out


def test_redacted_cells_are_stored_only_in_the_scores(tmp_path):
    rows, _, _ = noisy_rows(300)
    path = write_csv(tmp_path / "t.csv", [[f"secret-{row[0]}", *row[1:]] for row in rows])
    check = check_table(path, "label", id="row id", redact=["row id", "color"], scorer=None)
    text = (check.save(tmp_path / "run") / "result.json").read_text()
    assert "secret-" not in text
    assert '"red"' not in text
    assert check.columns == ("height", "weight")
    assert check.subgroups == ()
    with pytest.raises(TableError, match=r"redact must be a column"):
        check_table(path, "label", redact=["zzz"])


def test_the_plot_shows_the_ranking_that_the_cut_offs_belong_to(people):
    check = check_table(people[0], "label", scorer=None, rounds=3)
    counted = np.histogram(check.scores.probability[check.scores.is_positive], 64, (0, 1))[0]
    # A score within a bin of the sketch of 1/2 may count on either side of it.
    outer = np.r_[0:31, 33:64]
    np.testing.assert_array_equal(check.histogram.positive[outer], counted[outer])
    assert check.histogram.positive.sum() == counted.sum()


@pytest.mark.parametrize(
    ("worse", "better", "rows"), [(0, 0, 13), (0, 0, 1), (3, 9, 100), (40, 0, 40)]
)
def test_the_interval_of_a_difference_is_never_a_point(worse, better, rows):
    low, high = _difference_interval(worse, better, rows)
    assert -1 <= low < (worse - better) / rows or low == -1
    assert high > (worse - better) / rows or high == 1
    assert high - low > 0.05
    assert _difference_interval(better, worse, rows) == pytest.approx((-high, -low))


def test_before_and_after_is_judged_on_trusted_rows_alone(tmp_path):
    rows, labels, truth = noisy_rows(600, noise=(0.4, 0.0))
    trusted = np.arange(600) % 5 == 0
    names = ["no", "yes"]
    rows = [
        [*row[:4], names[t if k else s], str(int(k))]
        for row, t, s, k in zip(rows, truth, labels, trusted, strict=True)
    ]
    path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "settled"])
    check = check_table(path, "label", trusted="settled", scorer=None)
    found = check.before_after
    assert found.n_rows == 120
    assert found.after <= found.before
    assert found.low <= found.after - found.before <= found.high
    assert not check.scores.suspect[trusted].any()
    assert (check.scores.weight[trusted] == 1).all()
    assert check_table(path, "label", drop=["settled"], scorer=None).before_after is None


def test_duplicates_are_counted_by_fold_and_label():
    X = np.asarray([[1.0], [1.0], [2.0], [3.0], [3.0], [-0.0], [0.0]])
    labels = np.asarray([True, False, True, True, True, False, False])
    parts = np.asarray([0, 2, 3, 4]), np.asarray([1, 5, 6])
    splits = [parts[::-1], parts]
    found = count_duplicates(hash_rows(X), labels, splits)
    assert (found.n_rows, found.n_straddling, found.n_contradicting) == (6, 2, 2)


def test_arrays_are_checked_too(tmp_path):
    X, truth = make_classification(500, class_sep=3, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    names = np.asarray(["ham", "spam"])[y]
    check = check_labels(X, names, scorer=None, pos_label="ham")
    assert (check.positive, check.negative) == ("ham", "spam")
    assert check.noise_rates.negative_noise_rate == pytest.approx(0.2, abs=0.06)
    assert check.suspects[0].cells == ()
    given = check_labels(None, names, probabilities=check.scores.probability, pos_label="ham")
    np.testing.assert_array_equal(given.scores.suspect, check.scores.suspect)
    assert str(LabelCheck.load(check.save(tmp_path / "run"))) == str(check)
    with pytest.raises(ValueError, match=r"X must hold the features, got None"):
        check_labels(None, y)
    with pytest.raises(ValueError, match=r"probabilities and rounds=1"):
        check_labels(None, y, probabilities=check.scores.probability, rounds=2)


def test_frames_are_checked_like_files(people):
    pd = pytest.importorskip("pandas")
    rows, _, _ = noisy_rows(600)
    frame = pd.DataFrame(rows, columns=NAMES, index=np.arange(600)[::-1])
    check = check_table(frame, "label", id="row id", scorer=None)
    np.testing.assert_array_equal(check.scores.suspect, people[3].scores.suspect)
    assert (check.source.name, check.source.path) == ("data frame", None)


def test_column_names_of_frames_may_be_numbers():
    pd = pytest.importorskip("pandas")
    rows, labels, _ = noisy_rows(300)
    frame = pd.DataFrame({0: [float(row[1]) for row in rows], 1: labels == 1})
    check = check_table(frame, 1, pos_label=True, scorer=None)
    assert (check.positive, check.columns) == ("true", ("0",))
    assert check.verdict.auc < 0.95  # the label is no feature
    assert check.notes == ()


def test_cannot_tell_is_reported_with_a_warning(tmp_path):
    rng = np.random.RandomState(0)
    rows = [[repr(float(v)), str(rng.randint(2))] for v in rng.rand(200)]
    path = write_csv(tmp_path / "t.csv", rows, ["a", "y"])
    with pytest.warns(UninformativeProbabilitiesWarning):
        check = check_table(path, "y", scorer=None)
    assert (check.verdict.level, check.n_suspects) == ("cannot tell", 0)
    assert any("do not tell the labels apart" in warning for warning in check.warnings)
    assert "does not show whether labels are wrong" in headline(check)


def test_a_table_without_features_is_refused(tmp_path):
    path = write_csv(tmp_path / "t.csv", [["x", str(i % 2)] for i in range(50)], ["a", "y"])
    with pytest.raises(TableError, match=r"must have columns to learn from.*same value"):
        check_table(path, "y")


def test_embeddings_are_features_beside_the_columns(tmp_path):
    rows, _, _ = noisy_rows(300)
    path = write_csv(tmp_path / "t.csv", [[row[0], row[4]] for row in rows], ["id", "label"])
    vectors = np.asarray([[float(row[1]), float(row[2])] for row in rows])
    np.save(tmp_path / "v.npy", vectors)
    check = check_table(path, "label", id="id", embeddings=tmp_path / "v.npy", scorer=None)
    assert check.verdict.auc > 0.7
    assert check.settings.embeddings == str(tmp_path / "v.npy")


def test_rounds_and_estimators_are_passed_on(people):
    path = people[0]
    check = check_table(path, "label", scorer=None, rounds=2, noise_estimator="tight", cv=4)
    assert (check.settings.rounds, check.settings.cv) == (2, 4)
    assert check.noise_rates.positive_noise_rate == pytest.approx(0.2, abs=0.08)


def test_models_by_name():
    assert isinstance(find_model("logistic"), LogisticRegression)
    assert find_model("boosting").__class__.__name__ == "Boosting"
    found = find_model("sklearn.linear_model:LogisticRegression")
    assert isinstance(found, LogisticRegression)
    model = LogisticRegression()
    assert find_model(model) is model
    for name, message in (
        ("forest", r"logistic, boosting or MODULE:OBJECT, got 'forest'"),
        ("no_such_module:x", r"cannot: No module named"),
        ("sklearn.linear_model:Nope", r"cannot: module"),
        ("os:getcwd", r"must be a classifier, got str"),
    ):
        with pytest.raises(ValueError, match=message):
            find_model(name)


def test_the_reason_names_the_source_of_the_probability():
    assert reason_for("a", 0.0123, True).endswith("give this label a probability of 1.2%")


def test_no_global_state_is_changed(people):
    before = np.random.get_state()[1].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rankprune.check_table(people[0], "label", scorer=None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
