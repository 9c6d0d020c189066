"""Corrected losses: with known and estimated noise, two classes and more."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold

from rankprune import NoiseRates, flip_labels
from rankprune.torch import CorrectedNetClassifier, DenseNet, NetClassifier

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from noisy_clouds import GIVEN, MEMORY, TEST_TRUTH, TRANSITION, TRUTH, X_TEST, X  # noqa: E402

SMALL = MEMORY | {"module": DenseNet((8,)), "max_epochs": 15}
IS_ONE = TRUTH == 1
FLIPPED = flip_labels(
    IS_ONE, positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0
).astype(bool)
SCORES = np.where(IS_ONE, 0.7, 0.1)


def corrected(**changed):
    return CorrectedNetClassifier(**(SMALL | changed))


def test_forward_correction_beats_the_plain_network_that_memorises():
    plain = NetClassifier(**MEMORY).fit(X, GIVEN).score(X_TEST, TEST_TRUTH)
    model = CorrectedNetClassifier(**MEMORY, transition=TRANSITION).fit(X, GIVEN)
    assert model.score(X_TEST, TEST_TRUTH) > plain + 0.1
    assert model.transition_ == pytest.approx(TRANSITION)


def test_backward_correction_predicts_the_true_classes():
    model = corrected(correction="backward", transition=TRANSITION).fit(X, GIVEN)
    assert model.score(X_TEST, TEST_TRUTH) > 0.9


@pytest.mark.parametrize("correction", ["forward", "backward"])
def test_without_noise_both_are_the_plain_network(correction):
    settings = SMALL | {"max_epochs": 3}
    plain = NetClassifier(**settings).fit(X, TRUTH).predict_proba(X)
    # A network of zeros would be exact; rounding differs.
    near = 1e-9 * np.ones((3, 3)) + (1 - 3e-9) * np.eye(3)
    model = CorrectedNetClassifier(**settings, correction=correction, transition=near)
    assert model.fit(X, TRUTH).predict_proba(X) == pytest.approx(plain, abs=1e-3)


def test_known_rates_of_two_classes_are_used_and_need_no_scores():
    model = corrected(positive_noise_rate=0.3, negative_noise_rate=0.1, cv="never used")
    model.fit(X, FLIPPED)
    assert model.transition_ == pytest.approx(np.array([[0.9, 0.1], [0.3, 0.7]]))
    assert model.noise_rates_.positive_noise_rate == 0.3
    assert model.score(X_TEST, TEST_TRUTH == 1) > 0.95


def test_the_positive_class_may_come_first():
    model = corrected(positive_noise_rate=0.1, negative_noise_rate=0.3, pos_label=False)
    assert model.fit(X, FLIPPED).transition_ == pytest.approx(np.array([[0.9, 0.1], [0.3, 0.7]]))


def test_unknown_rates_are_estimated_from_scores_of_its_own():
    found = corrected().fit(X, FLIPPED)
    assert found.noise_rates_.positive_noise_rate == pytest.approx(0.3, abs=0.08)
    assert found.noise_rates_.negative_noise_rate == pytest.approx(0.1, abs=0.05)
    one_known = corrected(negative_noise_rate=0.1).fit(X, FLIPPED).noise_rates_
    assert one_known.negative_noise_rate == 0.1
    again = corrected(n_jobs=2).fit(X, FLIPPED)
    assert (again.predict_proba(X) == found.predict_proba(X)).all()


def test_given_probabilities_save_the_scoring():
    model = corrected(cv="never used", noise_estimator="confident-counts")
    model.fit(X, FLIPPED, probabilities=SCORES)
    true = NoiseRates.from_true_labels(IS_ONE, FLIPPED)
    found = model.noise_rates_
    assert found.positive_noise_rate == pytest.approx(true.positive_noise_rate)
    assert found.negative_noise_rate == pytest.approx(true.negative_noise_rate)


def test_weights_count_in_the_rates_and_rows_without_weight_do_not():
    weights = np.where(np.arange(len(X)) < 300, 2.0, 0.0)
    model = corrected(noise_estimator="confident-counts", max_epochs=2)
    half = model.fit(X, FLIPPED, sample_weight=weights, probabilities=SCORES).noise_rates_
    alone = model.fit(X[:300], FLIPPED[:300], probabilities=SCORES[:300]).noise_rates_
    assert half.positive_noise_rate == pytest.approx(alone.positive_noise_rate)
    groups = np.arange(len(X)) // 3
    grouped = model.fit(X, FLIPPED, sample_weight=weights, groups=groups)
    assert grouped.noise_rates_.reliable


def test_scores_that_tell_nothing_correct_nothing():
    coin = np.random.RandomState(0).rand(len(X))
    with pytest.warns(UserWarning, match="probabilities"):
        model = corrected(max_epochs=2).fit(X, FLIPPED, probabilities=coin)
    assert model.transition_.tolist() == [[1, 0], [0, 1]]


def test_the_noise_of_many_classes_is_read_off_at_anchors():
    perfect = TRANSITION[TRUTH]
    model = corrected(cv="never used").fit(X, GIVEN, probabilities=perfect)
    assert model.transition_ == pytest.approx(TRANSITION)
    own = corrected().fit(X, GIVEN, groups=np.arange(len(X)) // 2)
    # A network is surer of its rows than the noise allows, so single anchors show less noise.
    assert (own.transition_.argmax(axis=1) == np.arange(3)).all()
    assert own.transition_.sum(axis=1) == pytest.approx(1)
    assert not hasattr(own, "noise_rates_")


@pytest.mark.parametrize(
    ("changed", "y", "probabilities", "message"),
    [
        ({"transition": np.eye(2)}, GIVEN, None, "3 x 3 numbers"),
        ({"positive_noise_rate": 0.1}, GIVEN, None, "for two classes, but y has 3"),
        ({"pos_label": 1}, GIVEN, None, "for two classes, but y has 3"),
        ({"transition": np.eye(2), "positive_noise_rate": 0.1}, FLIPPED, None, "given alone"),
        ({"cv": 1}, GIVEN, None, "cv=1 must be at least 2"),
        ({"cv": 5}, np.where(np.arange(600) < 4, 3, GIVEN), None, "; class 3 has 4. Pass"),
        ({"cv": [(np.arange(300), np.arange(500, 600))]}, GIVEN, None, "cv must"),
        ({}, GIVEN, np.full((600, 3), 1 / 3), "tell the classes apart"),
        ({"noise_estimator": "tight"}, GIVEN, None, "for two classes, but y has 3"),
        ({}, GIVEN, TRANSITION, r"600 rows and 3 columns.*got shape \(3, 3\)"),
        ({}, GIVEN, np.full((600, 3), 0.5), r"sum of 1 in each row; row 0 holds \[0.5, 0.5, 0.5\]"),
        ({}, FLIPPED, np.full((600, 3), 0.5), "probabilities"),
        ({"positive_noise_rate": 0.7, "negative_noise_rate": 0.5}, FLIPPED, None, "below 1"),
        ({"correction": "sideways"}, FLIPPED, None, "correction"),
    ],
)
def test_what_cannot_be_corrected_is_refused(changed, y, probabilities, message):
    with pytest.raises(ValueError, match=message):
        corrected(**changed).fit(X, y, probabilities=probabilities)


def test_one_known_rate_is_applied_although_the_other_cannot_be_estimated():
    coin = np.random.RandomState(0).rand(len(X))
    model = corrected(max_epochs=2, positive_noise_rate=0.3)
    with pytest.warns(UserWarning, match="probabilities"):
        model.fit(X, FLIPPED, probabilities=coin)
    assert model.transition_ == pytest.approx(np.array([[1, 0], [0.3, 0.7]]))


def test_folds_of_many_classes_touch_no_global_seed_and_work_with_routing():
    cv = StratifiedKFold(3, shuffle=True)
    before = np.random.get_state()[1].copy()
    with config_context(enable_metadata_routing=True):
        first, again = (
            corrected(cv=cv, max_epochs=2, n_jobs=n_jobs).fit(X, GIVEN).transition_
            for n_jobs in (1, 2)
        )
    assert (first == again).all()
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("y", [GIVEN, FLIPPED], ids=["many", "two"])
def test_groups_of_another_length_are_refused(y):
    with pytest.raises(ValueError, match="groups"):
        corrected().fit(X, y, groups=np.arange(599))
