"""Rows of many classes that need not be in memory: batches of any kind change no result."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankprune import NoiseMatrix, estimate_noise_rates, prune_labels, stream
from rankprune.core import ClassMarker, ClassState
from rankprune.core.classes import _class_state
from rankprune.exceptions import ClassAlmostEmptiedWarning, UninformativeProbabilitiesWarning
from streamed_rows import in_batches

NAMES = np.array(["ant", "bee", "cow", "dog", "eel", "fly"])


def noisy_rows(n_rows, k, seed=0, *, tied=False, dtype=np.float64):
    """Return labels with every class, a fifth of them wrong, and scores."""
    random = np.random.default_rng(seed)
    truth = random.permutation(np.arange(n_rows) % k)
    labels = np.where(random.random(n_rows) < 0.2, random.integers(0, k, n_rows), truth)
    labels[:k] = np.arange(k)
    parts = random.integers(0, 3, (n_rows, k)) if tied else random.random((n_rows, k))
    parts[np.arange(n_rows), truth] += 2
    return labels, (parts / parts.sum(axis=1, keepdims=True)).astype(dtype)


def whole(labels, scores, **options):
    matrix = estimate_noise_rates(labels, scores, **options)
    return matrix, prune_labels(labels, scores, matrix)


def assert_same(pruning, expected):
    matrix, pruned = expected
    assert pruning.noise_rates == matrix
    for name in ("cutoffs", "n_pruned", "classes"):
        np.testing.assert_array_equal(getattr(pruning, name), getattr(pruned, name))
    np.testing.assert_array_equal(pruning.mask(), pruned.mask)
    np.testing.assert_array_equal(np.concatenate(list(pruning.masks())), pruned.mask)


@pytest.fixture(scope="module")
def rows():
    labels, scores = noisy_rows(3000, 5)
    return NAMES[labels], scores


@pytest.fixture(scope="module")
def expected(rows):
    return whole(*rows)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(3, 6),
    st.lists(st.integers(0, 60), max_size=4),
    st.sampled_from([1, 2]),
    st.booleans(),
    st.sampled_from([1, 7, 1 << 20]),
)
def test_batches_in_any_partition_give_the_result_in_memory(seed, k, cuts, n_jobs, tied, copied):
    labels, scores = noisy_rows(60, k, seed, tied=tied, dtype=[np.float32, np.float64][seed % 2])
    batches = list(zip(np.split(labels, sorted(cuts)), np.split(scores, sorted(cuts)), strict=True))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", ClassAlmostEmptiedWarning)
        warnings.simplefilter("ignore", UninformativeProbabilitiesWarning)
        patch.setattr(_class_state, "_MAX_COPIED", copied)
        matrix, pruned = whole(labels, scores)
        assert stream.estimate_noise_rates(batches, n_jobs=n_jobs) == matrix
        assert_same(stream.prune_labels(batches, n_jobs=n_jobs), (matrix, pruned))
        found = stream.prune_labels(batches, matrix, n_jobs=n_jobs)
        assert_same(found, (matrix, pruned))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.permutations(range(4)))
def test_permuting_classes_permutes_everything(seed, order):
    labels, scores = noisy_rows(120, 4, seed)
    plain = stream.prune_labels(in_batches(labels, scores, 50))
    batches = in_batches(labels, scores[:, order], 50)
    moved = stream.prune_labels(batches, classes=order)
    assert np.array_equal(moved.mask(), plain.mask())
    assert np.array_equal(moved.cutoffs, plain.cutoffs[list(order)], equal_nan=True)
    assert np.array_equal(
        moved.noise_rates.joint, plain.noise_rates.joint[np.ix_(list(order), list(order))]
    )


class TestSources:
    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_a_function_is_called_for_each_pass(self, rows, expected, n_jobs):
        calls = []

        def batches():
            calls.append(1)
            held = [np.empty(500, rows[0].dtype), np.empty((500, 5))]
            for part in in_batches(*rows, 500):
                for mine, theirs in zip(held, part, strict=True):
                    mine[:] = theirs  # whoever makes batches may reuse memory
                yield tuple(held)

        pruning = stream.prune_labels(batches, n_jobs=n_jobs)
        assert len(calls) == pruning.n_passes == 3
        assert pruning.n_rows == 3000
        assert_same(pruning, expected)
        calls.clear()
        assert stream.estimate_noise_rates(batches, n_jobs=n_jobs) == expected[0]
        assert len(calls) == 2

    def test_two_arrays_memory_maps_and_iterators(self, rows, expected, tmp_path, monkeypatch):
        monkeypatch.setattr("rankprune.stream._sources._BATCH_ROWS", 700)
        assert_same(stream.prune_labels(rows, n_jobs=2), expected)
        np.save(tmp_path / "scores.npy", rows[1])
        mapped = rows[0], np.load(tmp_path / "scores.npy", mmap_mode="r")
        assert_same(stream.prune_labels(mapped), expected)
        for size in (100, 5000):
            batches = iter([([], []), *in_batches(*rows, size), (rows[0][:0], rows[1][:0])])
            assert stream.estimate_noise_rates(batches) == expected[0]
        with pytest.raises(TypeError, match="takes another pass; got an iterator"):
            stream.prune_labels(iter([]))

    def test_labels_may_appear_late_or_be_named(self, rows, expected):
        order = np.argsort(rows[0], kind="stable")
        labels, scores = rows[0][order], rows[1][order]
        batches = [([], []), *in_batches(labels, scores, 200)]
        found = stream.prune_labels(batches)
        assert found.noise_rates == expected[0]
        np.testing.assert_array_equal(found.mask(), whole(labels, scores)[1].mask)
        named = stream.prune_labels(batches, classes=NAMES[:5])
        assert named.noise_rates == expected[0]
        # A class may lack labels if it is named.
        few = labels != "eel"
        batches = in_batches(labels[few], scores[few], 200)
        found = stream.estimate_noise_rates(batches, classes=NAMES[:5])
        assert found == estimate_noise_rates(labels[few], scores[few], classes=NAMES[:5])
        assert found.uncounted == ("eel",)
        with pytest.raises(ValueError, match="5 columns for 4 different labels: 'ant', 'bee'"):
            stream.estimate_noise_rates(batches)

    def test_masks_are_written_as_they_are_computed(self, rows, expected, tmp_path):
        pruning = stream.prune_labels(in_batches(*rows, 800))
        np.testing.assert_array_equal(
            np.load(pruning.write_mask(tmp_path / "mask.npy")), expected[1].mask
        )
        with pytest.raises(ValueError, match="out must be a writable boolean array"):
            pruning.mask(np.zeros(3, dtype=bool))

    @pytest.mark.parametrize("suffix", ["parquet", "arrow"])
    def test_files_have_a_column_for_each_class(self, rows, expected, tmp_path, suffix):
        pytest.importorskip("duckdb")
        pa = pytest.importorskip("pyarrow")
        import polars as pl

        columns = [f"p {name}" for name in NAMES[:5]]
        table = {"s": rows[0], **dict(zip(columns, rows[1].T, strict=True))}
        path = tmp_path / f"scores.{suffix}"
        if suffix == "parquet":
            pl.DataFrame(table).write_parquet(path)
        else:
            held = pa.table(table)
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, held.schema) as writer:
                writer.write_table(held, max_chunksize=800)
        source = stream.read_scores(path, "s", columns, batch_rows=1000)
        assert_same(stream.prune_labels(source), expected)
        assert next(iter(stream.read_scores(path, "s", columns)))[1].shape[1] == 5
        with pytest.raises(ValueError, match="columns 's', 'p ant' and 'none'"):
            list(stream.read_scores(path, "s", ["p ant", "none"]))

    def test_missing_scores_in_a_file_are_named(self, tmp_path):
        pytest.importorskip("duckdb")
        import polars as pl

        table = {"s": [0, 1, 2], "a": [0.2, None, 0.4], "b": [0.4] * 3, "c": [0.4] * 3}
        pl.DataFrame(table).write_parquet(tmp_path / "t.parquet")
        source = stream.read_scores(tmp_path / "t.parquet", "s", ["a", "b", "c"])
        with pytest.raises(ValueError, match="probabilities must not be missing; row 1 is masked"):
            stream.estimate_noise_rates(source)
        with pytest.raises(ValueError, match="a column for each of two or more classes"):
            stream.read_scores(tmp_path / "t.parquet", "s", ["a"])
        with pytest.raises(TypeError, match="probability must be the name of a column, got int"):
            stream.read_scores(tmp_path / "t.parquet", "s", ["a", 3])


def test_two_columns_give_what_the_positive_one_gives():
    labels, scores = noisy_rows(2000, 2)
    column = np.ascontiguousarray(scores[:, 1])
    names = np.array(["no", "yes"])[labels]
    for given_labels, options, positive in (
        (labels, {}, column),
        (names, {}, column),
        (names, {"classes": ["no", "yes"]}, column),
        (names, {"pos_label": "no"}, np.ascontiguousarray(scores[:, 0])),
    ):
        pos_label = options.get("pos_label")
        rates = estimate_noise_rates(given_labels, positive, pos_label=pos_label)
        mask = prune_labels(given_labels, positive, rates, pos_label=pos_label).mask
        batches = in_batches(given_labels, scores, 300)
        assert stream.estimate_noise_rates(batches, **options) == rates
        assert stream.estimate_noise_rates(iter(batches), **options) == rates
        for noise in (None, rates):
            pruning = stream.prune_labels(batches, noise, n_jobs=2, **options)
            np.testing.assert_array_equal(pruning.mask(), mask)
    backwards = stream.prune_labels(in_batches(labels, scores[:, ::-1], 300), classes=[1, 0])
    np.testing.assert_array_equal(backwards.mask(), stream.prune_labels((labels, column)).mask())
    with pytest.raises(ValueError, match="pos_label must be one of the two label values"):
        stream.estimate_noise_rates(batches, pos_label="perhaps")
    matrix = NoiseMatrix([[0.4, 0.1], [0.1, 0.4]], classes=[0, 1])
    found = stream.prune_labels((labels, scores), matrix)
    np.testing.assert_array_equal(found.mask(), prune_labels(labels, scores, matrix).mask)


LABELS = ["a", "b", "c"] * 4
SCORES = 0.7 * np.eye(3)[[0, 1, 2] * 4] + 0.1


def changed(row, column, value):
    scores = SCORES.copy()
    scores[row, column] = value
    return scores


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": changed(1, 2, np.nan)}, "row 1 of a batch holds nan in column 2"),
        ({"scores": changed(2, 0, -0.1)}, "row 2 of a batch holds -0.1 in column 0"),
        ({"scores": changed(2, 1, 0.6)}, "row 2 of a batch has a sum of 1.5"),
        ({"scores": SCORES[:, :2]}, "got 2 columns for 3 different labels: 'a', 'b', 'c'"),
        ({"scores": SCORES[:, 0]}, "labels must be 0 or 1 in every batch"),
        ({"scores": SCORES[:5]}, "got 5 rows for 12 labels"),
        ({"scores": SCORES.astype(complex)}, "must be real numbers"),
        ({"labels": [*"abcabc", None, *"bcabc"]}, "labels must not be missing; row 6 holds None"),
        ({"labels": ["a"] * 12}, "got one class only: ['a']"),
        ({"labels": ["a", "b"] * 6}, "got 3 columns for 2 different labels"),
        ({"labels": [0.5, 1.5, 2.5] * 4}, "continuous values"),
        ({"classes": list("abd")}, "row 2 of a batch holds 'c'. Add it to classes"),
        ({"classes": list("abcd")}, "got 3 columns for 4 classes"),
        ({"classes": list("aba")}, "got 'a' more than once"),
        ({"classes": ["a"]}, "must hold at least two values"),
        ({"pos_label": "a"}, "pos_label must be None for more than two classes"),
        ({"method": "tight"}, "method must be one of ['confident-counts'"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
    ],
)
@pytest.mark.parametrize("as_iterator", [False, True])
def test_errors_are_those_in_memory(change, message, as_iterator):
    options = dict(change)
    batch = options.pop("labels", LABELS), options.pop("scores", SCORES)
    batches = [batch]
    with pytest.raises(ValueError, match=r".") as caught:
        stream.estimate_noise_rates(iter(batches) if as_iterator else batches, **options)
    assert message in str(caught.value)


def test_classes_need_a_column_each():
    with pytest.raises(ValueError, match="classes must be None unless probabilities have one"):
        stream.estimate_noise_rates([(LABELS, SCORES[:, 0])], classes=list("abc"))
    with pytest.raises(ValueError, match="two-dimensional, one column per class"):
        stream.estimate_noise_rates(iter([(LABELS, SCORES[:, 0])]), classes=list("abc"))
    with pytest.raises(ValueError, match="classes must be None unless probabilities have one"):
        stream.estimate_noise_rates([], classes=list("abc"))


def test_other_errors(rows, expected):
    strange = [(rows[0], rows[1]), (["gnu"], rows[1][:1])]
    with pytest.raises(ValueError, match="got 5 columns for 6 different labels: 'ant', "):
        stream.estimate_noise_rates(strange)
    wide = [(rows[0], rows[1]), (["ant"], [[0.5, 0.5]])]
    with pytest.raises(ValueError, match="got 2 columns for 5 different labels"):
        stream.estimate_noise_rates(wide)
    with pytest.raises(ValueError, match="same columns in every batch, got 2 columns after 5"):
        stream.estimate_noise_rates(iter(wide))
    with pytest.raises(ValueError, match="got 2999 rows for 3000 labels"):
        stream.estimate_noise_rates((rows[0], rows[1][1:]))
    for empty in ([], [([], [])], [([], np.empty((0, 3)))], iter([([], np.empty((0, 3)))])):
        with pytest.raises(ValueError, match="at least one row"):
            stream.estimate_noise_rates(empty)
    with pytest.raises(ValueError, match="at least one row"):
        stream.prune_labels([], expected[0])
    with pytest.raises(ValueError, match="two-dimensional, one column per class"):
        stream.prune_labels((rows[0], rows[1][:, 0]), expected[0])
    with pytest.raises(TypeError, match="noise_rates must be a NoiseMatrix for 5 classes"):
        stream.prune_labels(rows, expected[0].one_vs_rest("ant"))
    with pytest.raises(TypeError, match="noise_rates must be NoiseRates, got dict"):
        stream.prune_labels(rows, {})
    with pytest.raises(ValueError, match="classes must be those of noise_rates"):
        stream.prune_labels(rows, expected[0], classes=NAMES[:5][::-1])
    with pytest.raises(ValueError, match="pos_label must be None for more than two classes"):
        stream.prune_labels(rows, expected[0], pos_label="ant")
    with pytest.raises(ValueError, match=r"labels must be one-dimensional .* got shape \(\)"):
        stream.estimate_noise_rates([(3, rows[1])])
    with pytest.raises(TypeError, match=r"pairs .* got int"):
        stream.estimate_noise_rates([rows, 3])


def test_rows_that_differ_between_passes_are_refused(rows):
    left = [3000, 2000]

    def batches():
        n_rows = left.pop(0)
        yield rows[0][:n_rows], rows[1][:n_rows]

    with pytest.raises(ValueError, match="got 3000 rows in the first and 2000 later"):
        stream.estimate_noise_rates(batches)


def test_scores_that_say_nothing_warn_and_prune_nothing():
    labels = np.arange(300) % 3
    with pytest.warns(UninformativeProbabilitiesWarning):
        pruning = stream.prune_labels([(labels, np.full((300, 3), 1 / 3))])
    assert not pruning.noise_rates.reliable
    assert not pruning.mask().any()


class TestState:
    def test_states_merge_and_are_sent(self, rows, expected):
        state = ClassState(NAMES[:5])
        batches = in_batches(*rows, 700)
        while not state.is_done:
            sent = [pickle.dumps(state.empty().update(*batch).forget()) for batch in batches]
            for one in reversed(sent):
                state = state.merge(pickle.loads(one))
            state = state.after_pass()
        assert state.matrix() == expected[0]
        marker = ClassMarker(state.cutoffs(), state.classes)
        masks = [marker.mark_batch(*batch) for batch in batches]
        np.testing.assert_array_equal(np.concatenate(masks), expected[1].mask)

    def test_what_is_not_known_yet_is_refused(self, rows):
        state = ClassState(NAMES[:5], prunes=False)
        with pytest.raises(ValueError, match="The matrix is not known yet"):
            state.matrix()
        first = state.update(*rows).after_pass()
        with pytest.raises(ValueError, match="same pass, method and classes to merge"):
            state.merge(first)
        done = first.update(*rows).after_pass()
        assert done.is_done
        with pytest.raises(ValueError, match="The cut-offs are not known"):
            done.cutoffs()
        with pytest.raises(ValueError, match="done and accepts no more rows"):
            done.update(*rows)
        with pytest.raises(ValueError, match="The cut-offs are not known"):
            ClassState(NAMES[:5]).cutoffs()
