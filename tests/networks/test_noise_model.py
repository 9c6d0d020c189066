"""The model of kinds of noise with networks, with and without trusted rows."""

import numpy as np
import pytest

from rankprune.exceptions import AssumptionWarning
from rankprune.torch import DenseNet, NetClassifier, NoiseModelNetClassifier
from rankprune.torch._known_labels import KnownLabels

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from noisy_clouds import GIVEN, MEMORY, OTHER, TEST_TRUTH, TRUTH, X_TEST, X  # noqa: E402

SMALL = MEMORY | {"module": DenseNet((8,)), "max_epochs": 10}
TRUSTED = np.arange(len(X)) % 10 == 0
CHECKED = np.where(TRUSTED, TRUTH, GIVEN)


def model(**changed):
    return NoiseModelNetClassifier(**(SMALL | {"rounds": 3} | changed))


def test_trusted_rows_show_the_confusions():
    found = model().fit(X, CHECKED, trusted=TRUSTED, given_labels=GIVEN)
    assert found.score(X_TEST, TEST_TRUTH) > 0.93
    assert (found.confusion_.argmax(axis=1) == OTHER).all()
    # Trusted rows are certain; the posterior of the others finds the true class.
    assert found.class_posteriors_[TRUSTED, TRUTH[TRUSTED]] == pytest.approx(1)
    assert (found.class_posteriors_.argmax(axis=1) == TRUTH).mean() > 0.95
    wrong = GIVEN != TRUTH
    assert found.kind_posteriors_[wrong, 0].mean() < 0.2 < 0.8
    assert found.kind_posteriors_[~wrong, 0].mean() > 0.8


def test_posteriors_sum_to_one_and_the_likelihood_does_not_fall():
    found = model(rounds=6).fit(X, CHECKED, trusted=TRUSTED, given_labels=GIVEN)
    assert found.class_posteriors_.sum(axis=1) == pytest.approx(1)
    assert found.kind_posteriors_.sum(axis=1) == pytest.approx(1)
    assert len(found.log_likelihoods_) > 1
    assert (np.diff(found.log_likelihoods_) >= 0).all()


def test_a_round_that_makes_the_labels_less_likely_is_undone(monkeypatch):
    known = {"trusted": TRUSTED, "given_labels": GIVEN}
    kept = model(rounds=1).fit(X, CHECKED, **known)
    # So high a rate spoils the networks in the first round.
    monkeypatch.setattr("rankprune.torch._noise_model._LATER_RATE", 100.0)
    found = model().fit(X, CHECKED, **known)
    assert found.log_likelihoods_ == kept.log_likelihoods_[:1]
    assert found.score(X_TEST, TEST_TRUTH) > 0.8


def test_without_labels_before_the_check_the_first_network_stands_in():
    found = model().fit(X, CHECKED, trusted=TRUSTED)
    assert found.score(X_TEST, TEST_TRUTH) > 0.9
    assert (found.confusion_.argmax(axis=1) == OTHER).all()


def test_without_trusted_rows_it_says_what_it_assumes():
    with pytest.warns(AssumptionWarning, match="more rows of each true class have its label"):
        found = model().fit(X, GIVEN)
    assert found.score(X_TEST, TEST_TRUTH) > 0.85
    assert (found.confusion_.argmax(axis=1) == OTHER).all()


def test_two_classes():
    given = (TRUTH == 1) ^ (np.random.RandomState(0).rand(len(X)) < 0.2)
    checked = np.where(TRUSTED, TRUTH == 1, given)
    found = model().fit(X, checked, trusted=TRUSTED, given_labels=given)
    assert found.score(X_TEST, TEST_TRUTH == 1) > 0.95
    assert found.confusion_.tolist() == [[0, 1], [1, 0]]
    names = np.array(["no", "yes"])
    named = model().fit(X, names[checked * 1], trusted=TRUSTED, given_labels=names[given * 1])
    assert (named.predict_proba(X) == found.predict_proba(X)).all()


def test_rows_without_weight_are_left_out():
    weights = np.where(np.arange(len(X)) < 300, 1.0, 0.0)
    found = model().fit(X, CHECKED, weights, trusted=TRUSTED, given_labels=GIVEN)
    assert found.class_posteriors_.shape == (300, 3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trusted": TRUSTED & (TRUTH == 0)}, r"rows of every class, but has none of \[1, 2\]"),
        ({"trusted": np.ones(len(X), dtype=bool)}, "must leave rows whose labels may be wrong"),
        ({"trusted": TRUSTED[:5]}, "trusted"),
        (
            {"trusted": TRUSTED, "given_labels": GIVEN[:5]},
            r"got shape \(5,\) for 600",
        ),
        ({"trusted": TRUSTED, "given_labels": GIVEN + 7}, "labels that y has, got [789]"),
    ],
)
def test_trusted_rows_that_cannot_help_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        model().fit(X, CHECKED, **changed)


def test_the_weight_of_trusted_rows_is_raised_to_their_share():
    known = KnownLabels(np.array([0, 1, 0, 1]), np.array([0, -1, -1, -1]), np.ones(4))
    raised = known.raised(0.5)
    assert raised == pytest.approx([2, 2 / 3, 2 / 3, 2 / 3])
    assert known.raised(0.1) == pytest.approx(1)
    none = KnownLabels(known.given, np.full(4, -1), np.ones(4))
    assert none.raised(0.5) == pytest.approx(1)


def test_it_learns_more_than_the_plain_network():
    plain = NetClassifier(**MEMORY).fit(X, CHECKED).score(X_TEST, TEST_TRUTH)
    found = NoiseModelNetClassifier(**MEMORY)
    found.fit(X, CHECKED, trusted=TRUSTED, given_labels=GIVEN)
    assert found.score(X_TEST, TEST_TRUTH) > plain + 0.05


def test_two_classes_may_have_one_output_or_two():
    given = (TRUTH == 1) ^ (np.random.RandomState(0).rand(len(X)) < 0.2)
    checked = np.where(TRUSTED, TRUTH == 1, given)

    def two_outputs(inputs, n_classes):
        return torch.nn.Linear(inputs.shape[1], n_classes)

    found = model(module=two_outputs).fit(X, checked, trusted=TRUSTED, given_labels=given)
    assert len(found.log_likelihoods_) > 1
    assert found.score(X_TEST, TEST_TRUTH == 1) > 0.9
