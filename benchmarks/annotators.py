"""Consensus of annotators: speed, simulated crowds, and pairs of products judged by real workers.

    python benchmarks/annotators.py                   500,000 answers, and twice as many
    python benchmarks/annotators.py crowds            accuracy, calibration and coverage
    python benchmarks/annotators.py shares            intervals of the share of wrong labels
    python benchmarks/annotators.py training          classifiers trained on a consensus
    python benchmarks/annotators.py reviewers         rules for the answers of reviewers
    python benchmarks/annotators.py product FOLDER    product_answers and product_pairs

Times are CPU seconds on one core, the best of several runs. Crowd-kit's times appear if it is
installed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from crowds import KINDS, Crowd, draw_crowd
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import RankPruningClassifier, out_of_fold_probabilities
from rankprune.annotators import Answers, Consensus, consensus
from rankprune.annotators._em import Design, class_prior, dawid_skene_step, iterate
from rankprune.annotators._methods import vote_start
from rankprune.exceptions import UninformativeProbabilitiesWarning

METHODS = ("majority", "one-coin", "dawid-skene", "smoothed", "auto")


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the CPU time of the best run."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def many_answers(n_answers: int, n_classes: int = 10) -> tuple[np.ndarray, ...]:
    """Return rows, annotators and labels, five answers a row, 70 % of them right."""
    rng = np.random.default_rng(0)
    n_rows = n_answers // 5
    row = np.repeat(np.arange(n_rows), 5)
    who = ((rng.integers(0, 200, n_rows)[:, None] + np.arange(5) * 37) % 200).ravel()
    truth = rng.integers(0, n_classes, n_rows)
    wrong = rng.random(n_answers) >= 0.7
    return row, who, np.where(wrong, rng.integers(0, n_classes, n_answers), truth[row])


def speed() -> None:
    """Print the time of 20 iterations of Dawid and Skene's method, and that of all steps."""
    print("| answers | classes | from_long | 20 iterations | consensus, auto | crowd-kit, 20 |")
    print("|---|---|---|---|---|---|")
    for n_answers in (250_000, 500_000, 1_000_000):
        columns = many_answers(n_answers)
        read = seconds(lambda c=columns: Answers.from_long(*c), 3)
        answers = Answers.from_long(*columns)
        unknown = np.full(len(answers.rows), -1)
        spent = seconds(lambda a=answers, u=unknown: twenty_iterations(a, u))
        whole = seconds(lambda a=answers: consensus(a), 1)
        print(
            f"| {n_answers:,} | 10 | {read:.2f} | {spent:.2f} | {whole:.2f} | "
            f"{crowd_kit(columns)} |",
            flush=True,
        )


def twenty_iterations(answers: Answers, unknown: np.ndarray) -> None:
    """Fit confusions in 20 iterations, with everything that comes before them."""
    start = vote_start(answers, unknown, None)
    design = Design.of(answers, unknown)
    step = dawid_skene_step(np.eye(len(answers.classes)), 0.05)
    iterate(design, start, step, class_prior, max_iter=20, tol=-1.0)


def crowd_kit(columns: tuple[np.ndarray, ...]) -> str:
    """Return crowd-kit's time for 20 iterations, or nothing if it is not installed."""
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError:
        return "not installed"
    frame = pd.DataFrame(dict(zip(("task", "worker", "label"), columns, strict=True)))
    return f"{seconds(lambda: DawidSkene(n_iter=20, tol=0).fit(frame), 1):.2f}"


def calibration_error(confidence: np.ndarray, is_right: np.ndarray) -> float:
    """Return the expected calibration error over ten bins of equally many rows."""
    order = np.argsort(confidence, kind="stable")
    bins = np.array_split(order, 10)
    gaps = [abs(confidence[rows].mean() - is_right[rows].mean()) for rows in bins]
    return float(np.average(gaps, weights=[len(rows) for rows in bins]))


