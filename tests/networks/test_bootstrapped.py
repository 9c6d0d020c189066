"""Bootstrapping and reconstruction."""

import numpy as np
import pytest

from rankprune.torch import BootstrappedNetClassifier, DenseNet, NetClassifier

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from noisy_clouds import GIVEN, MEMORY, TEST_TRUTH, TRUTH, X_TEST, X  # noqa: E402


def accuracy(model, y=GIVEN):
    return model.fit(X, y).score(X_TEST, TEST_TRUTH)


def test_hard_bootstrapping_beats_the_plain_network_that_memorises():
    plain = accuracy(NetClassifier(**MEMORY))
    assert accuracy(BootstrappedNetClassifier(**MEMORY, beta=0.5)) > plain + 0.03


def test_beta_of_one_is_the_plain_network():
    settings = MEMORY | {"max_epochs": 3}
    plain = NetClassifier(**settings).fit(X, GIVEN).predict_proba(X)
    for method in ("soft", "hard"):
        model = BootstrappedNetClassifier(**settings, method=method, beta=1.0)
        assert model.fit(X, GIVEN).predict_proba(X) == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize(("method", "beta"), [("soft", 0.95), ("hard", 0.8)])
def test_the_default_weights_are_the_sources(method, beta):
    settings = MEMORY | {"max_epochs": 2}
    default, given = (
        BootstrappedNetClassifier(**settings, method=method, beta=chosen).fit(X, GIVEN)
        for chosen in (None, beta)
    )
    assert (default.predict_proba(X) == given.predict_proba(X)).all()


def test_reconstruction_learns_the_map_to_the_given_label():
    settings = MEMORY | {"module": DenseNet((8,)), "max_epochs": 40}
    model = BootstrappedNetClassifier(
        **settings, method="reconstruction", reconstruction_weight=0.2
    )
    assert accuracy(model) > accuracy(NetClassifier(**settings)) + 0.005
    assert model.label_map_.sum(axis=1) == pytest.approx(1)
    # Where labels are right, the map stays near the identity.
    clean = model.fit(X, TRUTH).label_map_
    assert np.diagonal(clean).min() > 0.9


def test_two_classes_and_reconstruction():
    model = BootstrappedNetClassifier(**MEMORY | {"max_epochs": 10}, method="reconstruction")
    assert model.fit(X, TRUTH == 1).score(X_TEST, TEST_TRUTH == 1) > 0.95
    assert model.label_map_.shape == (2, 2)
    assert not hasattr(model.set_params(method="hard").fit(X, TRUTH == 1), "label_map_")


@pytest.mark.parametrize("changed", [{"beta": 0.0}, {"beta": 1.5}, {"method": "medium"}])
def test_impossible_parameters_are_refused(changed):
    with pytest.raises(ValueError, match=next(iter(changed))):
        BootstrappedNetClassifier(**MEMORY | changed).fit(X, GIVEN)
