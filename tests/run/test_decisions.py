"""Outcomes of decisions (settled, unsure, disagreement), and agreement between reviewers."""

from dataclasses import replace

import pytest
from sklearn.metrics import cohen_kappa_score

from rankprune.run._decisions import Decision, agreements, outcomes, standing

BASE = Decision("u0", 0, "h", "review", None, "ann", "keep", "yes", 0.4, 1.0, "", "2026-01-01")


def made(*parts):
    """Return decisions from pairs (reviewer, answer), or with more fields."""
    return [
        replace(BASE, uid=f"u{i}", reviewer=part[0], answer=part[1], **(part[2:] or ({},))[0])
        for i, part in enumerate(parts)
    ]


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ([("ann", "keep")], "keep"),
        ([("ann", "flip")], "flip"),
        ([("ann", "unsure")], "unsure"),
        ([("ann", "keep"), ("ben", "keep")], "keep"),
        ([("ann", "keep"), ("ben", "flip")], "disagreement"),
        ([("ann", "unsure"), ("ben", "flip")], "flip"),
        ([("ann", "keep"), ("ben", "flip"), ("cec", "flip", {"settles": True})], "flip"),
        ([("ann", "keep"), ("ben", "flip"), ("cec", "unsure", {"settles": True})], "disagreement"),
        ([("ann", "keep"), ("ben", "keep", {"label": "no"})], "disagreement"),
        ([("ann", "positive", {"label": None}), ("ben", "positive", {"label": None})], "positive"),
    ],
)
def test_the_status_of_a_row(parts, status):
    assert outcomes(made(*parts))[0].status == status


def test_an_undone_decision_does_not_stand():
    decisions = made(("ann", "keep"), ("ann", "undo", {"undo_of": "u0"}), ("ann", "flip"))
    assert [one.answer for one in standing(decisions)] == ["flip"]
    assert outcomes(decisions)[0].status == "flip"
    assert outcomes(decisions[:2]) == {}


def test_an_outcome_has_the_answer_of_each_reviewer():
    found = outcomes(made(("ann", "unsure"), ("ben", "keep"), ("ann", "flip")))[0]
    assert found.by("ann").answer == "flip"
    assert found.by("eve") is None


def test_kappa_equals_that_of_scikit_learn():
    first = ["keep", "flip", "flip", "keep", "unsure", "flip", "keep", "keep"]
    second = ["keep", "flip", "keep", "keep", "flip", "flip", "flip", "keep"]
    decisions = [
        replace(BASE, uid=f"{name}{row}", row=row, reviewer=name, answer=answer)
        for name, answers in (("ann", first), ("ben", second))
        for row, answer in enumerate(answers)
    ]
    (found,) = agreements(decisions)
    assert found.reviewers == ("ann", "ben")
    assert found.n_rows == 8
    assert found.share == pytest.approx(5 / 8)
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))


def test_kappa_is_none_if_all_answers_are_the_same():
    decisions = [
        replace(BASE, uid=f"{name}{row}", row=row, reviewer=name)
        for name in ("ann", "ben")
        for row in range(3)
    ]
    (found,) = agreements(decisions)
    assert (found.share, found.kappa) == (1.0, None)


def test_an_answer_that_settles_a_disagreement_does_not_count_for_agreement():
    decisions = made(("ann", "keep"), ("ben", "flip"), ("cec", "flip", {"settles": True}))
    assert [one.reviewers for one in agreements(decisions)] == [("ann", "ben")]


def test_a_later_change_of_mind_does_not_change_the_agreement():
    decisions = [
        replace(BASE, uid="a", reviewer="ann", answer="keep"),
        replace(BASE, uid="b", reviewer="ben", answer="flip"),
        replace(BASE, uid="b/undo", reviewer="ben", answer="undo", undo_of="b"),
        replace(BASE, uid="c", reviewer="ben", answer="keep"),
    ]
    (found,) = agreements(decisions)
    assert found.share == 0.0
    assert outcomes(decisions)[0].status == "keep"


def test_an_answer_undone_before_the_other_reviewer_answered_does_not_count():
    decisions = [
        replace(BASE, uid="a", reviewer="ann", answer="flip"),
        replace(BASE, uid="a/undo", reviewer="ann", answer="undo", undo_of="a"),
        replace(BASE, uid="b", reviewer="ben", answer="keep"),
        replace(BASE, uid="c", reviewer="ann", answer="keep"),
    ]
    (found,) = agreements(decisions)
    assert found.share == 1.0
