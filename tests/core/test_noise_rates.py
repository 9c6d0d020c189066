"""The algebra between noise rates, label error rates and prevalence, in every direction."""

import copy
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankprune import NoiseRates, correction_weights, prune_labels, rank_suspects
from rankprune.core import ConfidentCounts
from rankprune.core._rate_algebra import possible_noise_rates


@st.composite
def truths(draw):
    """Masses of the four cells (true class, given label) with rho1 + rho0 < 1."""
    prevalence = draw(st.floats(0.01, 0.99))
    rho1 = draw(st.floats(0, 0.95))
    rho0 = draw(st.floats(0, 0.99)) * (0.97 - rho1)
    return prevalence, rho1, rho0


def from_truth(prevalence, rho1, rho0):
    """All rates straight from their definitions."""
    positive_right, positive_wrong = prevalence * (1 - rho1), (1 - prevalence) * rho0
    negative_right, negative_wrong = (1 - prevalence) * (1 - rho0), prevalence * rho1
    observed = positive_right + positive_wrong
    return observed, positive_wrong / observed, negative_wrong / (negative_right + negative_wrong)


@given(truths())
def test_every_pair_of_rates_gives_all_the_others(truth):
    prevalence, rho1, rho0 = truth
    observed, pi1, pi0 = from_truth(*truth)
    for rates in (
        NoiseRates.from_noise_rates(rho1, rho0, observed),
        NoiseRates.from_positive_rates(rho1, pi1, observed),
        NoiseRates.from_negative_rates(rho0, pi0, observed),
        NoiseRates.from_label_error_rates(pi1, pi0, observed),
    ):
        assert rates.positive_noise_rate == pytest.approx(rho1, abs=1e-9)
        assert rates.negative_noise_rate == pytest.approx(rho0, abs=1e-9)
        assert rates.positive_label_error_rate == pytest.approx(pi1, abs=1e-9)
        assert rates.negative_label_error_rate == pytest.approx(pi0, abs=1e-9)
        assert rates.estimated_prevalence == pytest.approx(prevalence, abs=1e-9)
        assert rates.observed_prevalence == observed
        assert rates.reliable


def test_the_formulas_of_section_3_3_by_hand():
    # 10 positives of which 2 are labeled negative, 30 negatives of which 6 are labeled positive:
    # 14 positive labels, 6 wrong; 26 negative labels, 2 wrong.
    rates = NoiseRates.from_noise_rates(0.2, 0.2, observed_prevalence=14 / 40)
    assert rates.estimated_prevalence == pytest.approx(1 / 4, abs=1e-15)
    assert rates.positive_label_error_rate == pytest.approx(6 / 14, abs=1e-15)
    assert rates.negative_label_error_rate == pytest.approx(2 / 26, abs=1e-15)


