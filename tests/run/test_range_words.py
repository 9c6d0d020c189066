"""The headline is a range, and the list of rows to look at says how many are likely wrong."""

from dataclasses import replace

import numpy as np
import pytest

from rankprune import NoiseRates, check_labels, flip_labels
from rankprune.core import Interval
from rankprune.core._ranking import Stretch
from rankprune.run._sentences import (
    headline,
    intervals_line,
    precision_line,
    rates_note,
    wrong_share_words,
)
from rankprune.run._words import range_words

TRUTH = np.repeat([0, 1], [700, 500])
NOISE = np.random.default_rng(0).normal(0, 0.12, 1200)
SCORES = np.clip(0.25 + 0.5 * TRUTH + NOISE, 0, 1)
LABELS = flip_labels(TRUTH, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)


@pytest.fixture(scope="module")
def noisy():
    return check_labels(None, LABELS, probabilities=SCORES)


def with_total(check, low, high, level):
    total = Interval(check.wrong_share, low, high, "truth")
    rates = replace(check.noise_rates, intervals=replace(check.intervals, wrong_share=total))
    verdict = replace(check.verdict, level=level, wrong_share=total)
    return replace(check, noise_rates=rates, verdict=verdict)


def test_the_headline_is_the_range_with_the_point_and_both_labels(noisy):
    total, rates = noisy.wrong_share_interval, noisy.noise_rates
    assert noisy.verdict.level == "noise found"
    assert headline(noisy) == (
        f"Between {total.low:.1%} and {total.high:.1%} of your labels are wrong, most likely "
        f"{noisy.wrong_share:.1%}: {rates.positive_label_error_rate:.1%} of those that say “1” and "
        f"{rates.negative_label_error_rate:.1%} of those that say “0”."
    )
    assert total.low < (LABELS != TRUTH).mean() < total.high
    assert wrong_share_words(noisy)[0] == f"{total.low:.1%} to {total.high:.1%}"


def test_a_range_that_begins_at_zero_says_up_to(noisy):
    open_question = with_total(noisy, 0.0, 0.31, "cannot tell")
    assert headline(open_question) == (
        f"Up to 31.0% of your labels may be wrong, most likely {noisy.wrong_share:.1%}. The data "
        "alone cannot tell; a person who judges 25 rows can narrow it down."
    )
    clean = with_total(noisy, 0.0, 0.04, "clean")
    assert headline(clean) == "Your labels look clean: at most 4.0% are wrong."
    assert wrong_share_words(clean) == ("0.0% to 4.0%", "of the labels wrong")
    assert range_words(Interval(0.1, 0.05, 0.2, "truth")) == "Between 5.0% and 20.0%"


def test_scores_that_say_nothing_get_no_number():
    with pytest.warns(UserWarning, match="do not tell the labels apart"):
        check = check_labels(None, LABELS, probabilities=np.full(1200, 0.4))
    assert headline(check).startswith("This data does not show whether labels are wrong.")
    assert wrong_share_words(check) == ("unknown", "share of wrong labels")
    assert rates_note(check) in str(check)
    assert "do not rely on these rates" in rates_note(check)
    assert precision_line(check) == "600 rows to look at, most suspicious first."


def test_a_tiny_table_promises_no_wide_ranges_and_no_wrong_labels():
    labels = np.repeat([0, 1], 20)
    check = check_labels(None, labels, probabilities=0.2 + 0.6 * labels)
    assert check.verdict.level == "cannot tell"
    assert "do not rely on these rates" in rates_note(check)
    assert "likely wrong" not in str(check)
    assert "Wrong labels and overlapping classes look alike" not in str(check)


def test_the_list_of_a_first_release_run_has_no_expected_numbers(noisy):
    old = replace(noisy, n_candidates=12, stretches=())
    assert precision_line(old) == "12 rows to look at, most suspicious first."
    assert precision_line(old) in str(old)


def test_the_list_says_how_many_are_likely_wrong_in_each_stretch(noisy):
    stretches = (Stretch(1, 10, 8.6), Stretch(11, 50, 21.4), Stretch(51, 100, 3.2))
    listed = replace(noisy, n_candidates=1234, stretches=(*stretches, Stretch(101, 1234, 2.0)))
    assert precision_line(listed) == (
        "1,234 rows to look at, most suspicious first: of the first 10 about 9 are likely wrong; "
        "of the next 40 about 21; of the next 50 about 3."
    )
    one = replace(noisy, n_candidates=1, stretches=(Stretch(1, 1, 0.7),))
    assert precision_line(one) == (
        "1 row to look at, most suspicious first: of the first 1 about 1 is likely wrong."
    )
    assert precision_line(noisy) in str(noisy)
    expected = sum(one.expected_wrong for one in noisy.stretches)
    assert expected == pytest.approx((LABELS != TRUTH).sum(), rel=0.2)


def test_the_candidates_go_to_the_upper_end_and_hold_the_suspects_first(noisy):
    high = noisy.wrong_share_interval.high
    assert noisy.n_candidates == np.ceil(1200 * high)
    assert noisy.stretches[-1].last == noisy.n_candidates
    rows = noisy.candidate_rows()
    assert rows[: noisy.n_suspects].tolist() == noisy.suspect_rows().tolist()
    assert [row.row for row in noisy.candidates] == rows[:500].tolist()
    assert [row.is_suspect for row in noisy.candidates] == [
        rank < noisy.n_suspects for rank in range(len(noisy.candidates))
    ]
    assert noisy.suspects == noisy.candidates[: noisy.n_suspects]


def test_what_the_intervals_cover_is_said(noisy):
    assert intervals_line(noisy).startswith("95% intervals, covering the true value, the error of")


@pytest.mark.parametrize("method", [None, lambda s, _, **__: without_rows(s)])
def test_a_handful_of_positives_shows_nothing(method):
    labels = np.arange(600) < 12
    scores = np.clip(np.where(labels, 0.8, 0.2) + NOISE[:600] / 2, 0, 1)
    found = check_labels(None, labels, probabilities=scores, noise_estimator=method)
    assert found.verdict.level == "cannot tell"
    assert headline(found).startswith("This data does not show whether labels are wrong.")
    assert wrong_share_words(found)[0] == "unknown"
    assert "few positive labels to tell: 12 rows" in str(found)


def without_rows(labels):
    """Return rates that do not say of how many rows they are."""
    return NoiseRates.from_noise_rates(0.1, 0.0, float(np.mean(labels)))


def test_trusted_rows_are_not_among_those_that_show_something():
    trusted = np.arange(1200) >= 710
    found = check_labels(None, TRUTH, probabilities=SCORES, trusted=trusted)
    assert found.verdict.reasons[0].startswith("There are too few positive labels to tell: 10 rows")
    assert headline(found).startswith("This data does not show whether labels are wrong.")
