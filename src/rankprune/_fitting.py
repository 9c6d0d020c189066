"""What every classifier here does with the estimators it is given: clone, seed, weigh, fit."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from rankprune.exceptions import SampleWeightIgnoredWarning

RandomState = int | np.random.RandomState | None

_MAX_SEED = np.iinfo(np.int32).max


def private_random_state(random_state: RandomState) -> np.random.RandomState:
    """Return a generator of our own: neither NumPy's global one nor the caller's is advanced."""
    if isinstance(random_state, np.random.RandomState):
        return copy.deepcopy(random_state)
    return np.random.RandomState(random_state)


def draw_seed(generator: np.random.RandomState) -> int:
    """Return a seed for something that scikit-learn would otherwise seed globally."""
    return int(generator.randint(_MAX_SEED))


def fresh_clone(estimator: Any, seed: int) -> Any:
    """Return an unfitted clone in which every ``random_state=None`` is replaced by the seed."""
    cloned = clone(estimator)
    unseeded = {
        name: seed
        for name, value in cloned.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return cloned.set_params(**unseeded) if unseeded else cloned


def accepts_sample_weight(estimator: Any) -> bool:
    """Return whether weights passed to ``fit`` reach the model, through pipelines and searches."""
    if isinstance(estimator, Pipeline):
        return accepts_sample_weight(estimator.steps[-1][1])
    if not hasattr(estimator, "fit"):
        return False  # a pipeline may end in "passthrough"
    parameters = inspect.signature(estimator.fit).parameters.values()
    if any(parameter.name == "sample_weight" for parameter in parameters):
        return True
    inner = _inner_estimators(estimator)
    return (
        bool(inner)
        and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        and all(accepts_sample_weight(part) for part in inner)
    )


def warn_if_weights_are_lost(estimator: Any, sample_weight: NDArray[np.float64] | None) -> None:
    """Warn, once, that an estimator cannot use weights that would have made a difference."""
    if sample_weight is None or accepts_sample_weight(estimator):
        return
    if sample_weight.min() < sample_weight.max():
        warnings.warn(
            f"{type(estimator).__name__} takes no sample_weight, so it is fitted without: the "
            "balance of the classes is not corrected. Use an estimator whose fit takes weights.",
            SampleWeightIgnoredWarning,
            stacklevel=3,
        )


def fit_weighted(estimator: Any, X: Any, y: Any, sample_weight: NDArray[np.float64] | None) -> Any:
    """Fit an estimator of our own with weights where it takes them, and return it."""
    if sample_weight is None or not accepts_sample_weight(estimator):
        return estimator.fit(X, y)
    if get_config()["enable_metadata_routing"]:
        _request_weights(estimator, True)
    elif isinstance(estimator, Pipeline):
        return estimator.fit(X, y, **{_weight_parameter(estimator): sample_weight})
    return estimator.fit(X, y, sample_weight=sample_weight)


def copy_input_tags(tags: Any, estimator: Any) -> Any:
    """Return the tags of a meta-estimator that takes the input its estimator takes."""
    tags.input_tags = get_tags(estimator).input_tags
    return tags


def _inner_estimators(estimator: Any) -> list[Any]:
    if hasattr(estimator, "estimator"):
        return [estimator.estimator]
    return [part for _, part in getattr(estimator, "estimators", []) if part != "drop"]


def _weight_parameter(pipeline: Pipeline) -> str:
    name, last = pipeline.steps[-1]
    inner = _weight_parameter(last) if isinstance(last, Pipeline) else "sample_weight"
    return f"{name}__{inner}"


def _request_weights(estimator: Any, wanted: bool) -> None:
    """Answer, on our own clone, the routing question that the user left open: who gets weights."""
    if isinstance(estimator, Pipeline):
        *earlier, (_, last) = estimator.steps
        for _, step in earlier:
            _request_weights(step, False)
        _request_weights(last, wanted)
        return
    for part in _inner_estimators(estimator):
        _request_weights(part, wanted)
    # Scores inside a search stay unweighted, as they are without routing.
    for method, answer in (("fit", wanted), ("score", False)):
        request = getattr(estimator.get_metadata_routing(), method, None)
        if request is not None and request.requests.get("sample_weight", answer) is None:
            getattr(estimator, f"set_{method}_request")(sample_weight=answer)