def test_rates_at_the_bounds_are_possible():
    all_wrong = NoiseRates.from_noise_rates(0.0, 0.25, observed_prevalence=0.25)
    assert all_wrong.estimated_prevalence == 0
    assert all_wrong.positive_label_error_rate == 1
    none = NoiseRates.from_positive_rates(0.0, 0.0, observed_prevalence=0.3)
    assert (none.estimated_prevalence, none.negative_noise_rate) == (0.3, 0)
    all_positive = NoiseRates.from_positive_rates(0.75, 0.0, observed_prevalence=0.25)
    assert all_positive.estimated_prevalence == 1
    assert all_positive.negative_label_error_rate == 1
    all_negative = NoiseRates.from_negative_rates(0.75, 0.0, observed_prevalence=0.75)
    assert all_negative.estimated_prevalence == 0
    # Slightly beyond a bound is rounding.
    assert NoiseRates.from_noise_rates(0.0, 0.25 + 1e-15, 0.25).negative_noise_rate == 0.25
    assert NoiseRates.from_noise_rates(0.75 + 1e-15, 0.0, 0.25).positive_noise_rate == 0.75


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        ("from_noise_rates", (-0.1, 0, 0.5), r"positive_noise_rate must lie in \[0, 1\), got -0.1"),
        ("from_noise_rates", (0, 1.0, 0.5), r"negative_noise_rate must lie in \[0, 1\), got 1"),
        ("from_noise_rates", (float("nan"), 0, 0.5), r"positive_noise_rate .* got nan"),
        ("from_noise_rates", ("0.1", 0, 0.5), "positive_noise_rate must be a number .* got '0.1'"),
        ("from_noise_rates", (True, 0, 0.5), "positive_noise_rate must be a number .* got True"),
        ("from_noise_rates", (0.62, 0.45, 0.5), r"must be below 1, got 0.62 \+ 0.45 = 1.07"),
        ("from_noise_rates", (0.75, 0.25, 0.25), r"must be below 1, got 0.75 \+ 0.25 = 1"),
        ("from_noise_rates", (0.1, 0.3, 0.2), "negative_noise_rate must not exceed .* got 0.3"),
        ("from_noise_rates", (0.3, 0.1, 0.8), "positive_noise_rate must not exceed .* got 0.3"),
        ("from_noise_rates", (0.1, 0.1, 0), "observed_prevalence must lie strictly .* got 0"),
        ("from_noise_rates", (0.1, 0.1, 1), "observed_prevalence must lie .* got 1"),
        ("from_positive_rates", (0.1, 2, 0.5), "positive_label_error_rate must lie"),
        ("from_positive_rates", (2, 0.1, 0.5), "positive_noise_rate must lie"),
        ("from_positive_rates", (0.1, 0.1, 2), "observed_prevalence must lie"),
        ("from_positive_rates", (0.9, 0.1, 0.5), "positive_noise_rate and positive_label_error_r"),
        ("from_positive_rates", (0.5, 0.5, 0.9), "more wrong labels than there are rows"),
        ("from_negative_rates", (2, 0.1, 0.5), "negative_noise_rate must lie"),
        ("from_negative_rates", (0.1, 2, 0.5), "negative_label_error_rate must lie"),
        ("from_negative_rates", (0.1, 0.1, -1), "observed_prevalence must lie"),
        ("from_negative_rates", (0.9, 0.1, 0.5), "negative_noise_rate and negative_label_error_r"),
        ("from_label_error_rates", (2, 0.1, 0.5), "positive_label_error_rate must lie"),
        ("from_label_error_rates", (0.1, 2, 0.5), "negative_label_error_rate must lie"),
        ("from_label_error_rates", (0.1, 0.1, 2), "observed_prevalence must lie"),
        ("from_label_error_rates", (0.5, 0.5, 0.5), r"must be below 1, got 0.5 \+ 0.5 = 1\."),
    ],
)
def test_impossible_rates_are_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        getattr(NoiseRates, make)(*arguments)


def test_estimates_that_contradict_the_prevalence_are_moved():
    assert possible_noise_rates(0.9, 0.1, observed=0.3) == (0.7, 0.1, True)
    assert possible_noise_rates(0.1, 0.6, observed=0.3) == (0.1, 0.3, True)
    positive, negative, moved = possible_noise_rates(0.8, 0.4, observed=0.3)
    assert moved
    assert positive + negative < 1
    rates = NoiseRates.from_noise_rates(positive, negative, 0.3)
    assert rates.estimated_prevalence == pytest.approx(0.3)
    # The rates of uninformative labels shrink by a tiny amount, which is not a contradiction.
    positive, negative, moved = possible_noise_rates(0.7, 0.3, observed=0.3)
    assert not moved
    assert 1 - positive - negative == pytest.approx(1e-6)
    assert possible_noise_rates(0.7, 0.1, observed=0.3) == (0.7, 0.1, False)
    assert possible_noise_rates(0.7 + 1e-7, 0.1, observed=0.3) == (0.7, 0.1, False)


def test_a_rate_below_zero_by_rounding_is_zero_and_further_below_counts_as_moved():
    assert possible_noise_rates(-2.2e-16, 0.1, observed=0.3) == (0.0, 0.1, False)
    assert possible_noise_rates(0.1, -2.2e-16, observed=0.3) == (0.1, 0.0, False)
    assert possible_noise_rates(-0.1, 0.1, observed=0.3) == (0.0, 0.1, True)


