"""Convert dataclasses to JSON-compatible values, and back by the types of their fields."""

from __future__ import annotations

import sys
import types
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Record = TypeVar("Record")

_LARGEST: dict[type, float] = {int: 2**63 - 1, float: sys.float_info.max}


def to_plain(value: Any) -> Any:
    """Return a dataclass, array or container as plain dicts, lists, numbers and strings."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): to_plain(part) for key, part in value.items()}
    return value


def from_plain(kind: type[Record], value: dict[str, Any]) -> Record:
    """Return the dataclass that `to_plain` converted to this value.

    A field that is absent, because it was added after the value was written, has its default.
    """
    _of_type(dict, value)
    hints = get_type_hints(kind)
    named = {
        field.name: _restored(hints[field.name], value[field.name])
        for field in fields(kind)  # type: ignore[arg-type]  # a dataclass
        if field.name in value or field.default is MISSING
    }
    sizes = {len(part) for part in named.values() if isinstance(part, np.ndarray)}
    if len(sizes) > 1 or 0 in sizes:
        raise ValueError("expected arrays of the same length, which is not zero")
    return kind(**named)


def _restored(hint: Any, value: Any) -> Any:
    if is_dataclass(value):
        return value
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (hint,) = (part for part in parts if part is not type(None))
        return _restored(hint, value)
    if is_dataclass(hint) and isinstance(hint, type):
        return from_plain(hint, value)
    if origin is tuple:
        return tuple(_restored(parts[0], part) for part in _of_type(list, value))
    if origin is np.ndarray:
        try:
            array = np.asarray(value, dtype=get_args(parts[1])[0])
        except OverflowError as error:
            raise ValueError(f"expected numbers, but {error}") from error
        if not array.ndim or (array.dtype.kind == "f" and not np.isfinite(array).all()):
            raise ValueError("expected an array of finite numbers")
        return array
    if origin is dict:
        return {_restored(parts[0], key): _restored(parts[1], one) for key, one in value.items()}
    if origin is Literal:
        if value not in parts:
            raise ValueError(f"expected one of {parts}, got {value!r:.50}")
        return value
    return _of_type(hint, value) if hint in (str, int, float, bool) else value


def _of_type(kind: type, value: Any) -> Any:
    """Return a value if it has a type; whole numbers are numbers too, but booleans are not.

    Numbers must be finite, and not larger than those that are ever written.
    """
    kinds = (float, int) if kind is float else (kind,)
    if type(value) not in kinds:
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    if kind is str:
        value.encode()  # half of a pair of surrogates could never be shown or written
    if kind in (int, float) and not abs(value) <= _LARGEST[kind]:
        raise ValueError("expected a number that is finite and not larger than can be stored")
    return value
