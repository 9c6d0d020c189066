"""The convolutional network: a scikit-learn classifier, and the tables it fills."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rankprune import RankPruningClassifier
from rankprune.experiments.paper import Choice, run_experiment, verify_experiment
from rankprune.experiments.paper._network import ConvolutionalClassifier
from rankprune.experiments.paper._network_tables import NETWORKS
from rankprune.experiments.paper._one_vs_rest import VERSION, load_images
from rankprune.experiments.paper._records import Results

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

TRAIN, TEST = load_images("digits", "train"), load_images("digits", "test")
SMALL = {**NETWORKS["digits"], "max_epochs": 3}


def network(**changed):
    return ConvolutionalClassifier(**(SMALL | {"random_state": 0} | changed))


def test_the_network_learns_a_digit():
    model = network(max_epochs=8).fit(TRAIN.pixels, TRAIN.digits == 3)
    assert model.score(TEST.pixels, TEST.digits == 3) > 0.98
    assert model.predict_proba(TEST.pixels).sum(axis=1) == pytest.approx(1)


def test_predict_returns_the_original_labels():
    names = np.where(TRAIN.digits == 3, "three", "other")
    model = network(max_epochs=1).fit(TRAIN.pixels, names)
    assert list(model.classes_) == ["other", "three"]
    assert set(model.predict(TEST.pixels)) <= {"other", "three"}


def test_the_same_seed_gives_the_same_network_and_the_global_seed_is_untouched():
    state = torch.random.get_rng_state()
    first, again = (
        network(max_epochs=1).fit(TRAIN.pixels, TRAIN.digits == 3).predict_proba(TEST.pixels)
        for _ in range(2)
    )
    other = network(max_epochs=1, random_state=1).fit(TRAIN.pixels, TRAIN.digits == 3)
    assert (first == again).all()
    assert (first != other.predict_proba(TEST.pixels)).any()
    assert (torch.random.get_rng_state() == state).all()


def test_a_weight_of_zero_leaves_a_row_out():
    weights = np.ones(len(TRAIN.digits))
    weights[::2] = 0
    weighted = network().fit(TRAIN.pixels, TRAIN.digits == 3, sample_weight=weights)
    halved = network().fit(TRAIN.pixels[1::2], TRAIN.digits[1::2] == 3)
    assert (weighted.predict_proba(TEST.pixels) == halved.predict_proba(TEST.pixels)).all()


def test_weights_change_the_scores_but_their_scale_does_not():
    is_three = TRAIN.digits == 3
    plain = network().fit(TRAIN.pixels, is_three)
    scaled = network().fit(TRAIN.pixels, is_three, sample_weight=np.full(len(is_three), 7.0))
    heavier = network().fit(TRAIN.pixels, is_three, sample_weight=np.where(is_three, 9.0, 1.0))
    scores = [model.predict_proba(TEST.pixels)[:, 1].mean() for model in (plain, scaled, heavier)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)
    assert scores[2] > scores[0] + 0.02


def test_training_stops_when_the_held_out_loss_no_longer_falls():
    # Coin flips as labels: there is nothing to learn, so the first epochs are the best.
    coin = np.random.RandomState(0).rand(len(TRAIN.digits)) < 0.5
    model = network(max_epochs=40, patience=2).fit(TRAIN.pixels, coin)
    assert model.n_iter_ == model.best_epoch_ + 2 < 40


def test_without_held_out_rows_the_last_epoch_is_kept():
    model = network(validation_fraction=0.0).fit(TRAIN.pixels, TRAIN.digits == 3)
    assert model.best_epoch_ == model.n_iter_ == 3


def test_the_network_clones_pickles_and_works_in_a_pipeline():
    model = network(max_epochs=1).fit(TRAIN.pixels, TRAIN.digits == 3)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(TEST.pixels) == model.predict_proba(TEST.pixels)).all()
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(FunctionTransformer(), network(max_epochs=1))
    scores = cross_val_predict(
        pipeline, TRAIN.pixels, TRAIN.digits == 3, cv=2, method="predict_proba"
    )
    assert scores.shape == (len(TRAIN.digits), 2)


def test_rank_pruning_fits_it_with_weights():
    labels = (TRAIN.digits == 3) & (np.arange(len(TRAIN.digits)) % 3 > 0)
    model = RankPruningClassifier(network(max_epochs=8), random_state=0).fit(TRAIN.pixels, labels)
    assert model.score(TEST.pixels, TEST.digits == 3) > 0.96


@pytest.mark.parametrize(
    ("changed", "weights", "message"),
    [
        ({"shape": (1, 28, 28)}, None, r"shape=\(1, 28, 28\) needs 784 columns, but X has 64"),
        ({}, "positives out", "y must have 2 classes among the rows .* 0, got 1"),
    ],
)
def test_bad_input_is_refused(changed, weights, message):
    is_three = TRAIN.digits == 3
    given = None if weights is None else np.where(is_three, 0.0, 1.0)
    with pytest.raises(ValueError, match=message):
        network(**changed).fit(TRAIN.pixels, is_three, sample_weight=given)


def test_predicting_before_fitting_is_refused():
    with pytest.raises(NotFittedError):
        network().predict(TEST.pixels)


def test_network_tables_are_resumed_and_reproducible(tmp_path):
    choice = Choice(
        tmp_path / "results",
        small=True,
        images=("1",),
        cells=((0.5, 0.5),),
        methods=("true", "noisy", "elk08", "rp_estimated", "rp_rounds"),
        epochs=2,
    )
    steps = list(run_experiment("table4", choice))
    assert steps[-1].total == 1
    found = Results(choice.results / "digits_cnn.csv").records
    # Only logistic regression is run with several rounds.
    assert {key.method for key in found} == {"true", "noisy", "elk08", "rp_estimated"}
    assert {key.classifier for key in found} == {"cnn-2"}
    assert next(run_experiment("table4", choice)).total == 0
    kept = sorted(path.name for path in (tmp_path / "data" / "experiments").iterdir())
    # Division by a constant needs no additional network.
    assert kept == [
        f"digits-cnn2-1-{name}-seed0-v{VERSION}.npz"
        for name in ("0-0-true", "50-50-folds", "50-50-noisy", "50-50-rp_estimated")
    ]
    assert verify_experiment("table4", replace(choice, methods=("rp_estimated",))).agrees
