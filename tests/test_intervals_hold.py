"""Every interval of the library holds its own estimate."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseRates, audit, noise_rate_intervals
from rankprune.check._before_after import _difference_interval
from rankprune.exceptions import NoiseRatesClippedWarning
from rankprune.metrics import clean_metrics


@st.composite
def labeled(draw, n_most=60):
    n = draw(st.integers(4, n_most))
    labels = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    labels[:2] = [True, False]
    scores = draw(st.lists(st.floats(0, 1), min_size=n, max_size=n))
    return np.array(labels), np.array(scores)


rates = st.tuples(st.floats(0, 0.48), st.floats(0, 0.48), st.floats(0.05, 0.95)).filter(
    lambda drawn: drawn[1] <= drawn[2] <= 1 - drawn[0]
)


def holds(interval, name="estimate"):
    value = getattr(interval, name)
    return interval.low <= value <= interval.high


@given(labeled(), rates, st.floats(0.5, 0.999))
def test_of_metrics_on_clean_labels(drawn, pair, level):
    labels, scores = drawn
    with warnings.catch_warnings():
        # Rates drawn at random may contradict the labels.
        warnings.simplefilter("ignore", NoiseRatesClippedWarning)
        found = clean_metrics(
            labels, scores > 0.5, NoiseRates.from_noise_rates(*pair), scores=scores, level=level
        )
    assert all(holds(metric, "value") for metric in found.values()), found


@settings(max_examples=15)
@given(
    labeled(30),
    st.sampled_from(["learned", "curve", "tight", "confident-counts"]),
    st.sampled_from(["truth", "rows"]),
)
def test_of_noise_rates(drawn, method, covers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = noise_rate_intervals(
            *drawn, method=method, covers=covers, n_resamples=20, random_state=0
        )
    intervals = dict(found.items())
    assert len(intervals) == 6
    for name, interval in intervals.items():
        assert holds(interval), name


@given(st.integers(1, 400), st.data())
def test_of_the_difference_between_two_models_on_trusted_rows(n_rows, data):
    n_worse = data.draw(st.integers(0, n_rows))
    n_better = data.draw(st.integers(0, n_rows - n_worse))
    low, high = _difference_interval(n_worse, n_better, n_rows)
    assert -1 <= low <= (n_worse - n_better) / n_rows <= high <= 1


@given(labeled(), st.data())
def test_of_audits(drawn, data):
    labels, scores = drawn
    suspects = scores > data.draw(st.floats(0, 1))
    n = data.draw(st.integers(1, len(labels)))
    given_rates = data.draw(st.none() | rates)
    known = given_rates and NoiseRates.from_noise_rates(*given_rates)
    sample = audit.draw(
        labels,
        suspects,
        n,
        probabilities=scores if known else None,
        noise_rates=known,
        random_state=0,
    )
    answers = data.draw(
        st.lists(st.sampled_from([True, False, None]), min_size=n, max_size=n).filter(
            lambda found: any(answer is not None for answer in found)
        )
    )
    for interval in dict(audit.estimate(sample, answers).items()).values():
        assert holds(interval)
