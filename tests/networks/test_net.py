"""The plain network: a scikit-learn classifier around any network."""

import logging
import pickle
import threading
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankprune import RankPruningClassifier, compare
from rankprune.torch import (
    BootstrappedNetClassifier,
    ConvolutionalNet,
    CorrectedNetClassifier,
    DenseNet,
    NetClassifier,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

GENERATOR = np.random.RandomState(0)
CENTRES = np.array([[0, 0], [4, 0], [0, 4]])
CODES = GENERATOR.randint(3, size=300)
X = (CENTRES[CODES] + GENERATOR.normal(size=(300, 2))).astype(np.float32)
NAMES = np.array(["a", "b", "c"])[CODES]
IS_A = CODES == 0
# Quick to fit, and exact enough for these clouds.
QUICK = {"module": DenseNet((8,)), "max_epochs": 6, "learning_rate": 0.05, "random_state": 0}


def net(**changed):
    return NetClassifier(**(QUICK | changed))


def linear(inputs, n_classes):
    return torch.nn.Linear(inputs.shape[1], n_classes)


def test_many_classes_and_their_names():
    model = net().fit(X, NAMES)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(X, NAMES) > 0.93
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.n_features_in_ == 2


@pytest.mark.parametrize(
    "module",
    [
        linear,
        lambda inputs, n_classes: torch.nn.Linear(2, 1),
        lambda inputs, n_classes: torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0)),
    ],
    ids=["an output per class", "one output", "one output as a vector"],
)
def test_two_classes_with_any_outputs(module):
    model = net(module=module, max_epochs=15).fit(X, IS_A)
    assert model.score(X, IS_A) > 0.9
    assert model.predict_proba(X).shape == (300, 2)


def test_images_are_rows_of_any_dimensions():
    images = GENERATOR.normal(size=(60, 1, 8, 8)).astype(np.float32)
    images[:30, :, 2:5, 2:5] += 2
    bright = np.arange(60) < 30
    whole = NetClassifier(max_epochs=3, random_state=0).fit(images, bright)
    # The same images as columns.
    flat = NetClassifier(shape=(1, 8, 8), max_epochs=3, random_state=0)
    flat.fit(images.reshape(60, -1), bright)
    assert (whole.predict_proba(images) == flat.predict_proba(images.reshape(60, -1))).all()
    assert isinstance(whole.network_[1], torch.nn.Conv2d)


def test_the_default_network_fits_the_rows():
    layers = [
        type(NetClassifier(max_epochs=1).fit(rows, CODES[: len(rows)]).network_[1]).__name__
        for rows in (X, np.zeros((40, 1, 5, 5)), np.zeros((40, 1, 6, 6)), np.zeros((40, 1, 12, 12)))
    ]
    assert layers == ["Standardize", "Standardize", "Conv2d", "Conv2d"]


def test_a_constant_column_becomes_zero():
    rows = np.column_stack([X, np.full(len(X), 1e6)]).astype(np.float32)
    assert net().fit(rows, NAMES).score(rows, NAMES) > 0.93


def test_the_seed_alone_decides_and_nothing_global_is_touched():
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    numbers = np.random.get_state()[1].copy()
    first, again = (net().fit(X, NAMES).predict_proba(X) for _ in range(2))
    assert (first == again).all()
    assert (net(random_state=1).fit(X, NAMES).predict_proba(X) != first).any()
    assert (torch.random.get_rng_state() == state).all()
    assert torch.get_num_threads() == threads
    assert (np.random.get_state()[1] == numbers).all()


def test_the_callers_generator_does_not_advance():
    generator = np.random.RandomState(3)
    first = net(random_state=generator).fit(X, NAMES).predict_proba(X)
    assert (net(random_state=generator).fit(X, NAMES).predict_proba(X) == first).all()


