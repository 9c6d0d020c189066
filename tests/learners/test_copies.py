"""Exact copies of rows: equal hashes, and a warning if copies in other folds may hide errors."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from rankprune import RankPruningClassifier, check_labels, check_table
from rankprune.exceptions import CopiedRowsWarning
from rankprune.learners import _copies
from rankprune.learners._copies import copies_in_training, hash_rows, warn_if_models_saw_copies
from rankprune.model import train_reviewed

N = 400
X, Y = make_classification(N, n_features=6, class_sep=2, flip_y=0, random_state=0)


def repeated(share, n_rows=N):
    """Row numbers of a table whose first rows are repeated at its end."""
    return np.concatenate([np.arange(n_rows), np.arange(round(share * n_rows))])


def warned(X, labels, counted=None):
    """The warnings about copies for three stratified folds."""
    labels = np.asarray(labels)
    counted = np.ones(len(labels), dtype=bool) if counted is None else counted
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    folds = splitter.split(np.zeros(len(labels)), labels)
    splits = [(train[counted[train]], test) for train, test in folds]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_models_saw_copies(X, splits, counted)
    return [str(warning.message) for warning in caught]


def labels_at_random(n_rows):
    return np.random.default_rng(0).integers(0, 2, n_rows)


# Hashes.


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.matrix,
        lambda X: X[:, :, None],
        lambda X: X.astype(np.float32),
        lambda X: X.astype(bool),
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        lambda X: X.astype(int),
        lambda X: [f"{a} {b}" for a, b in X],
        lambda X: np.asarray([f"{a} {b}" for a, b in X]),
        lambda X: [[a] if b else [a, b] for a, b in X.tolist()],
        lambda X: X.astype(np.int64) + 2**60,
        lambda X: np.asarray(X, dtype=object),
        lambda X: np.asarray(X, dtype=str),
        lambda X: X.astype("datetime64[s]"),
        pd.DataFrame,
        lambda X: pd.DataFrame(X).astype({0: "Int64", 1: "category"}),
        lambda X: pd.DataFrame({"a": X[:, 0], "b": ["one" if b else None for b in X[:, 1]]}),
        lambda X: pl.DataFrame({"a": X[:, 0], "b": ["one" if b else None for b in X[:, 1]]}),
        lambda X: pl.DataFrame({"a": X.tolist()}),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_equal_rows_of_any_kind_have_equal_hashes(convert):
    X = np.asarray([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    hashes = hash_rows(convert(X))
    assert hashes[0] == hashes[2]
    assert len(set(hashes.tolist())) == 3


small = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e300, np.inf, np.nan])


@given(arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=small))
def test_hashes_are_equal_exactly_where_rows_are(X):
    keys = [repr((row + 0.0).tolist()) for row in X]
    for table in (X, np.asfortranarray(X), sparse.csr_array(X), pd.DataFrame(X)):
        hashes = hash_rows(table).tolist()
        pairs = set(zip(keys, hashes, strict=True))
        assert len(pairs) == len(set(keys)) == len(set(hashes))
    np.testing.assert_array_equal(hash_rows(sparse.coo_array(X)), hash_rows(X))


def test_entries_of_a_sparse_cell_are_added_and_the_table_is_not_changed():
    split = sparse.csr_array(([1.0, 2.0, 3.0, 0.0], [0, 0, 0, 1], [0, 2, 4]), shape=(2, 2))
    first, second = hash_rows(split).tolist()
    assert first == second
    assert split.nnz == 4


def test_rows_are_hashed_in_blocks():
    wide = np.random.default_rng(0).integers(0, 2, (5, 2**17)).astype(np.int8)
    hashes = hash_rows(np.concatenate([wide, wide]))
    np.testing.assert_array_equal(hashes[:5], hashes[5:])
    assert len(set(hashes.tolist())) == 5


def test_a_copy_counts_if_the_model_was_fitted_to_it():
    group = np.asarray([0, 0, 1, 1, 2, 2])
    folds = np.asarray([0, 1, 3]), np.asarray([2, 4, 5])
    found = copies_in_training(group, [folds[::-1], folds])
    assert found.tolist() == [False, False, True, True, False, False]
    # The copy of row 2 is left out of the fit.
    found = copies_in_training(group, [folds[::-1], (folds[0][:2], folds[1])])
    assert found.tolist() == [False, False, False, True, False, False]


# The warning.


def test_fit_warns_once_at_the_line_that_called_it():
    rows = repeated(0.2)
    with pytest.warns(CopiedRowsWarning) as caught:
        RankPruningClassifier(random_state=0).fit(X[rows], Y[rows])
    (warning,) = caught
    assert warning.filename == __file__
    n_copied = int(str(warning.message).split()[0])
    assert 80 <= n_copied <= 160
    assert str(warning.message) == (
        f"{n_copied} of 480 rows have an exact copy in another fold that is unlikely to be chance. "
        "A model can repeat the label of the copy, so wrong labels may stay hidden. Drop the "
        "copies, or pass groups that keep all copies of a row in one fold."
    )


def test_nothing_is_warned_of_if_copies_stay_together():
    rows = repeated(1.0)
    model = RankPruningClassifier(random_state=0)
    model.fit(X[rows], Y[rows], groups=rows)
    model.fit(X[rows], Y[rows], groups=np.unique(X[rows], axis=0, return_inverse=True)[1])


def test_given_probabilities_are_not_from_these_folds():
    rows = repeated(1.0)
    scores = np.where(Y, 0.9, 0.1)[rows]
    RankPruningClassifier(random_state=0).fit(X[rows], Y[rows], probabilities=scores)
    labels = Y[rows].copy()
    labels[:40] = 1 - labels[:40]
    with pytest.warns(CopiedRowsWarning):
        RankPruningClassifier(rounds=2, random_state=0).fit(X[rows], labels, probabilities=scores)


def test_a_copy_of_weight_0_is_no_row():
    rows = repeated(1.0)
    weight = np.repeat([1.0, 0.0], N)
    RankPruningClassifier(random_state=0).fit(X[rows], Y[rows], sample_weight=weight)
    assert warned(X[rows], Y[rows], np.arange(2 * N) % N > 10)[0].split()[2] == str(2 * N - 22)


@pytest.mark.parametrize("share", [0.02, 0.1])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_real_tables_warn_if_many_rows_are_repeated(load, share):
    X, y = load(return_X_y=True)
    is_last = y == y.max()
    assert warned(X, is_last) == []
    # Some rows of iris, in which halves of rows are often equal, are not counted.
    picked = np.random.default_rng(0).permutation(len(X))
    rows = picked[repeated(share, len(X))]
    assert len(warned(X[rows], is_last[rows])) == (share > 0.05)


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_many_columns_are_read_only_if_a_few_repeat(share, monkeypatch):
    read = []
    hash_halves = _copies._hash_halves
    monkeypatch.setattr(_copies, "_hash_halves", lambda X: read.append(X.shape) or hash_halves(X))
    rows = repeated(share)
    wide = np.random.default_rng(0).normal(size=(N, 40))[rows]
    assert bool(warned(wide, labels_at_random(len(rows)))) == bool(read) == (share > 0.1)


def test_oversampled_positives_warn():
    rows = np.concatenate([np.flatnonzero(Y == 0), np.repeat(np.flatnonzero(Y)[:40], 5)])
    assert len(warned(X[rows], Y[rows])) == 1


CHANCE = np.random.default_rng(0)
CLUSTER = CHANCE.integers(0, 20, 2000)


@pytest.mark.parametrize(
    "X",
    [
        CHANCE.integers(0, 2, (500, 1)),
        CHANCE.normal(size=(2000, 1)).round(2),
        CHANCE.normal(size=(2000, 2)).round(1),
        CHANCE.integers(0, 10, (1000, 3)),
        *(CHANCE.integers(0, 2, (1000, n_columns)) for n_columns in range(2, 16)),
        # Columns that depend on each other.
        (CHANCE.random((2000, 20)) < CHANCE.beta(0.3, 0.3, (20, 20))[CLUSTER]).astype(float),
        CHANCE.integers(18, 80, (2000, 1)) ** np.arange(4),
        # Many empty rows.
        CHANCE.normal(size=(1000, 8)) * (CHANCE.random((1000, 1)) < 0.6),
        np.zeros((100, 0)),
        # Too few rows to judge.
        np.repeat(CHANCE.normal(size=(20, 4)), 2, axis=0),
    ],
    ids=lambda X: "x".join(map(str, X.shape)),
)
def test_copies_by_chance_are_no_reason_to_warn(X):
    labels = labels_at_random(len(X))
    assert warned(X, labels) == []
    assert warned(sparse.csr_array(X), labels) == []


def test_copies_are_found_among_many_empty_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 8)) * (rng.random((1000, 1)) < 0.6)
    rows = repeated(0.2, 1000)
    (message,) = warned(X[rows], labels_at_random(1200))
    assert 100 < int(message.split()[0]) < 240


def as_mixed(X):
    """Columns of a frame: numbers, missing ones, categories and dates."""
    return {
        "number": X[:, 0],
        "text": [None if x < -1 else f"{x:.6f}" for x in X[:, 1]],
        "day": (X[:, 2] * 1000).astype("datetime64[D]"),
        "flag": X[:, 3] > 0,
    }


@pytest.mark.parametrize(
    "convert",
    [
        sparse.csr_array,
        sparse.coo_matrix,
        pd.DataFrame,
        pl.DataFrame,
        lambda X: pd.DataFrame(as_mixed(X)),
        lambda X: pd.DataFrame(as_mixed(X)).convert_dtypes(),
        lambda X: pl.DataFrame(as_mixed(X)),
        lambda X: pd.DataFrame(as_mixed(X)).to_numpy(),
        lambda X: X.reshape(len(X), 2, 3),
    ],
)
def test_tables_of_every_kind_are_compared(convert):
    rows = repeated(0.2)
    assert warned(convert(X), Y) == []
    assert warned(convert(X[rows]), Y[rows]) == warned(X[rows], Y[rows])


def sentences(n_rows, n_words=12, seed=0):
    """Texts of a few hundred common words, and labels."""
    rng = np.random.default_rng(seed)
    words = np.asarray([f"word{i}" for i in range(300)])
    return [" ".join(rng.choice(words, n_words)) for _ in range(n_rows)]


@pytest.mark.parametrize(
    "convert",
    [
        list,
        np.asarray,
        lambda texts: np.asarray(texts, dtype=object),
        lambda texts: np.asarray(texts, dtype=object)[:, None],
        lambda texts: list(np.asarray(texts)),
        pd.Series,
        lambda texts: pd.Series(texts, dtype=object),
        lambda texts: pd.Series(texts).to_frame(),
        pl.Series,
        lambda texts: pl.DataFrame({"text": texts}),
    ],
)
def test_texts_are_compared(convert):
    texts, labels = sentences(N), labels_at_random(N)
    assert warned(convert(texts), labels) == []
    rows = repeated(0.2)
    again = [texts[row] for row in rows]
    assert warned(convert(again), labels[rows]) == warned(X[rows], labels[rows])


def test_missing_texts_are_no_copies():
    texts = [None if i % 3 == 0 else text for i, text in enumerate(sentences(N))]
    for holed in (texts, pd.Series(texts), pd.Series(texts, dtype=object).fillna(np.nan)):
        assert warned(holed, Y) == []


def test_a_text_beside_other_columns_is_compared():
    rows = repeated(0.2)
    frame = pd.DataFrame({"kind": np.arange(N) % 3, "text": sentences(N), "x": X[:, 0].round(1)})
    assert warned(frame, Y) == []
    assert warned(frame.iloc[rows], Y[rows]) == warned(X[rows], Y[rows])


NUMBERS = CHANCE.integers(0, 500, 1000)


@pytest.mark.parametrize(
    "texts",
    [
        # Single words, names of a few words, few words to combine, and one half that is a phrase.
        [f"word{i}" for i in CHANCE.integers(0, 500, 1000)],
        [f"New City {i}" for i in CHANCE.integers(0, 500, 1000)],
        [" ".join(words) for words in CHANCE.choice(["a", "b", "c", "d"], (1000, 5))],
        [
            f"Dear Sir or Madam, your order {i} has been shipped"
            for i in CHANCE.integers(0, 500, 1000)
        ],
        # A few texts that many people write.
        [
            ["yes, that is right", "no, not at all", "I do not know"][i]
            for i in CHANCE.integers(0, 3, 900)
        ],
    ],
    ids=["words", "names", "combinations", "phrases", "answers"],
)
def test_texts_that_are_equal_by_chance_are_no_reason_to_warn(texts):
    labels = labels_at_random(len(texts))
    assert warned(texts, labels) == []
    assert warned(pd.DataFrame({"text": texts}), labels) == []


def test_spaces_are_part_of_a_text():
    first, *others = hash_rows(["a b c d", "a b  c d", "a b c d ", " a b c d", "a b\nc d e"])
    assert first not in others
    assert len(set(others)) == 4


class Unreadable:
    """Rows that must not be read."""

    def __len__(self):
        return 2 * N

    def __array__(self, *_, **__):
        raise AssertionError

    __getitem__ = __array__


@pytest.mark.parametrize(
    "X",
    [
        [*["a text of some words"] * (2 * N - 1), ["a", "list"]],
        X[:, 0][repeated(1.0)],
        pd.Series([[1, 2]] * 2 * N),
        X[repeated(1.0)].tolist(),
        [object()] * 2 * N,
        pd.DataFrame({"a": [[1, 2]] * 2 * N, "b": 1}),
        pl.DataFrame({"a": [[1, 2]] * 2 * N}),
        pl.DataFrame({"a": [[1, 2]] * 2 * N}, schema={"a": pl.Array(pl.Int64, 2)}),
        pd.DataFrame(index=range(2 * N)),
        Unreadable(),
    ],
    ids=lambda X: type(X).__name__,
)
def test_inputs_that_are_slow_to_compare_are_not(X):
    assert warned(X, Y[repeated(1.0)]) == []


@pytest.mark.parametrize("convert", [list, pd.Series, lambda texts: np.asarray(texts, object)])
def test_fit_warns_of_texts_in_a_pipeline(convert):
    texts = [f"{'good' if y else 'bad'} {text}" for y, text in zip(Y, sentences(N), strict=True)]
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    RankPruningClassifier(learner, random_state=0).fit(convert(texts), Y)
    rows = repeated(0.2)
    with pytest.warns(CopiedRowsWarning, match="of 480 rows have an exact copy"):
        RankPruningClassifier(learner, random_state=0).fit(
            convert([texts[row] for row in rows]), Y[rows]
        )


def test_texts_and_mixed_frames_fit():
    words = np.asarray(["good", "bad"])[1 - Y]
    texts = [f"{word} {number % 7}" for number, word in enumerate(words)] * 2
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    RankPruningClassifier(learner, random_state=0).fit(texts, np.tile(Y, 2))
    frame = pd.DataFrame({"word": words, "x": X[:, 0], "z": X[:, 1]}).iloc[repeated(0.5)]
    encoder = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    learner = make_pipeline(encoder, LogisticRegression())
    with pytest.warns(CopiedRowsWarning):
        RankPruningClassifier(learner, random_state=0).fit(frame, Y[repeated(0.5)])


def test_checks_report_copies_without_a_warning():
    rows = repeated(0.5)
    check = check_labels(X[rows], Y[rows], scorer=None)
    assert check.duplicates.n_rows == N
    assert check.duplicates.n_straddling > 0
    frame = pd.DataFrame(X[rows], columns=list("abcdef")).assign(label=Y[rows])
    check = check_table(frame, "label", scorer=None)
    assert check.duplicates.n_rows == N
    # Training with settled labels scores the rows again, but reports nothing twice.
    settled = np.asarray([0, 1])
    assert train_reviewed(check, settled, Y[settled] == 1, frame).n_trusted == 2
