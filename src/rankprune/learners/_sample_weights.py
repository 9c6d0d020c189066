"""Passing sample weights to the model through pipelines, searches and ensembles."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, RFECV
from sklearn.metrics import get_scorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter

from rankprune.exceptions import SampleWeightIgnoredWarning, warn_caller


def accepts_sample_weight(estimator: Any) -> bool:
    """Return whether weights passed to ``fit`` reach the model, even in pipelines and searches."""
    if get_config()["enable_metadata_routing"]:
        return _takes_routed_weights(estimator)
    return _weight_keyword(estimator) is not None


def warn_if_weights_are_lost(
    estimator: Any, sample_weight: NDArray[np.float64] | None, consequence: str
) -> None:
    """Warn if an estimator takes no weights although they differ between rows."""
    if sample_weight is None or accepts_sample_weight(estimator):
        return
    if sample_weight.min() < sample_weight.max():
        warn_caller(
            f"{type(estimator).__name__} takes no sample_weight, so it is fitted without weights: "
            f"{consequence}. Use an estimator whose fit takes sample_weight.",
            SampleWeightIgnoredWarning,
        )


def refuse_without_weights(estimator: Any, method: str) -> None:
    """Raise ValueError if an estimator takes no weights; some methods work by weights alone."""
    if not accepts_sample_weight(estimator):
        raise ValueError(
            f"estimator must take sample_weight in fit, since {method} works by weights alone; "
            f"{estimator!r} takes none. Use one that does, e.g. LogisticRegression(), or "
            "RankPruningClassifier, which prunes."
        )


def fit_weighted(estimator: Any, X: Any, y: Any, sample_weight: NDArray[np.float64] | None) -> Any:
    """Fit a cloned estimator, with weights if it takes them, and return it."""
    if sample_weight is None or not accepts_sample_weight(estimator):
        return estimator.fit(X, y)
    if get_config()["enable_metadata_routing"]:
        _request_weights(estimator)
        return estimator.fit(X, y, sample_weight=sample_weight)
    return estimator.fit(X, y, **{str(_weight_keyword(estimator)): sample_weight})


def fit_rows(
    estimator: Any,
    X: Any,
    y_given: NDArray[Any],
    rows: NDArray[np.intp],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
) -> Any:
    """Fit a cloned estimator to numbered rows with these labels and weights, and return it.

    A row may occur twice, once with each label. The model accounts for this by the weights, which
    do not reach earlier steps of a pipeline: these see every row once, with its given label.
    """
    occur_once = bool((np.diff(rows) > 0).all())
    if not occur_once and isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        first = np.unique(rows)
        steps = estimator[:-1]
        seen = steps.fit_transform(_safe_indexing(X, first), y_given[first])
        estimator.steps[:-1] = steps.steps
        positions = np.searchsorted(first, rows)
        fit_weighted(estimator.steps[-1][1], _safe_indexing(seen, positions), y, sample_weight)
        return estimator
    # If no row is left out, no copy is needed.
    is_whole = occur_once and len(rows) == len(y_given)
    return fit_weighted(estimator, X if is_whole else _safe_indexing(X, rows), y, sample_weight)


def _weight_keyword(estimator: Any) -> str | None:
    """Return the ``fit`` argument that passes weights to the model without routing, or None."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_keyword(last)
        return None if inner is None else f"{name}__{inner}"
    if not hasattr(estimator, "fit"):
        return None  # a pipeline may end in "passthrough"
    parts = _inner_estimators(estimator)
    if isinstance(estimator, BaseSearchCV) or (
        isinstance(estimator, RFE) and not isinstance(estimator, RFECV)
    ):
        return _weight_keyword(parts[0])
    if "sample_weight" in _fit_parameters(estimator) or isinstance(
        estimator, VotingClassifier | StackingClassifier
    ):
        plain = all(_weight_keyword(part) == "sample_weight" for part in parts)
        return "sample_weight" if plain else None
    return None


