"""Rows that people judged for an audit: in training, in exports, and beside a review."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from noisy_table import noisy_csv, noisy_rows, write_csv
from rankprune import LabelCheck, check_table
from rankprune.core import NoiseRates
from rankprune.exceptions import TableError
from rankprune.export import export_reviewed, export_table
from rankprune.model import _train, train_model, train_reviewed
from rankprune.review import next_batch, open_queue, settle_run
from rankprune.run._judged_labels import judged_labels, judged_wrong, rates_of_rest
from rankprune.run._pruned import pruned_rows
from rankprune.run._settled import read_settled
from reviewed_run import uid

N = 400


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return noisy_csv(tmp_path_factory.mktemp("data"), n=N)


@pytest.fixture(scope="module")
def check(data):
    return check_table(data[0], "label", scorer=None)


def settled_by(check, truth, n=50, answer=lambda _, right: right):
    sample = check.draw_audit(n, random_state=0)
    said = [answer(row, ("no", "yes")[truth[row]]) for row in sample.rows.tolist()]
    return check.settle(sample, said)


@pytest.fixture(scope="module")
def audited(check, data):
    found = settled_by(check, data[2])
    assert found.judged.n_wrong > 3
    return found


class Seen:
    """A classifier that remembers what it was fitted to."""

    def __init__(self, monkeypatch):
        self.fits = []
        real = _train.fit_weighted

        def fit(estimator, X, y, weight):
            self.fits.append((y.copy(), None if weight is None else weight.copy()))
            return real(estimator, X, y, weight)

        monkeypatch.setattr(_train, "fit_weighted", fit)


@pytest.mark.parametrize("prune", [False, True])
def test_judged_rows_are_kept_with_their_right_label_and_weight_one(
    audited, data, monkeypatch, prune
):
    _, labels, truth = data
    seen = Seen(monkeypatch)
    model = train_model(audited, prune=prune)
    _, weights = pruned_rows(audited, prune=prune)
    kept = np.flatnonzero(weights > 0)
    rows = np.array(audited.judged.rows)
    assert np.isin(rows, kept).all()
    assert (weights[rows] == 1).all()
    ((y, weight),) = seen.fits
    place = np.searchsorted(kept, rows)
    assert (y[place] == truth[rows]).all()
    assert (truth[rows] != labels[rows]).sum() == audited.judged.n_wrong
    others = np.setdiff1d(kept, rows)
    assert (y[np.searchsorted(kept, others)] == labels[others]).all()
    assert (weight[place] == 1).all()
    assert model.noise_rates == audited.noise_rates.to_dict()


def test_pruning_anyway_uses_the_audited_rates(check, audited, data):
    verdict = replace(audited.verdict, level="cannot tell")
    open_ = replace(audited, verdict=verdict)
    mask, weights = pruned_rows(open_)
    assert mask.sum() == audited.scores.suspect.sum()
    mask, weights = pruned_rows(open_, prune=True)
    rows = np.array(audited.judged.rows)
    assert not mask[rows].any()
    expected = audited.wrong_share * N - audited.judged.n_wrong
    assert abs(mask.sum() - expected) <= 2
    assert abs(mask.sum() - pruned_rows(check, prune=True)[0].sum()) > 2
    trusted = np.zeros(N, dtype=bool)
    trusted[np.flatnonzero(mask)[:3]] = True
    again, weights = pruned_rows(open_, prune=True, trusted=trusted)
    assert not again[trusted].any()
    assert (weights[trusted] == 1).all()
    assert not again[rows].any()
    assert train_model(open_, prune=True).noise_rates == audited.noise_rates.to_dict()


def test_scores_that_say_nothing_prune_nothing_after_an_audit_either(audited):
    rates = replace(audited.noise_rates, reliable=False)
    verdict = replace(audited.verdict, level="cannot tell")
    with pytest.raises(TableError, match="do not tell the labels apart"):
        pruned_rows(replace(audited, noise_rates=rates, verdict=verdict), prune=True)


def test_rates_of_the_rest_leave_out_what_was_found():
    given = np.array([True] * 10 + [False] * 10)
    rates = NoiseRates.from_label_error_rates(0.4, 0.2, 0.5)
    settled, right = np.array([0, 1, 10]), np.array([False, True, True])
    rest = rates_of_rest(rates, given, settled, right)
    # Of 10 positives 4 are wrong, and 1 of 2 judged ones; of 10 negatives 2, and the judged one.
    assert rest.positive_label_error_rate == pytest.approx(3 / 8)
    assert rest.negative_label_error_rate == pytest.approx(1 / 9)
    every = np.arange(10)
    assert rates_of_rest(rates, given, every, given[every]) is None
    many = rates_of_rest(NoiseRates.from_label_error_rates(0.5, 0.48, 0.5), given, *[every[:0]] * 2)
    assert many.positive_label_error_rate == pytest.approx(0.5)


def test_a_reviewed_model_takes_the_judged_labels_and_the_audited_rates(audited, data, monkeypatch):
    fits = []
    real = _train.RankPruningClassifier

    class Remembering(real):
        def fit(self, X, y, **how):
            fits.append((self.positive_noise_rate, y.copy(), how["trusted"].copy()))
            return super().fit(X, y, **how)

    monkeypatch.setattr(_train, "RankPruningClassifier", Remembering)
    _, labels, truth = data
    rows = np.array(audited.judged.rows)
    # A reviewer overrules the audit on the first judged row, and settles another one.
    other = int(np.setdiff1d(np.arange(N), rows)[0])
    said = {int(rows[0]): not truth[rows[0]], other: not labels[other]}
    found = train_reviewed(audited, np.array(list(said)), np.array(list(said.values())))
    ((rate, y, trusted),) = fits
    assert found.n_trusted == 51 == trusted.sum()
    assert (y[rows[1:]] == truth[rows[1:]]).all()
    assert [y[row] for row in said] == list(said.values())
    right = y[np.flatnonzero(trusted)]
    rest = rates_of_rest(audited.noise_rates, labels == 1, np.flatnonzero(trusted), right)
    assert rate == rest.positive_noise_rate
    wrong_left = audited.wrong_share * N - (y != labels).sum()
    assert found.n_pruned == pytest.approx(wrong_left, abs=2)
    fits.clear()
    clean = replace(audited, verdict=replace(audited.verdict, level="clean"))
    assert train_reviewed(clean, rows[:0], rows[:0].astype(bool)).n_pruned == 0
    assert fits[0][0] == 0
    unreliable = replace(audited, noise_rates=replace(audited.noise_rates, reliable=False))
    assert train_reviewed(unreliable, rows[:0], rows[:0].astype(bool)).n_pruned == 0


def test_reviewed_labels_leave_the_rates_of_the_check_to_the_other_rows(check, data, monkeypatch):
    fits = []
    real = _train.RankPruningClassifier

    class Remembering(real):
        def fit(self, X, y, **how):
            fits.append((self.positive_noise_rate, self.negative_noise_rate))
            return super().fit(X, y, **how)

    monkeypatch.setattr(_train, "RankPruningClassifier", Remembering)
    _, labels, truth = data
    rows = np.sort(check.suspect_rows()[:15])
    found = train_reviewed(check, rows, truth[rows])
    rest = rates_of_rest(check.noise_rates, labels == 1, rows, truth[rows] == 1)
    assert fits == [(rest.positive_noise_rate, rest.negative_noise_rate)]
    wrong_left = check.wrong_share * N - (labels[rows] != truth[rows]).sum()
    assert found.n_pruned == pytest.approx(wrong_left, abs=2)
    silent = replace(check, estimated_rates=replace(check.estimated_rates, reliable=False))
    with pytest.raises(TableError, match="do not tell the labels apart"):
        train_reviewed(silent, rows, truth[rows], prune=True)


def cells(path):
    with path.open(newline="") as file:
        return {row["row id"]: row["label"] for row in csv.DictReader(file)}


def test_exports_leave_out_wrong_labels_or_correct_them(audited, data, tmp_path):
    _, _, truth = data
    wrong = judged_wrong(audited)
    assert len(wrong) == audited.judged.n_wrong
    kept, removed = export_table(audited, tmp_path / "a.csv", drop_suspects=True)
    assert removed == audited.n_suspects + len(wrong)
    assert kept == N - removed
    names = {f"r{row:04d}": ("no", "yes")[truth[row]] for row in wrong.tolist()}
    assert not names.keys() & cells(tmp_path / "a.csv").keys()
    none = np.array([], dtype=np.intp)
    found = export_reviewed(
        audited, tmp_path / "b.csv", none, none.astype(bool), drop_suspects=True
    )
    assert found.removed == audited.n_suspects
    assert names.items() <= cells(tmp_path / "b.csv").items()
    # A settled label that is passed wins over that of the audit.
    row = wrong[:1]
    export_reviewed(audited, tmp_path / "c.csv", row, truth[row] == 0)
    assert cells(tmp_path / "c.csv")[f"r{row[0]:04d}"] == ("yes", "no")[truth[row[0]]]


def test_rows_that_were_judged_in_python_are_settled_without_a_log(audited, command, tmp_path):
    run = audited.save(tmp_path / "run")
    found = read_settled(run, LabelCheck.load(run))
    rows, right = judged_labels(audited)
    assert found.rows.tolist() == rows.tolist()
    assert found.is_positive.tolist() == right.tolist()
    assert (found.n_judged, found.n_changed) == (50, audited.judged.n_wrong)
    trail = list(found.trail(audited))
    assert len(trail) == 50
    assert sum(entry["changed"] for entry in trail) == audited.judged.n_wrong
    assert {entry["note"] for entry in trail} == {"judged outside of the page"}
    for words in (
        ("train", run, "-o", tmp_path / "m.skops"),
        ("export", run, "-o", tmp_path / "a.csv"),
    ):
        code, _, err = command(*words, "--reviewed")
        assert code == 0, err
        assert "50 labels were settled" in err


class TestReviewAndAudit:
    @pytest.fixture
    def run(self, tmp_path):
        rows, _, self.truth = noisy_rows(N)
        path = write_csv(tmp_path / "people.csv", rows)
        check = check_table(path, "label", scorer=None)
        return check.save(tmp_path / "run")

    def audit(self, run):
        draw = next_batch(run, seed=0)
        with open_queue(run, "audit") as queue:
            for row, *_ in draw.rows:
                answer = "positive" if self.truth[row] else "negative"
                queue.decide(uid(), "ann", row, answer, seconds=1.0, note="")
        settle_run(run)
        return [row for row, *_ in draw.rows]

    def review(self, run, row, answer, reviewer="ben"):
        with open_queue(run, "review") as queue:
            queue.decide(uid(), reviewer, row, answer, seconds=1.0, note="")

    def given(self, run, row):
        return bool(LabelCheck.load(run).scores.is_positive[row])

    def settled(self, run):
        found = read_settled(run, LabelCheck.load(run))
        return found, dict(zip(found.rows.tolist(), found.is_positive.tolist(), strict=True))

    def test_a_later_review_overrules_the_audit(self, run, command):
        rows = self.audit(run)
        row = rows[0]
        disagrees = "flip" if self.given(run, row) == self.truth[row] else "keep"
        self.review(run, row, disagrees)
        found, labels = self.settled(run)
        assert labels[row] != self.truth[row]
        assert (found.n_overruled, found.n_judged, len(labels)) == (1, 24, 25)
        code, _, err = command("train", run, "--reviewed", "-o", run.parent / "m.skops")
        assert code == 0
        assert "24 of them come from the audit." in err
        assert "On 1 row, review and audit disagree: the later answer counts." in err

    def test_a_later_audit_overrules_the_review(self, run, command, tmp_path):
        with_answers = next_batch(run, seed=0).rows
        row = with_answers[0][0]
        disagrees = "flip" if self.given(run, row) == self.truth[row] else "keep"
        self.review(run, row, disagrees)
        self.audit(run)
        found, labels = self.settled(run)
        assert labels[row] == self.truth[row]
        assert found.n_overruled == 1
        out = tmp_path / "out.csv"
        assert command("export", run, "--reviewed", "-o", out, "-q")[0] == 0
        assert cells(out)[f"r{row:04d}"] == ("no", "yes")[self.truth[row]]
        trail = [
            json.loads(line) for line in (tmp_path / "out.csv.trail.jsonl").read_text().splitlines()
        ]
        assert sum(entry["mode"] == "audit" for entry in trail) == 25
        assert {entry["stands"] for entry in trail} == {True}

    def test_an_unsure_or_disputed_review_changes_nothing_about_the_audit(self, run):
        row, other = self.audit(run)[:2]
        self.review(run, row, "unsure")
        found, labels = self.settled(run)
        assert labels[row] == self.truth[row]
        assert (found.n_unsure, found.n_overruled) == (0, 0)
        free = next(n for n in range(N) if n not in labels)
        self.review(run, free, "unsure")
        assert self.settled(run)[0].n_unsure == 1
        assert labels[other] == self.truth[other]

    def test_training_and_exports_say_what_became_of_judged_rows(self, run, command, tmp_path):
        self.audit(run)
        check = LabelCheck.load(run)
        code, _, err = command("train", run, "-o", tmp_path / "m.skops")
        assert (code, "25 judged rows have the right label" in err) == (0, True)
        code, _, err = command("export", run, "--drop-suspects", "-o", tmp_path / "a.csv")
        assert f"{check.judged.n_wrong} labels were judged wrong" in err
        code, _, err = command(
            "export", run, "--drop-suspects", "--reviewed", "-o", tmp_path / "b.csv"
        )
        assert "judged wrong" not in err
