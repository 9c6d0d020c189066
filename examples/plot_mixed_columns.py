"""
How do I use it in a pipeline with mixed columns?
=================================================

A table of numbers, categories and missing cells goes through a ``ColumnTransformer`` as usual, and
`RankPruningClassifier` wraps the whole pipeline. The preprocessing is fitted within each fold, so
nothing leaks.
"""

# %%
# Scikit-learn's breast cancer table, made untidy: two measurements as words, some cells empty,
# labels as strings, and some of the labels wrong.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankprune import RankPruningClassifier, flip_labels
from rankprune.diagnostics import ProbabilityDisplay

data = load_breast_cancer(as_frame=True)
X = data.data.iloc[:, :10].rename(columns=lambda name: name.removeprefix("mean "))
for column in ("texture", "smoothness"):
    X[column] = pd.qcut(X[column], 3, labels=["low", "middle", "high"]).astype(object)
rng = np.random.default_rng(0)
X = X.mask(rng.random(X.shape) < 0.05)
truth = np.where(data.target == 0, "malignant", "benign")
print(X.head(3).to_string())

# %%
# A fifth of the malignant cases are recorded as benign, and one in twenty benign cases as
# malignant.

X_train, X_test, truth_train, truth_test = train_test_split(
    X, truth, stratify=truth, random_state=0
)
labels = flip_labels(truth_train, positive_noise_rate=0.2, negative_noise_rate=0.05, random_state=0)

# %%
# The pipeline is an ordinary one. The weights that correct the class balance reach its last step.

pipeline = make_pipeline(
    make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="none"),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            make_column_selector(dtype_exclude="number"),
        ),
    ),
    LogisticRegression(),
)
model = RankPruningClassifier(pipeline, pos_label="malignant", cv=5, random_state=0)
model.fit(X_train, labels)
rates = model.noise_rates_
print(f"{rates.positive_label_error_rate:.0%} of the labels “malignant” are wrong,")
print(f"and {rates.negative_label_error_rate:.0%} of the labels “benign”")
plain = pipeline.fit(X_train, labels)
print(f"given labels: {plain.score(X_test, truth_test):.3f} correct on new rows")
print(f"Rank Pruning: {model.score(X_test, truth_test):.3f}")

# %%
# Out-of-fold probabilities by given label; rows beyond a cut-off were dropped.

ProbabilityDisplay.from_predictions(labels, model.probabilities_, pos_label="malignant")

# %%
# It is an estimator like any other: searches reach the steps of the pipeline.

search = GridSearchCV(
    model, {"estimator__logisticregression__C": [0.01, 0.1, 1.0]}, cv=3, scoring="roc_auc"
)
search.fit(X_train, labels)
print(search.best_params_)
plt.show()
