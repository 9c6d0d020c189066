"""The audit of a run: its sample, its result, and its part of the report."""

import json
from dataclasses import replace

import numpy as np
import pytest

from noisy_table import noisy_csv
from rankprune import LabelCheck, check_table, write_report
from rankprune.exceptions import TableError
from rankprune.review import audit_record, draw_rows, open_queue
from rankprune.run._audit_record import AuditRecord
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from rankprune.run._sentences import audit_headline, audit_lines
from resealed import reseal
from reviewed_run import uid

SIZE = 80


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """A run with a finished audit by a reviewer who knows the truth."""
    folder = tmp_path_factory.mktemp("audited")
    path, labels, truth = noisy_csv(folder, n=400)
    check = check_table(path, "label", scorer=None, noise_estimator="confident-counts")
    run = check.save(folder / "run")
    with DecisionLog(run / LOG_FILE) as log:
        draw_rows(run, log, SIZE, method="design", seed=0)
    judge(run, truth)
    return run, labels, truth


def judge(run, truth, n=SIZE, reviewer="ann", **options):
    with open_queue(run, "audit", **options) as queue:
        for row in queue.order[:n]:
            answer = "positive" if truth[row] else "negative"
            queue.decide(uid(), reviewer, row, answer, seconds=1.0, note="")


@pytest.fixture
def begun(tmp_path):
    """A run with a sample drawn for an audit."""
    path, _, truth = noisy_csv(tmp_path, n=200)
    check = check_table(path, "label", scorer=None, noise_estimator="confident-counts")
    run = check.save(tmp_path / "run")
    with DecisionLog(run / LOG_FILE) as log:
        draw_rows(run, log, 40, method="design", seed=0)
    return run, truth


class TestDraw:
    def test_a_sample_is_drawn_once(self, begun):
        run, _ = begun
        with DecisionLog(run / LOG_FILE) as log:
            first = log.last_draw()
            assert draw_rows(run, log, 40, method="design", seed=7) == first
            assert draw_rows(run, log, method="design", seed=7) == first
            with pytest.raises(TableError, match=r"n must be 40.*got 50.*force=True"):
                draw_rows(run, log, 50, method="design", seed=0)
            again = draw_rows(run, log, 50, method="design", seed=0, force=True)
        assert again.id == first.id + 1
        assert len(again.rows) == 50

    def test_the_rows_are_those_of_the_table(self, begun):
        run, _ = begun
        check = LabelCheck.load(run)
        with DecisionLog(run / LOG_FILE) as log:
            draw = log.last_draw()
        for row, is_positive, suspect in draw.rows:
            assert check.scores.is_positive[row] == is_positive
            assert check.scores.suspect[row] == suspect
        assert sum(draw.sizes) == 200

    @pytest.mark.parametrize("change", [{"pos_label": "no"}, {"noise_estimator": "tight"}])
    def test_a_sample_of_another_check_is_not_used(self, begun, change):
        """With inverted labels or other suspects, the answers would have another meaning."""
        run, truth = begun
        judge(run, truth, 40)
        settings = {"noise_estimator": "confident-counts", **change}
        path = LabelCheck.load(run).source.path
        check_table(path, "label", scorer=None, **settings).save(run, force=True)
        with pytest.raises(TableError, match=r"belongs to an earlier check.*force=True"):
            audit_record(run)
        with (
            pytest.raises(TableError, match=r"belongs to an earlier check"),
            open_queue(run, "audit"),
        ):
            pass
        with DecisionLog(run / LOG_FILE) as log:
            with pytest.raises(TableError, match=r"belongs to an earlier check"):
                draw_rows(run, log, 40, method="design", seed=0)
            assert draw_rows(run, log, 40, method="design", seed=0, force=True).id == 2

    def test_repeating_the_same_check_keeps_its_audit(self, begun):
        run, truth = begun
        judge(run, truth, 40)
        before = audit_record(run)
        path = LabelCheck.load(run).source.path
        check = check_table(path, "label", scorer=None, noise_estimator="confident-counts")
        check.save(run, force=True)
        assert audit_record(run) == before

    def test_answers_of_an_earlier_sample_do_not_count(self, begun):
        run, truth = begun
        judge(run, truth, 40)
        with DecisionLog(run / LOG_FILE) as log:
            draw_rows(run, log, 40, method="design", seed=1, force=True)
        assert audit_record(run).n_unjudged == 40


