"""Speed and memory with many classes: labels and scores to noise matrix and mask.

    python benchmarks/classes.py

CPU seconds of one core, the best of several runs, each in a separate process: with NumPy alone,
with compiled loops, and with cleanlab. Memory is the peak of the process beyond what it held with
the arrays loaded, as a multiple of the scores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

SIZES = ((1_000_000, 10), (500_000, 10), (100_000, 100), (50_000, 100), (20_000, 1000))
RUNS = 5
WHO = ("numpy", "compiled", "cleanlab")


def simulate(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of which about a tenth is wrong, and scores that mostly find the truth."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n_rows)
    scores = rng.random((n_rows, n_classes))
    scores[np.arange(n_rows), labels] += 0.6 * n_classes
    scores /= scores.sum(axis=1, keepdims=True)
    wrong = rng.random(n_rows) < 0.1
    labels[wrong] = rng.integers(0, n_classes, int(wrong.sum()))
    return labels, scores


def measure(who: str, n_rows: int, n_classes: int) -> dict[str, float]:
    """Return CPU seconds, and the peak memory beyond the arrays as a multiple of the scores."""
    labels, scores = simulate(n_rows, n_classes)
    if who == "cleanlab":
        from cleanlab.filter import find_label_issues

        def run() -> None:
            find_label_issues(labels, scores, n_jobs=1)
    else:
        from rankprune import estimate_noise_rates, prune_labels
        from rankprune.core.counting import _kernel

        if who == "numpy":
            _kernel._compiled = lambda _: None
        else:
            import numba  # noqa: F401  # imported, so that the compiled loops are used at once

        def run() -> None:
            prune_labels(labels, scores, estimate_noise_rates(labels, scores))

    # Loads what is loaded on the first call.
    small = slice(0, max(50 * n_classes, (1 << 17) // n_classes))
    labels, kept = labels[small], labels
    scores, all_scores = scores[small], scores
    run()
    labels, scores = kept, all_scores
    before, times = resident(), []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return {"seconds": min(times), "memory": max(peak() - before, 0) / scores.nbytes}


def resident() -> int:
    """Return the bytes that the process holds now, after resetting its peak."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return peak()


def peak() -> int:
    """Return the peak of the bytes that the process held."""
    try:
        with open("/proc/self/status") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, metavar=("WHO", "ROWS", "CLASSES"))
    arguments = parser.parse_args()
    if arguments.one:
        who, n_rows, n_classes = arguments.one
        print(json.dumps(measure(who, int(n_rows), int(n_classes))))
        return
    print("### Many classes: labels and scores to noise matrix and mask, one core\n")
    print("| rows x classes | NumPy, CPU s | ns a score | compiled, CPU s | ns a score | ", end="")
    print("cleanlab, CPU s | NumPy, ratio | compiled, ratio | memory | cleanlab |")
    print("|---" * 10 + "|")
    for n_rows, n_classes in SIZES:
        plain, ours, theirs = (apart(who, n_rows, n_classes) for who in WHO)
        cells = [f"{n_rows:,} x {n_classes}"]
        for found in (plain, ours):
            nanoseconds = 1e9 * found["seconds"] / (n_rows * n_classes)
            cells += [f"{found['seconds']:.3f}", f"{nanoseconds:.1f}"]
        memory = f"{max(plain['memory'], ours['memory']):.2f}"
        if theirs:
            cells.append(f"{theirs['seconds']:.3f}")
            cells += [f"{theirs['seconds'] / found['seconds']:.1f}" for found in (plain, ours)]
            cells += [memory, f"{theirs['memory']:.2f}"]
        else:
            cells += ["-", "-", "-", memory, "-"]
        print(f"| {' | '.join(cells)} |", flush=True)


def apart(who: str, n_rows: int, n_classes: int) -> dict[str, float]:
    """Return what a separate process measures, or nothing if a package is missing."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", who, str(n_rows), str(n_classes)]
    result = subprocess.run(command, capture_output=True, text=True)
    return json.loads(result.stdout) if result.returncode == 0 else {}


if __name__ == "__main__":
    main()
