"""The effect of the original logistic regression: liblinear on pixels from 0 to 255."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from rankprune.experiments._mnist import folds
from rankprune.experiments.paper._measure import METRICS, test_figures
from rankprune.experiments.paper._one_vs_rest import DATA_SETS, Cell, load_images, noisy_class
from rankprune.experiments.paper._recipes import RECIPES, TRUE
from rankprune.experiments.paper._records import Key, Record, Unit
from rankprune.learners._probabilities import out_of_fold_probabilities

CELL: Cell = (0.5, 0.5)
IMAGES = ("8",)
METHODS = (TRUE, "rp_estimated")
# On pixels from 0 to 255 the penalty is 255² times weaker.
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
    noisy = noisy_class(dataset, image, (CELL,), seed)
    train, test = (load_images(dataset, part) for part in ("train", "test"))
    model, scale = VARIANTS[variant]
    pixels = train.pixels * np.float32(scale)
    labels, weights = noisy.is_class, np.ones(len(noisy.is_class))
    with warnings.catch_warnings():
        # The original solver does not always converge, which is part of its effect.
        warnings.simplefilter("ignore")
        if method != TRUE:
            labels = noisy.column(0)
            scores = out_of_fold_probabilities(
                model, pixels, labels, cv=folds(train.digits, seed), random_state=seed
            )
            weights = RECIPES[method].weigh(labels, scores, noisy.true_rates(0))
        used = np.flatnonzero(weights)
        fitted = clone(model).fit(pixels[used], labels[used], sample_weight=weights[used])
    likely = fitted.predict_proba(test.pixels * np.float32(scale))[:, 1]
    figures = test_figures(test.digits == DATA_SETS[dataset].images.index(image), likely)
    return [
        Record(_key(dataset, image, variant, method, metric, seed), value, len(labels), "settings")
        for metric, value in figures.items()
    ]
