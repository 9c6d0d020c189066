"""
How do I choose hyperparameters when test labels are wrong, too?
================================================================

Cross-validation on noisy labels judges by noisy labels. Where a metric depends on how many rows are
called positive, it then prefers the wrong setting. `clean_scorer` corrects the metric for the noise.
"""

# %%
# The digits, "a 3" or not. Half of the 3s are not labeled. We choose the threshold above which a row is
# called a 3, by F1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import NoiseRates, RankPruningClassifier, flip_labels
from rankprune.metrics import clean_scorer

X, digit = load_digits(return_X_y=True)
truth = (digit == 3).astype(int)
labels = flip_labels(truth, positive_noise_rate=0.5, negative_noise_rate=0.02, random_state=0)

# %%
# The rates are estimated first. (Anything that is chosen by them is as good as they are.)

base = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
rates = RankPruningClassifier(base, random_state=0).fit(X, labels).noise_rates_
print(rates)
print(NoiseRates.from_true_labels(truth, labels))

# %%
# The same search three times: by F1 against the given labels, by F1 corrected for the noise, and, for
# comparison, by the truth that nobody has.

thresholds = np.round(np.arange(0.02, 0.72, 0.05), 2)
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def search(scoring):
    """Return the mean F1 at each threshold."""
    model = FixedThresholdClassifier(base, response_method="predict_proba")
    found = GridSearchCV(model, {"threshold": thresholds}, scoring=scoring, cv=folds)
    return found.fit(X, labels).cv_results_["mean_test_score"]


def true_f1(given, predicted):
    """Return the F1 against the right labels of the rows of a fold."""
    right = truth[given.index]
    hits = (predicted * right).sum()
    return 2 * hits / (predicted.sum() + right.sum())


noisy, corrected = search("f1"), search(clean_scorer("f1", rates))

# %%
# Only the last one needs labels that know their row, to look up the truth.

import pandas as pd  # noqa: E402

given = pd.Series(labels)
model = FixedThresholdClassifier(base, response_method="predict_proba")
by_truth = GridSearchCV(
    model, {"threshold": thresholds}, scoring=make_scorer(true_f1), cv=folds
).fit(X, given)
actual = by_truth.cv_results_["mean_test_score"]

# %%
# The level of the noisy curve is wrong, and so is its peak.

figure, ax = plt.subplots(layout="constrained")
for name, curve, style in (
    ("given labels", noisy, "C3-"),
    ("corrected for the noise", corrected, "C0-"),
    ("the truth", actual, "k--"),
):
    best = thresholds[np.argmax(curve)]
    ax.plot(thresholds, curve, style, label=f"{name}: best at {best:.2f}")
    ax.axvline(best, color=style[:-1].rstrip("-"), linewidth=0.8, alpha=0.6)
    reached = actual[np.argmax(curve)]
    print(f"{name:24s} chooses {best:.2f}, whose true F1 is {reached:.3f}")
ax.set(xlabel="threshold", ylabel="F1, cross-validated")
ax.legend()
