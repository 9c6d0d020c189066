"""Speed and memory as ratios, measured in one process on the same arrays.

    python benchmarks/bench.py                      all tables
    python benchmarks/bench.py --rows 100000 1000000

Times are CPU seconds, the best of several runs. The unit is Algorithm 1 in ten plain lines of NumPy
without any check (`ten_lines`), measured on the same rows. Memory is the peak beyond the input,
mask included. All loops run in NumPy; benchmarks/scale.py measures the compiled ones.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import resource
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from rankprune import (
    NoiseRates,
    RankPruningClassifier,
    ScoreSketch,
    estimate_noise_rates,
    flip_labels,
    noise_rate_intervals,
    prune_labels,
)
from rankprune.core import NOISE_ESTIMATORS
from rankprune.core._verdict import judge
from rankprune.core.counting import _kernel
from rankprune.diagnostics import calibration, separability_curve
from rankprune.experiments._unbinned import UNBINNED, unbinned_rates
from rankprune.learners import _probabilities, _sample_weights

try:
    from cleanlab.filter import find_label_issues
except ImportError:
    find_label_issues = None


def simulate(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels with rho1 = .3 and rho0 = .1, and overlapping scores."""
    rng = np.random.default_rng(0)
    truth = rng.random(n_rows) < 0.3
    labels = np.where(truth, rng.random(n_rows) >= 0.3, rng.random(n_rows) < 0.1)
    return labels, np.where(truth, rng.beta(5, 2, n_rows), rng.beta(2, 5, n_rows))


