"""
What if I have ten million scores?
==================================

Labels and scores come in batches, from a file, a database or a generator; only a state of a few
hundred kilobytes is kept in memory. Counts, cut-offs and masks are identical to those on arrays.
"""

# %%
# Ten batches of a million rows, generated again for each pass. They could be read from Parquet with
# ``stream.read_scores``.

import time

import matplotlib.pyplot as plt
import numpy as np

from rankprune import stream


def batches(n_batches=10, n_rows=1_000_000):
    """Yield labels and scores; 30 % of the positives and 5 % of the negatives are mislabeled."""
    for seed in range(n_batches):
        rng = np.random.default_rng(seed)
        truth = rng.random(n_rows, dtype=np.float32) < 0.25
        wrong = rng.random(n_rows, dtype=np.float32) < np.where(truth, 0.3, 0.05)
        noise = rng.standard_normal(n_rows, dtype=np.float32)
        yield truth ^ wrong, 1 / (1 + np.exp(-3 * (2 * truth - 1) - noise))


# %%
# Rates and cut-offs take two or three passes, each of which generates the rows again. By default
# streams use the paper's counts, which are exact for batches of any size.

start = time.perf_counter()
pruning = stream.prune_labels(batches)
spent = time.perf_counter() - start
rates = pruning.noise_rates
print(f"rho1 = {rates.positive_noise_rate:.3f}, rho0 = {rates.negative_noise_rate:.3f}")
print(f"{pruning.n_rows:,} rows, {pruning.n_passes} passes, {spent:.2f} s to generate and prune")
for name, count, cutoff in (
    ("positive", pruning.n_positive_pruned, pruning.positive_cutoff),
    ("negative", pruning.n_negative_pruned, pruning.negative_cutoff),
):
    print(f"{count:,} {name} labels are dropped; the last one has a score of {cutoff:.3f}")

# %%
# The mask comes batch by batch, too, or goes straight to a file with ``write_mask``. Here we count
# what is dropped and kept along the scores.

edges = np.linspace(0, 1, 101)
counts = {name: np.zeros(100) for name in ("kept", "dropped")}
for (_, scores), mask in zip(batches(), pruning.masks(), strict=True):
    counts["dropped"] += np.histogram(scores[mask], edges)[0]
    counts["kept"] += np.histogram(scores[~mask], edges)[0]

figure, ax = plt.subplots(layout="constrained")
ax.stairs(counts["kept"], edges, label="kept")
ax.stairs(counts["dropped"], edges, label="dropped", fill=True, alpha=0.6)
for cutoff in (pruning.positive_cutoff, pruning.negative_cutoff):
    ax.axvline(cutoff, color="k", linestyle=":")
ax.set(xlabel="score", ylabel="rows", yscale="log", title="Ten million rows")
ax.legend()