def test_fits_in_threads_give_the_same_networks():
    expected = [net(random_state=seed).fit(X, NAMES).predict_proba(X) for seed in range(3)]
    found = {}

    def fit(seed):
        found[seed] = net(random_state=seed).fit(X, NAMES).predict_proba(X)

    started = [threading.Thread(target=fit, args=(seed,)) for seed in range(3)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert all((found[seed] == expected[seed]).all() for seed in range(3))


@pytest.mark.parametrize(
    "model",
    [
        NetClassifier(**QUICK),
        CorrectedNetClassifier(**QUICK, transition=np.eye(3) * 0.7 + 0.1),
        BootstrappedNetClassifier(**QUICK, method="reconstruction"),
    ],
)
def test_what_the_caller_has_switched_changes_nothing(model):
    expected = clone(model).fit(X, NAMES).predict_proba(X)
    with torch.no_grad():
        assert (clone(model).fit(X, NAMES).predict_proba(X) == expected).all()
    with torch.inference_mode():
        assert (clone(model).fit(X, NAMES).predict_proba(X) == expected).all()
        assert torch.is_inference_mode_enabled()
    torch.set_default_dtype(torch.float64)
    try:
        assert (clone(model).fit(X, NAMES).predict_proba(X) == expected).all()
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_another_number_of_threads_is_used_and_restored():
    before = torch.get_num_threads()
    seen = []

    class Spy(torch.nn.Linear):
        def forward(self, rows):
            seen.append(torch.get_num_threads())
            return super().forward(rows)

    net(module=lambda inputs, n: Spy(2, n), n_threads=before + 1, max_epochs=1).fit(X, NAMES)
    assert set(seen[1:]) == {before + 1}
    net(module=lambda inputs, n: Spy(2, n), n_threads=None, max_epochs=1).fit(X, NAMES)
    assert seen[-1] == torch.get_num_threads() == before


def test_fitting_twice_is_fitting_once_and_n_jobs_changes_nothing():
    once = net().fit(X, NAMES).predict_proba(X)
    assert (net().fit(X, IS_A).fit(X, NAMES).predict_proba(X) == once).all()
    one, two = (
        cross_val_predict(net(), X, NAMES, cv=2, n_jobs=n_jobs, method="predict_proba")
        for n_jobs in (1, 2)
    )
    assert (one == two).all()


def test_a_weight_of_zero_leaves_a_row_out_and_scale_does_not_matter():
    weights = np.ones(300)
    weights[::2] = 0
    weighted = net().fit(X, NAMES, sample_weight=weights)
    halved = net().fit(X[1::2], NAMES[1::2])
    assert (weighted.predict_proba(X) == halved.predict_proba(X)).all()
    plain, scaled = (
        net().fit(X, NAMES, sample_weight=np.full(300, factor)).predict_proba(X)
        for factor in (1.0, 7.0)
    )
    assert plain == pytest.approx(scaled, abs=1e-5)
    heavy = net().fit(X, NAMES, sample_weight=np.where(IS_A, 9.0, 1.0)).predict_proba(X)
    assert heavy[:, 0].mean() > plain[:, 0].mean() + 0.02


@pytest.mark.parametrize("factor", [1e-90, 1e-30, 1e37, 1e90])
def test_weights_of_any_size_are_relative(factor):
    weights = 1.0 + CODES
    near, far = (net().fit(X, NAMES, sample_weight=by * weights) for by in (1.0, factor))
    assert far.predict_proba(X) == pytest.approx(near.predict_proba(X), abs=1e-3)
    with pytest.raises(ValueError, match="sample_weight must be 0 or lie between"):
        net().fit(X, NAMES, sample_weight=np.full(300, 1e-200))


def test_training_stops_when_the_held_out_loss_no_longer_falls():
    # Coin flips as labels: there is nothing to learn, so the first epochs are the best.
    coin = GENERATOR.rand(300) < 0.5
    model = net(max_epochs=60, patience=3, validation_fraction=0.3).fit(X, coin)
    assert model.n_iter_ == model.best_epoch_ + 3 < 60


def test_the_kept_network_is_that_of_the_best_epoch_with_all_it_counts():
    class Counts(torch.nn.Linear):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            # Not in the state_dict.
            self.register_buffer("n_steps", torch.zeros(()), persistent=False)

        def forward(self, rows):
            self.n_steps += self.training
            return super().forward(rows)

    settings = {"module": lambda inputs, n: Counts(2, n), "batch_size": 27, "learning_rate": 5.0}
    model = net(**settings, max_epochs=12, patience=12).fit(X, NAMES)
    assert model.best_epoch_ < model.n_iter_ == 12
    assert model.network_.n_steps == 10 * model.best_epoch_


def test_without_enough_rows_to_hold_out_the_last_epoch_is_kept():
    few = net(max_epochs=3, patience=1).fit(X[:30], NAMES[:30])
    none = net(max_epochs=3, validation_fraction=0.0).fit(X, NAMES)
    assert few.best_epoch_ == few.n_iter_ == none.best_epoch_ == 3


def test_a_last_batch_of_one_row_joins_the_one_before():
    def with_norm(inputs, n_classes):
        return torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, n_classes))

    settings = {"module": with_norm, "batch_size": 32, "validation_fraction": 0.0}
    assert net(**settings).fit(X[:97], NAMES[:97]).score(X, NAMES) > 0.5
    # Fewer rows than a batch are one batch.
    assert net(**settings).fit(X[:9], NAMES[:9]).n_iter_ == 6


def test_progress_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="rankprune"):
        net(max_epochs=2).fit(X, NAMES)
        assert caplog.text == ""
        net(max_epochs=2, verbose=1).fit(X, NAMES)
        net(max_epochs=1, verbose=1, validation_fraction=0.0).fit(X, NAMES)
    assert "epoch 1 of 2: loss " in caplog.text
    assert "on 30 held-out rows, at most 0 s left" in caplog.text
    assert "on the training rows" in caplog.text


def test_it_clones_pickles_and_is_searched():
    model = net(module=partial(linear)).fit(X, NAMES)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert clone(net()).get_params() == net().get_params()
    pipeline = make_pipeline(StandardScaler(), net(max_epochs=3))
    found = GridSearchCV(
        pipeline, {"netclassifier__module": [DenseNet(()), DenseNet((8,))]}, cv=2
    ).fit(X, NAMES)
    assert found.best_score_ > 0.8


