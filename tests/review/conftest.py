"""Fixtures that judge rows of a run directory."""

import importlib.util
import sys
from pathlib import Path

import pytest

from reviewed_classes import judge, pet_people, pets, pets_check
from reviewed_run import check, checked, drawn, folder, judged, open_queue, people, run

__all__ = [
    "check",
    "checked",
    "drawn",
    "folder",
    "judge",
    "judged",
    "open_queue",
    "people",
    "pet_people",
    "pets",
    "pets_check",
    "run",
]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench():
    """The benchmark of the page, which starts servers and plays their clients."""
    spec = importlib.util.spec_from_file_location("bench_review", ROOT / "benchmarks" / "review.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_review"] = module
    spec.loader.exec_module(module)
    return module
