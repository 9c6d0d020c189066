from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
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


def test_a_dataclass_comes_back_from_json(tmp_path):
    whole = Whole((Part("a", 1.5), Part("b", None)), Part("a", 1.5), np.arange(3), {"n": "x"})
    found = from_plain(Whole, json.loads(json.dumps(to_plain(whole))))
    assert (found.parts, found.first, found.notes) == (whole.parts, whole.first, whole.notes)
    assert found.counts.dtype == np.int64
    assert found.counts.tolist() == [0, 1, 2]


def test_numpy_numbers_become_plain_numbers():
    assert to_plain({1: [np.float64(0.5), np.bool_(True)]}) == {"1": [0.5, True]}
