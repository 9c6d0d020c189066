"""Settled labels: exports, audit trails, and models trained with them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from noisy_table import NAMES, noisy_csv, noisy_rows, write_csv, write_json_lines
from rankprune import LabelCheck, check_table
from rankprune.exceptions import TableError
from rankprune.export import export_reviewed
from rankprune.model import train_model, train_reviewed
from rankprune.review import open_queue
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from rankprune.run._settled import settled_labels
from rankprune.table import open_table
from reviewed_run import uid

QUICK = {"scorer": None, "noise_estimator": "confident-counts"}


def judge(run, answers, reviewer="ann", **options):
    """Record answers for rows, by position."""
    with open_queue(run, "review", **options) as queue:
        for row, answer in answers.items():
            queue.decide(uid(), reviewer, row, answer, seconds=1.0, note=f"note {row}")


def settled(run, table=None):
    check = LabelCheck.load(run)
    with DecisionLog(run / LOG_FILE) as log, open_checked(check, table) as opened:
        return settled_labels(check, log, opened)


def checked(path, folder, **options):
    return check_table(path, "label", **{**QUICK, **options}).save(folder)


class TestSettled:
    def test_keep_flip_unsure_and_disagreement(self, tmp_path):
        path, labels, _ = noisy_csv(tmp_path, n=200)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "keep", 1: "flip", 2: "unsure"})
        judge(run, {3: "flip"}, overlap=1.0)
        suspect = int(LabelCheck.load(run).suspect_rows()[0])
        for name, answer in (("ann", "flip"), ("ben", "keep")):
            judge(run, {suspect: answer}, name, overlap=1.0)
        found = settled(run)
        assert found.rows.tolist() == [0, 1, 3]
        expected = [labels[0] == 1, labels[1] == 0, labels[3] == 0]
        assert found.is_positive.tolist() == expected
        assert (found.n_changed, found.n_unsure, found.n_disagreements, found.n_stale) == (
            2,
            1,
            1,
            0,
        )

    def test_rows_that_have_changed_are_detected_and_left_alone(self, tmp_path):
        path, _labels, _ = noisy_csv(tmp_path, n=200)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip", 1: "flip", 5: "flip"})
        lines = path.read_text().splitlines()
        lines[1] = lines[1].replace("r0000", "other")
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(TableError, match="has changed since it was checked"):
            settled(run)
        check_table(path, "label", **QUICK).save(run, force=True)
        found = settled(run)
        assert found.rows.tolist() == [1, 5]
        assert found.n_stale == 1
        trail = found.trail(LabelCheck.load(run))
        assert {entry["row"]: entry["stale"] for entry in trail} == {1: True, 2: False, 6: False}

    def test_a_label_that_was_corrected_since_stays_corrected(self, tmp_path):
        """An answer that "no" is wrong means "yes", even if the label has become "yes" since."""
        path, labels, _ = noisy_csv(tmp_path, n=200)
        run = checked(path, tmp_path / "run")
        row = int(np.flatnonzero(labels == 0)[0])
        judge(run, {row: "flip"})
        lines = path.read_text().splitlines()
        lines[row + 1] = lines[row + 1].removesuffix(",no") + ",yes"
        path.write_text("\n".join(lines) + "\n")
        check_table(path, "label", **QUICK).save(run, force=True)
        found = settled(run)
        assert (found.rows.tolist(), found.is_positive.tolist()) == ([row], [True])
        assert (found.n_changed, found.n_stale) == (0, 0)

    def test_renamed_labels_are_stale(self, tmp_path):
        path, _, _ = noisy_csv(tmp_path, n=200)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip"})
        path.write_text(path.read_text().replace(",yes\n", ",ja\n").replace(",no\n", ",nein\n"))
        check_table(path, "label", pos_label="ja", **QUICK).save(run, force=True)
        found = settled(run)
        assert found.n_stale == len(found.stale) == 1

    def test_the_trail_lists_every_decision(self, tmp_path):
        path, labels, _ = noisy_csv(tmp_path, n=200)
        run = checked(path, tmp_path / "run", id="row id")
        judge(run, {0: "keep", 1: "flip"})
        judge(run, {0: "flip"})
        found = settled(run)
        trail = list(found.trail(LabelCheck.load(run)))
        assert [entry["answer"] for entry in trail] == ["keep", "flip", "undo", "flip"]
        assert [entry["stands"] for entry in trail] == [False, True, False, True]
        names = ["no", "yes"]
        assert trail[1]["row"] == 2
        assert trail[1]["id"] == "r0001"
        assert trail[1]["given"] == names[labels[1]]
        assert trail[1]["settled"] == names[1 - labels[1]]
        assert trail[1]["changed"]
        assert trail[1]["note"] == "note 1"
        assert trail[1]["reviewer"] == "ann"
        json.dumps(trail)


class TestExport:
    def given(self, path):
        with open_table(path) as opened:
            columns = list(range(len(opened.names)))
            return opened.names, opened.cells(np.arange(opened.n_rows), columns)

    def export(self, run, target, **options):
        found = settled(run)
        written = export_reviewed(
            LabelCheck.load(run), target, found.rows, found.is_positive, **options
        )
        self.same_bytes = written.same_bytes
        return written.kept, written.removed

    def test_a_text_file_differs_in_the_changed_labels_alone(self, tmp_path):
        rows, labels, _ = noisy_rows(200)
        rows = [[*row[:3], f'say "{row[3]}",\nor not', row[4]] for row in rows]
        path = write_csv(tmp_path / "t.csv", rows)
        path.write_bytes(path.read_bytes().replace(b"r0007", b'"r0007"'))
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip", 7: "flip", 9: "keep"})
        assert self.export(run, tmp_path / "out.csv") == (200, 0)
        expected = path.read_bytes().decode()
        names = ["no", "yes"]
        for row in (0, 7):
            start = expected.index(f"r{row:04d}")
            end = expected.index("\r\n", expected.index("or not", start))
            line = expected[start:end]
            mended = line.removesuffix(names[labels[row]]) + names[1 - labels[row]]
            expected = expected[:start] + mended + expected[end:]
        assert (tmp_path / "out.csv").read_bytes().decode() == expected
        assert self.same_bytes

    @pytest.mark.parametrize("name", ["t.tsv", "t.parquet", "t.csv"])
    @pytest.mark.parametrize("target", ["out.csv", "out.tsv", "out.parquet"])
    def test_every_other_cell_stays_in_any_format(self, tmp_path, name, target):
        rows, _labels, _ = noisy_rows(150)
        path = tmp_path / name
        if name == "t.parquet":
            import duckdb

            write_csv(tmp_path / "base.csv", rows)
            duckdb.sql(
                f"COPY (SELECT * REPLACE (label = 'yes' AS label) FROM '{tmp_path}/base.csv') "
                f"TO '{path}'"
            )
        else:
            write_csv(path, rows, delimiter="\t" if name == "t.tsv" else ",")
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip", 3: "keep", 4: "flip"})
        assert self.export(run, tmp_path / target) == (150, 0)
        (names, before), (written, after) = self.given(path), self.given(tmp_path / target)
        assert names == written
        check = LabelCheck.load(run)
        turned = {check.positive: check.negative, check.negative: check.positive}
        for row in (0, 4):
            before[row][4] = turned[before[row][4]]
        assert after == before

    def test_json_lines_stay_json_lines_or_become_a_table(self, tmp_path):
        rows, labels, _ = noisy_rows(150)
        path = write_json_lines(tmp_path / "t.jsonl", rows)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip", 2: "flip"})
        assert self.export(run, tmp_path / "out.csv") == (150, 0)
        assert not self.same_bytes
        assert self.export(run, tmp_path / "out.jsonl") == (150, 0)
        assert self.same_bytes
        before, after = (
            (tmp_path / name).read_text().splitlines() for name in ("t.jsonl", "out.jsonl")
        )
        assert [i for i in range(150) if before[i] != after[i]] == [0, 2]
        assert json.loads(after[2])["label"] == ["yes", "no"][labels[2]]
        with pytest.raises(TableError, match=r"must end in \.csv, \.tsv or \.parquet"):
            self.export(run, tmp_path / "less.jsonl", drop_suspects=True)

    def test_a_quote_inside_a_cell_changes_nothing_else(self, tmp_path):
        rows, _labels, _ = noisy_rows(150)
        lines = [",".join(NAMES), *(",".join(row) for row in rows)]
        lines[3] = lines[3].replace("r0002", '5" röhre')
        path = tmp_path / "t.csv"
        path.write_bytes("\r\n".join(lines).encode("latin-1") + b"\r\n")
        run = checked(path, tmp_path / "run", encoding="latin-1")
        judge(run, {9: "flip"})
        assert self.export(run, tmp_path / "out.csv") == (150, 0)
        assert self.same_bytes
        after = (tmp_path / "out.csv").read_bytes().decode("latin-1").split("\r\n")
        assert [i for i in range(151) if lines[i] != after[i]] == [10]

    def test_unsettled_suspects_are_left_out_on_request(self, tmp_path):
        path, _, _ = noisy_csv(tmp_path, n=200)
        run = checked(path, tmp_path / "run")
        suspects = [int(row) for row in LabelCheck.load(run).suspect_rows()]
        judge(run, {suspects[0]: "flip", suspects[1]: "unsure"})
        kept, removed = self.export(run, tmp_path / "out.csv", drop_suspects=True)
        assert removed == len(suspects) - 1
        assert kept + removed == 200
        ids = [row[0] for row in self.given(tmp_path / "out.csv")[1]]
        assert f"r{suspects[0]:04d}" in ids
        assert f"r{suspects[1]:04d}" not in ids

    def test_formulas_are_made_safe_on_request(self, tmp_path):
        rows, _, _ = noisy_rows(150)
        rows[0][3] = "=1+1"
        path = write_csv(tmp_path / "t.csv", rows)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip"})
        self.export(run, tmp_path / "out.csv", spreadsheet_safe=True)
        assert "'=1+1" in (tmp_path / "out.csv").read_text()

    def test_a_file_with_unusual_quoting_is_written_anew(self, tmp_path, monkeypatch):
        """If the copied bytes would be read differently, the cells are written anew instead."""
        from rankprune.export import _reviewed

        path, _, _ = noisy_csv(tmp_path, n=150)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip"})

        def garbled(source, target, **_):
            target.write_text("row id,height,weight,color,label\nx,1,2,3,yes\n")

        monkeypatch.setattr(_reviewed, "relabel_text", garbled)
        assert self.export(run, tmp_path / "out.csv") == (150, 0)
        (_, before), (_, after) = self.given(path), self.given(tmp_path / "out.csv")
        assert [row[:4] for row in before] == [row[:4] for row in after]
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
        assert not self.same_bytes

    def test_the_input_is_never_the_output(self, tmp_path):
        path, _, _ = noisy_csv(tmp_path, n=150)
        run = checked(path, tmp_path / "run")
        judge(run, {0: "flip"})
        before = path.read_bytes()
        with pytest.raises(ValueError, match="must not be the input"):
            self.export(run, path)
        assert path.read_bytes() == before


class TestTrain:
    def test_settled_rows_are_never_pruned_and_train_with_their_settled_label(self, tmp_path):
        path, labels, truth = noisy_csv(tmp_path, n=400)
        run = checked(path, tmp_path / "run")
        check = LabelCheck.load(run)
        wrong = labels != truth
        suspects = [int(row) for row in check.suspect_rows()]
        judge(run, {row: "flip" if wrong[row] else "keep" for row in suspects})
        found = settled(run)
        trained = train_reviewed(check, found.rows, found.is_positive)
        assert trained.n_trusted == len(suspects)
        assert trained.n_rows == 400
        # The remaining rows are almost clean, so hardly any are pruned.
        assert trained.n_pruned < 0.3 * len(suspects)
        assert (
            trained.model.noise_rates["positive_noise_rate"] < check.noise_rates.positive_noise_rate
        )
        with open_table(path) as opened:
            better, plain = (
                ((model.predict_proba(opened) > 0.5) != truth).mean()
                for model in (trained.model, train_model(check))
            )
        assert better <= plain + 0.01

    def test_it_equals_the_classifier_with_trusted_rows_and_the_rates_of_the_rest(self, tmp_path):
        from rankprune import RankPruningClassifier
        from rankprune.learners._named_models import find_model
        from rankprune.run._checked_table import read_checked_rows
        from rankprune.run._judged_labels import rates_of_rest

        path, labels, _ = noisy_csv(tmp_path, n=300)
        run = checked(path, tmp_path / "run")
        check = LabelCheck.load(run)
        judge(run, {0: "flip", 1: "keep"})
        found = settled(run)
        trained = train_reviewed(check, found.rows, found.is_positive)
        features = read_checked_rows(check).features
        y, trusted = labels == 1, np.zeros(300, dtype=bool)
        y[0] = not y[0]
        trusted[:2] = True
        rest = rates_of_rest(check.noise_rates, labels == 1, np.array([0, 1]), y[:2])
        model = RankPruningClassifier(
            find_model("logistic"),
            positive_noise_rate=rest.positive_noise_rate,
            negative_noise_rate=rest.negative_noise_rate,
            random_state=0,
        ).fit(features.X, y, trusted=trusted)
        assert trained.n_pruned == model.prune_mask_.sum()
        np.testing.assert_allclose(trained.model.classifier.coef_, model.estimator_.coef_)

    def test_groups_given_probabilities_and_trusted_columns_are_used_again(self, tmp_path):
        rows, _labels, truth = noisy_rows(200)
        rng = np.random.default_rng(0)
        rows = [
            [
                *row,
                f"g{i % 40}",
                f"{np.clip(0.1 + 0.8 * t + 0.05 * rng.standard_normal(), 0, 1):.3f}",
                str(int(i < 9)),
            ]
            for i, (row, t) in enumerate(zip(rows, truth, strict=True))
        ]
        path = write_csv(tmp_path / "t.csv", rows, [*NAMES, "who", "p", "sure"])
        run = checked(path, tmp_path / "run", groups="who", trusted="sure", drop=["p"])
        check = LabelCheck.load(run)
        judge(run, {20: "flip"})
        found = settled(run)
        assert train_reviewed(check, found.rows, found.is_positive).n_trusted == 10
        given = checked(path, tmp_path / "given", probabilities="p")
        check = LabelCheck.load(given)
        assert train_reviewed(check, found.rows, found.is_positive).n_trusted == 1

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"scorer": "Forest()"}, "used your own scorer, Forest"),
            ({"noise_estimator": "<function f>"}, "used your own noise_estimator"),
            ({"estimator": "os:getcwd"}, "your own model, 'os:getcwd'"),
        ],
    )
    def test_settings_that_only_python_can_repeat_are_refused(self, check, setting, message):
        named = replace(check, settings=replace(check.settings, **setting))
        with pytest.raises(TableError, match=message):
            train_reviewed(named, np.asarray([0]), np.asarray([True]))
