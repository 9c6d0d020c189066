"""
Can texts be told apart when only some positives are labeled?
=============================================================

Positive-unlabeled learning: somebody marked a part of what they look for, and nobody looked at the
rest. The texts are those that every user of scikit-learn has: the sentences that describe the
parameters of its classes. We look for those about *unsupervised* learning (clusters, components,
neighbours in a plane), and only 40 % of them are marked.
"""

# %%
# Collect the paragraphs of all docstrings, and say where each comes from.

import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.discovery import all_estimators

from rankprune import RankPruningClassifier, flip_labels
from rankprune.methods import ElkanNotoClassifier

unsupervised = {"cluster", "decomposition", "manifold", "mixture"}
supervised = {"linear_model", "svm", "ensemble", "tree", "naive_bayes", "neural_network"}
texts = {}
for _, estimator in all_estimators():
    family = estimator.__module__.split(".")[1]
    if family in unsupervised | supervised:
        for paragraph in re.split(r"\n\s*\n", estimator.__doc__ or ""):
            words = " ".join(re.findall(r"[a-z]{3,}", paragraph.lower()))
            if len(words) > 60:
                texts.setdefault(words, int(family in unsupervised))
truth = np.array(list(texts.values()))
X = np.array(list(texts), dtype=object)
print(f"{len(X)} paragraphs, {truth.sum()} of them about unsupervised learning")

# %%
# Six in ten of the positives lose their mark; no other text has one.

X_train, X_test, truth_train, truth_test = train_test_split(
    X, truth, stratify=truth, random_state=0
)
marked = flip_labels(
    truth_train, positive_noise_rate=0.6, negative_noise_rate=0.0, random_state=0
)

# %%
# ``negative_noise_rate=0`` says that every mark is right: then no marked text is ever dropped. Elkan and
# Noto's method takes that for granted. Everything works on texts, since rows are only selected.

base = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10))
models = {
    "marks as they are": base,
    "Elkan and Noto": ElkanNotoClassifier(base, random_state=0),
    "Rank Pruning, PU": RankPruningClassifier(base, negative_noise_rate=0, random_state=0),
}
figures = {}
for name, model in models.items():
    predicted = model.fit(X_train, marked).predict(X_test)
    figures[name] = [
        metric(truth_test, predicted) for metric in (precision_score, recall_score, f1_score)
    ]
figures["right labels"] = [
    metric(truth_test, base.fit(X_train, truth_train).predict(X_test))
    for metric in (precision_score, recall_score, f1_score)
]
pruned = models["Rank Pruning, PU"]
print(f"estimated: {pruned.noise_rates_.positive_noise_rate:.0%} of the positives are unmarked")

# %%
# On texts that nobody has seen, judged by where they really come from:

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
places = np.arange(3)
for number, (name, values) in enumerate(figures.items()):
    bars = ax.bar(places + 0.2 * (number - 1.5), values, 0.18, label=name)
    ax.bar_label(bars, fmt="%.2f", fontsize=8)
ax.set_xticks(places, ["precision", "recall", "F1"])
ax.set_ylim(0, 1.12)
ax.legend(ncols=4, loc="upper center", fontsize=8)

# %%
# What the model would have people look at next: the unmarked texts that it believes most.

unmarked = np.flatnonzero(marked == 0)
best = unmarked[np.argsort(-pruned.probabilities_[unmarked])[:5]]
for row in best:
    print("right " if truth_train[row] else "wrong ", X_train[row][:76])
