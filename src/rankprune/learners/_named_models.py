"""Models by name: those that come with the package, and the user's own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sklearn.linear_model import LogisticRegression

from rankprune.learners._committee import Boosting

MODELS = ("logistic", "boosting")


def find_model(model: Any) -> Any:
    """Return the classifier that a name or ``module:object`` refers to.

    The object is a classifier, its class, or a function that returns one. A model that is not a
    string is returned unchanged.
    """
    if not isinstance(model, str):
        return model
    if model == "logistic":
        return LogisticRegression(max_iter=1000)
    if model == "boosting":
        return Boosting()
    module, colon, name = model.partition(":")
    if not colon:
        raise ValueError(
            f"estimator must be one of {', '.join(MODELS)} or MODULE:OBJECT, got {model!r}. For "
            "your own classifier, pass estimator=my_module:my_classifier"
        )
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"estimator must name an object that can be imported; {model!r} cannot: {error}. Check "
            "its spelling, and that its module is on the Python path."
        ) from error
    made = found() if isinstance(found, type) or not hasattr(found, "fit") else found
    if not hasattr(made, "fit"):
        raise ValueError(
            f"estimator must be a classifier, got {type(made).__name__} from {model!r}. Name an "
            "object with fit and predict_proba."
        )
    return made


def model_name(model: Any) -> Any:
    """Return a model as it is recorded: a name or None unchanged, any other model as its repr."""
    return model if model is None or isinstance(model, str) else repr(model)
