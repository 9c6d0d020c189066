"""Check that the package imports and fits with only its base dependencies installed."""

import importlib.util

import numpy as np

import rankprune

EXTRAS = (
    "click",
    "duckdb",
    "jinja2",
    "matplotlib",
    "numba",
    "pandas",
    "pyspark",
    "pytest",
    "rich",
    "skops",
    "torch",
)
for extra in EXTRAS:
    assert importlib.util.find_spec(extra) is None, f"{extra} is installed"

rng = np.random.default_rng(0)
truth = np.arange(300) % 2
X = rng.normal(size=(300, 2)) + 3 * truth[:, None]
labels = rankprune.flip_labels(
    truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0
)
model = rankprune.RankPruningClassifier(random_state=0).fit(X, labels)
assert model.score(X, truth) > 0.9
check = rankprune.check_labels(X, labels)
assert check.verdict.level == "noise found"
print(f"rankprune {rankprune.__version__} imports and fits without any extra")
