"""Orders of rows and columns: given scores fix the answer; fitted ones change it within bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from rankprune import check_labels, flip_labels

pytestmark = pytest.mark.usefixtures("two_scorings")

RATES = (
    "positive_noise_rate",
    "negative_noise_rate",
    "positive_label_error_rate",
    "negative_label_error_rate",
)


@st.composite
def scored_rows(draw):
    """Return labels, scores without ties, and an order of the rows."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(40, 400))
    truth = rng.random(n) < draw(st.floats(0.2, 0.8))
    truth[:4] = [True, True, False, False]
    spread = draw(st.floats(0.02, 0.3))
    scores = np.clip(np.where(truth, 0.8, 0.2) + spread * rng.standard_normal(n), 0.001, 0.999)
    scores += 1e-9 * np.arange(n)
    flipped = rng.random(n) < draw(st.floats(0.0, 0.35))
    flipped[:4] = False
    return np.where(flipped, ~truth, truth).astype(int), scores, rng.permutation(n)


@settings(max_examples=40)
@pytest.mark.filterwarnings("ignore::rankprune.exceptions.RankPruneWarning")
@given(scored_rows())
def test_shuffled_rows_with_given_scores_give_the_same_answer(rows):
    labels, scores, order = rows
    check = check_labels(None, labels, probabilities=scores)
    other = check_labels(None, labels[order], probabilities=scores[order])
    assert other.verdict.level == check.verdict.level
    for rate in RATES:
        # Sums of rounded terms differ in the last bits.
        expected = pytest.approx(getattr(check.noise_rates, rate), rel=1e-12, abs=1e-12)
        assert getattr(other.noise_rates, rate) == expected
    # The two rows at the cut-offs tie for the last rank, so their order is that of the table.
    found, again = check.suspect_rows(), order[other.suspect_rows()]
    assert again[:-2].tolist() == found[:-2].tolist()
    assert set(again.tolist()) == set(found.tolist())
    assert (other.positive_cutoff, other.negative_cutoff) == (
        check.positive_cutoff,
        check.negative_cutoff,
    )
    assert other.stability is check.stability is None


def test_of_tied_scores_the_first_rows_are_suspects_in_any_order():
    """Rows with the same label and score cannot be told apart, so only their number is fixed."""
    labels = np.repeat([0, 1], 200)
    scores = np.where(labels, 0.9, 0.1)
    scores[:40] = 0.9
    scores[-30:] = 0.1
    rng = np.random.default_rng(0)
    check = check_labels(None, labels, probabilities=scores)
    assert check.n_suspects > 0
    for _ in range(5):
        order = rng.permutation(len(labels))
        other = check_labels(None, labels[order], probabilities=scores[order])
        assert other.tally == check.tally
        kinds = [
            sorted(zip(given_labels[found], given_scores[found], strict=True))
            for given_labels, given_scores, found in (
                (labels, scores, check.suspect_rows()),
                (labels[order], scores[order], other.suspect_rows()),
            )
        ]
        assert kinds[0] == kinds[1]


@settings(max_examples=20)
@given(st.permutations(range(4)))
def test_shuffled_columns_with_given_scores_give_the_same_answer(order):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    X, scores = rng.integers(0, 3, (200, 4)), np.clip(rng.normal(0.2 + 0.6 * labels, 0.2), 0, 1)
    check = check_labels(X, labels, probabilities=scores)
    other = check_labels(X[:, order], labels, probabilities=scores)
    assert other.duplicates == check.duplicates
    assert other.noise_rates == check.noise_rates
    assert other.intervals == check.intervals
    assert other.suspect_rows().tolist() == check.suspect_rows().tolist()


@pytest.mark.parametrize("scorer", [None, "with-trees", "committee"])
def test_fitted_scores_change_the_suspects_by_about_as_much_as_was_measured(scorer):
    """Twice the changes of the second scoring, plus 3 rows, are the margin."""
    X, truth = make_classification(600, n_informative=8, class_sep=2, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    check = check_labels(X, y, scorer=scorer)
    found = check.stability
    assert found is not None
    allowed = 2 * (found.n_suspects - found.n_stay + found.n_new) + 3
    assert allowed < check.n_suspects
    suspects = set(check.suspect_rows().tolist())
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    shuffled = check_labels(X[rows], y[rows], scorer=scorer)
    turned = check_labels(X[:, columns], y, scorer=scorer)
    assert len(suspects ^ set(rows[shuffled.suspect_rows()].tolist())) <= allowed
    assert len(suspects ^ set(turned.suspect_rows().tolist())) <= allowed
