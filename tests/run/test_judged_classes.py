"""Rows of a check of many labels that people judge: which are drawn, what their answers change."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from many_classes import class_check, class_labels
from rankprune import load_check
from rankprune.audit import estimate
from rankprune.core import judge_matrix
from rankprune.core._interval_records import JUDGED
from rankprune.run._audit_record import AuditRecord
from rankprune.run._judged_classes import open_rows
from rankprune.run._offer import offer_of, sizes_to_plan
from rankprune.run._sentences import (
    audit_headline,
    audit_lines,
    audit_rows,
    headline,
    plan_title,
)

MANY = tuple(f"kind {number}" for number in range(20))


@pytest.fixture(scope="module")
def check():
    return class_check(900)


@pytest.fixture(scope="module")
def labels():
    return class_labels(900)[0]


@pytest.fixture(scope="module")
def truth():
    return class_labels(900)[1]


@pytest.fixture(scope="module")
def of_many():
    return class_check(1200, MANY, method="counts-and-table")


def width(check):
    return check.wrong_share_interval.high - check.wrong_share_interval.low


def test_judged_rows_narrow_the_range_and_hold_the_truth(check, labels, truth):
    settled = check
    for batch in range(3):
        sample = settled.draw_audit(25, random_state=batch)
        assert len(set(sample.rows.tolist())) == 25
        settled = settled.settle(sample, truth[sample.rows])
    assert width(settled) < 0.6 * width(check)
    share = (truth != labels).mean()
    assert settled.wrong_share_interval.low <= share <= settled.wrong_share_interval.high
    assert settled.wrong_share_interval.covers == settled.intervals.covers == JUDGED
    assert len(settled.judged.rows) == 75 == settled.judged.n_sure
    assert settled.judged.n_wrong == (truth != labels)[list(settled.judged.rows)].sum()
    assert settled.estimated_matrix == check.estimated_matrix
    for name, found in settled.error_rates.items():
        assert found.low <= (truth != labels)[labels == name].mean() <= found.high
        before = check.error_rates[name]
        assert found.high - found.low < before.high - before.low


def test_one_answer_from_one_object(check, truth):
    sample = check.draw_audit(50, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    matrix, total = settled.noise_matrix, settled.wrong_share_interval
    assert settled.wrong_share == matrix.wrong_share == total.estimate
    assert settled.verdict == judge_matrix(matrix, n_judged=50)
    assert [one.estimate for one in settled.error_rates.values()] == matrix.error_rates.tolist()
    np.testing.assert_allclose(matrix.label_shares, check.estimated_matrix.label_shares)
    found = settled.to_dict()
    assert found["wrong_share"] == settled.wrong_share
    assert found["judged"]["n_wrong"] == settled.judged.n_wrong
    assert headline(settled).startswith("Between")
    assert "(50 rows judged)" in headline(settled)


def test_as_many_suspects_as_are_wrong_beside_the_judged_ones(check, labels, truth):
    sample = check.draw_audit(100, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    assert settled.verdict.level == "noise found"
    left = settled.wrong_share * 900 - settled.judged.n_wrong
    assert abs(settled.n_suspects - left) <= 3
    scores = settled.scores
    assert not scores.suspect[sample.rows].any()
    assert not set(settled.candidate_rows().tolist()) & set(sample.rows.tolist())
    assert settled.n_candidates >= settled.n_suspects
    assert sorted(scores.rank.tolist()) == list(range(1, 901))
    assert (scores.weight[scores.suspect] == 0).all()
    assert (scores.weight[sample.rows] == 1).all()
    assert (scores.chance[sample.rows] == (labels != truth)[sample.rows]).all()
    assert settled.tally.n_labels == check.tally.n_labels
    assert sum(settled.tally.n_suspects_by_label) == settled.n_suspects
    assert [row.row for row in settled.candidates] == settled.candidate_rows()[:500].tolist()
    cells = {row.row: row.cells for row in check.candidates}
    assert all(row.cells == cells.get(row.row, ()) for row in settled.candidates)


def test_judged_labels_say_what_wrong_ones_should_be(check, labels, truth):
    sample = check.draw_audit(200, random_state=0)
    settled = check.settle(sample, np.where(labels != truth, "owl", truth)[sample.rows])
    before, after = (
        one.joint[0] / one.joint[0, 1:].sum() for one in (check.noise_matrix, settled.noise_matrix)
    )
    assert after[2] > 0.8 > before[2]


def test_rows_are_drawn_once(check, truth):
    sample = check.draw_audit(40, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    again = settled.draw_audit(800, random_state=0)
    assert not set(again.rows.tolist()) & set(sample.rows.tolist())
    with pytest.raises(ValueError, match="n must be at most the number of rows that nobody"):
        settled.draw_audit(861)


def test_the_same_answers_count_once(check, truth):
    sample = check.draw_audit(25, random_state=0)
    answers = truth[sample.rows]
    once = check.settle(sample, answers)
    twice = once.settle(sample.rows, answers.tolist())
    assert twice.to_dict() == once.to_dict()
    in_parts = check.settle(sample.rows[:10], answers[:10]).settle(sample.rows[10:], answers[10:])
    assert in_parts.noise_matrix == once.noise_matrix
    assert in_parts.scores.rank.tolist() == once.scores.rank.tolist()


@pytest.mark.parametrize("classes", [(3, 5, 8), (1.0, 2.5, 4.0), ("x", "y", "z")])
def test_answers_in_the_users_own_values(check, truth, classes):
    other = class_check(900, classes)
    numbers = {"cat": classes[0], "dog": classes[1], "owl": classes[2]}
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    given = [numbers[name] for name in truth[sample.rows].tolist()]
    for answers in (given, np.array(given), [str(one) for one in given]):
        same = other.settle(sample.rows, answers)
        np.testing.assert_array_equal(same.noise_matrix.joint, settled.noise_matrix.joint)


def test_unsure_answers_are_remembered_and_count_for_nothing(check, truth):
    sample = check.draw_audit(25, random_state=0)
    unsure = check.settle(sample, [None] * 24 + [float("nan")])
    assert unsure.noise_matrix == check.noise_matrix
    assert unsure.judged.n_sure == 0
    assert not set(unsure.draw_audit(100, random_state=0).rows) & set(sample.rows)
    later = unsure.settle(sample, truth[sample.rows])
    assert later.judged.n_sure == 25


def test_about_one_label(check, labels, truth):
    sample = check.draw_audit(50, about="owl", random_state=0)
    assert (labels[sample.rows] == "owl").mean() > 0.9
    settled = check.settle(sample, truth[sample.rows])
    before, after = (one.error_rates["owl"] for one in (check, settled))
    assert after.high - after.low < before.high - before.low
    planned = check.planned_audit((25, 50), about="owl")
    assert planned[25]["model"] > planned[50]["model"]
    assert planned[25]["design"] > planned[25]["model"]


def test_a_label_among_many_gets_strata_of_its_own_when_asked_about(of_many):
    given, truth, _ = class_labels(1200, MANY)
    first = open_rows(of_many)
    shared = int(np.flatnonzero(first.groups.shared)[0])
    name = MANY[shared]
    sample = of_many.draw_audit(25, about=name, random_state=0)
    assert (given[sample.rows] == name).all()
    settled = of_many.settle(sample, truth[sample.rows])
    found = open_rows(settled, settled.judged.rows)
    assert not found.groups.shared[shared]
    before, after = (one.error_rates[name] for one in (of_many, settled))
    assert after.high - after.low < 0.85 * (before.high - before.low)
    assert after.low <= (given != truth)[given == name].mean() <= after.high
    # Rows that are drawn for all labels leave the strata as they are.
    other = of_many.draw_audit(50, random_state=0)
    kept = open_rows(of_many, other.rows.tolist())
    assert kept.strata.sizes == first.strata.sizes


def test_answers_that_contradict_the_model_count_alone(check, labels):
    sample = check.draw_audit(100, random_state=0)
    other = np.where(labels == "owl", "cat", "owl")
    settled = check.settle(sample, other[sample.rows])
    assert settled.judged.contradicts_model
    total = settled.wrong_share_interval
    assert 0.9 < total.low < total.high
    planned = settled.planned_audit((25,))[25]
    assert planned["model"] < total.high - total.low
    assert "contradict the model" in headline(settled)
    assert offer_of(settled).half_width == planned["model"] / 2


def test_the_design_alone(check, labels, truth):
    sample = check.draw_audit(200, method="design", random_state=0)
    assert sample.classes == check.classes
    settled = check.settle(sample, truth[sample.rows], method="design")
    assert settled.judged.method == "design"
    total = settled.wrong_share_interval
    assert total.low <= (truth != labels).mean() <= total.high
    found = estimate(sample, truth[sample.rows])
    assert (total.low, total.high) == (found.wrong_share.low, found.wrong_share.high)
    assert total.estimate == pytest.approx(found.wrong_share.estimate)
    in_other_order = check.settle(sample.rows[::-1], truth[sample.rows[::-1]])
    again = in_other_order.settle(sample, truth[sample.rows], method="design")
    assert again.noise_matrix == settled.noise_matrix
    with pytest.raises(ValueError, match="rows must be the AuditSample"):
        check.settle(sample.rows, truth[sample.rows], method="design")
    with pytest.raises(ValueError, match="draws all rows at once"):
        settled.draw_audit(25, method="design")


def test_a_fixed_sample_without_wrong_labels_leaves_no_suspects(check, labels):
    sample = check.draw_audit(300, method="design", random_state=0)
    settled = check.settle(sample, labels[sample.rows], method="design")
    assert settled.wrong_share == 0
    assert settled.verdict.level == "clean"
    assert settled.n_suspects == 0


def test_saved_checks_remember_judged_rows(check, truth, tmp_path):
    pytest.importorskip("duckdb")
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, truth[sample.rows])
    loaded = load_check(settled.save(tmp_path / "run"))
    assert loaded.judged == settled.judged
    assert loaded.noise_matrix == settled.noise_matrix
    next_rows = [one.draw_audit(25, random_state=7).rows.tolist() for one in (loaded, settled)]
    assert next_rows[0] == next_rows[1]
    again = loaded.settle(sample, truth[sample.rows])
    assert again.scores.rank.tolist() == settled.scores.rank.tolist()


def test_trusted_rows_are_not_drawn(check):
    ranks = check.scores.rank
    trusted = ranks > 850
    fewer = replace(check, n_doubted=850)
    sample = fewer.draw_audit(850, random_state=0)
    assert not trusted[sample.rows].any()
    row = int(np.flatnonzero(trusted)[0])
    with pytest.raises(ValueError, match=f"got row {row}"):
        fewer.settle([row], ["cat"])


def test_clean_labels_with_few_answers():
    check = class_check(900, noise=0.0, apart=9.0)
    sample = check.draw_audit(25, random_state=0)
    settled = check.settle(sample, class_labels(900, noise=0.0, apart=9.0)[1][sample.rows])
    assert settled.verdict.level == "clean"
    assert settled.n_suspects == 0
    assert settled.wrong_share_interval.low == 0
    assert settled.stretches == ()


def test_all_rows_judged_give_the_exact_shares(labels, truth):
    check = class_check(60)
    labels, truth, _ = class_labels(60)
    settled = check.settle(np.arange(60), truth)
    total = settled.wrong_share_interval
    share = (labels != truth).mean()
    assert (total.low, total.estimate, total.high) == pytest.approx((share,) * 3)
    for name, found in settled.error_rates.items():
        share = (labels != truth)[labels == name].mean()
        assert (found.low, found.estimate, found.high) == pytest.approx((share,) * 3)
    assert settled.n_suspects == settled.n_candidates == 0
    assert offer_of(settled) is None
    with pytest.raises(ValueError, match="number of rows that nobody has judged, 0"):
        sizes_to_plan(settled)


@settings(max_examples=4, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 5))
def test_the_order_of_the_classes_changes_nothing(order, seed):
    classes = ("ant", "bee", "cow", "dog")
    check = class_check(400, classes, seed)
    truth = class_labels(400, classes, seed)[1]
    turned = _reordered(check, order)
    one, other = (each.draw_audit(30, random_state=seed) for each in (check, turned))
    assert one.rows.tolist() == other.rows.tolist()
    one, other = (each.settle(one, truth[one.rows]) for each in (check, turned))
    assert other.wrong_share == pytest.approx(one.wrong_share)
    for name, found in one.error_rates.items():
        again = other.error_rates[name]
        assert (again.low, again.estimate, again.high) == pytest.approx(
            (found.low, found.estimate, found.high)
        )
    np.testing.assert_allclose(
        other.noise_matrix.joint, one.noise_matrix.joint[np.ix_(order, order)], atol=1e-12
    )
    assert other.scores.rank.tolist() == one.scores.rank.tolist()


def _reordered(check, order):
    """Return the check with its classes in another order."""
    place = np.argsort(order)
    scores = check.scores
    matrices = {}
    for name in ("noise_matrix", "estimated_matrix"):
        matrix = getattr(check, name)
        by_label = tuple(matrix.intervals.error_rates[code] for code in order)
        matrices[name] = replace(
            matrix,
            joint=matrix.joint[np.ix_(order, order)],
            classes=matrix.classes[list(order)],
            intervals=replace(matrix.intervals, error_rates=by_label),
        )
    return replace(
        check,
        classes=tuple(check.classes[code] for code in order),
        scores=replace(scores, label=place[scores.label], suggested=place[scores.suggested]),
        **matrices,
    )


@pytest.mark.parametrize(
    ("rows", "answers", "message"),
    [
        ([1, 2], ["cat"], "one answer for each of the 2 rows, got 1"),
        ([1, 2], 5, "answers must be a sequence"),
        ([1.5], ["cat"], "rows must be an AuditSample or the positions of rows"),
        ([99999], ["cat"], "got row 99999"),
        ([1], ["maybe"], r"answers\[0\] must be one of 'cat', 'dog', 'owl', got 'maybe'"),
        ([1], [True], r"answers\[0\] must be one of 'cat', 'dog', 'owl', got True"),
        ([3, 3], ["cat", "dog"], "contradict each other; row 3 was judged 'cat' and 'dog'"),
    ],
)
def test_bad_answers_are_refused(check, rows, answers, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check.settle(rows, answers)


def test_bad_arguments_are_refused(check, of_many):
    with pytest.raises(ValueError, match="method must be one of model, design"):
        check.draw_audit(method="luck")
    with pytest.raises(ValueError, match="method must be one of model, design"):
        check.settle([1], ["cat"], method="luck")
    with pytest.raises(ValueError, match="about must be one of 'cat', 'dog', 'owl', got 'spam'"):
        check.draw_audit(about="spam")
    with pytest.raises(ValueError, match="n must be"):
        check.draw_audit(0)
    with pytest.raises(ValueError, match=r"'kind 5', \.\.\., got 'spam'"):
        of_many.draw_audit(about="spam")


def test_the_plan_of_a_size_does_not_depend_on_the_others(check):
    assert check.planned_audit((25,))[25] == check.planned_audit((25, 50))[25]
    assert offer_of(check).half_width == check.planned_audit((25,))[25]["model"] / 2


def test_no_answers_change_nothing(check):
    settled = check.settle([], [])
    assert settled.wrong_share_interval == check.wrong_share_interval
    assert settled.judged.n_sure == 0


def test_labels_that_no_row_has_keep_what_was_estimated(check, truth):
    matrix = check.estimated_matrix
    joint = np.zeros((4, 4))
    joint[:3, :3] = matrix.joint
    ranges = matrix.intervals
    wider = replace(
        matrix,
        joint=joint,
        classes=np.array(["cat", "dog", "owl", "yak"], dtype=object),
        n_labels=np.append(matrix.n_labels, 0),
        thresholds=None,
        intervals=replace(ranges, error_rates=(*ranges.error_rates, ranges.error_rates[0])),
    )
    more = replace(
        check,
        classes=("cat", "dog", "owl", "yak"),
        estimated_matrix=wider,
        noise_matrix=wider,
        tally=replace(check.tally, n_labels=(*check.tally.n_labels, 0)),
    )
    sample = more.draw_audit(25, random_state=0)
    settled = more.settle(sample, truth[sample.rows])
    found = settled.error_rates["yak"]
    assert (found.low, found.estimate, found.high) == (0, 0, ranges.error_rates[0].high)
    fixed = more.draw_audit(25, method="design", random_state=0)
    assert more.settle(fixed, truth[fixed.rows], method="design").error_rates["yak"].high == (
        found.high
    )


def test_the_audit_in_words(of_many, tmp_path):
    given, truth, _ = class_labels(1200, MANY)
    sample = of_many.draw_audit(200, method="design", random_state=0)
    found = estimate(sample, truth[sample.rows])
    settled = of_many.settle(sample, truth[sample.rows], method="design")
    record = AuditRecord(
        found,
        0,
        0,
        ("ann",),
        None,
        (),
        "",
        before=of_many.wrong_share_interval,
        after=settled.wrong_share_interval,
        n_judged=200,
        n_sure=200,
        n_wrong=int((given != truth)[sample.rows].sum()),
    )
    pytest.importorskip("duckdb")
    folder = of_many.save(tmp_path / "run")
    record = replace(record, scores_sha256=load_check(folder).scores_key)
    record.save(folder)
    assert AuditRecord.load(folder) == record
    assert audit_headline(settled, record).startswith("A blind audit of 200 rows finds ")
    rows = audit_rows(settled, record)
    assert len(rows) == 1 + 8 + 3
    assert rows[1][0].startswith("labels “kind ")
    assert rows[-3][0] == "suspects that are wrong"
    assert "wrong labels missed" in "\n".join(audit_lines(settled, record))
    assert plan_title(settled, "kind 3").startswith(
        "Expected width of the 95% range of the share of wrong labels among those that say “kind 3”"
    )