def estimated(**changes):
    counts = ConfidentCounts(8, 2, 1, 9)
    return NoiseRates(
        **{
            "positive_noise_rate": 0.2,
            "negative_noise_rate": 0.1,
            "positive_label_error_rate": 0.1,
            "negative_label_error_rate": 0.2,
            "observed_prevalence": 0.4,
            "estimated_prevalence": 0.43,
            "positive_threshold": 0.7,
            "negative_threshold": 0.2,
            "counts": counts,
            "n_positive": 8.0,
            "n_negative": 12.0,
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("positive_noise_rate", 1.0, r"must lie in \[0, 1\), got 1\. It is a share of rows"),
        ("positive_noise_rate", math.nan, r"must lie in \[0, 1\), got nan"),
        ("negative_noise_rate", -0.02, r"must lie in \[0, 1\), got -0.02"),
        ("negative_noise_rate", "0.1", r"must be a number in \[0, 1\), got '0.1'"),
        ("positive_label_error_rate", -0.02, r"must be a number in \[0, 1\], got -0.02\. Pass a s"),
        ("positive_label_error_rate", 1.2, r"must be a number in \[0, 1\], got 1.2\. Pass a share"),
        ("negative_label_error_rate", math.nan, r"must be a number in \[0, 1\], got nan"),
        ("negative_label_error_rate", None, r"must be a number in \[0, 1\], got None"),
        ("observed_prevalence", 0.0, "must lie strictly between 0 and 1, got 0"),
        ("estimated_prevalence", 1.5, r"must be a number in \[0, 1\], got 1.5"),
        ("estimated_prevalence", True, r"must be a number in \[0, 1\], got True"),
        ("positive_threshold", math.nan, r"must be a number in \[0, 1\], got nan"),
        ("negative_threshold", -1, r"must be a number in \[0, 1\], got -1"),
        ("n_positive", -1.0, "must be a finite number of at least 0, got -1.0. Pass the number of"),
        ("n_positive", True, "must be a finite number of at least 0, got True"),
        ("n_negative", math.inf, "must be a finite number of at least 0, got inf"),
        ("n_negative", "12", "must be a finite number of at least 0, got '12'"),
    ],
)
def test_rates_with_an_impossible_field_cannot_be_created(field, value, message):
    with pytest.raises(ValueError, match=f"^{field} {message}"):
        estimated(**{field: value})
    with pytest.raises(ValueError, match=f"^{field} {message}"):
        replace(estimated(), **{field: value})


def test_rates_survive_pickling_copying_and_replacement():
    rates = estimated()
    assert pickle.loads(pickle.dumps(rates)) == copy.deepcopy(rates) == replace(rates) == rates
    edge = estimated(positive_label_error_rate=1, negative_label_error_rate=np.float32(0))
    assert replace(edge, reliable=False).positive_label_error_rate == 1


def test_known_rates_win_and_the_rest_follows():
    rates = estimated().with_known(negative=0.0)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0.2, 0.0)
    assert rates.positive_label_error_rate == 0
    assert rates.estimated_prevalence == pytest.approx(0.5)
    assert rates.negative_label_error_rate == pytest.approx(1 / 6)
    assert rates.counts == ConfidentCounts(8, 2, 1, 9)
    assert (rates.positive_threshold, rates.negative_threshold) == (0.7, 0.2)
    assert (rates.n_positive, rates.n_negative, rates.reliable) == (8.0, 12.0, True)
    rates = estimated(reliable=False).with_known(positive=0.5)
    assert (rates.positive_noise_rate, rates.negative_noise_rate) == (0.5, 0.1)
    assert not rates.reliable


def test_an_estimate_gives_way_to_a_known_rate():
    rates = estimated(negative_noise_rate=0.9).with_known(positive=0.6)
    assert rates.positive_noise_rate == 0.6
    assert rates.negative_noise_rate == pytest.approx(0.4, abs=1e-6)
    assert rates.negative_noise_rate < 0.4
    assert rates.clipped
    rates = estimated(positive_noise_rate=0.9).with_known(negative=0.4)
    assert rates.negative_noise_rate == 0.4
    assert rates.positive_noise_rate == pytest.approx(0.6, abs=1e-6)
    assert rates.positive_noise_rate < 0.6
    assert rates.clipped
    assert estimated(positive_noise_rate=0.9).with_known() == estimated(positive_noise_rate=0.9)


def test_an_estimate_is_held_below_what_the_labels_allow():
    rates = estimated(positive_noise_rate=0.9, observed_prevalence=0.4).with_known(negative=0.05)
    assert rates.positive_noise_rate == 0.6
    rates = estimated(negative_noise_rate=0.9, observed_prevalence=0.4).with_known(positive=0.05)
    assert rates.negative_noise_rate == 0.4


def test_only_an_estimate_that_is_still_used_counts_as_clipped():
    moved = estimated(positive_noise_rate=0.6, clipped=True)
    assert moved.with_known(negative=0.1).clipped
    assert not moved.with_known(positive=0.2).clipped
    assert not moved.with_known(positive=0.2, negative=0.1).clipped
    moved = estimated(negative_noise_rate=0.4, clipped=True)
    assert moved.with_known(positive=0.1).clipped
    assert not moved.with_known(negative=0.1).clipped
    assert not estimated().with_known(negative=0.1).clipped


