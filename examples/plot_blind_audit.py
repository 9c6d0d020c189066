"""
How many rows must people judge to know how good the estimates are?
===================================================================

A model's estimate of the noise shares the model's blind spots. A random sample that people judge
without seeing the label or the score does not. Here the true labels replace the people, so we can
see how often the intervals contain the truth.
"""

# %%
# Digits, "above 4" or not, with flipped labels, and a weak model: a linear one, for classes that
# no plane separates. It suspects far too many labels.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from rankprune import RankPruningClassifier, audit, flip_labels

X, digit = load_digits(return_X_y=True)
truth = (digit > 4).astype(int)
labels = flip_labels(truth, positive_noise_rate=0.1, negative_noise_rate=0.05, random_state=0)
wrong = labels != truth
model = RankPruningClassifier(
    LogisticRegression(C=0.001, max_iter=1000),
    noise_estimator="confident-counts",
    random_state=0,
)
suspects = model.fit(X / 16, labels).prune_mask_
print(f"truly wrong: {wrong.mean():.1%}; the model's estimate: {suspects.mean():.1%}")

# %%
# How precise would a sample of each size be? The plan needs no answers.

for size, planned in audit.plan(
    labels, model.probabilities_, model.noise_rates_, suspects, sizes=(50, 100, 200, 400)
).items():
    width = planned.wrong_share.high - planned.wrong_share.low
    print(f"{size:4d} rows judged: share of wrong labels to within ± {width / 2:.1%}")

# %%
# Draw 200 rows, suspects more often than others, have them judged, and read the result.

sample = audit.draw(labels, suspects, 200, random_state=0)
answers = truth[sample.rows]  # what people would say
print(audit.estimate(sample, answers))

# %%
# Forty other audits of the same table, each of 200 rows. The dashed line is the truth; the dotted
# line is the estimate of the model, which most audits refute.

intervals = [
    audit.estimate(drawn, truth[drawn.rows]).wrong_share
    for drawn in (audit.draw(labels, suspects, 200, random_state=seed) for seed in range(40))
]
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
places = np.arange(len(intervals))
held = np.array([one.low <= wrong.mean() <= one.high for one in intervals])
for is_held, color in ((True, "C0"), (False, "C3")):
    chosen = places[held == is_held]
    ax.vlines(
        chosen,
        [intervals[place].low for place in chosen],
        [intervals[place].high for place in chosen],
        color=color,
        linewidth=3,
    )
ax.plot(places, [one.estimate for one in intervals], "k.", label="estimate of an audit")
ax.axhline(wrong.mean(), color="k", linestyle="--", label="truth")
ax.axhline(suspects.mean(), color="C1", linestyle=":", label="the model's estimate")
ax.set(xlabel="audit", ylabel="share of wrong labels", ylim=(0, None))
ax.legend(loc="lower right", ncols=3)
believed = sum(one.low <= suspects.mean() <= one.high for one in intervals)
print(f"{held.sum()} of {len(held)} intervals hold the truth, {believed} the model's estimate")
