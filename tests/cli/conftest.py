"""A table for commands."""

import pytest

from noisy_table import noisy_csv


@pytest.fixture
def people(tmp_path):
    return noisy_csv(tmp_path, n=300)[0]