def test_anything_other_than_rates_is_refused():
    for call in (
        lambda: prune_labels([0, 1], [0.1, 0.2], {}),
        lambda: rank_suspects([0, 1], [0.1, 0.2], {}),
        lambda: correction_weights([0, 1], {}),
    ):
        with pytest.raises(TypeError, match=r"^noise_rates must be NoiseRates, got dict. Pass"):
            call()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"positive": 1.5}, "positive_noise_rate must lie"),
        ({"negative": "x"}, "negative_noise_rate must be a number"),
        ({"negative": 0.5}, "negative_noise_rate must not exceed"),
        ({"positive": 0.7}, "positive_noise_rate must not exceed"),
    ],
)
def test_impossible_known_rates_are_refused(known, message):
    with pytest.raises(ValueError, match=message):
        estimated().with_known(**known)


def test_representations_are_readable():
    assert repr(estimated(estimated_prevalence=0.43219)) == (
        "NoiseRates(positive_noise_rate=0.2, negative_noise_rate=0.1, "
        "positive_label_error_rate=0.1, negative_label_error_rate=0.2, observed_prevalence=0.4, "
        "estimated_prevalence=0.4322, positive_threshold=0.7, negative_threshold=0.2, "
        "n_positive=8, n_negative=12)"
    )
    assert repr(estimated(n_positive=1234567.0)).endswith("n_positive=1234567, n_negative=12)")
    assert repr(estimated(reliable=False)).endswith("n_negative=12, reliable=False)")
    assert repr(estimated(clipped=True)).endswith("n_negative=12, clipped=True)")
    assert "counts" not in repr(NoiseRates.from_noise_rates(0.1, 0.1, 0.5))
    expected = {
        "labels that are wrong": "16.0%",
        "true positives labeled negative": "20.0%",
        "true negatives labeled positive": "10.0%",
        "positive labels that are wrong": "10.0%",
        "negative labels that are wrong": "20.0%",
        "positive labels among all": "40.0%",
        "true positives among all": "43.0%",
    }
    rows = "".join(
        f"<tr><td>{name}</td><td style='text-align:right'>{share}</td></tr>"
        for name, share in expected.items()
    )
    for reliable, title in ((True, "Noise rates"), (False, "Noise rates (not reliable)")):
        assert estimated(reliable=reliable)._repr_html_() == (
            f"<table><caption>{title}</caption><tbody>{rows}</tbody></table>"
        )


def test_a_dictionary_survives_json():
    as_dict = json.loads(json.dumps(estimated().to_dict()))
    assert as_dict["counts"]["positives_labeled_negative"] == 2
    assert as_dict["positive_noise_rate"] == 0.2
    assert len(as_dict) == 14
    assert as_dict["intervals"] is None


class TestTrueLabels:
    truth = tuple("bbbbaaaaa")
    labels = tuple("bbbabaaaa")

    def test_by_hand(self):
        """Of four positives one is lost, of five negatives one is labeled positive."""
        rates = NoiseRates.from_true_labels(self.truth, self.labels)
        assert rates.positive_noise_rate == pytest.approx(1 / 4)
        assert rates.negative_noise_rate == pytest.approx(1 / 5)
        assert rates.positive_label_error_rate == pytest.approx(1 / 4)
        assert rates.negative_label_error_rate == pytest.approx(1 / 5)
        assert (rates.n_positive, rates.n_negative) == (4, 5)

    def test_the_other_class_may_be_positive(self):
        rates = NoiseRates.from_true_labels(self.truth, self.labels, pos_label="a")
        assert rates.positive_noise_rate == pytest.approx(1 / 5)
        assert rates.negative_noise_rate == pytest.approx(1 / 4)

    @pytest.mark.parametrize("truth", [["b", "a"], ["b", "c"] * 4 + ["b"]])
    def test_both_must_describe_the_same_rows(self, truth):
        with pytest.raises(ValueError, match="true_labels must have the values and the length of"):
            NoiseRates.from_true_labels(truth, self.labels)

    def test_errors_name_the_argument(self):
        with pytest.raises(ValueError, match=r"^true_labels must hold two classes"):
            NoiseRates.from_true_labels(["a", "a"], ["a", "b"])
        with pytest.raises(ValueError, match=r"^true_labels must have the values and the length"):
            NoiseRates.from_true_labels(["a", "b", "b"], ["a", "b"])


@given(st.floats(0, 0.45), st.floats(0, 0.45), st.floats(0.05, 0.95))
def test_the_wrong_share_is_that_of_both_true_classes(positive, negative, prevalence):
    observed = (1 - positive) * prevalence + negative * (1 - prevalence)
    rates = NoiseRates.from_noise_rates(positive, negative, observed)
    wrong = positive * prevalence + negative * (1 - prevalence)
    assert rates.wrong_share == pytest.approx(wrong, abs=1e-9)