def _takes_routed_weights(estimator: Any) -> bool:
    if isinstance(estimator, Pipeline):
        return _takes_routed_weights(estimator.steps[-1][1])
    if not hasattr(estimator, "fit") or not _supports_routing(estimator):
        return False
    parts = _inner_estimators(estimator)
    if not all(_takes_routed_weights(part) for part in parts):
        return False
    if "sample_weight" in _fit_parameters(estimator):
        # An alias requests weights under another name.
        return _requested(estimator, "fit") in (None, True)
    return bool(parts)


def _request_weights(estimator: Any) -> None:
    """Request weights for the models in a clone and nothing else; keep requests set by the user."""
    everyone = [estimator, *estimator.get_params(deep=True).values()]
    for part in list(everyone):
        if _is_router(part) and hasattr(part, "scoring"):
            part.scoring = _as_scorers(part.scoring)
            everyone += part.scoring.values() if isinstance(part.scoring, dict) else [part.scoring]
    models = {id(model) for model in _models(estimator)}
    candidates = _candidates(everyone)
    models |= {id(candidate) for candidate in candidates if is_classifier(candidate)}
    for part in everyone + candidates:
        for method in ("fit", "score"):
            ask = getattr(part, f"set_{method}_request", None)
            if ask is not None and _requested(part, method) is None:
                ask(sample_weight=method == "fit" and id(part) in models)


def _candidates(everyone: list[Any]) -> list[Any]:
    """Return the estimators that a search may swap in."""
    grids = [getattr(part, "param_grid", None) for part in everyone]
    grids += [getattr(part, "param_distributions", None) for part in everyone]
    dictionaries = [grid for grid in grids if isinstance(grid, dict)]
    dictionaries += [one for grid in grids if isinstance(grid, list) for one in grid]
    return [
        value
        for dictionary in dictionaries
        for values in dictionary.values()
        if isinstance(values, list | tuple)
        for value in values
        if hasattr(value, "get_metadata_routing")
    ]


def _is_router(part: Any) -> bool:
    return _supports_routing(part) and isinstance(part.get_metadata_routing(), MetadataRouter)


def _models(estimator: Any) -> list[Any]:
    """Return the estimators that weights must reach."""
    if isinstance(estimator, Pipeline):
        return _models(estimator.steps[-1][1])
    parts = _inner_estimators(estimator)
    return [estimator, *(model for part in parts for model in _models(part))]


def _requested(part: Any, method: str) -> Any:
    """Return whether a part requests weights, or None if it can but the request is not set.

    A part that cannot request weights, or that passes them on itself, counts as True.
    """
    if not _supports_routing(part):
        return True
    routing = part.get_metadata_routing()
    # A router that takes weights itself keeps its own request beside those of its parts.
    request = getattr(getattr(routing, "_self_request", None) or routing, method, None)
    return True if request is None else request.requests.get("sample_weight", True)


def _supports_routing(part: Any) -> bool:
    if not hasattr(part, "get_metadata_routing"):
        return False
    try:
        part.get_metadata_routing()
    except NotImplementedError:  # some scikit-learn estimators do not support it
        return False
    return True


def _as_scorers(scoring: Any) -> Any:
    """Return scorers instead of their names, so that they can decline weights."""
    if scoring is None or scoring == "warn":
        return get_scorer("accuracy")  # the metric of a classifier's ``score``
    if isinstance(scoring, str):
        return get_scorer(scoring)
    if isinstance(scoring, list | tuple | set):
        return {name: get_scorer(name) for name in scoring}
    if isinstance(scoring, dict):
        return {name: _as_scorers(value) for name, value in scoring.items()}
    return scoring


def _inner_estimators(estimator: Any) -> list[Any]:
    single = getattr(estimator, "estimator", None)
    if single is not None:
        return [single]
    members = getattr(estimator, "estimators", None)
    if not isinstance(members, list):
        return []
    last = getattr(estimator, "final_estimator", None)
    return [part for _, part in members if part != "drop"] + ([] if last is None else [last])


def _fit_parameters(estimator: Any) -> Any:
    return inspect.signature(estimator.fit).parameters
