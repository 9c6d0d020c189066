"""The decision log: append-only, never corrupt, one writer at a time, one schema."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, replace

import pytest

from rankprune.exceptions import TableError
from rankprune.run import _decision_log
from rankprune.run._decision_log import Conflict, DecisionLog, Draw, Locked, Merged
from rankprune.run._decisions import Decision

BASE = Decision(
    "00000001", 3, "hash", "review", None, "ann", "keep", "yes", 0.25, 1.5, "a note", "2026-01-01"
)


@pytest.fixture
def log(tmp_path):
    with DecisionLog(tmp_path / "review.sqlite") as opened:
        yield opened


def test_what_was_written_is_read(log, tmp_path):
    log.add(BASE)
    assert log.decisions("review") == [BASE]
    with DecisionLog(tmp_path / "review.sqlite") as again:
        assert again.decisions("review") == [BASE]


def test_a_message_that_arrives_twice_counts_once(log):
    log.add(BASE)
    assert log.add(replace(BASE, note="sent again")) == BASE
    assert log.decisions("review") == [BASE]


def test_a_new_answer_by_the_same_person_undoes_the_old_one(log):
    log.add(BASE)
    other = log.add(replace(BASE, uid="00000002", answer="flip"))
    made = log.decisions("review")
    assert [one.answer for one in made] == ["keep", "undo", "flip"]
    assert made[1].undo_of == BASE.uid
    assert made[2] == other


def test_the_first_of_two_people_wins(log):
    log.add(BASE)
    with pytest.raises(Conflict, match="ann answered keep") as caught:
        log.add(replace(BASE, uid="00000002", reviewer="ben", answer="flip"))
    assert caught.value.first == BASE
    assert len(log.decisions("review")) == 1


def test_if_two_answers_are_needed_the_second_counts_and_the_third_is_a_conflict(log):
    log.add(BASE, 2)
    log.add(replace(BASE, uid="00000002", reviewer="ben", answer="flip"), 2)
    with pytest.raises(Conflict):
        log.add(replace(BASE, uid="00000003", reviewer="cec", answer="flip"), 2)


def test_an_unsure_answer_does_not_stop_others_from_deciding(log):
    log.add(replace(BASE, answer="unsure"))
    log.add(replace(BASE, uid="00000002", reviewer="ben", answer="flip"))
    assert len(log.decisions("review")) == 2


def test_a_disagreement_is_settled_once(log):
    log.add(BASE, 2)
    log.add(replace(BASE, uid="00000002", reviewer="ben", answer="flip"), 2)
    settled = log.add(replace(BASE, uid="00000003", reviewer="cec", answer="flip", settles=True), 2)
    with pytest.raises(Conflict) as caught:
        log.add(replace(BASE, uid="00000004", reviewer="dan", settles=True), 2)
    assert caught.value.first == settled
    # Reviewers may change their own answer.
    log.add(replace(BASE, uid="00000005", reviewer="cec", settles=True), 2)


def test_reviewers_can_undo_only_their_own_decisions_and_only_once(log):
    log.add(BASE)
    with pytest.raises(KeyError):
        log.undo("00000002", BASE.uid, "ben", 0.0, "2026-01-02")
    undone = log.undo("00000002", BASE.uid, "ann", 0.0, "2026-01-02")
    assert (undone.answer, undone.undo_of, undone.row) == ("undo", BASE.uid, 3)
    assert log.undo("00000002", BASE.uid, "ann", 0.0, "2026-01-02") == undone
    for uid, target in (("00000003", BASE.uid), ("00000004", "none"), ("00000005", undone.uid)):
        with pytest.raises(KeyError):
            log.undo(uid, target, "ann", 0.0, "2026-01-02")


def test_modes_and_draws_are_kept_separate(log):
    log.add(BASE)
    audited = replace(BASE, uid="00000002", mode="audit", draw=1, answer="positive", label=None)
    log.add(audited)
    log.add(replace(audited, uid="00000003", draw=2, reviewer="ben"))
    assert log.decisions("review") == [BASE]
    assert log.decisions("audit", 1) == [audited]
    assert log.news("audit", (1,)) == (3, [audited])
    assert log.news("review") == (3, [BASE])


@pytest.mark.parametrize("sql", ["DELETE FROM decisions", "UPDATE decisions SET answer = 'flip'"])
def test_nothing_is_ever_changed_or_removed(log, sql):
    log.add(BASE)
    with pytest.raises(sqlite3.IntegrityError, match="decisions are only ever added"):
        log._writer.execute(sql)
    assert log.decisions("review") == [BASE]


def test_text_is_never_run_as_sql(log):
    evil = "'); DROP TABLE decisions; --"
    written = log.add(replace(BASE, note=evil, reviewer=evil, uid=evil, label=evil))
    assert log.decisions("review") == [written]


def test_only_what_is_new_is_read(log, tmp_path):
    log.add(BASE)
    assert log.news("review", after=0) == (1, [BASE])
    assert log.news("review", after=1) == (1, [])
    with DecisionLog(tmp_path / "review.sqlite") as other:
        more = other.add(replace(BASE, uid="00000002", row=4))
    assert log.news("review", after=1) == (2, [more])


def test_many_threads_write_without_loss(log):
    def write(name):
        for number in range(25):
            log.add(replace(BASE, uid=f"{name}{number:07x}", row=number, reviewer=name), 4)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = log.decisions("review")
    assert len({one.uid for one in made}) == len(made) == 100


@contextmanager
def locked(path, how="BEGIN IMMEDIATE"):
    """Lock a log as another process does."""
    other = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    for sql in how.split(";"):
        other.execute(sql).fetchall()
    try:
        yield other
    finally:
        other.close()


# In this mode, no other process can even read.
ALONE = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"


class TestLocks:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "review.sqlite"

    def test_a_write_gives_up_and_can_be_repeated(self, log, path, monkeypatch):
        assert _decision_log.PATIENCE == 5.0
        monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
        with locked(path), pytest.raises(Locked, match=r"review.sqlite is locked: another program"):
            log.add(BASE)
        assert log.add(BASE) == BASE
        assert log.decisions("review") == [BASE]

    def test_waiting_for_a_turn_counts(self, log, monkeypatch):
        monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
        with log._turn, pytest.raises(Locked):
            log.add(BASE)

    def test_writes_that_wait_are_all_done_when_the_lock_is_gone(self, log, path, monkeypatch):
        monkeypatch.setattr(_decision_log, "PATIENCE", 60.0)
        with ThreadPoolExecutor(8) as pool, locked(path):
            waiting = [
                pool.submit(log.add, replace(BASE, uid=f"{row:08x}", row=row)) for row in range(8)
            ]
            assert log.decisions("review") == []
            assert not any(one.done() for one in waiting)
        assert {one.result().row for one in waiting} == set(range(8))
        assert len(log.decisions("review")) == 8

    @pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
    def test_reading_does_not_wait_for_a_lock(self, log, path, how):
        log.add(BASE)
        with locked(path, how) as other:
            assert log.decisions("review") == [BASE]
            assert log.news("review") == (1, [BASE])
            assert log.last_draw() is None
            with DecisionLog(path) as second:
                assert second.decisions("review") == [BASE]
            assert other.in_transaction

    def test_an_open_log_cannot_be_taken_by_one_process_alone(self, log, path):
        log.add(BASE)
        with pytest.raises(sqlite3.OperationalError, match="locked"), locked(path, ALONE):
            pass
        assert log.decisions("review") == [BASE]

    @pytest.mark.parametrize("is_new", [True, False])
    def test_opening_waits(self, path, is_new):
        if not is_new:
            with DecisionLog(path) as log:
                log.add(BASE)
        with ThreadPoolExecutor(1) as pool:
            with locked(path, ALONE):
                opening = pool.submit(DecisionLog, path)
                with pytest.raises(TimeoutError):
                    opening.result(0.3)
            with opening.result() as log:
                assert len(log.decisions("review")) == (not is_new)

    def test_opening_gives_up(self, path, monkeypatch):
        monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
        with locked(path, ALONE), pytest.raises(Locked):
            DecisionLog(path)
        DecisionLog(path).close()

    def test_those_who_wait_can_be_told_to_give_up(self, log, path, monkeypatch):
        monkeypatch.setattr(_decision_log, "PATIENCE", 600.0)
        with ThreadPoolExecutor(4) as pool, locked(path):
            waiting = [
                pool.submit(log.add, replace(BASE, uid=f"{row:08x}", row=row)) for row in range(4)
            ]
            log.stop_waiting()
            for one in waiting:
                with pytest.raises(Locked):
                    one.result()
        log.add(BASE)

    def test_closing_waits_for_a_write(self, path):
        log = DecisionLog(path)
        with ThreadPoolExecutor(1) as pool:
            with log._writing() as connection:
                closing = pool.submit(log.close)
                with pytest.raises(TimeoutError):
                    closing.result(0.1)
                connection.execute(_decision_log._INSERT, astuple(BASE))
            closing.result()
        with DecisionLog(path) as again:
            assert again.decisions("review") == [BASE]

    def test_without_write_ahead_logging_a_commit_waits_for_readers(self, path, monkeypatch):
        with DecisionLog(path) as log:
            log.add(BASE)
            log._reader.close()
            log._writer.execute("PRAGMA journal_mode = DELETE").fetchall()
            more = replace(BASE, uid="00000002", row=4)
            with ThreadPoolExecutor(1) as pool, locked(path, "BEGIN; SELECT uid FROM decisions"):
                writing = pool.submit(log.add, more)
                with pytest.raises(TimeoutError):
                    writing.result(0.1)
            assert writing.result() == more
            monkeypatch.setattr(_decision_log, "PATIENCE", 0.05)
            with locked(path, "BEGIN; SELECT uid FROM decisions"), pytest.raises(Locked):
                log.add(replace(BASE, uid="00000003", row=5))
            assert log._writer.execute("SELECT count(*) FROM decisions").fetchone() == (2,)


class TestDraws:
    drawn = Draw(None, "sha", (2, 3, 4, 5), "yes", "no", ((7, True, False), (1, False, True)), "t")

    def test_a_sample_is_kept_in_its_order(self, log):
        assert log.last_draw() is None
        kept = log.keep_draw(self.drawn)
        assert kept == replace(self.drawn, id=1)
        assert log.last_draw() == kept

    def test_the_last_one_counts(self, log):
        log.keep_draw(self.drawn)
        log.keep_draw(replace(self.drawn, scores="other"))
        assert log.last_draw().scores == "other"
        assert log.last_draw().id == 2
        assert len(log.last_draws()) == 1

    batch = Draw(
        *(None, "sha", (2, 3, 5), "yes", "no", ((7, True, True), (1, False, True)), "t"),
        method="model",
        about="yes",
        kinds=((True, False), (True, False), (False, False)),
        strata=(1, 2),
    )

    def test_batches_follow_each_other(self, log):
        assert log.last_draws() == []
        first = log.keep_draw(self.batch)
        more = replace(self.batch, batch=2, rows=((8, True, False), (2, False, False)), about=None)
        second = log.keep_draw(more)
        assert log.last_draws() == [replace(self.batch, id=1), replace(more, id=2)]
        assert log.last_draws() == [first, second]
        anew = log.keep_draw(self.drawn)
        assert log.last_draws() == [anew]

    def test_only_the_first_of_two_that_were_drawn_at_once_is_kept(self, log):
        first = log.keep_draw(self.batch, after=0)
        assert log.keep_draw(replace(self.batch, about=None), after=0) == first
        more = replace(self.batch, batch=2, rows=((8, True, False), (2, False, False)))
        assert log.keep_draw(more, after=1).id == 2
        assert log.keep_draw(more, after=1).id == 2
        assert len(log.last_draws()) == 2

    @pytest.mark.parametrize(
        "change",
        [
            {"batch": 3},
            {"scores": "other"},
            {"method": "design"},
            {"rows": ((7, True, True), (3, False, True))},
            {"strata": (2, 1)},
        ],
    )
    def test_a_batch_that_cannot_follow_the_others_is_reported(self, log, change):
        log.keep_draw(self.batch)
        next_ = replace(self.batch, batch=2, rows=((8, True, False), (2, False, False)))
        log.keep_draw(replace(next_, **change))
        with pytest.raises(TableError, match=r"the sample no\. 2 makes no sense"):
            log.last_draws()

    def test_the_sample_has_the_strata_that_were_drawn_from(self):
        sample = self.batch.sample()
        assert (sample.stratum.tolist(), sample.kinds) == ([1, 2], self.batch.kinds)
        # Those of the first release follow from label and suspect.
        sample = self.drawn.sample()
        assert (sample.stratum.tolist(), len(sample.kinds)) == ([1, 2], 4)


class TestSchema:
    def test_a_missing_log_is_an_error_if_it_must_exist(self, tmp_path):
        with pytest.raises(TableError, match=r"no row has been reviewed yet. Review some rows"):
            DecisionLog(tmp_path / "review.sqlite", must_exist=True)

    @pytest.mark.parametrize("schema", [0, 3, 99])
    def test_any_other_schema_is_refused_and_the_file_is_unchanged(self, tmp_path, schema):
        path = tmp_path / "review.sqlite"
        with DecisionLog(path) as log:
            log._writer.execute(f"PRAGMA user_version = {schema}")
        before = path.read_bytes()
        with pytest.raises(TableError, match=rf"has schema {schema}, and .* only schema 2 and"):
            DecisionLog(path)
        assert path.read_bytes() == before

    @pytest.fixture
    def first_release(self, tmp_path):
        """A log as the first release wrote it, and what it holds."""
        path = tmp_path / "review.sqlite"
        with DecisionLog(path) as log:
            log.add(BASE)
            drawn = log.keep_draw(TestDraws.drawn)
            for column in ("method", "about", "batch", "kinds"):
                log._writer.execute(f"ALTER TABLE draws DROP COLUMN {column}")
            log._writer.execute("ALTER TABLE drawn DROP COLUMN stratum")
            log._writer.execute("PRAGMA user_version = 1")
        return path, drawn

    def test_a_log_of_the_first_release_is_brought_up_to_date(self, first_release):
        path, drawn = first_release
        for _ in range(2):
            with DecisionLog(path) as log:
                assert log.decisions("review") == [BASE]
                assert log.last_draws() == [drawn]
        with DecisionLog(path) as log:
            batch = replace(TestDraws.batch, batch=1)
            assert log.keep_draw(batch) == replace(batch, id=2) == log.last_draw()
        # The first release can go on with the copy.
        other = sqlite3.connect(path.with_name("review.schema-1.sqlite"))
        assert other.execute("PRAGMA user_version").fetchone() == (1,)
        assert other.execute("SELECT uid FROM decisions").fetchall() == [(BASE.uid,)]
        other.close()

    def test_processes_that_open_it_at_once_do_that_once(self, first_release):
        path, drawn = first_release

        def opened(_):
            with DecisionLog(path) as log:
                return log.last_draws()

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(opened, range(8))) == [[drawn]] * 8

    def test_files_of_other_programs_are_refused_and_unchanged(self, tmp_path):
        path = tmp_path / "review.sqlite"
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE theirs (x)")
        other.commit()
        other.close()
        before = path.read_bytes()
        with pytest.raises(TableError, match="belongs to another program"):
            DecisionLog(path)
        assert path.read_bytes() == before
        path.write_bytes(b"no database at all" * 100)
        with pytest.raises(TableError, match="is not a decision log"):
            DecisionLog(path)

    def test_an_empty_file_is_a_new_log_unless_one_must_exist(self, tmp_path):
        path = tmp_path / "review.sqlite"
        path.touch()
        with pytest.raises(TableError, match=r"review.sqlite is empty: no row has been reviewed"):
            DecisionLog(path, must_exist=True)
        assert path.read_bytes() == b""
        DecisionLog(path).close()
        DecisionLog(path, must_exist=True).close()


class TestMerge:
    def test_reviews_by_others_are_added_once(self, tmp_path):
        with DecisionLog(tmp_path / "a") as one:
            one.add(BASE)
            theirs = [replace(BASE, uid="00000002", reviewer="ben", answer="flip")]
            assert one.merge(theirs, lambda _: True) == Merged(1, 0, 0)
            assert one.merge(theirs, lambda _: True) == Merged(0, 1, 0)
            assert [made.reviewer for made in one.decisions("review")] == ["ann", "ben"]

    def test_decisions_about_other_rows_are_left_out(self, tmp_path):
        with DecisionLog(tmp_path / "a") as one:
            theirs = [replace(BASE, uid="00000002"), replace(BASE, uid="00000003", row_hash="x")]
            assert one.merge(theirs, lambda made: made.row_hash == "hash") == Merged(1, 0, 1)
            assert [made.uid for made in one.decisions("review")] == ["00000002"]


class TestReadOnly:
    @pytest.fixture
    def kept(self, tmp_path, monkeypatch):
        """A read-only log; os.access is patched, because root may write to any file."""
        folder = tmp_path / "kept"
        folder.mkdir()
        with DecisionLog(folder / "review.sqlite") as log:
            log.add(BASE)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        monkeypatch.setattr(_decision_log.os, "access", lambda *_: False)
        yield folder / "review.sqlite"
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    def test_it_is_read_from_a_copy(self, kept):
        with DecisionLog(kept) as log:
            assert log.decisions("review") == [BASE]
            place = log._copy.path
        assert not place.exists()

    def test_no_answers_are_accepted(self, kept):
        with (
            DecisionLog(kept) as log,
            pytest.raises(OSError, match=r"is read-only. Copy the run"),
        ):
            log.refuse_unwritable()

    def test_decisions_are_not_merged_into_a_copy_that_goes_away(self, kept):
        with DecisionLog(kept) as log, pytest.raises(OSError, match="is read-only"):
            log.merge([replace(BASE, uid="00000002")], lambda _: True)


def test_a_decision_about_other_cells_is_not_a_conflict(log):
    log.add(BASE)
    log.add(replace(BASE, uid="00000002", reviewer="ben", row_hash="new", answer="flip"))
    assert len(log.decisions("review")) == 2


def test_a_uid_belongs_to_one_decision(log):
    log.add(BASE)
    with pytest.raises(ValueError, match="uid already belongs to another decision"):
        log.add(replace(BASE, row=4))


class TestManyLabels:
    NAMED = replace(BASE, answer="=owl, barn", label="cat")
    DRAW = Draw(
        *(None, "sha", (9, 9), "", "", ((7, False, False), (1, False, True)), "t"),
        method="model",
        about="owl, barn",
        kinds=((False, True), (False, False)),
        strata=(1, 0),
    )

    def test_an_answer_names_its_label(self, log):
        log.add(self.NAMED)
        assert log.decisions("review") == [self.NAMED]
        with pytest.raises(Conflict, match="ann answered “owl, barn”"):
            log.add(replace(self.NAMED, uid="00000002", reviewer="ben", answer="=cat"))

    def test_an_answer_must_name_one(self, log):
        log.add(replace(self.NAMED, answer="="))
        with pytest.raises(TableError, match="makes no sense"):
            log.decisions("review")

    def test_a_draw_is_about_any_label(self, log):
        kept = log.keep_draw(self.DRAW)
        assert log.last_draws() == [kept]
        assert kept == replace(self.DRAW, id=1)

    def test_a_draw_of_two_labels_is_about_one_of_them(self, log):
        log.keep_draw(replace(self.DRAW, positive="yes", negative="no"))
        with pytest.raises(TableError, match="makes no sense"):
            log.last_draws()
