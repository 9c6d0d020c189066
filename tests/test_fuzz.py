"""Hostile calls of the public library end in an answer or in an error that it wrote itself."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from rankprune.core import Interval

_PATH = Path(__file__).parents[1] / "tools" / "fuzz.py"
_SPEC = importlib.util.spec_from_file_location("rankprune_fuzz", _PATH)
fuzz = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = fuzz
_SPEC.loader.exec_module(fuzz)

PARTS = 8


@pytest.mark.parametrize("seed", range(PARTS))
def test_twenty_thousand_calls_break_no_promise(seed):
    counts, failures = fuzz.fuzz(seed, 20_000 // PARTS)
    assert not failures, "\n".join(f"seed {seed}, {one}" for one in failures[:5])
    # Neither side may be empty, or the calls test nothing.
    assert counts["answered"] > 800
    assert counts["refused"] > 800


def test_a_call_depends_on_its_seed_and_number_only():
    assert str(fuzz.drawn_call(0, 11)) == str(fuzz.drawn_call(0, 11))
    assert str(fuzz.drawn_call(0, 11)) != str(fuzz.drawn_call(1, 11))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda: [][0], "IndexError: list index out of range"),
        (lambda: np.zeros(3).reshape(2), "ValueError: cannot reshape"),
        (lambda: np.log(np.zeros(1)), "RuntimeWarning: divide by zero"),
        (lambda: Interval(0.5, 0.6, 0.7, ""), "0.6 <= 0.5 <= 0.7 does not hold"),
        (lambda: {"wrong_share": 1.5}, "wrong_share is 1.5"),
        (lambda: [np.array([np.nan])], "holds values that are not finite"),
        (lambda: float("inf"), "is inf"),
    ],
)
def test_broken_promises_are_noticed(function, reason):
    ended = fuzz.outcome(0, fuzz.Call(function))
    assert isinstance(ended, fuzz.Failure)
    assert reason in ended.reason
