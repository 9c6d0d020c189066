from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from rankprune.storage._json_records import from_plain, to_plain


@dataclass(frozen=True)
class Part:
    name: str
    size: float | None


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    first: Part | None
    counts: NDArray[np.int64]
    notes: dict[str, str]
    kind: Literal["a", "b"] = "a"


PLAIN = {"parts": [{"name": "a", "size": 1}], "first": None, "counts": [1], "notes": {"n": "x"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"parts": None},
        {"parts": "text"},
        {"parts": ["text"]},
        {"parts": [{"name": 1, "size": 1}]},
        {"parts": [{"name": "a", "size": True}]},
        {"parts": [{"name": "a", "size": "1"}]},
        {"parts": [{"name": "a", "size": 10**400}]},
        {"parts": [{"name": "a", "size": float("inf")}]},
        {"parts": [{"name": "a", "size": float("nan")}]},
        {"counts": [10**30]},
        {"first": []},
        {"counts": ["x"]},
        {"counts": None},
        {"counts": 1},
        {"notes": []},
        {"notes": {"n": 1}},
        {"kind": "c"},
        {"kind": None},
    ],
)
def test_values_of_other_types_are_refused(wrong):
    from_plain(Whole, PLAIN)
    with pytest.raises((TypeError, ValueError, AttributeError)):
        from_plain(Whole, {**PLAIN, **wrong})


def test_a_dataclass_comes_back_from_json(tmp_path):
    whole = Whole((Part("a", 1.5), Part("b", None)), Part("a", 1.5), np.arange(3), {"n": "x"})
    found = from_plain(Whole, json.loads(json.dumps(to_plain(whole))))
    assert (found.parts, found.first, found.notes) == (whole.parts, whole.first, whole.notes)
    assert found.counts.dtype == np.int64
    assert found.counts.tolist() == [0, 1, 2]


@dataclass(frozen=True)
class Grown:
    name: str
    added: Part | None = None


def test_a_field_that_was_added_later_has_its_default():
    assert from_plain(Grown, {"name": "a"}) == Grown("a", None)
    assert from_plain(Grown, {"name": "a", "added": {"name": "b", "size": 1}}).added == Part("b", 1)
    with pytest.raises(KeyError, match="name"):
        from_plain(Grown, {"added": None})


@dataclass(frozen=True)
class Count:
    n: int


def test_counts_fit_into_64_bits():
    assert from_plain(Count, {"n": 2**63 - 1}) == Count(2**63 - 1)
    with pytest.raises(ValueError, match="not larger than can be stored"):
        from_plain(Count, {"n": -(2**63)})


def test_numpy_numbers_become_plain_numbers():
    assert to_plain({1: [np.float64(0.5), np.bool_(True)]}) == {"1": [0.5, True]}


@dataclass(frozen=True)
class Curve:
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@pytest.mark.parametrize("y", [[], [1.0], [1.0, float("nan")], [1.0, float("inf")], [1, 10**400]])
def test_arrays_of_a_record_have_the_same_length_and_finite_numbers(y):
    assert from_plain(Curve, {"x": [1, 2], "y": [3, 4]}).y.tolist() == [3, 4]
    with pytest.raises(ValueError, match="expected"):
        from_plain(Curve, {"x": [1.0, 2.0], "y": y})
    with pytest.raises(ValueError, match="expected arrays"):
        from_plain(Curve, {"x": [], "y": []})
