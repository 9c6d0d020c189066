"""Methods compared on the columns of a table."""

import numpy as np
import pandas as pd
import pytest

from rankprune import flip_labels
from rankprune.comparison import compare_table
from rankprune.core import make_gaussians
from rankprune.exceptions import TableError


@pytest.fixture(scope="module")
def table():
    X, truth = make_gaussians(400, separability=3, prevalence=0.4, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.3, negative_noise_rate=0, random_state=0)
    return pd.DataFrame(X).assign(
        label=np.where(y == 1, "ham", "spam"),
        truth=truth,
        person=np.arange(400) // 4,
    )


def test_a_column_of_true_labels_measures_the_methods(table):
    found = compare_table(
        table,
        "label",
        pos_label="ham",
        neg_label="spam",
        truth="truth",
        groups="person",
        methods=["rank-pruning"],
        estimator="logistic",
        cv=4,
    )
    assert found.note == "Measured on 100 held-out rows with trusted labels."
    noisy, pruned, _ = found.rows
    assert pruned.f1 > noisy.f1 + 0.05
    assert found.classifiers["rank-pruning"].cv == 4


def test_a_single_name_is_one_column(table):
    found = compare_table(
        table.rename(columns=str), "label", drop="truth", keep="person", methods="rank-pruning"
    )
    # Two features and the column that is kept.
    assert found.classifiers["rank-pruning"].n_features_in_ == 3


@pytest.mark.parametrize("argument", ["groups", "truth"])
def test_a_missing_column_is_reported_by_the_name_of_the_argument(table, argument):
    with pytest.raises(TableError, match=f"^{argument} must be a column"):
        compare_table(table, "label", **{argument: "height"})