class TestRecord:
    def test_the_result_is_near_the_truth_and_holds_it(self, audited):
        run, labels, truth = audited
        record = audit_record(run)
        found = record.estimate
        assert found.wrong_share.low <= (labels != truth).mean() <= found.wrong_share.high
        assert (found.n_drawn, found.n_unsure, record.n_unjudged) == (SIZE, 0, 0)
        assert record.reviewers == ("ann",)
        assert record.is_finished

    def test_before_and_after_is_judged_out_of_fold_on_the_sample(self, audited):
        """The same as by hand: folds, plain scores, scores without suspects, weights."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import StratifiedKFold

        from rankprune import audit
        from rankprune.run._checked_table import read_checked_rows

        run, labels, truth = audited
        check = LabelCheck.load(run)
        features = read_checked_rows(check).features
        X, y = np.asarray(features.X), labels == 1
        before, after = np.zeros(400, dtype=bool), np.zeros(400, dtype=bool)
        keep, weight = ~check.scores.suspect, check.scores.weight
        for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
            model = LogisticRegression(max_iter=1000)
            before[test] = model.fit(X[train], y[train]).predict(X[test])
            kept = train[keep[train]]
            after[test] = model.fit(X[kept], y[kept], weight[kept]).predict(X[test])
        with DecisionLog(run / LOG_FILE) as log:
            draw = log.last_draw()
        rows = np.asarray([row for row, _, _ in draw.rows])
        sample = replace(draw.sample(), positive=True, negative=False)
        answers = [bool(truth[row]) for row in rows]
        expected = audit.compare_errors(sample, answers, before[rows], after[rows])
        found = audit_record(run).before_after
        assert (found.before, found.after, found.low, found.high) == pytest.approx(expected)
        assert found.n_rows == SIZE

    def test_it_is_saved_and_loaded_and_belongs_to_its_scores(self, audited, tmp_path):
        run, _, _ = audited
        record = audit_record(run)
        record.save(run)
        assert AuditRecord.load(run) == record
        content = json.loads((run / "audit.json").read_text())
        assert content["schema"] == 2
        assert content["estimate"]["wrong_share"]["estimate"] > 0
        replace(record, scores_sha256="other").save(run)
        assert AuditRecord.load(run) is None
        for text in ("{}", "no json", '{"schema": 9}'):
            (run / "audit.json").write_text(text)
            with pytest.raises(TableError, match=r"audit.json does not belong.*Estimate the audit"):
                AuditRecord.load(run)
            reseal(run)
            with pytest.raises(TableError, match="is not an audit that this version can read"):
                AuditRecord.load(run)
        (run / "audit.json").unlink()
        assert AuditRecord.load(run) is None

    def test_a_disagreement_counts_as_unsure_until_it_is_settled(self, begun):
        run, truth = begun
        judge(run, truth, 40, overlap=1.0)
        with open_queue(run, "audit", overlap=1.0) as queue:
            row = queue.order[0]
            other = "negative" if truth[row] else "positive"
            queue.decide(uid(), "ben", row, other, seconds=1.0, note="")
            queue.decide(uid(), "ben", queue.order[1], "unsure", seconds=1.0, note="")
        record = audit_record(run)
        assert (record.n_disagreements, record.estimate.n_unsure) == (1, 1)
        assert record.is_finished
        assert "reviewers disagree on 1 of them." in "\n".join(
            audit_lines(LabelCheck.load(run), record)
        )
        with open_queue(run, "audit", overlap=1.0) as queue:
            queue.decide(uid(), "cec", row, other, seconds=1.0, note="")
        assert audit_record(run).estimate.n_unsure == 0

    def test_an_audit_that_is_not_finished_says_so(self, begun):
        run, truth = begun
        judge(run, truth, 30)
        record = audit_record(run)
        assert (record.n_unjudged, record.before_after) == (10, None)
        check = LabelCheck.load(run)
        assert audit_headline(check, record) == (
            "The blind audit is not finished: 10 of its 40 rows are still to be judged."
        )
        assert audit_lines(check, record) == [audit_headline(check, record)]

    def test_bounds_are_reported_if_all_answers_are_unsure(self, begun):
        run, _ = begun
        with open_queue(run, "audit") as queue:
            for row in queue.order:
                queue.decide(uid(), "ann", row, "unsure", seconds=1.0, note="")
        record = audit_record(run)
        assert (record.is_finished, record.before_after) == (True, None)
        assert record.estimate.n_unsure == 40
        assert record.estimate.wrong_share.low == 0
        record.save(run)
        assert "40 of 40 rows have no clear answer" in write_report(run).read_text()

    def test_without_a_sample_or_a_log_the_next_step_is_named(self, run):
        with pytest.raises(TableError, match="No sample has been drawn"):
            audit_record(run)
        DecisionLog(run / LOG_FILE).close()
        with pytest.raises(TableError, match="No sample has been drawn"):
            audit_record(run)

    def test_it_is_reported_if_before_and_after_cannot_be_compared(self, begun):
        run, truth = begun
        judge(run, truth, 40)
        path = LabelCheck.load(run).source.path
        record = audit_record(run, f"{path}.moved")
        assert record.before_after is None
        assert "does not exist" in record.notes[0]
        assert record.estimate.n_unsure == 0

    def test_given_probabilities_leave_nothing_to_compare(self, tmp_path):
        path, _labels, truth = noisy_csv(tmp_path, n=200)
        lines = path.read_text().splitlines()
        scores = [f"{0.9 if one else 0.1}" for one in truth]
        lines = [f"{line},{p}" for line, p in zip(lines, ["p", *scores], strict=True)]
        path.write_text("\n".join(lines) + "\n")
        check = check_table(path, "label", probabilities="p", noise_estimator="confident-counts")
        run = check.save(tmp_path / "run")
        with DecisionLog(run / LOG_FILE) as log:
            draw_rows(run, log, 20, method="design", seed=0)
        judge(run, truth, 20)
        assert "the probabilities were given" in audit_record(run).notes[0]

    def test_a_custom_model_must_be_passed_again(self, audited):
        run, _, _ = audited
        result = run / "result.json"
        before = result.read_text()
        settings = json.loads(before)["settings"]
        reseal(run, settings={**settings, "estimator": "mine:Model"})
        assert "such as estimator='my_module:my_model'" in audit_record(run).notes[0]
        named = audit_record(run, estimator="sklearn.linear_model:LogisticRegression")
        assert named.before_after is not None
        result.write_text(before)


class TestReport:
    def test_the_audit_takes_precedence_over_the_model(self, audited):
        run, _, _ = audited
        record = audit_record(run)
        record.save(run)
        page = write_report(run).read_text()
        verdict = page.partition('class="verdict">')[2].partition("</p>")[0]
        assert verdict.startswith(f"A blind audit of {SIZE} rows finds")
        assert "takes precedence over the model" in page
        assert "suspects that are wrong" in page
        assert f"at most {record.estimate.missed_at_most:,}" in page
        assert "audited rows, weighted to represent all rows" in page
        assert "cannot be judged yet" not in page
        (run / "audit.json").unlink()
        assert "blind audit" not in write_report(run).read_text().partition("<main>")[2].lower()

    def test_an_unfinished_audit_does_not_take_precedence_over_the_model(self, begun):
        run, truth = begun
        judge(run, truth, 30)
        audit_record(run).save(run)
        page = write_report(run).read_text()
        assert "The blind audit is not finished" in page
        assert "A blind audit of" not in page
        assert '<p class="verdict">Between' in page
        assert "suspects that are wrong" not in page

    def test_an_unfinished_audit_does_not_hide_the_comparison_on_trusted_rows(self, tmp_path):
        path, _, truth = noisy_csv(tmp_path, n=200)
        lines = path.read_text().splitlines()
        lines = [f"{line},{int(i % 3 == 0)}" for i, line in enumerate(lines)]
        lines[0] = lines[0][:-1] + "sure"
        path.write_text("\n".join(lines) + "\n")
        check = check_table(
            path, "label", trusted="sure", scorer=None, noise_estimator="confident-counts"
        )
        run = check.save(tmp_path / "run")
        with DecisionLog(run / LOG_FILE) as log:
            draw_rows(run, log, 20, method="design", seed=0)
        judge(run, truth, 5)
        audit_record(run).save(run)
        assert "rows with a trusted label, the plain model" in write_report(run).read_text()

    def test_hostile_labels_are_never_markup(self, tmp_path):
        evil = "<img src=x onerror=alert(1)>"
        path, _, truth = noisy_csv(tmp_path, n=200)
        path.write_text(path.read_text().replace(",yes\n", f",{evil}\n"))
        check = check_table(
            path, "label", pos_label=evil, scorer=None, noise_estimator="confident-counts"
        )
        run = check.save(tmp_path / "run")
        with DecisionLog(run / LOG_FILE) as log:
            draw_rows(run, log, 20, method="design", seed=0)
        judge(run, truth, 20)
        audit_record(run).save(run)
        assert "<img" not in write_report(run).read_text()
