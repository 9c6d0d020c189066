"""
How do I choose hyperparameters when test labels are wrong, too?
================================================================

Cross-validation on noisy labels evaluates on noisy labels. If a metric depends on how many rows are
predicted positive, it may prefer the wrong setting. `clean_scorer` corrects the metric for the
noise.
"""

# %%
# The digits, odd or even, seen through four principal components only, so that the classes
# overlap: if they were separate, any threshold would do. Half of the odd digits are labeled even.
# We use F1 to choose the threshold above which a row is called odd.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import RankPruningClassifier, flip_labels, out_of_fold_probabilities
from rankprune.metrics import clean_scorer

X, digit = load_digits(return_X_y=True)
truth = digit % 2
labels = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0, random_state=0)

# %%
# The rates are estimated first. The choice is only as good as the rates, which should be .5 and 0.

base = make_pipeline(StandardScaler(), PCA(4, random_state=0), LogisticRegression())
rates = RankPruningClassifier(base, random_state=0).fit(X, labels).noise_rates_
print(f"rho1 = {rates.positive_noise_rate:.2f}, rho0 = {rates.negative_noise_rate:.2f}")

# %%
# The same search twice: by F1 against the given labels, and by F1 corrected for the noise.

thresholds = np.round(np.arange(0.03, 0.5, 0.02), 2)
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def search(scoring):
    """Return the cross-validated F1 of each threshold."""
    model = FixedThresholdClassifier(base, response_method="predict_proba")
    found = GridSearchCV(model, {"threshold": thresholds}, scoring=scoring, cv=folds)
    return found.fit(X, labels).cv_results_["mean_test_score"]


noisy, corrected = search("f1"), search(clean_scorer("f1", rates))

# %%
# For comparison, the true F1 of the same models, which is unknown in practice.

scores = out_of_fold_probabilities(base, X, labels, cv=folds)
actual = np.array([f1_score(truth, scores >= threshold) for threshold in thresholds])

# %%
# Against the given labels, every odd digit that the model finds among those labeled even counts as
# a false positive: the level is wrong, and the choice too cautious.

figure, ax = plt.subplots(layout="constrained")
for name, curve, style in (
    ("given labels", noisy, "C3-"),
    ("corrected for the noise", corrected, "C0-"),
    ("the truth", actual, "k--"),
):
    best = np.argmax(curve)
    ax.plot(thresholds, curve, style, label=f"{name}: best at {thresholds[best]:.2f}")
    ax.plot(thresholds[best], curve[best], style[:-1].rstrip("-") + "o")
    print(f"{name:24s} chooses {thresholds[best]:.2f}, where the true F1 is {actual[best]:.3f}")
ax.set(xlabel="threshold", ylabel="F1", ylim=(0, 1))
ax.legend(loc="lower left")
