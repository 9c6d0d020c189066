"""What `rankprune check` costs beyond reading the table and fitting the models, and its stability.

Every figure of the cost is a ratio or a size from one run on the same data. Each part runs in its
own process, so that its memory can be measured. Parts can be printed alone: with `python
benchmarks/check.py small` the CPU time of small tables, with `scorer` that of the committee beside
the one it replaced, and with `stability` how many rows change their status with other folds and
seeds, other orders of rows and columns, and scores averaged over several passes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

ROWS, COLUMNS, FOLDS = 1_000_000, 20, 3
SCORED, TIMES = 10_000_000, 6
PASSES = 6


def make_table(path: Path) -> None:
    import duckdb
    import numpy as np
    from sklearn.datasets import make_classification

    X, truth = make_classification(ROWS, COLUMNS, n_informative=8, class_sep=1.5, random_state=0)
    wrong = np.random.default_rng(0).random(ROWS) < 0.1
    columns: dict[str, Any] = {f"x{i}": X[:, i] for i in range(COLUMNS)}
    columns["y"] = np.where(wrong, 1 - truth, truth)
    with duckdb.connect() as connection:
        connection.register("made", columns)
        connection.execute(f"COPY (SELECT * FROM made) TO '{path}'")


def make_scores(path: Path, many: Path) -> None:
    import duckdb
    import numpy as np

    rng = np.random.default_rng(0)
    truth = rng.random(SCORED) < 0.4
    labels = np.where(rng.random(SCORED) < 0.15, ~truth, truth).astype(np.int8)
    scores = np.clip(np.where(truth, 0.8, 0.2) + 0.12 * rng.standard_normal(SCORED), 0, 1)
    with duckdb.connect() as connection:
        connection.register("made", {"y": labels, "p": scores})
        connection.execute(f"COPY (SELECT * FROM made) TO '{path}'")
        connection.execute(f"COPY (SELECT y, p FROM '{path}', range({TIMES})) TO '{many}'")


def read(path: Path) -> dict[str, float]:
    """Read the table into an array of features and one of labels, as check does."""
    from rankprune.table import open_table
    from rankprune.table._features import read_features
    from rankprune.table._labels import read_labels

    began = time.perf_counter()
    with open_table(path) as table:
        labels = read_labels(table, "y")
        features = read_features(table, labels, special=["y"])
    return {"seconds": time.perf_counter() - began, "bytes": features.X.nbytes}


def fits(path: Path, estimator: str) -> dict[str, float]:
    """Read, then fit and score each fold and fit all rows, with scikit-learn alone."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from rankprune.learners._named_models import find_model
    from rankprune.table import open_table
    from rankprune.table._features import read_features
    from rankprune.table._labels import read_labels

    with open_table(path) as table:
        labels = read_labels(table, "y")
        X = read_features(table, labels, special=["y"]).X
    y, model = labels.is_positive, find_model(estimator)
    began = time.perf_counter()
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        clone(model).fit(X[train], y[train]).predict_proba(X[test])
    clone(model).fit(X, y)
    return {"seconds": time.perf_counter() - began}


def check(path: Path, **options: Any) -> dict[str, float]:
    """Check the table, save the run and write the report; the model's own time is told apart."""
    from rankprune import check_table, write_report

    spent = time_models(options["estimator"]) if "estimator" in options else [0.0]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        write_report(check_table(path, "y", **options).save(folder))
    return {"seconds": time.perf_counter() - began, "fits": spent[0]}


def time_models(name: str) -> list[float]:
    """Let every fit and prediction of a named model add its time to the list that is returned."""
    from rankprune.learners._named_models import find_model

    spent = [0.0]
    kind = type(find_model(name))

    def timed(method: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*arguments, **options)
            finally:
                spent[0] += time.perf_counter() - began

        # scikit-learn reads the names of the arguments.
        return wraps(method)(call)

    for method in ("fit", "predict_proba"):
        setattr(kind, method, timed(getattr(kind, method)))
    return spent


