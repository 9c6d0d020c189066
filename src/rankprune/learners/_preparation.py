"""The default model for checking arrays: it prepares the data as the check of a table does."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

# Largest number of columns for a category; its rare values share one.
_MAX_LEVELS = 50


def prepared_logistic(X: Any) -> Pipeline:
    """Return logistic regression preceded by the preparation that these rows need.

    Numbers are scaled, with missing values filled in and marked; categories get a column for each
    frequent value; dates become numbers; texts become TF-IDF weights of their words.
    """
    return make_pipeline(_preparation(X), LogisticRegression(max_iter=1000))


def _preparation(X: Any) -> Any:
    if sparse.issparse(X):
        return MaxAbsScaler()
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return _by_column([_kind_of_dtype(dtype) for dtype in X.dtypes])
    rows = np.asarray(X)
    if rows.ndim == 1 and rows.dtype.kind in "OUS":
        return TfidfVectorizer()
    if rows.dtype.kind in "biuf":
        return _numbers()
    kinds = ["number" if _are_numbers(column) else "category" for column in rows.T]
    return _by_column(kinds)


def _by_column(kinds: list[str]) -> ColumnTransformer:
    # By position: the oldest scikit-learn takes names of pandas columns only.
    parts = {"number": _numbers(), "category": _categories(), "date": _dates()}
    return ColumnTransformer(
        [
            (kind, part, [column for column, other in enumerate(kinds) if other == kind])
            for kind, part in parts.items()
            if kind in kinds
        ]
    )


def _kind_of_dtype(dtype: Any) -> str:
    """Return the kind of a pandas or polars column: number, date or category."""
    if hasattr(dtype, "is_numeric"):
        return "number" if dtype.is_numeric() else "date" if dtype.is_temporal() else "category"
    kind = getattr(dtype, "kind", "O")
    return "number" if kind in "biuf" else "date" if kind == "M" else "category"


def _are_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _numbers() -> Pipeline:
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(FunctionTransformer(_as_floats), filled, StandardScaler())


def _dates() -> Pipeline:
    return make_pipeline(FunctionTransformer(_as_days), *[step for _, step in _numbers().steps[1:]])


def _categories() -> Pipeline:
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_MAX_LEVELS)
    return make_pipeline(FunctionTransformer(_as_texts), encoder)


def _as_floats(X: Any) -> Any:
    # Missing values of nullable types become NaN.
    return X.astype(np.float64) if hasattr(X, "astype") else np.asarray(X, dtype=np.float64)


def _as_days(X: Any) -> Any:
    stamps = np.asarray(X).astype("datetime64[s]")
    days = stamps.astype(np.float64) / 86_400
    return np.where(np.isnat(stamps), np.nan, days)


def _as_texts(X: Any) -> Any:
    return np.asarray(X).astype(object).astype(str)