def coverage(crowd: Crowd, found: Consensus) -> float:
    """Return the share of annotators whose interval covers their true accuracy."""
    shares = np.bincount(crowd.truth, minlength=len(crowd.answers.classes))
    true = np.einsum("mkk,k->m", crowd.confusion, shares / shares.sum())
    covered = [
        one.accuracy.low <= share <= one.accuracy.high
        for one, share in zip(found.annotators, true, strict=True)
    ]
    return float(np.mean(covered))


def crowds(seeds: range) -> None:
    """Print accuracy, calibration error and coverage by kind of crowd and answers a row."""
    rows = []
    for seed in seeds:
        crowd = draw_crowd(seed)
        accuracy, error = [], []
        for method in METHODS:
            found = consensus(crowd.answers, method=method)
            is_right = found.labels == crowd.truth
            accuracy.append(is_right.mean())
            error.append(calibration_error(found.confidence, is_right))
        best = max(accuracy[:3])
        rows.append((crowd.kind, crowd.per_row, accuracy, best, error, coverage(crowd, found)))
    print("Accuracy, then of auto: its distance to the best of the first three in each crowd, the")
    print("calibration error, and the coverage of 95 % intervals of annotators' accuracies.\n")
    print(f"| crowds | number | {' | '.join(METHODS)} | best of three | furthest below |", end="")
    print(" crowds further than .02 | calibration error | coverage |")
    print("|---|" + "---|" * (len(METHODS) + 6))
    for low, high in ((1, 1), (2, 2), (3, 5), (6, 20), (3, 20)):
        told = [row for row in rows if low <= row[1] <= high]
        print_crowds(f"{low} to {high} answers a row", told)
    for kind in KINDS:
        print_crowds(f"{kind}, 3 to 20", [row for row in rows if row[0] == kind and row[1] >= 3])
    print_crowds("all", rows)
    with_help(seeds)


def with_help(seeds: range) -> None:
    """Print what scores of a classifier, or gold rows, add to one and two answers a row."""
    print("\n| answers a row | with | accuracy | without | calibration error | coverage |")
    print("|---|---|---|---|---|---|")
    for per_row in (1, 2):
        for name in ("scores", "gold rows"):
            told = []
            for seed in seeds:
                crowd = draw_crowd(seed, per_row=per_row)
                n, k = len(crowd.truth), len(crowd.answers.classes)
                rng = np.random.default_rng(seed)
                if name == "scores":
                    noise = rng.uniform(0.6, 3) * rng.normal(size=(n, k))
                    scores = softmax(3 * np.eye(k)[crowd.truth] + noise, axis=1)
                    found = consensus(crowd.answers, probabilities=scores)
                    rest = np.ones(n, dtype=bool)
                else:
                    rest = rng.random(n) >= 0.2
                    gold = {row: crowd.truth[row] for row in np.flatnonzero(~rest).tolist()}
                    found = consensus(crowd.answers, gold=gold)
                is_right = (found.labels == crowd.truth)[rest]
                plain = (consensus(crowd.answers).labels == crowd.truth)[rest].mean()
                error = calibration_error(found.confidence[rest], is_right)
                told.append((is_right.mean(), plain, error, coverage(crowd, found)))
            cells = " | ".join(f"{value:.3f}" for value in np.mean(told, axis=0))
            print(f"| {per_row} | {name} | {cells} |", flush=True)


def print_crowds(name: str, rows: list[tuple]) -> None:
    """Print the means over some crowds."""
    if not rows:
        return
    accuracy, best = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    gap = best - accuracy[:, -1]
    error = np.mean([row[4][-1] for row in rows])
    cells = [f"{value:.4f}" for value in (*accuracy.mean(axis=0), best.mean())]
    cells += [f"{max(gap.max(), 0):.3f}", f"{(gap > 0.02).sum()}", f"{error:.3f}"]
    cells.append(f"{np.mean([row[5] for row in rows]):.3f}")
    print(f"| {name} | {len(rows)} | {' | '.join(cells)} |", flush=True)


# Crowds whose errors are independent given the true class.
INDEPENDENT = ("plain", "confusions", "spammers", "one label", "adversaries")


