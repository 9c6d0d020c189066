"""Decisions about rows with more than two labels: what is settled, by whom, and who agrees."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from rankprune import load_check
from rankprune.annotators import annotator_report, consensus, next_rows
from rankprune.run._answers_sentences import reviewers_lines
from rankprune.run._decision_log import DecisionLog
from rankprune.run._decisions import agreements, answer_words, named_label, naming, right_label
from rankprune.run._directory import LOG_FILE
from rankprune.run._judged_classes import JudgedClasses
from rankprune.run._reviewers import SURE, compare_reviewers, settle_by_consensus
from rankprune.run._settled import merge_decisions, read_settled, settled_labels
from reviewed_classes import PETS, class_run, judging, recheck, uid


def settled(judge):
    found = settled_labels(judge.check, judge.log, judge.table)
    names = [judge.check.classes[code] for code in found.codes]
    return dict(zip(found.rows.tolist(), names, strict=True)), found


def given_label(check, row):
    return check.classes[check.given_codes[row]]


class TestAnswers:
    def test_an_answer_names_a_label(self):
        assert named_label(naming("=a")) == "=a"
        assert named_label("=") is named_label("keep") is named_label("unsure") is None
        assert answer_words("=cat\u200b") == "“cat⟨U+200B⟩”"
        assert answer_words("unsure") == "unsure"

    @pytest.mark.parametrize(
        ("answer", "label", "names", "right"),
        [
            ("=dog", "cat", PETS, "dog"),
            ("=fox", "cat", PETS, None),
            ("unsure", "cat", PETS, None),
            # Answers from when there were two labels.
            ("keep", "cat", PETS, "cat"),
            ("keep", "fox", PETS, None),
            ("flip", "cat", PETS, None),
            ("positive", None, PETS, None),
            # And answers that name one of many that are two now.
            ("=dog", "cat", ("cat", "dog"), "dog"),
            ("=owl", "cat", ("cat", "dog"), None),
            ("flip", "cat", ("cat", "dog"), "dog"),
            ("flip", "owl", ("cat", "dog"), None),
            ("flip", "", ("", "dog"), "dog"),
            ("keep", "", ("", "dog"), ""),
            ("positive", None, ("cat", "dog"), "dog"),
            ("negative", None, ("cat", "dog"), "cat"),
        ],
    )
    def test_the_label_that_is_right(self, judge, answer, label, names, right):
        (made,) = judge(("ann", 0, "=cat"))
        assert right_label(replace(made, answer=answer, label=label), names) == right


class TestSettled:
    def test_named_labels_settle_rows(self, judge):
        right = {row: PETS[row % 4] for row in range(8)}
        judge(*(("ann", row, f"={name}") for row, name in right.items()), ("ann", 9, "unsure"))
        judge(("ben", 0, f"={right[0]}"), ("ben", 1, "unsure"), ("ben", 2, "=yak"))
        labels, found = settled(judge)
        assert labels == {row: name for row, name in right.items() if row != 2}
        assert (found.n_unsure, found.n_disagreements, found.n_stale) == (1, 1, 0)
        assert found.n_changed == sum(
            given_label(judge.check, row) != name for row, name in labels.items()
        )

    def test_the_same_name_agrees_whatever_label_was_shown(self, judge):
        judge(("ann", 0, "=dog"))
        judge(("ben", 0, "=dog"), shown="owl")
        judge(("cyd", 0, "keep"), shown="dog")
        assert settled(judge)[0] == {0: "dog"}
        assert all(one.share == 1 for one in agreements(judge.log.decisions("review")))

    def test_a_third_person_settles_a_disagreement(self, judge):
        judge(("ann", 3, "=dog"), ("ben", 3, "=owl"))
        judge(("cyd", 3, "=yak"), settles=True)
        assert settled(judge)[0] == {3: "yak"}

    def test_answers_from_when_there_were_two_labels(self, judge):
        judge(("ann", 0, "keep"), shown="owl")
        judge(("ann", 1, "flip"), shown="owl")
        labels, found = settled(judge)
        # Nobody knows which label was the other one.
        assert labels == {0: "owl"}
        assert found.n_stale == 1

    def test_labels_that_no_longer_exist_are_stale(self, pets, tmp_path):
        with judging(pets) as judge:
            judge(("ann", 0, "=yak"), ("ann", 1, "=dog"))
        path = tmp_path / "pets.csv"
        path.write_text(path.read_text().replace(",yak\n", ",ape\n"))
        recheck(tmp_path, ("cat", "dog", "owl", "ape"))
        found = read_settled(pets, load_check(pets))
        assert found.rows.tolist() == [1]
        assert found.n_stale == len(found.stale) == 1

    def test_changed_rows_are_stale(self, pets, tmp_path):
        with judging(pets) as judge:
            judge(("ann", 0, "=yak"), ("ann", 1, "=dog"))
        path = tmp_path / "pets.csv"
        path.write_text(path.read_text().replace("r0000", "other"))
        recheck(tmp_path)
        found = read_settled(pets, load_check(pets))
        assert (found.rows.tolist(), found.n_stale) == ([1], 1)

    def test_the_trail_names_labels(self, judge):
        old = given_label(judge.check, 5)
        new = next(name for name in PETS if name != old)
        judge(("ann", 5, f"={old}"), ("ann", 5, f"={new}"))
        *_, last = settled(judge)[1].trail(judge.check)
        assert (last["given"], last["settled"], last["changed"]) == (old, new, True)
        assert (last["answer"], last["row"], last["stands"]) == (f"={new}", 6, True)
        assert last["id"] == "r0005"

    def test_rows_judged_for_an_audit_are_settled_too(self, judge):
        judge(("ann", 0, "=dog"), ("ann", 1, "=dog"))
        judged = JudgedClasses((0, 1, 2, 3), (1, 2, 3, None), "model", False, 2)
        audited = replace(judge.check, judged=judged)
        found = settled_labels(audited, judge.log, judge.table)
        assert found.rows.tolist() == [0, 1, 2]
        assert [PETS[code] for code in found.codes] == ["dog", "dog", "yak"]
        assert (found.n_judged, found.n_overruled) == (1, 1)
        *_, last = found.trail(audited)
        assert (last["answer"], last["settled"], last["mode"]) == ("=yak", "yak", "audit")


class TestReviewers:
    def test_kappa_over_all_labels_equals_that_of_scikit_learn(self, judge):
        rng = np.random.default_rng(0)
        names = [naming(name) for name in PETS] + ["unsure"]
        first = [names[i] for i in rng.integers(0, 5, 60)]
        second = [one if rng.random() < 0.6 else names[rng.integers(0, 5)] for one in first]
        judge(*(("ann", row, answer) for row, answer in enumerate(first)))
        judge(*(("ben", row, answer) for row, answer in enumerate(second)))
        (found,) = agreements(judge.log.decisions("review"))
        assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
        assert found.share == pytest.approx(np.mean(np.array(first) == np.array(second)))

    def crowd(self, judge, n_rows=60):
        rng = np.random.default_rng(1)
        truth = [PETS[i] for i in rng.integers(0, 4, n_rows)]
        for who, share in {"ann": 0.03, "ben": 0.05, "cyd": 0.3}.items():
            for row, name in enumerate(truth):
                other = PETS[(PETS.index(name) + int(rng.integers(1, 4))) % 4]
                judge((who, row, naming(other if rng.random() < share else name)))
        return truth

    def test_answers_are_those_of_annotators(self, judge, pets_check):
        judge(("ann", 0, "=owl"), ("ben", 0, "=fox"), ("ben", 1, "unsure"), ("cyd", 1, "=yak"))
        answers = pets_check.answers()
        assert answers.classes == PETS
        assert [PETS[code] for code in answers.label] == ["owl", "yak"]
        assert answers.rows == (0, 1)

    def test_every_method_for_annotators_takes_them(self, judge, pets_check):
        truth = self.crowd(judge)
        answers = pets_check.answers()
        for method in ("auto", "majority", "one-coin", "dawid-skene", "smoothed"):
            found = consensus(answers, method=method)
            assert np.mean([a == b for a, b in zip(found.labels, truth, strict=True)]) > 0.95
        assert 0 <= consensus(answers).label_errors().wrong_share.estimate < 0.1
        assert annotator_report(answers) == []
        assert len(next_rows(answers, 5)) == 5

    def test_a_sure_consensus_settles_open_disagreements(self, judge, pets_check, pets):
        truth = self.crowd(judge)
        found = compare_reviewers(pets_check, pets)
        assert found.doubts == ()
        before = read_settled(pets, pets_check)
        after = settle_by_consensus(pets_check, before, found)
        sure = {row: label for row, label, confidence in found.likely if confidence >= SURE}
        assert sure
        assert after.by_consensus == frozenset(sure)
        labels = dict(zip(after.rows.tolist(), after.codes.tolist(), strict=True))
        assert {row: PETS[labels[row]] for row in sure} == sure
        assert np.mean([truth[row] == label for row, label in sure.items()]) > 0.9
        given_codes = pets_check.given_codes[after.rows]
        assert after.n_changed == (given_codes != after.codes).sum()
        assert reviewers_lines(found)[0].startswith("ann and ben agree on")

    def test_who_was_overruled(self, judge, pets_check, pets):
        judge(("ann", 0, "=dog"), ("ben", 0, "=owl"))
        judge(("cyd", 0, "=owl"), settles=True)
        found = compare_reviewers(pets_check, pets)
        told = {one.name: (one.n_settled, one.n_overruled) for one in found.reviewers}
        assert told == {"ann": (1, 1), "ben": (1, 0)}


LABELS = ("cat", "dog", "owl", "yak", None)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("here", "there")),
        st.sampled_from(("ann", "ben")),
        st.integers(0, 3),
        st.one_of(st.just("undo"), st.sampled_from(LABELS)),
    ),
    max_size=14,
)


@pytest.fixture(scope="module")
def judge_of_module(tmp_path_factory):
    with judging(class_run(tmp_path_factory.mktemp("pets"), n_rows=60)) as judge:
        yield judge


@given(STEPS, st.booleans())
@settings(max_examples=20)
def test_any_order_of_answers_undos_and_merges_settles_what_a_simple_model_does(
    judge_of_module, steps, there_first
):
    """The model: a person's last answer stands; a row is settled if all that stand agree."""
    judge, stands, order = judge_of_module, {}, []
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.sqlite" for name in ("here", "there")}
        logs = {name: DecisionLog(path) for name, path in paths.items()}
        for place, who, row, answer in steps:
            if answer == "undo":
                own = [made for made in order if made[:2] == (place, who)]
                if own:
                    logs[place].undo(uid(), own[-1][3], who, 0.0, "2026-01-02")
                    order.remove(own[-1])
                    del stands[own[-1][:3]]
                continue
            said = "unsure" if answer is None else naming(answer)
            (made,) = judge((who, row, said), into=logs[place])
            order = [one for one in order if one[:3] != (place, who, row)]
            order.append((place, who, row, made.uid))
            stands[place, who, row] = answer
        first, second = ("there", "here") if there_first else ("here", "there")
        logs[first].merge(logs[second].decisions("review"), lambda _: True)
        again = logs[first].merge(logs[second].decisions("review"), lambda _: True)
        found = settled_labels(judge.check, logs[first], judge.table)
        for log in logs.values():
            log.close()
    assert again.n_new == 0
    expected, n_unsure, n_open = {}, 0, 0
    for row in range(4):
        said = [label for (*_, about), label in stands.items() if about == row]
        clear = {label for label in said if label is not None}
        n_unsure += bool(said) and not clear
        n_open += len(clear) > 1
        if len(clear) == 1:
            (expected[row],) = clear
    names = [PETS[code] for code in found.codes]
    assert dict(zip(found.rows.tolist(), names, strict=True)) == expected
    assert (found.n_unsure, found.n_disagreements) == (n_unsure, n_open)
    assert found.n_stale == 0


def test_logs_of_two_copies_of_a_run_come_together(pets, tmp_path):
    other = tmp_path / "copy"
    other.mkdir()
    with judging(class_run(other)) as judge:
        judge(("ben", 0, "=owl"), ("ben", 1, "=cat"))
    with judging(pets) as judge:
        judge(("ann", 0, "=owl"), ("ann", 1, "=dog"))
    found = load_check(pets)
    merged = merge_decisions(pets, found, other / "pets.csv.rankprune")
    assert (merged.n_new, merged.n_known, merged.n_foreign) == (2, 0, 0)
    settled_now = read_settled(pets, found)
    assert settled_now.rows.tolist() == [0]
    assert settled_now.n_disagreements == 1
    assert (pets / LOG_FILE).is_file()
