"""A table for commands, and reports without plots, which have tests of their own."""

import pytest

from noisy_table import noisy_csv


@pytest.fixture
def people(tmp_path):
    return noisy_csv(tmp_path, n=300)[0]


@pytest.fixture(autouse=True, scope="module")
def without_plots():
    """Let reports hold an empty image for each plot: drawing them takes seconds."""
    from rankprune.report import _plots

    before, _plots._svg = _plots._svg, lambda *_: "<svg/>"
    yield
    _plots._svg = before
