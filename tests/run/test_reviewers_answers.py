"""The answers of reviewers as answers of annotators."""

from dataclasses import replace

import numpy as np
import pytest

from rankprune import LabelCheck, check_labels, check_table
from rankprune.annotators import consensus
from rankprune.exceptions import TableError
from reviewed_run import of_row


def told(answers):
    """Return (row, annotator, label) of every answer."""
    return [
        (answers.rows[row], answers.annotators[who], answers.classes[label])
        for row, who, label in zip(answers.row, answers.annotator, answers.label, strict=True)
    ]


class TestAnswersOfReviewers:
    def test_keep_is_the_given_label_and_flip_the_other(self, check, judged):
        judged(("ann", 0, "keep"), ("ann", 1, "flip"), ("ben", 0, "flip"))
        answers = check.answers()
        given, other = of_row(check, 0)
        assert told(answers) == [
            (0, "ann", given),
            (0, "ben", other),
            (1, "ann", of_row(check, 1)[1]),
        ]
        assert set(answers.classes) == {check.positive, check.negative}
        assert answers.seconds.tolist() == [2.0] * 3

    def test_unsure_is_missing_and_the_last_answer_counts(self, check, judged):
        judged(("ann", 0, "keep"), ("ann", 0, "unsure"), ("ben", 0, "unsure"), ("ben", 0, "flip"))
        answers = check.answers()
        assert told(answers) == [(0, "ben", of_row(check, 0)[1])]
        assert answers.annotators == ("ann", "ben")

    def test_rows_with_unsure_answers_alone_are_rows_without_answers(self, check, judged):
        judged(("ann", 0, "unsure"), ("ann", 1, "keep"))
        answers = check.answers()
        assert answers.rows == (0, 1)
        assert answers.per_row.tolist() == [0, 1]

    def test_undone_answers_do_not_count(self, check, judged):
        queue, _ = judged(("ann", 0, "keep"), ("ann", 1, "keep"))
        assert queue.undo("0" * 16, "ann") == 1
        assert [row for row, _, _ in told(check.answers())] == [0]

    def test_answers_that_settle_are_left_out_or_counted(self, check, judged):
        row = int(check.candidate_rows()[0])
        judged(("ann", row, "keep"), ("ben", row, "flip"))
        judged(("cyd", row, "flip"), settles=True)
        given, other = of_row(check, row)
        blind = [(row, "ann", given), (row, "ben", other)]
        assert told(check.answers()) == blind
        assert told(check.answers(settling="count")) == [*blind, (row, "cyd", other)]
        with pytest.raises(ValueError, match="settling must be 'leave out' or 'count', got 'all'"):
            check.answers(settling="all")

    def test_they_give_a_consensus(self, check, judged):
        rows = check.candidate_rows()[:25].tolist()
        judged(*((name, row, "flip") for name in ("ann", "ben", "cyd") for row in rows))
        found = consensus(check.answers())
        assert found.rows == tuple(sorted(rows))
        assert found.labels.tolist() == [of_row(check, row)[1] for row in found.rows]
        assert found.agreement.tolist() == [1.0] * 25

    def test_rows_that_have_changed_are_left_out(self, check, run, folder, judged):
        judged(("ann", 0, "keep"), ("ann", 1, "keep"))
        path = folder / "people.csv"
        lines = path.read_text().splitlines()
        lines[1] = lines[1].replace("text 0", "other").replace("<script>alert(1)</script>", "other")
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(TableError, match=r"is not the table that was checked|has changed"):
            check.answers(path)
        again = check_table(path, "label", id="row id", scorer=None, drop=["story"])
        again.save(run, force=True)
        assert [row for row, _, _ in told(again.answers(path))] == [1]


class TestWhereTheLogIs:
    def test_a_check_knows_the_directory_it_was_saved_to_or_loaded_from(self, check, run, tmp_path):
        assert check.folder == run.resolve()
        assert "folder" not in check.to_dict()
        copy = replace(check, folder=None)
        copy.save(tmp_path / "copy")
        assert copy.folder == (tmp_path / "copy").resolve()
        assert LabelCheck.load(tmp_path / "copy").folder == copy.folder

    def test_without_a_directory_or_a_log_the_error_says_what_to_do(self, check):
        labels = np.repeat([0, 1], 100)
        fresh = check_labels(None, labels, probabilities=0.1 + 0.8 * labels)
        with pytest.raises(TableError, match="Save this one, let people review it"):
            fresh.answers()
        with pytest.raises(TableError, match="no row has been reviewed yet"):
            check.answers()
