"""scikit-learn's own checks, without an exception list."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankprune import RankPruningClassifier

# Some checks fit random labels, which is what these warnings are about. No check is left out.
pytestmark = pytest.mark.filterwarnings(
    "ignore::rankprune.exceptions.RankPruneWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)


@parametrize_with_checks(
    [
        RankPruningClassifier(),
        RankPruningClassifier(LogisticRegression(), scorer=DecisionTreeClassifier(max_depth=3)),
        RankPruningClassifier(make_pipeline(MinMaxScaler(), LogisticRegression())),
        RankPruningClassifier(negative_noise_rate=0.0),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
