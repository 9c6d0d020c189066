"""The wording of titles and reasons, one by one."""

import pytest

from rankprune.core import _verdict_reasons as reasons


def test_the_title_of_rates_says_whether_they_can_be_relied_on():
    assert reasons.rates_title(True) == "Noise rates"
    assert reasons.rates_title(False) == "Noise rates (not reliable)"


@pytest.mark.parametrize(
    ("n_rows", "shown"), [(0.0, "0 rows"), (1.0, "1 row"), (2.0, "2 rows"), (99.5, "99 rows")]
)
def test_too_few_rows_are_counted(n_rows, shown):
    assert reasons.too_few_rows(n_rows, 100) == (
        f"There are too few rows to tell: {shown}, and a verdict needs at least 100."
    )


def test_too_few_rows_of_a_label_are_counted():
    assert reasons.too_few_of_a_label("negative", 1.9, 20) == (
        "There are too few negative labels to tell: 1 row, and a verdict needs at least 20 with "
        "each label."
    )


def test_estimates_are_shown_with_their_interval_in_percent():
    assert reasons.interval_text(0.1, 0.0801, 0.1349) == "10.0% (8.0% to 13.5%)"
    assert reasons.coverage_line(0.95, "chance") == "95% intervals, covering chance"
