"""Reviews of more than two labels on the command line: export, merge, consensus, agreement."""

import csv
import json

import numpy as np

from rankprune import load_check
from reviewed_classes import PETS, class_run, judging


def labels_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [row[-1] for row in csv.reader(file)][1:]


def test_reviews_in_separate_files_are_merged(command, pets, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with judging(class_run(other)) as judge:
        judge(("ben", 0, "=yak"), ("ben", 1, "=owl"))
    with judging(pets) as judge:
        judge(("ann", 0, "=dog"), ("ann", 2, "=cat"))
    out = tmp_path / "out.csv"
    words = ("export", pets, "--merge", other / "pets.csv.rankprune", "--reviewed", "-o", out)
    code, _, err = command(*words)
    assert code == 0
    assert "2 new, 0 already known" in err
    assert "1 row keeps its label: reviewers disagree." in err
    assert "ann and ben agree on 0.0% of 1 row that both judged" in err
    before, after = labels_of(tmp_path / "pets.csv"), labels_of(out)
    assert after[:3] == [before[0], "owl", "cat"]
    assert after[3:] == before[3:]
    lines = (tmp_path / "out.csv.trail.jsonl").read_text().splitlines()
    trail = [json.loads(line) for line in lines]
    assert {(one["row"], one["reviewer"], one["answer"]) for one in trail} == {
        (1, "ann", "=dog"),
        (1, "ben", "=yak"),
        (2, "ben", "=owl"),
        (3, "ann", "=cat"),
    }


def test_the_consensus_of_three_settles_on_request(command, pets, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 60)
    with judging(pets) as judge:
        for who, share in {"ann": 0.03, "ben": 0.05, "cyd": 0.3}.items():
            wrong = (truth + rng.integers(1, 4, 60)) % 4
            said = np.where(rng.random(60) < share, wrong, truth)
            judge(*((who, row, f"={PETS[code]}") for row, code in enumerate(said)))
    words = ("export", pets, "--reviewed", "--force", "-o", tmp_path / "out.csv")
    code, _, err = command(*words)
    assert code == 0
    assert "disagreements are open; most likely are row " in err
    code, _, err = command(*words, "--consensus")
    assert code == 0
    assert "were settled by the consensus" in err
    assert (np.array(labels_of(tmp_path / "out.csv"))[:60] == np.array(PETS)[truth]).mean() > 0.9


def test_a_review_ends_with_what_reviewers_say_together(command, pets, monkeypatch):
    from rankprune.review import _serve

    monkeypatch.setattr(_serve.Server, "run", lambda self: self.close())
    given = load_check(pets).given_codes
    with judging(pets) as judge:
        for who in ("ann", "ben"):
            judge(*((who, row, f"={PETS[given[row]]}") for row in range(6)))
    code, _, err = command("review", pets, "--reviewer", "ann")
    assert code == 0
    assert "ann and ben agree on 100.0% of 6 rows that both judged" in err
    assert "6 kept" in err
