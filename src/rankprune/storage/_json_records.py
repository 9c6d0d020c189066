"""Convert dataclasses to JSON-compatible values, and back by the types of their fields."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Record = TypeVar("Record")


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
    """Return the dataclass that `to_plain` converted to this value."""
    hints = get_type_hints(kind)
    named = {field.name: _restored(hints[field.name], value[field.name]) for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass
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
        return tuple(_restored(parts[0], part) for part in value)
    if origin is np.ndarray:
        return np.asarray(value, dtype=get_args(parts[1])[0])
    return value