# What a check imports before it reads a table, and for its report.
IMPORTS = (
    "import rankprune.cli._group, rankprune.check, rankprune.report, duckdb, matplotlib.figure"
)
BUSY, RUNS = 4, 3


def cpu_seconds(*arguments: str) -> float:
    """Return the CPU time of Python with these arguments, in a process of its own."""
    started = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"python {' '.join(arguments)} ended with {started.returncode}")
    return used.ru_utime + used.ru_stime


def small() -> None:
    """Print the CPU time of `rankprune check` on small tables, alone and beside busy processes."""
    import duckdb
    import numpy as np
    from sklearn.datasets import make_classification

    print(
        f"rankprune check of small tables: CPU, all included (best of {RUNS}); imports alone; and\n"
        f"the CPU with {BUSY} busy processes beside it, as a ratio to that without"
    )
    for n_rows, n_columns in ((768, 8), (4601, 57)):
        X, truth = make_classification(n_rows, n_columns, n_informative=6, random_state=0)
        columns: dict[str, Any] = {f"x{i}": X[:, i] for i in range(n_columns)}
        columns["y"] = truth ^ (np.random.default_rng(0).random(n_rows) < 0.1)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            with duckdb.connect() as connection:
                connection.register("made", columns)
                connection.execute(f"COPY (SELECT * FROM made) TO '{path}'")
            command = ("-m", "rankprune", "check", str(path), "--label", "y", "-q", "--force")
            imports = min(cpu_seconds("-c", IMPORTS) for _ in range(RUNS))
            alone = min(cpu_seconds(*command) for _ in range(RUNS))
            busy = [
                subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)
            ]
            try:
                beside = min(cpu_seconds(*command) for _ in range(RUNS))
            finally:
                for process in busy:
                    process.kill()
                    process.wait()
        print(
            f"{n_rows:,} x {n_columns}: {alone:.2f} s, imports {imports:.2f} s; "
            f"beside busy processes {beside / alone:.2f} x",
            flush=True,
        )


# Rows, columns, number of tables, and how many of the 100 trees of a forest are fitted.
SCORED_TABLES = ((768, 8, 8, 100), (50_000, 20, 2, 100), (1_000_000, 20, 1, 5))


def new_scores(X: Any, y: Any) -> tuple[Any, float]:
    """Return the scores of the committee, and the CPU time that they took."""
    from rankprune import RankPruningClassifier

    began = time.process_time()
    found = RankPruningClassifier(scorer="committee", random_state=0).examine(X, y)
    return found.scored.scores, time.process_time() - began


def replaced_scores(X: Any, y: Any, n_trees: int) -> tuple[Any, float]:
    """Return the scores of the committee of version 0.1, all in the same folds, and CPU time."""
    import numpy as np
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    from rankprune import out_of_fold_probabilities
    from rankprune.learners._committee import Boosting

    columns, seconds = [], 0.0
    for member, times in (
        (LogisticRegression(max_iter=1000), 1),
        (Boosting(), 1),
        (RandomForestClassifier(n_trees), 100 / n_trees),
    ):
        began = time.process_time()
        columns.append(out_of_fold_probabilities(member, X, y, cv=FOLDS, random_state=0))
        seconds += times * (time.process_time() - began)
    return np.mean(columns, axis=0), seconds


def precision(y: Any, truth: Any, scores: Any) -> float:
    """Return the average precision of the wrong labels, by scores minus the mean of their class."""
    import numpy as np
    from sklearn.metrics import average_precision_score

    suspicion = np.where(y == 1, 1 - scores, scores)
    for label in (0, 1):
        suspicion[y == label] -= suspicion[y == label].mean()
    return float(average_precision_score(y != truth, suspicion))


