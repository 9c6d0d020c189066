"""The iterations: worked out by hand, monotone, and the same whatever the order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune.annotators import Answers, annotator_report, consensus, next_rows
from rankprune.annotators._em import Design, class_prior, iterate, one_coin_step, pooled_confusion
from rankprune.annotators._methods import MODELS, fit_model, vote_start
from rankprune.annotators._scores import ScorePrior
from simulated_crowd import crowd, long

THREE_ROWS = Answers.from_wide([[1, 1], [1, 0], [0, 0]])
UNKNOWN = np.full(3, -1)


def counted(counts):
    """Return the M step without smoothing."""
    return counts / counts.sum(axis=2, keepdims=True), 0.0


def test_one_step_is_that_of_the_docstring():
    design = Design.of(THREE_ROWS, UNKNOWN)
    start = vote_start(THREE_ROWS, UNKNOWN, None)
    np.testing.assert_allclose(start[:, 1], [1, 0.5, 0], atol=1e-8)
    counts = design.counts(start)
    np.testing.assert_allclose(counts[0], [[1, 0.5], [0, 1.5]], atol=1e-8)
    fit = iterate(design, start, lambda c: (counted(c)[0] + 1e-12, 0.0), class_prior, max_iter=1)
    np.testing.assert_allclose(fit.confusion[0], [[2 / 3, 1 / 3], [0, 1]], atol=1e-8)
    np.testing.assert_allclose(fit.confusion[1], [[1, 0], [1 / 3, 2 / 3]], atol=1e-8)
    np.testing.assert_allclose(np.exp(fit.log_prior), [0.5, 0.5], atol=1e-8)
    np.testing.assert_allclose(fit.probabilities[1], [0.5, 0.5], atol=1e-8)
    # Row 0: 1/2 * 1 * 2/3 if it is 1, and 1/2 * 1/3 * 0 if it is 0.
    np.testing.assert_allclose(fit.probabilities[0], [0, 1], atol=1e-8)
    # Rows 0 and 2 have likelihood 1/3 each, row 1 has 1/2 * 1/3 twice.
    likelihood = fit.log_likelihoods[0] - np.log(0.5) * 2
    assert likelihood == pytest.approx(3 * np.log(1 / 3), abs=1e-6)
    assert not fit.converged


def test_one_coin_counts_correct_answers():
    design = Design.of(THREE_ROWS, np.array([1, 1, 0]))
    start = vote_start(THREE_ROWS, np.array([1, 1, 0]), None)
    # Ann is right 3 times of 3, Bob twice; 2 pseudo-answers with the accuracy 0.5.
    confusion, _ = one_coin_step(np.full((2, 2), 0.5), 2.0)(design.counts(start))
    np.testing.assert_allclose(confusion[0], [[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(confusion[1], [[0.6, 0.4], [0.4, 0.6]])


def test_classes_never_seen_have_the_identity_as_confusion():
    np.testing.assert_allclose(pooled_confusion(np.zeros((1, 2, 2))), np.eye(2))


tables = st.tuples(st.integers(2, 12), st.integers(2, 5), st.integers(2, 4)).flatmap(
    lambda size: st.tuples(
        st.lists(
            st.lists(
                st.one_of(st.none(), st.integers(0, size[2] - 1)),
                min_size=size[1],
                max_size=size[1],
            ),
            min_size=size[0],
            max_size=size[0],
        ),
        st.just(size[2]),
    )
)


def read(table, k):
    """Return the answers of a table of numbers, or None if it has none."""
    answers = Answers.from_wide(table, classes=list(range(k)))
    return answers if len(answers) else None


@settings(deadline=None)
@given(tables, st.sampled_from(MODELS), st.booleans(), st.booleans(), st.integers(0, 99))
def test_the_log_likelihood_never_falls(drawn, model, with_scores, with_gold, seed):
    table, k = drawn
    answers = read(table, k)
    if answers is None:
        return
    rng = np.random.default_rng(seed)
    n = len(answers.rows)
    known = np.where(rng.random(n) < 0.3, rng.integers(0, k, n), -1) if with_gold else [-1] * n
    known = np.asarray(known, dtype=np.intp)
    weight = rng.choice([0.5, 1.0], len(answers))
    prior = ScorePrior(rng.dirichlet(np.ones(k), n)) if with_scores else class_prior
    start = vote_start(answers, known, weight)
    design = Design.of(answers, known, weight)
    fit = fit_model(model, design, start, prior_step=prior, max_iter=30)
    assert np.diff(fit.log_likelihoods).min(initial=0.0) >= -1e-9 * len(answers)
    np.testing.assert_allclose(fit.probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(fit.confusion.sum(axis=2), 1)
    assert (fit.probabilities[known >= 0, known[known >= 0]] == 1).all()


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(["majority", "one-coin", "dawid-skene", "smoothed"]),
    st.integers(0, 10**6),
)
def test_permuted_rows_annotators_and_classes_permute_everything(method, seed):
    rng = np.random.default_rng(seed)
    n, m, k = 20, 4, 3
    table, _ = crowd([0.9, 0.7, 0.6, 0.8], n, k, seed)
    rows, who, names = rng.permutation(n), rng.permutation(m), rng.permutation(k)
    one = consensus(long(table, classes=list(range(k))), method=method, max_iter=20)
    changed = names[table[rows][:, who]]
    other = consensus(long(changed, classes=list(range(k))), method=method, max_iter=20)
    expected = np.empty_like(one.probabilities)
    expected[:, names] = one.probabilities[rows]
    np.testing.assert_allclose(other.probabilities, expected, atol=1e-6)
    for place, source in enumerate(who):
        estimate = one.annotators[source].accuracy.estimate
        assert other.annotators[place].accuracy.estimate == pytest.approx(estimate, abs=1e-6)
        for true in range(k):
            for said in range(k):
                cell = other.annotators[place].confusion[names[true]][names[said]].estimate
                assert cell == pytest.approx(
                    one.annotators[source].confusion[true][said].estimate, abs=1e-6
                )


@given(st.sampled_from([("a", "b", "c"), (1.5, 2.5, 3.5), (True, False, "maybe"), (0, "0", b"0")]))
def test_labels_of_any_type_give_the_same_probabilities(names):
    table, _ = crowd([0.9, 0.7, 0.6], 15)
    cells = np.empty(table.shape, dtype=object)
    for code, name in enumerate(names):
        cells[table == code] = name
    plain = consensus(long(table, classes=[0, 1, 2]), method="one-coin")
    named = consensus(Answers.from_wide(cells.tolist(), classes=list(names)), method="one-coin")
    np.testing.assert_allclose(named.probabilities, plain.probabilities)
    assert named.labels.tolist() == [names[code] for code in plain.labels]


def test_two_identical_answers_count_twice_and_duplicates_once_by_default():
    table, _ = crowd([0.8, 0.7, 0.75], 60)
    rows, who = np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60)
    twice = [np.concatenate([column, column]) for column in (rows, who, table.ravel())]
    once = consensus(long(table), method="smoothed")
    last = consensus(Answers.from_long(*twice), method="smoothed")
    every = consensus(Answers.from_long(*twice, duplicates="all"), method="smoothed")
    np.testing.assert_allclose(last.probabilities, once.probabilities)
    assert every.n_answers.tolist() == [6] * 60
    assert every.confidence.mean() > once.confidence.mean()


def test_scores_that_know_nothing_are_ignored():
    rng = np.random.default_rng(0)
    step = ScorePrior(rng.dirichlet(np.ones(2), 2000))
    targets = np.eye(2)[rng.integers(0, 2, 2000)]
    for _ in range(5):
        logits, _ = step(targets)
    np.testing.assert_allclose(np.exp(logits), 0.5, atol=0.1)


def test_overconfident_scores_are_made_modest():
    rng = np.random.default_rng(0)
    chance = rng.beta(1, 1, 5000)
    truth = (rng.random(5000) < chance).astype(int)
    logit = np.log(chance / (1 - chance))
    proud = 1 / (1 + np.exp(-3 * logit))
    step = ScorePrior(np.column_stack([1 - proud, proud]))
    for _ in range(10):
        logits, _ = step(np.eye(2)[truth])
    assert np.abs(np.exp(logits)[:, 1] - chance).mean() < 0.03


@settings(deadline=None)
@given(tables)
def test_every_table_has_a_consensus_with_intervals_that_hold_their_estimates(drawn):
    answers = read(*drawn)
    if answers is None:
        return
    found = consensus(answers)
    assert np.isfinite(found.probabilities).all()
    assert (found.confidence >= 1 / len(answers.classes) - 1e-9).all()
    for one in found.annotators:
        for interval in (one.accuracy, *(cell for row in one.confusion for cell in row)):
            assert 0 <= interval.low <= interval.estimate <= interval.high <= 1 + 1e-12
    assert len(next_rows(answers, 3, found=found)) == min(3, len(answers.rows))
    assert annotator_report(answers, found=found) == []
