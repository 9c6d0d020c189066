"""Speed and memory at scale: ratios in one run on the same arrays, and large files.

    python benchmarks/scale.py                 all tables, up to a billion rows on disk (5 GB)
    python benchmarks/scale.py --rows-on-disk 100000000
    python benchmarks/scale.py --growth        how time and memory grow with the rows, alone

Times are CPU seconds on one core and elapsed seconds on two, the best of several runs; a billion
rows are processed only once. Files are in a temporary folder; whether they are cached in memory is
left to the operating system.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bench import (
    Timed,
    bytes_a_row,
    cleanlab,
    default,
    describe_processor,
    find_label_issues,
    ours,
    seconds,
    simulate,
    ten_lines,
)

from rankprune import (
    NoiseRates,
    RankPruningClassifier,
    flip_labels,
    out_of_fold_probabilities,
    stream,
)
from rankprune.core.counting import _kernel

N_ROWS = 10**7
_CHUNK, _READ = 1 << 20, 1 << 18


METHODS = {"default": None, "the paper's": "confident-counts"}


def streamed(
    labels: np.ndarray, scores: np.ndarray, method: str | None, n_jobs: int = 1
) -> np.ndarray:
    """Return the mask of one stream of rows, including all checks."""
    return stream.prune_labels((labels, scores), method=method, n_jobs=n_jobs).mask()


elapsed = partial(seconds, clock=time.perf_counter)


class Plain:
    """Context in which the loops run in NumPy even if compiled ones are installed."""

    def __enter__(self) -> None:
        self._compiled, _kernel._compiled = _kernel._compiled, lambda _: None

    def __exit__(self, *_: object) -> None:
        _kernel._compiled = self._compiled


def compare_kernels() -> None:
    """Compare rates and mask with ten plain lines of NumPy and with cleanlab."""
    import numba  # noqa: F401  # imported, so that the compiled loops are used from the start

    labels, p = simulate(N_ROWS)
    print(f"\n## Rates and mask of {N_ROWS:,} rows, in units of ten plain lines of NumPy\n")
    print(
        "| estimator | scores, labels | ten lines, ms | the scores read once | NumPy | compiled "
        "| compiled, two cores | compiled, two calls on arrays | bytes per row |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    best: dict[str, tuple[float, float]] = {}
    for scores_type, labels_type in (("f8", "i1"), ("f8", "i8"), ("f4", "i1")):
        s, x = labels.astype(labels_type), p.astype(scores_type)
        unit = seconds(lambda s=s, x=x: ten_lines(s, x), 5)
        read = seconds(lambda x=x: x.sum(), 5)
        for name, method in METHODS.items():
            call = partial(streamed, s, x, method)
            with Plain():
                pure, expected = seconds(call, 5), call()
                memory = bytes_a_row(call, N_ROWS)
            one, two = seconds(call, 7), elapsed(partial(call, 2), 7)
            on_arrays = default if method is None else ours
            apart = seconds(lambda f=on_arrays, s=s, x=x: f(s, x), 5)
            for mask in (call(), call(2), on_arrays(s, x)):
                assert np.array_equal(mask, expected), "masks differ"
            best.setdefault(name, (pure, one))
            print(
                f"| {name} | {x.dtype}, {s.dtype} | {1000 * unit:.1f} | {read / unit:.3f} | "
                f"{pure / unit:.2f} | {one / unit:.2f} | {two / unit:.2f} | {apart / unit:.2f} | "
                f"{memory:.1f} |",
                flush=True,
            )
    if find_label_issues is not None:
        s = labels.astype(np.int64)
        theirs = seconds(lambda: cleanlab(s, p), 1)
        print("\ncleanlab (n_jobs=1) takes this many times as long:\n")
        print("| estimator | NumPy | compiled |")
        print("|---|---|---|")
        for name, (pure, one) in best.items():
            print(f"| {name} | {theirs / pure:.0f} | {theirs / one:.0f} |")


def write_rows(folder: Path, n_rows: int) -> None:
    """Write float32 scores and one-byte labels in chunks."""
    with (folder / "scores").open("wb") as scores, (folder / "labels").open("wb") as labels:
        for start in range(0, n_rows, 10 * _CHUNK):
            rng = np.random.default_rng(start)
            count = min(10 * _CHUNK, n_rows - start)
            truth = rng.random(count, dtype=np.float32) < 0.3
            noise = np.where(truth, 0.3, 0.1).astype(np.float32)
            wrong = rng.random(count, dtype=np.float32) < noise
            (truth ^ wrong).tofile(labels)
            middle = np.where(truth, 0.7, 0.3).astype(np.float32)
            spread = rng.standard_normal(count, dtype=np.float32)
            np.clip(middle + 0.14 * spread, 0, 1).tofile(scores)


def process_files(folder: Path, repeats: int, method: str | None) -> dict[str, float]:
    """Estimate the rates, find the cut-offs and write the mask, from files; time the best run."""

    def batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        # One buffer for all batches: a new one each time would cost page faults.
        values, given = np.empty(_READ, np.float32), np.empty(_READ, np.uint8)
        with (
            (folder / "scores").open("rb", buffering=0) as scores,
            (folder / "labels").open("rb", buffering=0) as labels,
        ):
            while count := scores.readinto(values):
                labels.readinto(given[: count // 4])
                yield given[: count // 4], values[: count // 4]

    rng = np.random.default_rng(0)
    warm = (rng.random(_READ) < 0.5, rng.random(_READ, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random scores, used only to warm up the loops
        stream.prune_labels(warm, NoiseRates.from_noise_rates(0.1, 0.1, 0.5)).mask()
        stream.estimate_noise_rates(warm, method=method)
    found = []

    def once() -> None:
        found[:] = [stream.prune_labels(batches, method=method)]
        found[0].write_mask(folder / "mask.npy")

    return {"seconds": seconds(once, repeats), "passes": found[0].n_passes}


def grow(largest: int) -> None:
    """Measure files of growing size, each in its own process."""
    print("\n## From files of float32 scores and one-byte labels, mask written, one core\n")
    print(
        "| rows | CPU s | ns a row | ns a row, the paper's | ns a row, NumPy | passes "
        "| peak memory, MiB |"
    )
    print("|---|---|---|---|---|---|---|")
    n_rows = 10**4
    while n_rows <= largest:
        with tempfile.TemporaryDirectory() as folder:
            write_rows(Path(folder), n_rows)
            repeats = 1 if n_rows >= 10**9 else 3
            fast, paper = (
                in_own_process(folder, "compiled", repeats, method) for method in METHODS.values()
            )
            plain = in_own_process(folder, "plain", repeats, None) if n_rows <= 10**8 else None
            spent = [one and 1e9 * one["seconds"] / n_rows for one in (fast, paper, plain)]
            cells = [f"{n_rows:,}", f"{fast['seconds']:.2f}"]
            cells += ["" if value is None else f"{value:.1f}" for value in spent]
            cells += [f"{fast['passes']:.0f}", f"{fast['peak'] / 2**20:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
        n_rows *= 10


def in_own_process(folder: str, kernel: str, repeats: int, method: str | None) -> dict[str, float]:
    """Process the files in a separate process; return its time, passes and peak memory."""
    ended = subprocess.run(
        [
            *(sys.executable, __file__, "--process-files", folder),
            *("--kernel", kernel, "--repeats", str(repeats)),
            *(() if method is None else ("--method", method)),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def against_clean_learning(n_rows: int = 200_000, n_features: int = 50) -> None:
    """Compare the whole classifier with cleanlab's on the same folds."""
    from cleanlab.classification import CleanLearning
    from sklearn.datasets import make_classification
    from sklearn.model_selection import StratifiedKFold

    X, truth = make_classification(n_rows, n_features, n_informative=10, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    base = Timed(max_iter=1000)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = RankPruningClassifier(base, noise_estimator="confident-counts", cv=folds)
    runs = []
    for _ in range(7):
        theirs = seconds(lambda: CleanLearning(base, cv_n_folds=5, seed=0).fit(X, y), 1)
        Timed.spent = 0.0
        mine = seconds(lambda: model.fit(X, y), 1)
        runs.append((mine / theirs, Timed.spent / theirs))
    ratio, fits = np.median(runs, axis=0)
    print(
        f"\n## The classifier, logistic regression, {n_rows:,} rows, {n_features} features, "
        "5 folds\n"
    )
    print(
        f"rankprune takes {ratio:.2f} of the time of cleanlab's CleanLearning; its fits alone, "
        f"which both need, take {fits:.2f}."
    )


def cost_of_fits(n_rows: int = 200_000, n_features: int = 50) -> None:
    """Measure the gain from a second process and the cost of weighted fits."""
    from sklearn.base import clone
    from sklearn.datasets import make_classification
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    X, truth = make_classification(n_rows, n_features, n_informative=10, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    weights = np.where(y == 1, 1.4, 1.1)
    print(f"\n## Fits, {n_rows:,} rows, {n_features} features\n")
    print("| classifier | four folds, n_jobs=2 / n_jobs=1, elapsed | weighted fit / plain fit |")
    print("|---|---|---|")
    for base in (
        LogisticRegression(max_iter=1000),
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=50, random_state=0),
    ):
        plain = seconds(lambda base=base: clone(base).fit(X, y), 1)
        weighted = seconds(lambda base=base: clone(base).fit(X, y, sample_weight=weights), 1)
        one, two = (
            elapsed(partial(out_of_fold_probabilities, base, X, y, cv=4, n_jobs=n), 2)
            for n in (1, 2)
        )
        print(f"| {type(base).__name__} | {two / one:.2f} | {weighted / plain:.2f} |", flush=True)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows-on-disk", type=int, default=10**9)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--process-files", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--kernel", help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--method", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.process_files is not None:
        if asked.kernel == "compiled":
            import numba  # noqa: F401  # as above

            found = process_files(asked.process_files, asked.repeats, asked.method)
        else:
            with Plain():
                found = process_files(asked.process_files, asked.repeats, asked.method)
        # The peak of this process alone; resource would include its parent.
        status = Path("/proc/self/status").read_text()
        peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
        print(json.dumps({**found, "peak": peak}))
        return
    packages = ["numpy", "scikit-learn", "numba"] + (["cleanlab"] if find_label_issues else [])
    print(", ".join(f"{name} {version(name)}" for name in packages))
    describe_processor()
    if asked.growth:
        grow(asked.rows_on_disk)
        return
    compare_kernels()
    grow(asked.rows_on_disk)
    cost_of_fits()
    if find_label_issues is not None:
        against_clean_learning()


if __name__ == "__main__":
    main()