def scorer() -> None:
    """Print the CPU time of the committee as a ratio to the one it replaced, on the same arrays."""
    import numpy as np
    from sklearn.datasets import make_classification
    from threadpoolctl import threadpool_limits

    print(
        "scorer: CPU against the committee it replaces, on one thread, and mean seconds of both;\n"
        "mean average precision of the wrong labels by both, and on how many tables the new one\n"
        "is better; memory up to and with the new one alone. Where no precision is shown, a\n"
        "forest of fewer than 100 trees was fitted, and its time multiplied.\n"
        "     rows x columns ratio       new  replaced   new AP  replaced AP   better     memory"
    )
    for n_rows, n_columns, n_tables, n_trees in SCORED_TABLES:
        times, found, peak = np.empty((n_tables, 2)), np.empty((n_tables, 2)), 0.0
        for seed in range(n_tables):
            X, truth = make_classification(
                n_rows, n_columns, n_informative=6, n_redundant=0, class_sep=1.5, random_state=seed
            )
            y = truth ^ (np.random.default_rng(seed).random(n_rows) < 0.1)
            with threadpool_limits(1):
                new, times[seed, 0] = new_scores(X, y)
                # The highest so far: only that of the first table is the new one's alone.
                peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                replaced, times[seed, 1] = replaced_scores(X, y, n_trees)
            found[seed] = precision(y, truth, new), precision(y, truth, replaced)
        seconds, means = times.mean(axis=0), found.mean(axis=0)
        is_whole = n_trees == 100
        better = f"{np.count_nonzero(found[:, 0] > found[:, 1])} of {n_tables}"
        print(
            f"{n_rows:9,} x {n_columns:7} {seconds[0] / seconds[1]:5.2f} {seconds[0]:7.2f} s "
            f"{seconds[1]:7.2f} s {means[0]:8.3f} {f'{means[1]:.3f}' if is_whole else '-':>12} "
            f"{better if is_whole else '-':>8} {peak:6,.0f} MiB",
            flush=True,
        )