def shares(seeds: range) -> None:
    """Print what intervals of wrong labels cover, first where errors are independent."""
    print("| answers a row | labels | crowds | estimate - truth | total covered | width |", end="")
    print(" of each given label | of each true class |")
    print("|---|---|---|---|---|---|---|---|")
    settings = (
        ("3 to 20", None, INDEPENDENT),
        ("3", 3, INDEPENDENT),
        ("2 and scores", 2, INDEPENDENT),
        ("1 and scores", 1, INDEPENDENT),
        ("3 to 20, copies", None, ("copies",)),
        ("3 to 20, difficult rows", None, ("difficult rows",)),
    )
    for name, per_row, kinds in settings:
        told: dict[str, list[tuple]] = {"first": [], "majority": [], "consensus": []}
        for seed in seeds:
            crowd = draw_crowd(seed, kinds[seed % len(kinds)], per_row)
            if crowd.per_row < 3 and per_row is None:
                continue
            found = consensus(crowd.answers, probabilities=witness(crowd, seed, "scores" in name))
            for kind, labels in some_labels(crowd, found, seed).items():
                told[kind].append(share_found(crowd, found, labels))
        print_shares(name, told)
    for per_row in (1, 2, 3):
        told = {"first": [], "majority": [], "consensus": []}
        for seed in seeds[:60]:
            crowd, scorer = crowd_with_features(seed, per_row)
            found = consensus(crowd.answers, probabilities=scorer)
            for kind, labels in some_labels(crowd, found, seed).items():
                told[kind].append(share_found(crowd, found, labels))
        print_shares(f"{per_row} and a classifier", told)


def print_shares(name: str, told: dict[str, list[tuple]]) -> None:
    """Print the means over some crowds."""
    for kind, rows in told.items():
        error, total, width = (np.mean([row[i] for row in rows]) for i in range(3))
        parts = [np.mean(np.concatenate([row[i] for row in rows])) for i in (3, 4)]
        cells = f"{error:+.4f} | {total:.3f} | {width:.3f} | {parts[0]:.3f} | {parts[1]:.3f}"
        print(f"| {name} | {kind} | {len(rows)} | {cells} |", flush=True)


