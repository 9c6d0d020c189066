"""Models of more than two labels: trained, stored, and used; and exports of their runs."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from noisy_table import write_csv
from pet_table import COLUMNS, PETS, pet_csv, pet_rows
from rankprune import RankPruningClassifier, check_table
from rankprune.exceptions import TableError
from rankprune.export import export_reviewed, export_table
from rankprune.model import (
    _train,
    load_model,
    predict_table,
    train_model,
    train_plain,
    train_reviewed,
)
from rankprune.run._judged_classes import JudgedClasses
from rankprune.run._judged_labels import matrix_of_rest
from rankprune.table import open_table

pytest.importorskip("duckdb")
pytest.importorskip("skops")

N = 400
# What labels may hold, and files must survive.
HOSTILE = ('say "x", y', "two\nlines", "=1+cmd|' /C calc'!A0", "back\rslash\\", "-", "ÄÖ ' 𝛑")
NONE = np.zeros(0, dtype=np.intp)


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """A table with its check, rows without labels for predictions, and the truth."""
    folder = tmp_path_factory.mktemp("pets")
    path, labels, truth = pet_csv(folder, n=N, apart=4.0)
    rows, _, new_truth = pet_rows(n=300, seed=9, apart=4.0)
    new = write_csv(folder / "new.csv", [row[:4] for row in rows], COLUMNS[:4])
    check = check_table(path, "kind", id="row id", scorer=None)
    assert check.n_suspects > 30
    return path, check, new, (labels, truth, new_truth)


def undecided(check):
    none = np.zeros(N, dtype=bool)
    return replace(
        check,
        verdict=replace(check.verdict, level="cannot tell"),
        scores=replace(check.scores, suspect=none, weight=np.ones(N)),
    )


def judged(check, rows, codes):
    wrong = int((check.given_codes[rows] != codes).sum())
    answers = tuple(map(int, codes))
    found = JudgedClasses(tuple(map(int, rows)), answers, "model", False, wrong)
    return replace(check, judged=found)


class TestTraining:
    def test_a_model_is_better_than_one_of_the_labels_as_they_are(self, pets):
        path, check, new, (*_, truth) = pets
        model = train_model(check, estimator="boosting")
        robust = predict_table(model, new)
        plain = predict_table(train_plain(path, "kind", estimator="boosting"), new)
        assert robust.shape == (300, 4)
        assert (robust.argmax(axis=1) == truth).mean() > (plain.argmax(axis=1) == truth).mean()
        assert (model.n_rows, model.n_pruned) == (N, check.n_suspects)
        np.testing.assert_allclose(robust.sum(axis=1), 1)

    def test_it_is_the_fit_of_the_kept_rows_with_correction_weights(self, pets, monkeypatch):
        _, check, _, (labels, *_) = pets
        fits = []
        real = _train.fit_weighted

        def fit(estimator, X, y, weight):
            fits.append((y, weight))
            return real(estimator, X, y, weight)

        monkeypatch.setattr(_train, "fit_weighted", fit)
        train_model(check)
        ((y, weight),) = fits
        kept = np.flatnonzero(~check.scores.suspect)
        assert y.tolist() == labels[kept].tolist()
        expected = 1 / (1 - check.noise_matrix.noise_rates)
        np.testing.assert_allclose(weight, expected[labels[kept]])

    def test_it_can_prune_whatever_the_verdict(self, pets):
        _, check, *_ = pets
        open_ = undecided(check)
        assert train_model(open_).n_pruned == 0
        model = train_model(open_, prune=True)
        assert model.n_pruned == check.n_suspects
        assert model.noise_rates["error_rates"] == check.estimated_matrix.error_rates.tolist()

    def test_judged_rows_have_their_right_label(self, pets, monkeypatch):
        _, check, _, (_, truth, _) = pets
        targets = []
        real = _train._targets
        monkeypatch.setattr(
            _train, "_targets", lambda y, names: targets.append(y.copy()) or real(y, names)
        )
        rows = np.arange(30)
        found = train_model(judged(undecided(check), rows, truth[rows]), prune=True)
        ((y),) = targets
        assert y[:30].tolist() == truth[:30].tolist()
        assert found.n_pruned < check.n_suspects

    def test_a_label_that_nobody_gives_in_the_end_has_probability_0(self, pets, tmp_path):
        _, check, new, _ = pets
        owls = np.flatnonzero(check.given_codes == 3)
        model = train_model(judged(undecided(check), owls, np.zeros(len(owls), dtype=int)))
        loaded = load_model(model.save(tmp_path / "m.skops"))
        found = predict_table(loaded, new)
        assert (found[:, 3] == 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


class TestReviewedTraining:
    @pytest.fixture
    def fits(self, monkeypatch):
        """Return the classifiers that are fitted, with what they are fitted to."""
        found = []

        class Remembering(RankPruningClassifier):
            def fit(self, X, y, **how):
                found.append((self, y.copy(), how))
                return super().fit(X, y, **how)

        monkeypatch.setattr(_train, "RankPruningClassifier", Remembering)
        return found

    def test_settled_labels_are_trusted_and_the_rest_has_what_the_check_found(self, pets, fits):
        _, check, _, (_, truth, _) = pets
        rows = check.suspect_rows()[:20]
        found = train_reviewed(check, rows, truth[rows])
        ((model, y, how),) = fits
        assert y[rows].tolist() == truth[rows].tolist()
        assert np.flatnonzero(how["trusted"]).tolist() == sorted(rows.tolist())
        rest = matrix_of_rest(check.noise_matrix, check.given_codes, rows, truth[rows])
        np.testing.assert_array_equal(model.noise_matrix.joint, rest.joint)
        assert found.n_trusted == 20
        n_wrong = (truth[rows] != check.given_codes[rows]).sum()
        assert found.n_pruned == pytest.approx(check.n_suspects - n_wrong, abs=3)
        assert found.model.classes == PETS
        assert found.model.noise_rates["wrong_share"] == pytest.approx(rest.wrong_share)

    def test_nothing_is_pruned_where_no_noise_was_found(self, pets, fits):
        _, check, *_ = pets
        assert train_reviewed(undecided(check), NONE, NONE).n_pruned == 0
        pruned = train_reviewed(undecided(check), NONE, NONE, prune=True)
        assert pruned.n_pruned == pytest.approx(check.n_suspects, abs=3)
        assert fits[0][0].noise_matrix.wrong_share == 0

    @pytest.mark.parametrize("n_moved", [1, 2])
    def test_reviewers_may_move_every_row_of_a_label(self, pets, n_moved, tmp_path):
        _, check, new, _ = pets
        rows = np.flatnonzero(check.given_codes >= 4 - n_moved)
        found = train_reviewed(check, rows, np.zeros(len(rows), dtype=int))
        scores = predict_table(load_model(found.model.save(tmp_path / "m.skops")), new)
        assert (scores[:, 4 - n_moved :] == 0).all()
        np.testing.assert_allclose(scores.sum(axis=1), 1)
        assert found.n_pruned > 0

    @pytest.mark.parametrize("n_moved", [0, 1, 2])
    def test_given_probabilities_are_used(self, pets, tmp_path, n_moved, fits):
        path, check, *_ = pets
        model = train_model(check)
        predict_table(model, path, tmp_path / "scored.csv")
        scored = check_table(
            tmp_path / "scored.csv",
            "kind",
            probabilities="rankprune_p_*",
            drop=["rankprune_label"],
        )
        rows = np.flatnonzero(scored.given_codes >= 4 - n_moved)
        found = train_reviewed(scored, rows, np.zeros(len(rows), dtype=int), prune=True)
        assert found.n_pruned > 0
        (_, _, how) = fits[-1]
        assert how["probabilities"].shape == ((N,) if n_moved == 2 else (N, 4 - n_moved))
        # Probabilities are no features.
        assert found.model.encoder.numbers == model.encoder.numbers

    def test_an_estimator_of_ones_own_is_named(self, pets):
        _, check, *_ = pets
        for name in ("curve", "mine:estimate"):
            other = replace(check, settings=replace(check.settings, noise_estimator=name))
            with pytest.raises(TableError, match=f"your own noise_estimator, {name}"):
                train_reviewed(other, NONE, NONE)


class TestModelFiles:
    @pytest.mark.parametrize("estimator", ["logistic", "boosting"])
    def test_a_saved_model_predicts_the_same(self, pets, tmp_path, estimator):
        _, check, new, _ = pets
        trained = train_model(check, estimator=estimator)
        loaded = load_model(trained.save(tmp_path / "m.skops"))
        np.testing.assert_array_equal(predict_table(loaded, new), predict_table(trained, new))
        assert loaded.classes == trained.classes == PETS
        assert loaded.noise_rates == trained.noise_rates
        assert loaded.noise_rates["noise_rates"] == check.noise_matrix.noise_rates.tolist()

    def test_files_of_two_labels_are_what_they_were(self, pets, tmp_path):
        import skops.io

        path, *_ = pets
        rows, *_ = pet_rows(n=200)
        two = [row for row in rows if row[4] in PETS[:2]]
        model = train_plain(write_csv(tmp_path / "t.csv", two, COLUMNS), "kind")
        model.save(tmp_path / "two.skops")
        train_plain(path, "kind").save(tmp_path / "many.skops")
        content = skops.io.load(tmp_path / "two.skops")
        assert list(content) == [
            "schema",
            "numbers",
            "categories",
            "words",
            "n_embedded",
            "classifier",
            "label",
            "positive",
            "negative",
            "noise_rates",
        ]
        assert (content["schema"], content["negative"], content["positive"]) == (1, "cat", "dog")
        # Versions that know two labels alone read no other number.
        assert skops.io.load(tmp_path / "many.skops")["schema"] == 2

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("classes", ["cat", "dog", "it's", "dog"]),
            ("classes", ["cat", "dog", "it's", 4]),
            ("classes", ["cat", "dog"]),
            ("classes", ["cat", "dog", "it's"]),
            ("classes", None),
            ("label", 3),
            ("schema", 1),
            ("schema", 3),
            ("classifier", "none"),
        ],
    )
    def test_tampered_files_are_refused(self, pets, tmp_path, field, value):
        import skops.io

        path, *_ = pets
        place = train_plain(path, "kind").save(tmp_path / "m.skops")
        content = skops.io.load(place)
        skops.io.dump({**content, field: value}, place)
        with pytest.raises(TableError, match=r"Train (it|the model) again"):
            load_model(place)

    @pytest.mark.parametrize("known", [[0, 1, 2, 2], [0, 1, 2, 4], [-1, 0, 1, 2], [0.5, 1, 2, 3]])
    def test_classifiers_of_other_labels_are_refused(self, pets, tmp_path, known):
        model = train_plain(pets[0], "kind")
        model.classifier.classes_ = np.array(known)
        with pytest.raises(TableError, match="is not a rankprune model, or it is damaged"):
            load_model(model.save(tmp_path / "m.skops"))

    def test_a_classifier_with_too_few_columns_is_damaged(self, pets, tmp_path):
        path, _, new, _ = pets
        model = train_plain(path, "kind")
        model.classifier.classes_ = np.array([0, 1, 2])
        loaded = load_model(model.save(tmp_path / "m.skops"))
        with pytest.raises(TableError, match="The model cannot score these rows"):
            predict_table(loaded, new)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose labels are hard to write, its check and its model."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    truth = rng.integers(0, len(HOSTILE), 360)
    labels = np.where(rng.random(360) < 0.8, truth, (truth + 1) % len(HOSTILE))
    rows = [
        [repr(float(x)), repr(float(y)), HOSTILE[label]]
        for x, y, label in zip(
            np.cos(truth) * 6 + rng.normal(size=360),
            np.sin(truth) * 6 + rng.normal(size=360),
            labels,
            strict=True,
        )
    ]
    path = write_csv(folder / "t.csv", rows, ["x", "y", "kind"])
    check = check_table(path, "kind", scorer=None, pos_label=None)
    assert check.n_suspects > 20
    return path, check, train_model(check)


def columns_of(path):
    with open_table(path) as table:
        cells = table.cells(np.arange(table.n_rows), list(range(len(table.names))))
        return table.names, list(zip(*cells, strict=True))


class TestFiles:
    @pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
    def test_predictions_of_hostile_labels_can_be_read_again(self, hostile, tmp_path, kind):
        path, check, model = hostile
        place = tmp_path / f"out.{kind}"
        found = predict_table(model, path, place)
        names, cells = columns_of(place)
        assert names[3] == "rankprune_label"
        assert list(names[4:]) == [f"rankprune_p_{name}" for name in check.classes]
        assert cells[3] == tuple(np.asarray(check.classes)[found.argmax(axis=1)])
        again = np.array(cells[4:], dtype=float).T
        np.testing.assert_allclose(again, found, rtol=1e-12)
        scored = check_table(place, "kind", probabilities="rankprune_p_*", drop=["rankprune_label"])
        assert scored.classes == check.classes

    def test_formulas_are_made_safe_on_demand(self, hostile, tmp_path):
        path, check, model = hostile
        predict_table(model, path, tmp_path / "p.csv", spreadsheet_safe=True)
        export_table(check, tmp_path / "e.csv", spreadsheet_safe=True)
        for name in ("p.csv", "e.csv"):
            with (tmp_path / name).open(newline="") as file:
                cells = {cell for row in csv.reader(file) for cell in row}
            assert "'" + HOSTILE[2] in cells
            assert HOSTILE[2] not in cells

    def test_labels_that_differ_by_case_have_a_column_each(self, pets, tmp_path):
        rows, *_ = pet_rows(n=200)
        rows = [[*row[:4], {"dog": "Cat", "it's": "CAT"}.get(row[4], row[4])] for row in rows]
        model = train_plain(write_csv(tmp_path / "t.csv", rows, COLUMNS), "kind")
        found = predict_table(model, pets[2], tmp_path / "out.csv")
        with (tmp_path / "out.csv").open(newline="") as file:
            (first, *_) = csv.DictReader(file)
        for code, name in enumerate(model.classes):
            assert float(first[f"rankprune_p_{name}"]) == found[0, code]
        with pytest.raises(TableError, match="must differ by more than case"):
            predict_table(model, pets[2], tmp_path / "out.parquet")

    def test_predictions_do_not_repeat_names(self, pets, tmp_path):
        _, check, *_ = pets
        model = train_model(check)
        names = [*COLUMNS[:4], "rankprune_p_cat"]
        rows = [[*row[:4], "1"] for row in pet_rows(n=20)[0]]
        taken = write_csv(tmp_path / "t.csv", rows, names)
        with pytest.raises(TableError, match="already has a column 'rankprune_p_cat'"):
            predict_table(model, taken, tmp_path / "out.csv")

    def test_exports_suggest_a_label_for_the_rows_to_look_at(self, hostile, tmp_path):
        _, check, _ = hostile
        assert export_table(check, tmp_path / "out.parquet") == (360, 0)
        names, cells = columns_of(tmp_path / "out.parquet")
        assert names[3:] == (
            "rankprune_suspect",
            "rankprune_probability",
            "rankprune_rank",
            "rankprune_suggested_label",
        )
        suggested = {row.row: row.suggested for row in check.ranked()}
        assert len(suggested) == check.n_candidates < 360
        assert {i: name for i, name in enumerate(cells[6]) if name is not None} == suggested
        assert cells[3].count("true") == check.n_suspects
        with pytest.raises(TableError, match="already has a column 'rankprune_suspect'"):
            export_table(
                check_table(tmp_path / "out.parquet", "kind", scorer=None, drop=names[3:]),
                tmp_path / "twice.csv",
            )

    def test_exports_leave_out_suspects_and_labels_judged_wrong(self, pets, tmp_path):
        path, check, _, (labels, truth, _) = pets
        kept, removed = export_table(check, tmp_path / "a.csv", drop_suspects=True)
        assert (kept, removed) == (N - check.n_suspects, check.n_suspects)
        lines = path.read_text().splitlines()
        expected = [line for i, line in enumerate(lines[1:]) if not check.scores.suspect[i]]
        assert (tmp_path / "a.csv").read_text().splitlines()[1:] == expected
        rows = np.arange(50)
        open_ = judged(undecided(check), rows, truth[rows])
        kept, removed = export_table(open_, tmp_path / "b.csv", drop_suspects=True)
        assert removed == (labels[rows] != truth[rows]).sum() > 0
        kept, removed = export_table(open_, tmp_path / "c.csv", drop_suspects=True, prune=True)
        assert removed > 30

    @pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
    def test_settled_labels_are_written_and_nothing_else_changes(self, hostile, tmp_path, kind):
        path, check, _ = hostile
        rows = np.array([3, 100, 17])
        codes = (check.given_codes[rows] + [1, 2, 0]) % len(HOSTILE)
        found = export_reviewed(check, tmp_path / f"out.{kind}", rows, codes)
        assert (found.kept, found.removed, found.same_bytes) == (360, 0, kind == "csv")
        _, cells = columns_of(tmp_path / f"out.{kind}")
        _, before = columns_of(path)
        expected = list(before[2])
        for row, code in zip(rows, codes, strict=True):
            expected[row] = check.classes[code]
        assert list(cells[2]) == expected
        assert cells[:2] == before[:2]

    def test_judged_labels_are_settled_too_and_suspects_can_go(self, pets, tmp_path):
        _, check, _, (_, truth, _) = pets
        rows = np.flatnonzero(~check.scores.suspect)[:30]
        found = export_reviewed(
            judged(check, rows, truth[rows]), tmp_path / "o.csv", NONE, NONE, drop_suspects=True
        )
        assert found.removed == check.n_suspects
        _, cells = columns_of(tmp_path / "o.csv")
        left = np.flatnonzero(~check.scores.suspect)
        settled = [cells[4][place] for place in np.searchsorted(left, rows)]
        assert settled == [PETS[code] for code in truth[rows]]


def test_a_record_with_other_labels_than_the_table_is_refused(pets):
    _, check, *_ = pets
    for other in (
        replace(check, classes=(*PETS[::-1],)),
        replace(check, scores=replace(check.scores, label=(check.given_codes + 1) % 4)),
    ):
        with pytest.raises(TableError, match="has other labels in 'kind'"):
            train_model(other)