def noisy_tables() -> Iterator[tuple[str, Any, Any]]:
    """Yield names, features and labels; 20 % and 10 % of the labels of a class are flipped."""
    from sklearn import datasets

    from rankprune import flip_labels

    tables = [
        ("wine", *datasets.load_wine(return_X_y=True)),
        ("breast cancer", *datasets.load_breast_cancer(return_X_y=True)),
        ("digits", *datasets.load_digits(return_X_y=True)),
        *(
            (f"made {n:,}", *datasets.make_classification(n, n_informative=8, random_state=0))
            for n in (500, 1500, 5000)
        ),
    ]
    for name, X, truth in tables:
        y = flip_labels(truth % 2, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
        yield name, X, y


def committee_scores(X: Any, y: Any, seed: int) -> Any:
    """Return the out-of-fold probabilities of the committee."""
    from rankprune import RankPruningClassifier
    from rankprune.learners._preparation import prepared_logistic

    classifier = RankPruningClassifier(
        prepared_logistic(X), scorer="committee", cv=FOLDS, random_state=seed
    )
    return classifier.examine(X, y).scored.scores


def ranked(y: Any, scores: Any) -> list[int]:
    """Return the suspects, the most suspicious first."""
    from rankprune import estimate_noise_rates, rank_suspects

    rates = estimate_noise_rates(y, scores)
    return [int(row) for row in rank_suspects(y, scores, rates).rows]


def stability() -> None:
    """Print how many rows change their status, and what a pass over the rows costs."""
    import numpy as np

    from rankprune import check_labels

    warnings.simplefilter("ignore")
    print(
        "rows that change their status: with other folds and seeds (mean of 5 pairs of passes),\n"
        "shuffled rows, shuffled columns, and other folds if 2 (2 pairs) or 3 passes (1 pair) are\n"
        "averaged; suspects that stay with other folds, of all and of the first half of the list;\n"
        "CPU seconds of one pass and of check_labels, and what its report says"
    )
    print(
        f"{'table':14} {'rows':>6} {'suspects':>8} {'folds':>6} {'rows':>6} {'columns':>7} "
        f"{'mean of 2':>9} {'of 3':>6} {'stay':>7} {'top half':>8} {'pass, s':>8} {'check, s':>8}  "
        "report"
    )
    for name, X, y in noisy_tables():
        began = time.process_time()
        scores = [committee_scores(X, y, seed) for seed in range(PASSES)]
        seconds = (time.process_time() - began) / PASSES
        means = {
            k: [set(ranked(y, np.mean(scores[i : i + k], axis=0))) for i in range(0, PASSES, k)]
            for k in (1, 2, 3)
        }
        changed = {
            k: np.mean([len(one ^ other) for one, other in pairwise(runs)])
            for k, runs in means.items()
        }
        lists = [ranked(y, part) for part in scores]
        stay, top_stay = (
            np.mean(
                [np.isin(one[: len(one) // part], other).mean() for one, other in pairwise(lists)]
            )
            for part in (1, 2)
        )
        rng = np.random.default_rng(0)
        order, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
        shuffled = {
            int(order[row]) for row in ranked(y[order], committee_scores(X[order], y[order], 0))
        }
        turned = set(ranked(y, committee_scores(X[:, columns], y, 0)))
        first = means[1][0]
        began = time.process_time()
        checked = check_labels(X, y)
        whole = time.process_time() - began
        found = checked.stability
        told = f"{found.n_stay} of {found.n_suspects} stay, {found.n_new} new" if found else "-"
        print(
            f"{name:14} {len(y):6,} {len(first):8,} {changed[1]:6.1f} {len(first ^ shuffled):6} "
            f"{len(first ^ turned):7} {changed[2]:9.1f} {changed[3]:6.1f} {stay:7.1%} "
            f"{top_stay:8.1%} {seconds:8.2f} {whole:8.2f}  {told}",
            flush=True,
        )


PARTS = {"small": small, "scorer": scorer, "stability": stability}


def in_own_process(task: str, path: Path, **options: Any) -> dict[str, float]:
    """Run a task in a separate process; return its time and its peak memory."""
    ended = subprocess.run(
        [sys.executable, __file__, task, str(path), json.dumps(options)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        make_table(path)
        size = path.stat().st_size
        reading = in_own_process("read", path)
        print(f"table of {ROWS:,} rows x {COLUMNS} columns: {size / 1e6:.0f} MB of CSV")
        print(
            f"{'model':10} {'K+1 fits / reading':>20} {'check / (1.5 fits + reading)':>30} "
            f"{'check / (its fits + reading)':>30} peak/CSV"
        )
        for estimator in ("logistic", "boosting"):
            fitted = in_own_process("fits", path, estimator=estimator)
            checked = in_own_process("check", path, estimator=estimator, scorer=None)
            allowed = 1.5 * fitted["seconds"] + reading["seconds"]
            own = checked["fits"] + reading["seconds"]
            print(
                f"{estimator:10} {fitted['seconds'] / reading['seconds']:20.2f} "
                f"{checked['seconds'] / allowed:30.2f} {checked['seconds'] / own:30.2f} "
                f"{checked['peak'] / size:8.2f}"
            )
        scores = Path(folder) / "scores.parquet"
        many = Path(folder) / "many.parquet"
        make_scores(scores, many)
        for scored_path, n_rows in ((scores, SCORED), (many, TIMES * SCORED)):
            scored = in_own_process("check", scored_path, probabilities="p")
            print(
                f"{n_rows:,} rows with probabilities: {scored['seconds']:.0f} s, "
                f"{scored['peak'] / 2**20:.0f} MiB at the peak"
            )
    small()
    scorer()
    stability()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] in PARTS:
        PARTS[sys.argv[1]]()
    else:
        task, file, given = sys.argv[1:]
        result = {"read": read, "fits": fits, "check": check}[task](Path(file), **json.loads(given))
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({**result, "peak": peak}))
