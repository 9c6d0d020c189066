"""scikit-learn's own checks of the networks, with every check that is excused and why."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("torch")

from rankprune import torch as room
from rankprune.torch import (
    BootstrappedNetClassifier,
    CorrectedNetClassifier,
    DenseNet,
    NetClassifier,
    NoiseModelNetClassifier,
)

pytestmark = [
    pytest.mark.torch,
    # Some checks fit random labels, and none has trusted rows: what these warnings are about.
    pytest.mark.filterwarnings(
        "ignore::rankprune.exceptions.RankPruneWarning",
        "ignore::sklearn.exceptions.SkipTestWarning",
    ),
]

# A row of weight 2 may fall into one batch, its two copies into different ones.
EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "rows are learned in random batches",
}
# With a seed, because a few epochs do not tell classes of random rows apart from every start.
SMALL = {"module": DenseNet((8,)), "learning_rate": 0.1, "max_epochs": 5, "random_state": 0}


@parametrize_with_checks(
    [
        NetClassifier(**SMALL),
        BootstrappedNetClassifier(**SMALL),
        BootstrappedNetClassifier(**SMALL, method="reconstruction"),
        CorrectedNetClassifier(**SMALL),
        CorrectedNetClassifier(**SMALL, correction="backward"),
        NoiseModelNetClassifier(**SMALL, rounds=1),
    ],
    expected_failed_checks=lambda _: EXCUSED,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_every_network_is_checked_above():
    public = {name for name in room.__all__ if name.endswith("Classifier")}
    assert public <= set(globals())
