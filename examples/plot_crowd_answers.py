"""
How many people have to answer?
===============================

Scikit-learn's handwritten digits, labeled "odd" or "even" by a simulated crowd of twelve people,
with one to five answers for each image. Do votes, a consensus, or a consensus with the scores of a
classifier make the best labels, and the best classifier?
"""

# %%
# Each person is right in 55 to 90 % of the odd images, and in 55 to 90 % of the even ones.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split

from rankprune import RankPruningClassifier
from rankprune.annotators import Answers, annotator_report, consensus, next_rows

X, digit = load_digits(return_X_y=True)
truth = np.where(digit % 2 == 1, "odd", "even")
X, X_new, truth, new = train_test_split(X / 16, truth, test_size=0.4, random_state=0)
rng = np.random.default_rng(0)
skills = rng.uniform(0.55, 0.9, (12, 2))


def ask(per_row):
    """Return the answers of some people about each image."""
    who = np.array([rng.choice(12, per_row, replace=False) for _ in truth])
    is_right = rng.random(who.shape) < skills[who, (truth == "odd")[:, None].astype(int)]
    said = np.where(is_right == (truth == "odd")[:, None], "odd", "even")
    rows = np.repeat(np.arange(len(truth)), per_row)
    return Answers.from_long(rows, who.ravel(), said.ravel())


def scores(probabilities):
    """Return out-of-fold scores of a classifier that is trained on a consensus."""
    labels = probabilities.argmax(axis=1)
    return cross_val_predict(model, X, labels, cv=3, method="predict_proba")


model = LogisticRegression(C=0.3, max_iter=1000)

# %%
# The more answers, the better the labels; but a classifier is a witness, too.

names = ("votes", "consensus", "consensus with scores")
right, tested = {name: [] for name in names}, {name: [] for name in names}
for per_row in range(1, 6):
    answers = ask(per_row)
    labels = {
        "votes": consensus(answers, method="majority").labels,
        "consensus": consensus(answers).labels,
        "consensus with scores": consensus(answers, probabilities=scores).labels,
    }
    for name in names:
        right[name].append((labels[name] == truth).mean())
        pruned = RankPruningClassifier(model, random_state=0).fit(X, labels[name])
        tested[name].append(pruned.score(X_new, new))
    print(per_row, *(f"{name}: {right[name][-1]:.3f}" for name in names))

figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), sharex=True, layout="constrained")
for ax, shares, title in (
    (axes[0], right, "labels that are right"),
    (axes[1], tested, "new images that are right"),
):
    for name in names:
        ax.plot(range(1, 6), shares[name], marker="o", label=name)
    ax.set(xlabel="answers for each image", title=title, xticks=range(1, 6))
axes[0].legend()

# %%
# With three answers, the same consensus tells how many of the votes are wrong, without the truth.

answers = ask(3)
found = consensus(answers, probabilities=scores)
votes = consensus(answers, method="majority").labels
print(f"wrong votes: {found.label_errors(votes).wrong_share}")
print(f"in truth:    {(votes != truth).mean():.1%}")

# %%
# It also knows how good each person is, who needs a second look, and which images to ask again.

for one, (even, odd) in zip(found.annotators, skills, strict=True):
    print(f"{one.annotator}: {one.accuracy}; in truth {(even + odd) / 2:.0%}")
print("\n".join(map(str, annotator_report(answers, found=found))) or "nobody needs a second look")
again = next_rows(answers, 40, found=found)
print(
    f"{(found.labels != truth)[again].mean():.0%} of the next 40 images have a wrong label so far,"
)
print(f"and {(found.labels != truth).mean():.0%} of all")
