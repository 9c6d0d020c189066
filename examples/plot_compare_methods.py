"""
Would another method do better on my data?
==========================================

`compare` fits several methods on the same rows, folds and out-of-fold probabilities. If some rows
have correct labels, it measures the methods on them; otherwise it estimates from noisy labels.
"""

# %%
# The digits, odd or even. A third of the odd digits are labeled even, and one in ten of the even
# digits is labeled odd.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import RankPruningClassifier, compare, flip_labels
from rankprune.comparison import METHODS

X, digit = load_digits(return_X_y=True)
truth = digit % 2
labels = flip_labels(truth, positive_noise_rate=0.33, negative_noise_rate=0.1, random_state=0)
base = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))

# %%
# ``rankprune.comparison.METHODS`` maps names to classifiers; you can add your own.

methods = {
    name: METHODS[name]
    for name in (
        "rank-pruning",
        "rank-pruning, as published",
        "label-dependent-cost",
        "unbiased-loss",
        "importance-reweighting",
        "elkan-noto",
    )
}
methods["committee"] = RankPruningClassifier(scorer="committee")
found = compare(X, labels, base, methods=methods, true_labels=truth, random_state=0)
print(found)

# %%
# A quarter of the rows, 450, was held out with correct labels: three rows are .007 of the error, so
# small differences mean nothing. :doc:`/choosing` has 21 data sets in eight situations.

found.plot("error")

# %%
# The same without any correct label. Error, F1 and AUC are estimated from noisy test labels, and
# the note says how far that can be trusted.

blind = compare(X, labels, base, methods=["rank-pruning", "unbiased-loss"], random_state=0)
print(blind)
plt.show()
