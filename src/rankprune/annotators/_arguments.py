"""The arguments of a consensus, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.annotators._answers import Answers
from rankprune.annotators._codes import as_column, codes_in
from rankprune.annotators._votes import Array
from rankprune.core._inputs import validate_class_probabilities

METHODS = ("auto", "majority", "one-coin", "dawid-skene", "smoothed", "model")


def check_arguments(answers: Answers, method: str, probabilities: Any) -> None:
    if not isinstance(answers, Answers):
        raise TypeError(
            f"answers must be Answers, got {type(answers).__name__}. Pass Answers.from_long(...)."
        )
    if not len(answers):
        raise ValueError(
            "answers must hold at least one label, got none. Check the column of labels."
        )
    if method not in METHODS:
        names = ", ".join(map(repr, METHODS))
        raise ValueError(f"method must be one of {names}, got {method!r}. Pass 'auto' to choose.")
    if (method == "model") > (probabilities is not None):
        raise ValueError(
            "probabilities must be given for method='model', got None. Pass out-of-fold scores of "
            "a classifier, or choose another method."
        )
    if probabilities is not None and method not in ("auto", "model"):
        raise ValueError(
            f"probabilities must be None for method={method!r}, which does not use them. Pass "
            "method='model'."
        )


def known_classes(answers: Answers, gold: Mapping[Any, Any] | None) -> NDArray[np.intp]:
    """Return the class of each gold row, and -1 for the others."""
    known = np.full(len(answers.rows), -1, dtype=np.intp)
    if gold is None:
        return known
    if not isinstance(gold, Mapping):
        raise TypeError(
            f"gold must map ids of rows to labels, got {type(gold).__name__}. Pass a dictionary."
        )
    if gold:
        rows = codes_in(as_column(list(gold), "gold"), answers.rows, "gold", "answers.rows")
        values = as_column(list(gold.values()), "gold")
        labels = codes_in(values, answers.classes, "gold", "answers.classes")
        known[rows] = labels
    return known


def checked_scorer(answers: Answers, probabilities: Any) -> Callable[[Array], Array] | None:
    """Return a function that gives checked scores, whatever was passed."""
    if probabilities is None:
        return None
    n, k = len(answers.rows), len(answers.classes)
    if callable(probabilities):
        return lambda found: validate_class_probabilities(probabilities(found), n, k)
    scores = validate_class_probabilities(probabilities, n, k)
    return lambda _: scores
