"""What the logistic regression of the time would change: liblinear, on pixels from 0 to 255."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression

from rankprune.experiments.paper._logistic_tables import LogisticRun
from rankprune.experiments.paper._measure import METRICS, test_figures
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell, load_images
from rankprune.experiments.paper._recipes import RECIPES, TRUE
from rankprune.experiments.paper._records import Key, Record, Unit

CELL: Cell = (0.5, 0.5)
IMAGES = ("1", "8")
METHODS = (TRUE, "rp_given")
# Pixels as they are, from 0 to 255: the penalty then is 255² times weaker.
VARIANTS = {
    "lbfgs, pixels in [0, 1]": (LogisticRegression(max_iter=1000, tol=1e-6), 1.0),
    "liblinear, pixels in [0, 1]": (LogisticRegression(solver="liblinear"), 1.0),
    "liblinear, pixels from 0 to 255": (LogisticRegression(solver="liblinear"), 255.0),
}


def settings_units(dataset: str, seed: int) -> list[Unit]:
    """Return one unit for each variant, image and method."""
    return [
        Unit(
            f"{dataset} {image}, {variant}, {method}",
            [_key(dataset, image, variant, method, metric, seed) for metric in METRICS],
            partial(_measure, dataset, image, variant, method, seed),
        )
        for variant in VARIANTS
        for image in IMAGES
        for method in METHODS
    ]


def _key(dataset: str, image: str, variant: str, method: str, metric: str, seed: int) -> Key:
    return Key(f"{dataset}, {variant}", "logreg", metric, image, *CELL, method, seed)


def _measure(dataset: str, image: str, variant: str, method: str, seed: int) -> list[Record]:
    run = LogisticRun(dataset, image, DATA_SETS[dataset].logreg_cells, seed)
    place = run.cells.index(CELL)
    labels, weights = run.noisy.is_class, np.ones(len(run.noisy.is_class))
    if method != TRUE:
        labels = run.noisy.column(place)
        scores = run.kept_out_of_fold()[:, place].astype(np.float64)
        weights = RECIPES[method].weigh(labels, scores, run.noisy.true_rates(place))
    used = np.flatnonzero(weights)
    model, scale = VARIANTS[variant]
    train, test = (load_images(dataset, part) for part in ("train", "test"))
    with warnings.catch_warnings():
        # That it does not always end in time is a part of the answer.
        warnings.simplefilter("ignore")
        fitted = LogisticRegression(**model.get_params()).fit(
            train.pixels[used] * np.float32(scale), labels[used], sample_weight=weights[used]
        )
    likely = fitted.predict_proba(test.pixels * np.float32(scale))[:, 1]
    figures = test_figures(test.digits == DATA_SETS[dataset].images.index(image), likely)
    return [
        Record(_key(dataset, image, variant, method, metric, seed), value, len(labels), "settings")
        for metric, value in figures.items()
    ]