def default(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the mask from the public functions, including their checks of the input."""
    rates = estimate_noise_rates(labels, probabilities)
    return prune_labels(labels, probabilities, rates).mask


def ours(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the mask by the paper's estimator, including all checks."""
    rates = estimate_noise_rates(labels, probabilities, method="confident-counts")
    return prune_labels(labels, probabilities, rates).mask


def ten_lines(labels: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the mask from steps 1.2 and 2.1 of Algorithm 1, without checks: the unit of time."""
    s = labels == 1
    positives, negatives = g[s], g[~s]
    above, below = g >= positives.mean(), g <= negatives.mean()
    rho1, rho0 = (above & ~s).sum() / above.sum(), (below & s).sum() / below.sum()
    share, scale = s.mean(), 1 - rho1 - rho0
    k1 = round(rho0 / share * (1 - share - rho1) / scale * len(positives))
    k0 = round(rho1 / (1 - share) * (share - rho0) / scale * len(negatives))
    lowest, highest = np.partition(positives, k1 - 1)[k1 - 1], np.partition(negatives, -k0)[-k0]
    mask = s & (g <= lowest)
    return mask | (~s & (g >= highest))


def plain(
    labels: np.ndarray, probabilities: np.ndarray, mean: Callable[[np.ndarray], float] = np.mean
) -> np.ndarray:
    """Return the mask from Algorithm 1 of the paper, written in NumPy without any checks."""
    s = labels == 1
    positives, negatives = probabilities[s], probabilities[~s]
    lower, upper = mean(positives), mean(negatives)
    above, below = probabilities >= lower, probabilities <= upper
    rho1, rho0 = np.mean(~s[above]), np.mean(s[below])
    p_s1 = s.mean()
    pi1 = rho0 / p_s1 * (1 - p_s1 - rho1) / (1 - rho1 - rho0)
    pi0 = rho1 / (1 - p_s1) * (p_s1 - rho0) / (1 - rho1 - rho0)
    k1, k0 = round(pi1 * len(positives)), round(pi0 * len(negatives))
    mask = np.zeros(len(s), dtype=bool)
    if k1:
        cutoff = np.partition(positives, k1 - 1)[k1 - 1]
        mask |= s & (probabilities < cutoff)
        mask[np.flatnonzero(s & (probabilities == cutoff))[: k1 - mask.sum()]] = True
    n_marked = mask.sum()
    if k0:
        cutoff = np.partition(negatives, -k0)[-k0]
        mask |= ~s & (probabilities > cutoff)
        more = k0 - (mask.sum() - n_marked)
        mask[np.flatnonzero(~s & (probabilities == cutoff))[:more]] = True
    return mask


def exact_mean(values: np.ndarray) -> float:
    """Return the correctly rounded mean; np.mean is off by a few units in the last place."""
    total = math.fsum(values)
    rest = math.fsum(itertools.chain(values, [-total]))
    return float((Fraction(total) + Fraction(rest)) / len(values))


def cleanlab(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the mask from cleanlab, which takes one column of probabilities per class."""
    return find_label_issues(labels, np.column_stack([1 - probabilities, probabilities]), n_jobs=1)


def seconds(
    call: Callable[[], object], repeats: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the time of the best run, by default in CPU seconds."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def bytes_a_row(call: Callable[[], object], n_rows: int) -> float:
    """Return the peak of the allocated memory in bytes per row, as NumPy reports it."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / n_rows


def describe_processor() -> None:
    """Print what NumPy uses of the processor: the unit moves with it."""
    from numpy._core._multiarray_umath import __cpu_features__

    found = sorted(name for name, is_there in __cpu_features__.items() if is_there)
    disabled = os.environ.get("NPY_DISABLE_CPU_FEATURES", "none")
    print(f"processor: {' '.join(found)}; disabled for NumPy: {disabled}")


# Sets of features that NumPy can do without, from none to all that np.partition knows of.
WITHOUT = ("", "X86_V4 AVX512_ICL", "X86_V3 X86_V4 AVX512_ICL")
_TIME_PARTITION = """
import sys, time, numpy as np
values, times = np.random.default_rng(0).random(int(sys.argv[1])), []
for _ in range(7):
    start = time.process_time()
    np.partition(values, len(values) // 2)
    times.append(time.process_time() - start)
print(min(times))
"""


def explain_the_unit(n_rows: int) -> None:
    """Print how np.partition, the unit of version 0.1, moves with NumPy's use of the processor."""
    print(f"\n## np.partition of {n_rows:,} uniform values, by what NumPy may use\n")
    print("| disabled (NPY_DISABLE_CPU_FEATURES) | ms | of the first |")
    print("|---|---|---|")
    first = None
    for disabled in WITHOUT:
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _TIME_PARTITION, str(n_rows)],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "NPY_DISABLE_CPU_FEATURES": disabled},
        )
        if ended.returncode:  # this NumPy needs them
            continue
        spent = float(ended.stdout)
        first = first or spent
        print(f"| {disabled or 'none'} | {1000 * spent:.1f} | {spent / first:.2f} |", flush=True)


def compare_sizes(sizes: list[int]) -> None:
    """Compare rates and mask with ten plain lines, with reading the scores, and with cleanlab."""
    print("\n## Rates and mask, in units of ten plain lines of NumPy\n")
    print(
        "| rows | labels | ten lines, ms | the scores read once | default | the paper's | cleanlab "
        "| bytes per row: default | the paper's | ten lines | cleanlab |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for n_rows in sizes:
        labels, p = simulate(n_rows)
        for dtype in (np.int8, np.int64):
            s = labels.astype(dtype)
            unit = seconds(lambda s=s, p=p: ten_lines(s, p), 5)
            read = seconds(lambda p=p: p.sum(), 5)
            cells = [f"{1000 * unit:.1f}", f"{read / unit:.3f}"]
            calls = (default, ours)
            cells += [f"{seconds(lambda f=f, s=s, p=p: f(s, p), 7) / unit:.2f}" for f in calls]
            memory = [
                f"{bytes_a_row(lambda f=f, s=s, p=p: f(s, p), n_rows):.1f}"
                for f in (*calls, ten_lines)
            ]
            if find_label_issues is None or dtype is np.int8:
                cells.append("")
                memory.append("")
            else:
                cells.append(f"{seconds(lambda s=s, p=p: cleanlab(s, p), 1) / unit:.0f}")
                memory.append(f"{bytes_a_row(lambda s=s, p=p: cleanlab(s, p), n_rows):.0f}")
            print(
                f"| {n_rows:,} | {np.dtype(dtype)} | " + " | ".join(cells + memory) + " |",
                flush=True,
            )


def compare_estimators(sizes: list[int]) -> None:
    """Compare the noise estimators on the same rows."""
    print("\n## Noise estimators, in units of ten plain lines of NumPy\n")
    print(f"| rows | {' | '.join(NOISE_ESTIMATORS)} |")
    print(f"|---|{'---|' * len(NOISE_ESTIMATORS)}")
    for n_rows in sizes:
        labels, p = simulate(n_rows)
        unit = seconds(lambda s=labels, p=p: ten_lines(s, p), 5)
        cells = []
        for method in NOISE_ESTIMATORS:
            spent = seconds(lambda m=method, s=labels, p=p: estimate_noise_rates(s, p, method=m), 3)
            cells.append(f"{spent / unit:.2f}")
        print(f"| {n_rows:,} | {' | '.join(cells)} |", flush=True)


def after_the_pass(sizes: list[int]) -> None:
    """Measure everything that follows from the sketch, which does not grow with the rows."""
    print("\n## Everything after one pass over the rows, in ms of CPU\n")
    steps = {
        "rates": estimate_noise_rates,
        "intervals": noise_rate_intervals,
        "verdict": judge,
        "separability curve": separability_curve,
        "calibration": calibration,
    }
    print(f"| rows | the pass | {' | '.join(steps)} | all after the pass | intervals over rows |")
    print(f"|---|---|{'---|' * (len(steps) + 2)}")
    for n_rows in sizes:
        labels, p = simulate(n_rows)
        spent = [seconds(lambda s=labels, p=p: ScoreSketch.from_rows(s, p), 5)]
        sketch = ScoreSketch.from_rows(labels, p)
        spent += [
            seconds(lambda call=call, sketch=sketch: call(sketch), 7) for call in steps.values()
        ]
        rows = seconds(
            lambda sketch=sketch: noise_rate_intervals(sketch, covers="rows", random_state=0), 3
        )
        cells = [f"{1000 * value:.1f}" for value in (*spent, sum(spent[1:]), rows)]
        print(f"| {n_rows:,} | {' | '.join(cells)} |", flush=True)


def error_of_bins(n_problems: int = 300) -> None:
    """Compare rates from the fixed bins with those from every distinct score."""
    print(f"\n## Error by binning, {n_problems} problems\n")
    print(
        "Difference of either noise rate between the bins of a `ScoreSketch` and all distinct "
        "scores.\n"
    )
    print("| estimator | mean | 99 % quantile | largest |")
    print("|---|---|---|---|")
    found: dict[str, list[float]] = {name: [] for name in UNBINNED}

    def both(rates: NoiseRates) -> np.ndarray:
        return np.array([rates.positive_noise_rate, rates.negative_noise_rate])

    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        labels, scores = _random_problem(rng)
        sketch = ScoreSketch.from_rows(labels, scores)
        for name in UNBINNED:
            rates = NOISE_ESTIMATORS[name].from_sketch(sketch)
            if not rates.clipped:
                found[name] += np.abs(
                    both(rates) - both(unbinned_rates(name, labels, scores))
                ).tolist()
    for name, errors in found.items():
        cells = (np.mean(errors), np.quantile(errors, 0.99), np.max(errors))
        print(f"| {name} | {' | '.join(f'{cell:.5f}' for cell in cells)} |")


def _random_problem(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy labels and scores of any overlap, noise, prevalence and size."""
    n_rows = int(10 ** rng.uniform(2.5, 4.7))
    truth = rng.random(n_rows) < rng.uniform(0.05, 0.6)
    rho1, rho0 = rng.uniform(0, 0.4, 2)
    labels = np.where(truth, rng.random(n_rows) >= rho1, rng.random(n_rows) < rho0)
    logits = rng.normal(np.where(truth, 1, -1) * rng.uniform(0.5, 4), 1)
    return labels, 1 / (1 + np.exp(-logits * rng.uniform(0.5, 3)))


def start_up() -> None:
    """Measure what imports and the first estimate add to starting Python."""
    starts = {
        "import rankprune": "import rankprune",
        "rankprune --help": "import sys; sys.argv = ['rankprune', '--help']\n"
        "from rankprune.__main__ import main\nmain()",
        "first estimate_noise_rates": "import rankprune; "
        "rankprune.estimate_noise_rates([0, 1] * 100, [0.2, 0.8] * 100)",
    }
    bare = _cost_of_start("pass")
    print("\n## Start, seconds of CPU more than bare Python\n")
    print(f"| {' | '.join(starts)} | bare Python |")
    print(f"|{'---|' * (len(starts) + 1)}")
    cells = [f"{_cost_of_start(code) - bare:.2f}" for code in starts.values()]
    print(f"| {' | '.join(cells)} | {bare:.2f} |")


def _cost_of_start(code: str) -> float:
    """Return the CPU seconds of a new process that runs some code."""
    call = [sys.executable, "-c", code]

    def children() -> float:
        # os.times counts in hundredths of a second.
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    return seconds(lambda: subprocess.run(call, capture_output=True, check=False), 7, children)


def compare_distributions(n_rows: int) -> None:
    """Compare on scores that are hard to rank, and check the masks against plain NumPy.

    For this check the plain version uses exact means: if all scores are within 1e-9, rounding in
    np.mean moves rows across a threshold.
    """
    print(f"\n## Other distributions, {n_rows:,} rows, in units of ten plain lines of NumPy\n")
    print("| scores | ten lines, ms | default | the paper's | bytes per row | the paper's masks |")
    print("|---|---|---|---|---|---|")
    labels, p = simulate(n_rows)
    for name, scores in {
        "spread": p,
        "float32": p.astype(np.float32),
        "101 values": np.round(p, 2),
        "all within 1e-9": 0.5 + p * 1e-9,
        "skewed towards 0": p**12,
        "skewed towards 1": 1 - (1 - p) ** 12,
    }.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the default cannot tell scores within 1e-9 apart
            unit = seconds(lambda x=scores: ten_lines(labels, x), 3)
            expected = plain(labels, scores.astype(np.float64), exact_mean)
            equal = np.array_equal(ours(labels, scores), expected)
            calls = (default, ours)
            cells = [seconds(lambda f=f, x=scores: f(labels, x), 5) / unit for f in calls]
            memory = bytes_a_row(lambda x=scores: default(labels, x), n_rows)
        print(
            f"| {name} | {1000 * unit:.1f} | {cells[0]:.2f} | {cells[1]:.2f} | {memory:.1f} | "
            f"{'identical' if equal else 'DIFFERENT'} |",
            flush=True,
        )


class Timed(LogisticRegression):
    """Logistic regression that records the CPU time of its fits and predictions."""

    spent = 0.0

    def fit(self, X, y, sample_weight=None):
        start = time.process_time()
        super().fit(X, y, sample_weight=sample_weight)
        Timed.spent += time.process_time() - start
        return self

    def predict_proba(self, X):
        start = time.process_time()
        scores = super().predict_proba(X)
        Timed.spent += time.process_time() - start
        return scores


class TimedFolds(StratifiedKFold):
    """Stratified folds that record the CPU time spent on drawing them."""

    spent = 0.0

    def split(self, X, y, groups=None):
        start = time.process_time()
        splits = list(super().split(X, y, groups))
        TimedFolds.spent += time.process_time() - start
        return iter(splits)


class TimedCopies:
    """Context that records the CPU time of copying rows for folds."""

    def __init__(self) -> None:
        self.spent = 0.0

    def __enter__(self) -> TimedCopies:
        self._select = _probabilities._safe_indexing
        self._replace(self._timed)
        return self

    def __exit__(self, *_: object) -> None:
        self._replace(self._select)

    def _replace(self, select: Callable[..., object]) -> None:
        for module in (_probabilities, _sample_weights):
            module._safe_indexing = select

    def _timed(self, X: object, rows: object) -> object:
        start = time.process_time()
        selected = self._select(X, rows)
        self.spent += time.process_time() - start
        return selected


def classifier_overhead(n_rows: int = 60_000, n_features: int = 100) -> None:
    """Measure what the classifier adds to its K + 1 fits, every part in the same runs.

    Measured separately, copies and folds would find their memory and code in the processor's
    cache; between two fits, they do not.
    """
    X, truth = make_classification(n_rows, n_features, n_informative=10, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0)
    base, folds = Timed(max_iter=1000), TimedFolds(3, shuffle=True, random_state=0)
    model = RankPruningClassifier(base, noise_estimator="confident-counts", cv=folds)
    single = seconds(lambda: clone(base).fit(X, y), 9)
    runs = []
    for _ in range(15):
        Timed.spent = TimedFolds.spent = 0.0
        with TimedCopies() as copies:
            whole = seconds(lambda: model.fit(X, y), 1)
        parts = [Timed.spent, copies.spent, TimedFolds.spent]
        runs.append([*parts, whole - sum(parts)])
    fits, copying, splitting, rest = np.median(runs, axis=0)
    print(f"\n## The classifier, logistic regression, {n_rows:,} rows, {n_features} features\n")
    print("| | in units of one plain fit | of its fits |")
    print("|---|---|---|")
    print("| one fit to all rows | 1.00 | |")
    for name, spent in (
        ("RankPruningClassifier.fit: its 3 + 1 fits", fits),
        ("copies of the rows of each fold", copying),
        ("scikit-learn's folds", splitting),
        ("all the rest", rest),
    ):
        print(f"| {name} | {spent / single:.2f} | {spent / fits:.1%} |")


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    sizes = parser.parse_args().rows
    _kernel._compiled = lambda _: None
    packages = ["numpy", "scikit-learn"] + (["cleanlab"] if find_label_issues else [])
    print(", ".join(f"{name} {version(name)}" for name in packages))
    if find_label_issues is None:
        print("cleanlab is not installed, so its columns stay empty")
    describe_processor()
    explain_the_unit(max(sizes))
    compare_sizes(sizes)
    compare_estimators(sizes)
    after_the_pass([10**4, *sizes])
    error_of_bins()
    compare_distributions(max(sizes))
    classifier_overhead()
    start_up()


if __name__ == "__main__":
    main()