def crowd_with_features(
    seed: int, per_row: int
) -> tuple[Crowd, Callable[[np.ndarray], np.ndarray]]:
    """Return a crowd of two classes, and a function that trains a classifier on a consensus."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(300, 1500)), int(rng.integers(max(per_row, 3), 30))
    truth = (rng.random(n) < rng.uniform(0.2, 0.6)).astype(int)
    X = rng.normal(size=(n, 5))
    X[:, :2] += rng.uniform(1, 3) * truth[:, None] * np.array([1, 0.5])
    skills = rng.uniform(0.55, 0.95, (m, 2))
    who = np.array([rng.choice(m, per_row, replace=False) for _ in range(n)])
    is_right = rng.random(who.shape) < skills[who, truth[:, None]]
    said = np.where(is_right, truth[:, None], 1 - truth[:, None])
    rows = np.repeat(np.arange(n), per_row)
    answers = Answers.from_long(rows, who.ravel(), said.ravel(), classes=[0, 1])

    def scores(probabilities: np.ndarray) -> np.ndarray:
        labels = probabilities.argmax(axis=1)
        if np.bincount(labels, minlength=2).min() < 10:
            return probabilities
        weight = probabilities.max(axis=1)
        model = LogisticRegression()
        positive = out_of_fold_probabilities(model, X, labels, sample_weight=weight, random_state=0)
        return np.column_stack([1 - positive, positive])

    return Crowd(answers, truth, np.empty(0), "features", per_row), scores


def witness(crowd: Crowd, seed: int, wanted: bool) -> np.ndarray | None:
    """Return scores whose errors do not depend on those of annotators."""
    if not wanted:
        return None
    rng = np.random.default_rng(seed)
    n, k = len(crowd.truth), len(crowd.answers.classes)
    noise = rng.uniform(0.6, 3) * rng.normal(size=(n, k))
    return softmax(3 * np.eye(k)[crowd.truth] + noise, axis=1)


def some_labels(crowd: Crowd, found: Consensus, seed: int) -> dict[str, np.ndarray]:
    """Return labels by one answer of each row, by votes, and by the consensus."""
    answers = crowd.answers
    starts = np.cumsum(answers.per_row) - answers.per_row
    chosen = starts + np.random.default_rng(seed).integers(0, answers.per_row)
    votes = consensus(answers, method="majority").labels
    return {"first": answers.label[chosen], "majority": votes, "consensus": found.labels}


def share_found(crowd: Crowd, found: Consensus, labels: np.ndarray) -> tuple:
    """Return the error, whether the interval covers, its width, and both for parts of the rows."""
    errors, wrong = found.label_errors(labels), labels != crowd.truth
    total = errors.wrong_share
    by_label, by_class = (
        [
            one.low <= wrong[values == code].mean() <= one.high
            for code, one in enumerate(intervals)
            if (values == code).sum() >= 20
        ]
        for values, intervals in (
            (labels, errors.label_error_rates),
            (crowd.truth, errors.noise_rates),
        )
    )
    is_covered = total.low <= wrong.mean() <= total.high
    error, width = total.estimate - wrong.mean(), total.high - total.low
    return error, is_covered, width, by_label, by_class


def training(seeds: range) -> None:
    """Print the accuracy on new rows of classifiers trained on votes and on a consensus."""
    # Where votes are little better than chance, the classifier says so.
    warnings.simplefilter("ignore", UninformativeProbabilitiesWarning)
    columns: dict[int, dict[str, list[float]]] = {}
    for name in ("digits, odd", "digits, 5 or more", "breast cancer"):
        for per_row in (1, 2, 3, 5):
            for seed in seeds:
                for kind, value in trained(name, per_row, seed).items():
                    columns.setdefault(per_row, {}).setdefault(kind, []).append(value)
    print("Mean over three tables. Twelve annotators, right in 55 to 90 % of each class.\n")
    print(f"| answers a row | {' | '.join(map(str, columns))} |")
    print("|---|" + "---|" * len(columns))
    for kind in columns[3]:
        known = (np.array(column[kind])[~np.isnan(column[kind])] for column in columns.values())
        cells = (f"{values.mean():.3f}" if len(values) else "" for values in known)
        print(f"| {kind} | {' | '.join(cells)} |")


def trained(name: str, per_row: int, seed: int) -> dict[str, float]:
    """Return what is right in the labels, and in the predictions of models trained on them."""
    X, y = (load_breast_cancer if name == "breast cancer" else load_digits)(return_X_y=True)
    if name != "breast cancer":
        y = (y >= 5).astype(int) if "5" in name else y % 2
    X, X_new, truth, new = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
    rng = np.random.default_rng(seed)
    skills, n = rng.uniform(0.55, 0.9, (12, 2)), len(truth)
    who = np.array([rng.choice(12, per_row, replace=False) for _ in range(n)])
    is_right = rng.random(who.shape) < skills[who, truth[:, None]]
    said = np.where(is_right, truth[:, None], 1 - truth[:, None])
    answers = Answers.from_long(np.repeat(np.arange(n), per_row), who.ravel(), said.ravel())
    plain = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
    pruned = RankPruningClassifier(plain, random_state=0)

    def scores(probabilities: np.ndarray) -> np.ndarray:
        labels = probabilities.argmax(axis=1)
        return cross_val_predict(clone(plain), X, labels, cv=3, method="predict_proba")

    def right(model: object, labels: np.ndarray, **given: np.ndarray) -> float:
        if len(set(labels.tolist())) == 1:  # two answers a row may end so
            return (new == labels[0]).mean()
        return clone(model).fit(X, labels, **given).score(X_new, new)

    votes = consensus(answers, method="majority").labels
    alone, both = consensus(answers), consensus(answers, probabilities=scores)
    sure = alone.trusted() if alone.calibrated else np.zeros(n, dtype=bool)
    return {
        "labels: votes": (votes == truth).mean(),
        "labels: consensus of answers": (alone.labels == truth).mean(),
        "labels: consensus with scores": (both.labels == truth).mean(),
        "logistic regression on votes": right(plain, votes),
        "Rank Pruning on votes": right(pruned, votes),
        "Rank Pruning on consensus of answers": right(pruned, alone.labels),
        "the same, weighted by confidence": right(
            pruned, alone.labels, sample_weight=alone.confidence
        ),
        "the same, trusted from .99 on": (
            right(pruned, alone.labels, trusted=sure) if sure.any() else np.nan
        ),
        "logistic regression on consensus with scores": right(plain, both.labels),
        "Rank Pruning on consensus with scores": right(pruned, both.labels),
        "the same, weighted by its confidence": right(
            pruned, both.labels, sample_weight=both.confidence
        ),
        "logistic regression on the truth": right(plain, truth),
    }


def reviewers(seeds: range) -> None:
    """Print which labels are right after a review, if a label changes by different rules.

    Of 400 suspicious rows, 40 % have a wrong label. The rule of the review page changes a label if
    all reviewers say so.
    """
    print("| reviewers of each row | given | all agree | majority | consensus |", end="")
    print(" in open rows: given | consensus | its confidence |")
    print("|---|---|---|---|---|---|---|---|")
    for number in (2, 3, 5):
        told = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            truth = rng.integers(0, 2, 400)
            given = np.where(rng.random(400) < 0.4, 1 - truth, truth)
            is_right = rng.random((400, number)) < rng.uniform(0.75, 0.97, number)
            said = np.where(is_right, truth[:, None], 1 - truth[:, None])
            found = consensus(Answers.from_wide(said))
            is_open = said.min(axis=1) != said.max(axis=1)
            votes = consensus(Answers.from_wide(said), method="majority").labels
            labels = (given, np.where(is_open, given, said[:, 0]), votes, found.labels)
            shares = [(one == truth).mean() for one in labels]
            shares += [(one == truth)[is_open].mean() for one in (given, found.labels)]
            told.append([*shares, found.confidence[is_open].mean()])
        cells = " | ".join(f"{share:.3f}" for share in np.mean(told, axis=0))
        print(f"| {number} | {cells} |", flush=True)


def lines_of(path: Path) -> list[list[str]]:
    """Return the records of a compressed CSV file without its header."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def similarities(pairs: list[list[str]]) -> np.ndarray:
    """Return how similar the names, descriptions and prices of each pair are."""
    names = [[pair[column] for pair in pairs] for column in (1, 4)]
    texts = [[f"{pair[column]} {pair[column + 1]}" for pair in pairs] for column in (1, 4)]
    found = []
    for one, other in (names, texts, (texts[0], names[1]), (names[0], texts[1])):
        for analyzer, size in (("word", (1, 1)), ("char_wb", (3, 4))):
            vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=size, sublinear_tf=True)
            vectorizer.fit([*one, *other])
            a, b = (vectorizer.transform(part) for part in (one, other))
            found.append(np.asarray(sparse.csr_array(a.multiply(b)).sum(axis=1)).ravel())
    for one, other in (names, texts):
        codes = [[model_numbers(text) for text in side] for side in (one, other)]
        shared = [(len(a & b), min(len(a), len(b))) for a, b in zip(*codes, strict=True)]
        found += [[n for n, _ in shared], [n / max(most, 1) for n, most in shared]]
    prices = [[price(pair[column]) for pair in pairs] for column in (3, 6)]
    ratio = np.abs(np.log(prices[0]) - np.log(prices[1]))
    found += [np.nan_to_num(ratio, nan=-1.0), np.isnan(ratio)]
    first = [[name.lower().split(" ")[0] for name in side] for side in names]
    found.append([a == b for a, b in zip(*first, strict=True)])
    return np.column_stack([np.asarray(column, dtype=float) for column in found])