def test_half_precision_trains():
    assert net(half_precision=True).fit(X, NAMES).score(X, NAMES) > 0.9


def test_rank_pruning_and_compare_use_it_as_estimator_and_scorer():
    flipped = IS_A ^ (GENERATOR.rand(300) < 0.15)
    pruned = RankPruningClassifier(net(), random_state=0).fit(X, flipped)
    assert pruned.score(X, IS_A) > 0.9
    scored = RankPruningClassifier(scorer=net(), random_state=0).fit(X, flipped)
    assert scored.probabilities_ == pytest.approx(pruned.probabilities_, abs=0.5)
    found = compare(X, flipped, net(max_epochs=3), methods=["rank-pruning"], random_state=0)
    assert "rank-pruning" in str(found)


class Explodes(torch.nn.Linear):
    def forward(self, rows):
        return super().forward(rows) * float("nan")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shape": (1, 28, 28)}, r"shape=\(1, 28, 28\) needs 784 columns, but X has 2"),
        (
            {"module": lambda inputs, n: torch.nn.Linear(2, 5)},
            r"3 outputs for each row, one per class; 2 rows gave outputs of shape \(2, 5\)",
        ),
        (
            {"module": lambda inputs, n: torch.nn.Linear(2, 1)},
            r"3 outputs for each row.*shape \(2,\)",
        ),
        (
            {"module": lambda inputs, n: Explodes(2, n)},
            "The loss became nan in epoch 1. Lower learning_rate, which is 0.05, or scale X",
        ),
        ({"module": ConvolutionalNet((8,) * 4), "shape": (1, 1, 2)}, "at most 3 numbers"),
        ({"module": ConvolutionalNet()}, r"needs images, got rows of shape \(2,\)"),
        ({"module": ConvolutionalNet((8,)), "shape": (1, 1, 2)}, "needs larger images than"),
        ({"device": "abacus"}, "device must be .* got 'abacus': "),
        ({"device": "cuda:99"}, "device must be .* got 'cuda:99': "),
        ({"max_epochs": 0}, "max_epochs"),
        ({"batch_size": "large"}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_what_cannot_be_fitted_is_refused(changed, message):
    model = net(**changed)
    with pytest.raises(ValueError, match=message):
        model.fit(X, NAMES)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_network_spoiled_by_its_last_step_is_refused():
    settings = {"max_epochs": 1, "batch_size": 512, "learning_rate": 1e30}
    with pytest.raises(ValueError, match="The loss became nan in epoch 1"):
        net(**settings, validation_fraction=0.0).fit(X, NAMES)


def test_a_function_that_returns_the_same_network_each_time_starts_afresh():
    pretrained = torch.nn.Linear(2, 3)
    before = pretrained.weight.detach().clone()
    first, again = (
        net(module=lambda inputs, n: pretrained).fit(X, NAMES).predict_proba(X) for _ in range(2)
    )
    assert (first == again).all()
    assert (pretrained.weight == before).all()


def test_rows_of_another_shape_are_refused_in_prediction():
    images = GENERATOR.normal(size=(40, 1, 8, 8)).astype(np.float32)
    model = NetClassifier(max_epochs=1).fit(images, np.arange(40) % 2)
    with pytest.raises(ValueError, match=r"rows of shape \(1, 8, 8\), as in fit, got \(1, 4, 16\)"):
        model.predict(images.reshape(40, 1, 4, 16))


def test_some_rows_are_always_left_to_learn_from():
    model = net(validation_fraction=0.99).fit(X[:20], NAMES[:20])
    assert model.n_iter_ >= 1


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda inputs, n: "network", "must return a torch.nn.Module, got str"),
        (lambda inputs, n: torch.nn.LSTM(2, n), "returns one tensor.*it returned tuple. Wrap it"),
        (torch.nn.Linear(2, 3), "must be a function that builds a network.*got a network, Linear"),
    ],
)
def test_modules_of_the_wrong_kind_are_refused(module, message):
    with pytest.raises(TypeError, match=message):
        net(module=module).fit(X, NAMES)


def test_one_class_is_refused_also_by_weights():
    with pytest.raises(ValueError, match=r"at least 2 classes among the rows .* got 1 class"):
        net().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="got 1 class"):
        net().fit(X, IS_A, sample_weight=IS_A.astype(float))


def test_a_failed_fit_leaves_no_model():
    model = net().fit(X, NAMES)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), NAMES)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_networks_that_expect_noise_are_compared_as_methods():
    flipped = IS_A ^ (GENERATOR.rand(300) < 0.15)
    methods = {
        "plain": net(max_epochs=3),
        "forward": CorrectedNetClassifier(**QUICK, positive_noise_rate=0.1, negative_noise_rate=0),
        "hard": BootstrappedNetClassifier(**QUICK),
    }
    found = compare(X, flipped, net(max_epochs=3), methods=methods, random_state=0)
    assert all(name in str(found) for name in methods)
