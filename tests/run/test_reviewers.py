"""What several reviewers of a run say together."""

import numpy as np
import pytest

from rankprune.run._answers_sentences import reviewers_lines
from rankprune.run._reviewers import compare_reviewers
from reviewed_run import of_row


@pytest.fixture
def compared(check, run, folder):
    """Return a function that compares the reviewers."""
    return lambda: compare_reviewers(check, run, folder / "people.csv")


def test_one_reviewer_agrees_with_nobody(judged, compared):
    judged(("ann", 0, "keep"), ("ann", 1, "flip"), ("ben", 2, "keep"))
    assert compared() is None
    assert reviewers_lines(compared()) == []


def test_unsure_answers_alone_say_nothing(judged, compared):
    judged(("ann", 0, "unsure"), ("ben", 0, "unsure"))
    assert compared() is None


def test_agreement_and_who_was_overruled(check, judged, compared):
    judged(*((name, row, "keep") for name in ("ann", "ben") for row in range(8)))
    judged(("ann", 8, "keep"), ("ben", 8, "flip"), ("ann", 9, "keep"), ("ben", 9, "flip"))
    judged(("cyd", 8, "keep"), ("cyd", 7, "flip"), settles=True)
    found = compared()
    assert found.n_settled == 1
    by_name = {one.name: (one.n_settled, one.n_overruled) for one in found.reviewers}
    assert by_name == {"ann": (1, 0), "ben": (1, 1)}
    assert [row for row, _, _ in found.likely] == [9]
    lines = reviewers_lines(found)
    assert lines[0].startswith("ann and ben agree on 80.0% of 10 rows that both judged")
    expected = (
        "1 disagreement was settled: ann was overruled in 0 of 1, ben was overruled in 1 of 1."
    )
    assert lines[1] == expected
    assert lines[2].startswith(
        "The answers cannot tell how often annotators err: 2.0 answers a row"
    )
    assert len(lines) == 3


def test_with_three_answers_a_row_the_consensus_speaks(check, judged, compared):
    rng = np.random.default_rng(0)
    wrong = {"ann": 0.05, "ben": 0.1, "cyd": 0.3}
    judged(
        *(
            (name, row, "flip" if rng.random() < share else "keep")
            for row in range(60)
            for name, share in wrong.items()
        )
    )
    found = compared()
    assert found.doubts == ()
    accuracy = {one.name: one.accuracy.estimate for one in found.reviewers}
    assert accuracy["ann"] > accuracy["cyd"]
    kept = [label == of_row(check, row)[0] for row, label, _ in found.likely]
    assert np.mean(kept) > 0.8
    lines = reviewers_lines(found)
    assert lines[3].startswith("Share of correct answers, by the consensus (")
    assert "disagreements are open; most likely are row " in lines[4]
    assert "and" in lines[4]
    assert lines[4].endswith("They keep their labels until a person settles the disagreement.")


def test_a_single_open_disagreement_and_none(check, judged, compared):
    judged(*((name, row, "keep") for row in range(30) for name in ("ann", "ben", "cyd")))
    assert "open" not in reviewers_lines(compared())[-1]
    judged(("ann", 30, "keep"), ("ben", 30, "keep"), ("cyd", 30, "flip"))
    (line,) = [line for line in reviewers_lines(compared()) if "open" in line]
    assert line.startswith("1 disagreement is open; most likely are row 31 “")
    assert line.endswith("It keeps its label until a person settles the disagreement.")


def test_a_sure_consensus_settles_open_disagreements(check, run, folder, judged, compared):
    from rankprune.run._reviewers import SURE, settle_by_consensus
    from rankprune.run._sentences import settled_lines
    from rankprune.run._settled import read_settled

    rng = np.random.default_rng(1)
    judged(
        *(
            (name, row, "flip" if rng.random() < share else "keep")
            for row in range(60)
            for name, share in {"ann": 0.03, "ben": 0.05, "cyd": 0.3}.items()
        )
    )
    before = read_settled(run, check, folder / "people.csv")
    found = compared()
    after = settle_by_consensus(check, before, found)
    sure = {row: label for row, label, confidence in found.likely if confidence >= SURE}
    assert sure
    assert after.by_consensus == frozenset(sure)
    assert len(after.rows) == len(before.rows) + len(sure)
    assert after.n_disagreements == before.n_disagreements - len(sure)
    labels = dict(zip(after.rows.tolist(), after.is_positive.tolist(), strict=True))
    assert {row: labels[row] for row in sure} == {
        row: label == check.positive for row, label in sure.items()
    }
    assert (np.diff(after.rows) > 0).all()
    entries = [entry for entry in after.trail(check) if entry.get("consensus")]
    assert {entry["row"] - 1 for entry in entries} == set(sure)
    assert f"{len(sure)} of them were settled by the consensus." in settled_lines(after)


def test_two_answers_a_row_settle_nothing(check, run, folder, judged, compared):
    from rankprune.run._reviewers import settle_by_consensus
    from rankprune.run._settled import read_settled

    judged(("ann", 0, "keep"), ("ben", 0, "flip"), ("ann", 1, "keep"), ("ben", 1, "keep"))
    before = read_settled(run, check, folder / "people.csv")
    assert settle_by_consensus(check, before, compared()) is before
    assert settle_by_consensus(check, before, None) is before
