"""The same rows for all tests of streams."""

import pytest

from rankprune import estimate_noise_rates, prune_labels
from streamed_rows import noisy_rows


@pytest.fixture(scope="module")
def rows():
    return noisy_rows(5000)


@pytest.fixture(scope="module")
def expected(rows):
    rates = estimate_noise_rates(*rows)
    return rates, prune_labels(*rows, rates)
