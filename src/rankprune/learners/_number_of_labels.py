"""Parameters of a classifier that are for two labels alone, or for more."""

from __future__ import annotations

from typing import Any

from rankprune.core import MATRIX_ESTIMATORS, NOISE_ESTIMATORS
from rankprune.core._inputs import BinaryLabels
from rankprune.core.classes._class_labels import Labels
from rankprune.core.classes._estimate import known_matrix


def for_two_alone(classifier: Any) -> list[str]:
    """Return the names of parameters with values that more than two labels cannot have."""
    names = [
        name
        for name in ("pos_label", "positive_noise_rate", "negative_noise_rate")
        if getattr(classifier, name) is not None
    ]
    method = classifier.noise_estimator
    is_for_many = method is None or (isinstance(method, str) and method in MATRIX_ESTIMATORS)
    return names if is_for_many else [*names, "noise_estimator"]


def refuse_other_parameters(classifier: Any, labels: Labels) -> None:
    """Raise an error for a parameter that does not fit the number of labels."""
    if isinstance(labels, BinaryLabels):
        _refuse_for_two(classifier, labels)
    else:
        _refuse_for_many(classifier, labels)


def _refuse_for_two(classifier: Any, labels: BinaryLabels) -> None:
    if classifier.noise_matrix is not None:
        positive = labels.classes.tolist()[labels.positive_column]
        raise ValueError(
            f"noise_matrix must be None for two labels, got {classifier.noise_matrix!r}. Pass "
            "positive_noise_rate and negative_noise_rate, such as those of "
            f"noise_matrix.one_vs_rest({positive!r})."
        )
    method = classifier.noise_estimator
    if isinstance(method, str) and method not in NOISE_ESTIMATORS:
        raise ValueError(
            f"noise_estimator must be one of {sorted(NOISE_ESTIMATORS)} for two labels, or a "
            f"callable, got {method!r}. Leave it out to use the default."
        )


def _refuse_for_many(classifier: Any, labels: Labels) -> None:
    for name in for_two_alone(classifier):
        value = getattr(classifier, name)
        if name == "noise_estimator":
            rule, advice = f"one of {sorted(MATRIX_ESTIMATORS)} or None", "Leave it out"
        else:
            rule, advice = "None", "Pass noise_matrix, e.g. NoiseMatrix.from_transition(...)"
        raise ValueError(
            f"{name} must be {rule} for more than two classes, got {value!r}. Only binary "
            f"classification is supported with it, since it is for two labels alone. {advice}."
        )
    if classifier.noise_matrix is not None:
        known_matrix(classifier.noise_matrix, labels.classes)  # raises for other classes
