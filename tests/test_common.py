"""scikit-learn's own checks, without an exception list."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankprune import RankPruningClassifier
from rankprune.methods import (
    BaggingPUClassifier,
    BiasedSVMClassifier,
    ConsistencyPruningClassifier,
    CoTrainingClassifier,
    DensityRatioClassifier,
    ElkanNotoClassifier,
    ImportanceReweightingClassifier,
    LabelDependentCostClassifier,
    OneClassPUClassifier,
    RESVMClassifier,
    UnbiasedLossClassifier,
    WeightedLogisticPUClassifier,
)

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


@parametrize_with_checks(
    [
        LabelDependentCostClassifier(),
        LabelDependentCostClassifier(noise_estimator="cross-validation"),
        UnbiasedLossClassifier(),
        ImportanceReweightingClassifier(),
        ElkanNotoClassifier(),
        ElkanNotoClassifier(weighting=True),
        WeightedLogisticPUClassifier(),
        DensityRatioClassifier(),
        BaggingPUClassifier(n_estimators=5),
        RESVMClassifier(n_estimators=10),
    ]
)
def test_scikit_learn_check_of_the_other_methods(estimator, check):
    check(estimator)


# scikit-learn excuses its own SVC, OneClassSVM and BaggingClassifier from these two, and nothing
# else is excused here: libsvm stops early, and a drawn sample differs from weights by chance.
WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "draws rows, or stops early as libsvm does"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        BiasedSVMClassifier(),
        ConsistencyPruningClassifier(n_estimators=5),
        CoTrainingClassifier(rounds=5),
        OneClassPUClassifier(),
    ],
    expected_failed_checks=lambda _: WEIGHTS,
)
def test_scikit_learn_check_of_methods_that_draw_rows_or_use_libsvm(estimator, check):
    check(estimator)


def test_every_public_classifier_is_checked_above():
    from rankprune import methods

    public = {name for name in methods.__all__ if name.endswith("Classifier")}
    assert public <= set(globals())