def model_numbers(text: str) -> set[str]:
    """Return the words with a digit, of at least three characters."""
    return set(re.findall(r"\b(?=\w*\d)\w{3,}\b", text.lower()))


def price(text: str) -> float:
    """Return a price as a number, or NaN."""
    digits = re.sub(r"[^\d.]", "", text)
    return max(float(digits), 0.01) if digits.strip(".") else np.nan


def forest_scores(features: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that trains forests on a consensus and scores rows out of fold."""

    def scores(probabilities: np.ndarray) -> np.ndarray:
        labels = probabilities.argmax(axis=1)
        found = np.empty_like(probabilities)
        k = probabilities.shape[1]
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(features, labels):
            forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
            # Each row counts for every class, by its probability.
            rows, classes = np.tile(train, k), np.repeat(np.arange(k), len(train))
            weight = probabilities[rows, classes]
            used = weight > 1e-3
            forest.fit(features[rows[used]], classes[used], sample_weight=weight[used])
            found[test] = forest.predict_proba(features[test])
        return found

    return scores


def product(folder: Path) -> None:
    """Print the accuracy on pairs of products with one, two and all three answers a row."""
    pairs = lines_of(folder / "product_pairs.csv.gz")
    truth = {pair[0]: pair[-1] for pair in pairs}
    given = lines_of(folder / "product_answers.csv.gz")
    ids = np.array([pair[0] for pair in pairs])
    scorer = forest_scores(similarities(pairs))
    labels = np.array([truth[one] for one in ids])
    columns = [list(column) for column in zip(*given, strict=True)]
    everything = Answers.from_long(*columns, all_rows=ids)
    print(f"{everything}\n")
    print("| answers a row | method | accuracy | calibration error | CPU seconds |", end="")
    print(" wrong labels, estimated | wrong votes | estimated |")
    print("|---|---|---|---|---|---|---|---|")
    order = np.random.default_rng(0).permutation(len(given))
    place = np.empty(len(given), dtype=int)
    seen: dict[str, int] = {}
    for line in order:
        place[line] = seen[columns[0][line]] = seen.get(columns[0][line], -1) + 1
    for per_row in (1, 2, 3):
        kept = np.flatnonzero(place < per_row)
        part = [[column[line] for line in kept] for column in columns]
        answers = Answers.from_long(*part, all_rows=ids)
        votes = consensus(answers, method="majority").labels
        for method in (*METHODS, "model"):
            scores = scorer if method == "model" else None
            start = time.process_time()
            found = consensus(answers, method=method, probabilities=scores)
            spent = time.process_time() - start
            is_right = found.labels == labels
            error = calibration_error(found.confidence, is_right)
            name = f"auto: {found.method}" if method == "auto" else method
            cells = [f"{per_row}", name, f"{is_right.mean():.4f}", f"{error:.3f}", f"{spent:.2f}"]
            cells += [str(found.label_errors().wrong_share), f"{(votes != labels).mean():.1%}"]
            cells.append(str(found.label_errors(votes).wrong_share))
            print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print one part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parts = parser.add_subparsers(dest="part")
    simulated = parts.add_parser("crowds")
    simulated.add_argument("--crowds", type=int, default=210)
    simulated.add_argument("--first", type=int, default=0, help="seed of the first crowd")
    for name, number in (("shares", 100), ("training", 10), ("reviewers", 40)):
        parts.add_parser(name).add_argument("--seeds", type=int, default=number)
    parts.add_parser("product").add_argument("folder", type=Path)
    chosen = parser.parse_args()
    if chosen.part == "crowds":
        crowds(range(chosen.first, chosen.first + chosen.crowds))
    elif chosen.part == "shares":
        shares(range(20_000, 20_000 + chosen.seeds))
    elif chosen.part == "training":
        training(range(chosen.seeds))
    elif chosen.part == "reviewers":
        reviewers(range(chosen.seeds))
    elif chosen.part == "product":
        product(chosen.folder)
    else:
        speed()


if __name__ == "__main__":
    main()
