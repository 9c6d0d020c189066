"""
Which of these digits carry the wrong label?
============================================

Scikit-learn's handwritten digits, labeled "odd" or "even". We flip some labels on purpose and let
Rank Pruning find them. Because we know the truth, we can check every suspect.
"""

# %%
# Flip a tenth of the odd labels and a fifth of the even ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from rankprune import RankPruningClassifier, flip_labels, rank_suspects

X, digit = load_digits(return_X_y=True)
truth = np.where(digit % 2 == 1, "odd", "even")
labels = flip_labels(truth, positive_noise_rate=0.1, negative_noise_rate=0.2, random_state=0)
wrong = labels != truth
print(f"{wrong.sum()} of {len(labels)} labels are wrong")

# %%
# One fit tells how many labels are wrong, and which. "odd" is the positive class, the last in
# sorted order.

model = RankPruningClassifier(RandomForestClassifier(random_state=0), random_state=0)
model.fit(X, labels)
rates = model.noise_rates_
print(f"of the labels “odd” {rates.positive_label_error_rate:.0%} are wrong, by the estimate,")
print(f"and of the labels “even” {rates.negative_label_error_rate:.0%}")
found = model.prune_mask_
print(
    f"{found.sum()} suspects, {(found & wrong).sum()} of them wrong: "
    f"precision {wrong[found].mean():.0%}, recall {found[wrong].mean():.0%}"
)

# %%
# The 40 most suspicious images with their given labels. A red frame marks a label that was right.

suspects = rank_suspects(labels, model.probabilities_, model.noise_rates_)
figure, grid = plt.subplots(5, 8, figsize=(8, 6), layout="constrained")
for ax, row in zip(grid.flat, suspects.rows[:40], strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"“{labels[row]}”", fontsize=9)
    for side in ax.spines.values():
        side.set(color="tab:green" if wrong[row] else "tab:red", linewidth=3)
figure.suptitle("Given label; green frame: it is wrong")

# %%
# The order matters if people check by hand: the further down the list, the fewer are wrong.

order = suspects.rows
share = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
figure, ax = plt.subplots(layout="constrained")
ax.plot(np.arange(1, len(order) + 1), share)
ax.set(
    xlabel="suspects looked at, most suspicious first",
    ylabel="share of them that are wrong",
    ylim=(0, 1.02),
)

# %%
# The resulting classifier, beside the same forest fitted to all given labels. Both are evaluated on
# the true labels of their training rows, so compare the two figures, not their level.

plain = RandomForestClassifier(random_state=0).fit(X, labels)
print(f"fitted to all labels:  {plain.score(X, truth):.3f}")
print(f"fitted without suspects: {model.score(X, truth):.3f}")
