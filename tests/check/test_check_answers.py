"""Labels that several annotators gave: from two tables to a run."""

import csv
import warnings

import numpy as np
import pytest

from answered_tables import answered, write, write_answered
from rankprune import LabelCheck, check_answers
from rankprune.exceptions import TableError

pytest.importorskip("duckdb")

ASKED = {"row": "item", "annotator": "worker", "scorer": None}
QUICK = {**ASKED, "noise_estimator": "confident-counts"}


def check(folder, *, answers=None, features=None, **options):
    return check_answers(
        folder / "answers.csv" if answers is None else answers,
        "answer",
        features=folder / "items.csv" if features is None else features,
        labeled=folder / "labeled.csv",
        **{**QUICK, **options},
    )


def labels_of(folder, name="labeled.csv"):
    with (folder / name).open(newline="") as file:
        return {line["item"]: line["answer"] for line in csv.DictReader(file)}


def rewrite(folder, change):
    """Write the table of answers again, with changed lines."""
    lines, _, _ = answered()
    return write(
        folder / "answers.csv", ["item", "worker", "answer", "took"], change(lines) or lines
    )


@pytest.fixture
def folder(tmp_path):
    write_answered(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished check with its folder and the true labels."""
    folder = tmp_path_factory.mktemp("answered")
    truth = write_answered(folder)[2]
    found = check(folder, seconds="took")
    found.save(folder / "run")
    return found, folder, truth


class TestFromAnswersToARun:
    def test_the_consensus_becomes_the_label_of_each_row(self, done):
        found, folder, truth = done
        labels = labels_of(folder)
        assert list(labels) == [f"i{i:03d}" for i in range(240)]
        right = np.mean([label == one for label, one in zip(labels.values(), truth, strict=True)])
        assert right > 0.93
        assert found.n_rows == 240
        assert (found.positive, found.negative) == ("yes", "no")
        assert found.settings.id == "item"
        assert found.source.path == str((folder / "labeled.csv").resolve())

    def test_the_record_tells_how_good_the_annotators_are(self, done):
        told = done[0].repeated_answers
        assert (told.n_answers, told.n_rows, told.n_unanswered) == (720, 240, 0)
        assert told.method == "model"
        assert told.reason.startswith("scores of the rows are one more witness")
        by_name = {one.annotator: one for one in told.annotators}
        for name, skill in zip(("ann", "bob", "cyd", "dan"), (0.9, 0.8, 0.8, 0.65), strict=True):
            accuracy = by_name[name].accuracy
            assert accuracy.low - 0.02 <= skill <= accuracy.high + 0.02
        assert told.annotators[0].annotator == "dan"
        assert len(told.next_rows) == 100

    def test_wrong_labels_are_counted_from_the_answers(self, done):
        found, folder, truth = done
        wrong = np.mean([a != b for a, b in zip(labels_of(folder).values(), truth, strict=True)])
        share = found.repeated_answers.by_consensus.wrong_share
        assert share.low <= wrong <= share.high
        votes = found.repeated_answers.by_votes.wrong_share
        assert votes.estimate > share.estimate

    def test_the_run_can_be_loaded_and_opened_again(self, done):
        found, folder, _ = done
        again = LabelCheck.load(folder / "run")
        assert again.repeated_answers == found.repeated_answers
        assert again.settings == found.settings
        from rankprune.export import export_table

        assert export_table(again, folder / "marked.csv")[0] == 240

    def test_the_summary_shows_both_kinds_of_evidence(self, done):
        text = str(done[0])
        assert "The labels are the consensus of 720 answers by 4 annotators about 240 rows" in text
        assert "of the labels by majority vote" in text
        assert "errors are independent given the true label" in text

    def test_the_command_repeats_the_check(self, done, tmp_path):
        found, folder, _ = done
        words = str(found.settings)
        for part in (
            f"check {folder / 'answers.csv'} --label answer --row item --annotator worker",
            f"--features {folder / 'items.csv'} --labeled {folder / 'labeled.csv'}",
            "--seconds took",
        ):
            assert part in words
        assert "--id" not in words
        assert "--drop-unlabeled" not in words


class TestWhatTablesMayHold:
    def test_rows_without_answers_have_no_label_and_may_be_asked_next(self, folder):
        lines = [line for line in answered()[0] if line[0] not in ("i003", "i004")]
        write(folder / "answers.csv", ["item", "worker", "answer", "took"], lines)
        found = check(folder)
        assert found.n_rows == 238
        assert labels_of(folder)["i003"] == ""
        assert found.repeated_answers.n_unanswered == 2
        assert "2 rows have no answers, and so no label." in found.notes
        assert found.settings.drop_unlabeled
        assert "--drop-unlabeled" not in str(found.settings)

    def test_rows_without_features_count_for_annotators_alone(self, folder):
        more = [[f"x{i}", who, "yes", 3] for i in range(5) for who in ("ann", "bob")]
        rewrite(folder, lambda lines: lines + more)
        found = check(folder)
        assert found.n_rows == 240
        assert found.repeated_answers.n_without_features == 5
        assert found.repeated_answers.n_rows == 245
        assert any(
            note.startswith("5 rows of the answers have no features") for note in found.notes
        )

    def test_an_annotator_with_one_answer_has_a_wide_interval(self, folder):
        rewrite(folder, lambda lines: [*lines, ["i000", "eve", "yes", 3]])
        (eve,) = [
            one for one in check(folder).repeated_answers.annotators if one.annotator == "eve"
        ]
        assert eve.n_answers == 1
        assert eve.accuracy.high - eve.accuracy.low > 0.5

    def test_empty_cells_are_no_answers(self, folder):
        rewrite(
            folder, lambda lines: [[*line[:2], "", line[3]] for line in lines[:30]] + lines[30:]
        )
        assert check(folder).repeated_answers.n_answers == 690

    def test_one_answer_a_row_tells_with_scores(self, tmp_path):
        write_answered(tmp_path, per_row=1)
        found = check(tmp_path)
        assert found.repeated_answers.doubts == ()
        assert found.repeated_answers.method == "model"

    def test_too_few_rows_of_a_label_leave_the_answers_alone(self, folder):
        def rare(lines):
            return [
                [row, who, "yes" if row in ("i000", "i001", "i002", "i003", "i004") else "no", s]
                for row, who, _, s in lines
            ]

        rewrite(folder, rare)
        with warnings.catch_warnings():
            # Five rows of a label are too few for the check that follows, and it says so.
            warnings.simplefilter("ignore")
            found = check(folder)
        assert found.repeated_answers.method != "model"
        assert any("that of the answers alone" in note for note in found.notes)

    def test_given_probabilities_are_a_witness(self, folder):
        _, rows, truth = answered()
        write(
            folder / "items.csv",
            ["item", "score"],
            [
                [row[0], 0.2 + 0.6 * (label == "yes") + 0.01 * (i % 9)]
                for i, (row, label) in enumerate(zip(rows, truth, strict=True))
            ],
        )
        found = check(folder, probabilities="score")
        assert not found.out_of_fold
        assert found.repeated_answers.method == "model"

    def test_answers_alone_may_not_tell(self, tmp_path):
        from rankprune.run._answers_sentences import answers_lines, wrong_rows

        write_answered(tmp_path, n=60, per_row=2)
        lines, rows, _ = answered(n=60, per_row=2)
        # Fewer than ten rows of one label: nothing is fitted.
        few = {row[0] for row in rows[:6]}
        lines = [[row, who, "yes" if row in few else "no", s] for row, who, _, s in lines]
        write(tmp_path / "answers.csv", ["item", "worker", "answer", "took"], lines)
        with warnings.catch_warnings():
            # So are six.
            warnings.simplefilter("ignore")
            found = check(tmp_path)
        assert found.repeated_answers.doubts
        assert any("cannot tell how often annotators err" in line for line in answers_lines(found))
        assert wrong_rows(found) == []

    def test_data_frames_give_the_same_result(self, folder):
        pd = pytest.importorskip("pandas")
        from_files = check(folder)
        (folder / "labeled.csv").rename(folder / "from_files.csv")
        frames = check(
            folder,
            answers=pd.read_csv(folder / "answers.csv"),
            features=pd.read_csv(folder / "items.csv"),
            seconds="took",
        )
        assert labels_of(folder) == labels_of(folder, "from_files.csv")
        assert frames.repeated_answers.by_votes == from_files.repeated_answers.by_votes
        assert str(frames.settings).startswith("rankprune.check_answers(answers, label='answer'")
        for part in ("features=features", "row='item'", "annotator='worker'", "labeled="):
            assert part in str(frames.settings)

    def test_ids_are_compared_as_text(self, folder):
        lines, rows, _ = answered()
        number = {row[0]: i for i, row in enumerate(rows)}
        pd = pytest.importorskip("pandas")
        numbered = pd.DataFrame([[number[row], *rest] for row, *rest in lines])
        numbered.columns = ["item", "worker", "answer", "took"]
        write(
            folder / "items.csv",
            ["item", "width", "height"],
            [[str(number[row]), *rest] for row, *rest in rows],
        )
        assert check(folder, answers=numbered).n_rows == 240

    def test_redacted_annotators_and_rows_are_not_named(self, folder):
        found = check(folder, redact=["worker", "item"])
        told = found.repeated_answers
        names = sorted(one.annotator for one in told.annotators)
        assert names == [f"annotator {i}" for i in (1, 2, 3, 4)]
        assert told.next_rows == ()
        assert "--redact worker" in str(found.settings)
        assert "--redact item" in str(found.settings)

    def test_parquet_is_written_where_its_name_says_so(self, folder):
        found = check_answers(
            folder / "answers.csv",
            "answer",
            features=folder / "items.csv",
            labeled=folder / "labeled.parquet",
            **QUICK,
        )
        assert found.source.name == "labeled.parquet"


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "options", "message"),
        [
            (lambda ls: [["", *ls[0][1:]], *ls[1:]], {}, "row must be filled in for every answer"),
            (
                lambda ls: [[ls[0][0], " ", *ls[0][2:]], *ls[1:]],
                {},
                "annotator must be filled in for every answer; answer 1 of answers.csv has",
            ),
            (
                lambda ls: [[*ls[0][:3], -2], *ls[1:]],
                {"seconds": "took"},
                "seconds must be times of 0 or more; answer 1 of 'took' has '-2'",
            ),
            (
                lambda ls: [*ls[:4], [*ls[4][:3], "soon"], *ls[5:]],
                {"seconds": "took"},
                "answer 5 of 'took' has 'soon'",
            ),
            (
                lambda ls: [*ls, [*ls[0][:2], "no", 1]],
                {"duplicates": "error"},
                "answered row 'i000' more than once",
            ),
            (
                lambda ls: [[*line[:2], "maybe", 1] for line in ls[:9]] + ls[9:],
                {},
                "label must have two values; 'answer' has 3",
            ),
            (
                lambda ls: [[*line[:2], "yes", 1] for line in ls],
                {},
                "label must have two values; 'answer' has one",
            ),
            (
                lambda ls: [[f"other{line[0]}", *line[1:]] for line in ls],
                {},
                "row must name the same rows in both tables, but no 'item' of answers.csv is in "
                "items.csv: 'otheri000', 'otheri001', 'otheri002' there, 'i000'",
            ),
            (lambda ls: ls, {"row": "it"}, "row must be a column of the table; answers.csv has no"),
            (lambda ls: ls, {"annotator": "who"}, "annotator must be a column of the table"),
            (lambda ls: ls, {"seconds": "time"}, "seconds must be a column of the table"),
            (lambda ls: ls, {"duplicates": "first"}, "duplicates must be 'last', 'error' or 'all'"),
        ],
    )
    def test_bad_answers_are_explained(self, folder, change, options, message):
        rewrite(folder, change)
        with pytest.raises((TableError, ValueError), match=message):
            check(folder, **options)
        assert not (folder / "labeled.csv").exists()

    @pytest.mark.parametrize(
        ("names", "change", "message"),
        [
            (["item", "a", "b"], lambda rs: [*rs, rs[4]], "'i004' is in rows 5 and 241"),
            (["item", "a", "b"], lambda rs: [["", 1, 2], *rs], "row 1 of items.csv has no 'item'"),
            (["item", "a", "answer"], lambda rs: rs, "items.csv already has a column 'answer'"),
            (["name", "a", "b"], lambda rs: rs, "row must be a column of the table; items.csv has"),
        ],
    )
    def test_bad_features_are_explained(self, folder, names, change, message):
        write(folder / "items.csv", names, change(answered()[1]))
        with pytest.raises(TableError, match=message):
            check(folder)
        assert not (folder / "labeled.csv").exists()

    def test_inputs_are_never_replaced(self, folder):
        for name in ("answers.csv", "items.csv"):
            before = (folder / name).read_bytes()
            with pytest.raises(ValueError, match=name):
                check_answers(
                    folder / "answers.csv",
                    "answer",
                    features=folder / "items.csv",
                    labeled=folder / name,
                    **QUICK,
                )
            assert (folder / name).read_bytes() == before
