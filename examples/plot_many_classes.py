"""
Ten classes: which digits are labeled wrong, and what should they be?
=====================================================================

Wrong labels are rarely random: a 4 is mistaken for a 9 far more often than for a 0. With more than
two classes, Rank Pruning estimates for every pair how many labels of one class should be the other,
and suggests a label for every row that it drops.
"""

# %%
# A fifth of the 4s become 9s and the other way round, of the 3s 8s and the other way round, and of
# the 1s 7s. A quarter of the rows keep their true label, to compare classifiers at the end.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from rankprune import RankPruningClassifier, flip_labels, rank_suspects
from rankprune.diagnostics import NoiseMatrixDisplay

X, digit = load_digits(return_X_y=True)
X, X_new, truth, new = train_test_split(X, digit, random_state=0)
transition = np.eye(10)
for true, given in ((4, 9), (9, 4), (3, 8), (8, 3), (1, 7)):
    transition[true, true], transition[given, true] = 0.8, 0.2
labels = flip_labels(truth, transition=transition, random_state=0)
wrong = labels != truth
print(f"{wrong.sum()} of {len(labels)} labels are wrong")

# %%
# One fit tells how many labels are wrong, and which.

model = RankPruningClassifier(RandomForestClassifier(random_state=0), cv=5, random_state=0)
model.fit(X, labels)
matrix, pruned = model.noise_matrix_, model.prune_mask_
print(matrix)
print(f"in truth {wrong.mean():.3f}")
print(
    f"{pruned.sum()} suspects, {(pruned & wrong).sum()} of them wrong: "
    f"precision {wrong[pruned].mean():.0%}, recall {pruned[wrong].mean():.0%}"
)

# %%
# The heat map of the matrix shows the five pairs. What else it counts is overlap: rows that look
# like another digit although their label is right.

NoiseMatrixDisplay.from_matrix(matrix)

# %%
# From the same matrix follow the rates by label and by class.

for k in (3, 4, 7, 8, 9):
    interval = matrix.intervals.error_rates[k]
    print(f"of the labels “{k}” {interval} are wrong; in truth {wrong[labels == k].mean():.1%}")

# %%
# The 40 most suspicious images, with the given and the suggested label. The frame is green if the
# suggestion is the true label.

suspects = rank_suspects(labels, model.probabilities_, matrix)
figure, grid = plt.subplots(5, 8, figsize=(8, 6.4), layout="constrained")
for ax, row, suggested in zip(grid.flat, suspects.rows, suspects.suggested_labels, strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(f"{labels[row]} → {suggested}", fontsize=9)
    for side in ax.spines.values():
        side.set(color="tab:green" if suggested == truth[row] else "tab:red", linewidth=3)
figure.suptitle("Given label → suggested label")

# %%
# The classifier without the suspects, beside the same forest fitted to all labels and to the true
# ones, on images that none of them has seen.

plain = RandomForestClassifier(random_state=0).fit(X, labels)
best = RandomForestClassifier(random_state=0).fit(X, truth)
print(f"fitted to all labels:    {plain.score(X_new, new):.3f}")
print(f"fitted without suspects: {model.score(X_new, new):.3f}")
print(f"fitted to true labels:   {best.score(X_new, new):.3f}")
