"""What queries must give on every database: the tests of one, and the rows they run on.

A database here has a ``dialect``, makes a table with ``load(name, {column: (type, values)})``, and
returns the rows of a query with ``rows(query)``. A type is ``float64``, ``float32``, ``int``,
``bool``, ``text`` or ``decimal`` (three decimals); a name is a tuple of parts, or a single one.
"""

import warnings
from decimal import Decimal

import numpy as np
import pytest

from rankprune import (
    NoiseRates,
    ScoreSketch,
    estimate_noise_rates,
    prune_labels,
    stream,
)
from rankprune.core.counting._bins import EDGES
from rankprune.exceptions import RankPruneWarning
from rankprune.sql import prune_query, sketch_query
from streamed_rows import noisy_rows

TINY = [0.0, -0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-17, 2.0**-33, 2.0**-32]
HALF = [0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 0.25, 0.75, 1 / 3]
# Halfway between two whole numbers of the unit of sums, and beside it.
UNITS = [1.5 * 2.0**-30, np.nextafter(1.5 * 2.0**-30, 0), 2.0**-31, 1 - 2.0**-31]
ENDS = [1.0, np.nextafter(1, 0), 1 - 2.0**-33, 1 - 2.0**-32, 0.1, 0.9]
EDGE_SCORES = np.concatenate(
    [TINY, HALF, UNITS, ENDS, EDGES, np.nextafter(EDGES, 0), np.nextafter(EDGES, 1)]
)


def edges(dtype):
    """Return rows of both labels at and beside every edge of the bins."""
    scores = EDGE_SCORES.astype(dtype)
    return np.tile([1, 0, 0, 1, 1], len(scores))[: 2 * len(scores)], np.tile(scores, 2)


def spread():
    return noisy_rows(2000, seed=3)


def ties():
    labels, scores = noisy_rows(2000, seed=4)
    return labels, np.round(scores, 1)


def signed_zeros():
    """Return rows that tie at 0, half of them at -0.0."""
    labels, scores = noisy_rows(400, seed=5)
    scores = np.round(scores, 1)
    scores[::3], scores[1::3] = 0.0, -0.0
    return labels, scores


def constant():
    return noisy_rows(200, seed=6)[0], np.full(200, 0.3)


def zeros_and_ones():
    labels, scores = noisy_rows(500, seed=7)
    return labels, np.round(scores)


def one_bin():
    labels, scores = noisy_rows(500, seed=8)
    return labels, 0.9 + scores * 1e-9


def float32():
    labels, scores = noisy_rows(500, seed=9)
    return labels, scores.astype(np.float32)


ROWS = (spread, ties, signed_zeros, constant, zeros_and_ones, one_bin, float32)
RATES = {
    "estimated": lambda prevalence: None,
    "known": lambda prevalence: NoiseRates.from_noise_rates(0.3, 0.05, prevalence),
    "one class": lambda prevalence: NoiseRates.from_label_error_rates(
        0.4, 0.0, observed_prevalence=prevalence
    ),
    "nearly all": lambda prevalence: NoiseRates.from_label_error_rates(
        0.001, 0.9985, observed_prevalence=prevalence
    ),
    "nothing": lambda prevalence: NoiseRates.from_label_error_rates(
        0.0, 0.0, observed_prevalence=prevalence
    ),
}
QUOTES = ['"', "'", "`", "\\", '\\"', "\\'", "\\`", '""', "``", "*/"]
PAIRS = [
    (1, 0, "int"),
    (0, 1, "int"),
    (-7, 12, "int"),
    (True, False, "bool"),
    (np.bool_(False), np.bool_(True), "bool"),
    (1.0, 0.0, "float64"),
    (np.float64(0.1), 0.30000000000000004, "float64"),
    ("yes", "no", "text"),
    ("it's", 'a "quote"', "text"),
    ("\\", "\\\\", "text"),
    ("'; DROP TABLE victims; --", "\\'; DROP TABLE victims; --", "text"),
    ("${spark.app.name}", "$x %s :y {z}", "text"),
    ("", " ", "text"),
    ("straße\n\ttwo", "Straße", "text"),
]


def quietly(function, *arguments, **keywords):
    """Call a function without rankprune's own warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankPruneWarning)
        return function(*arguments, **keywords)


def plain(values):
    """Return values as Python's own; labels that are booleans as whole numbers."""
    values = np.asarray(values)
    return (values.astype(int) if values.dtype == bool else values).tolist()


def load(database, labels, scores, *, name="scores", order=None):
    """Make a table with the columns id, s and g, stored in another order than its ids."""
    order = np.random.default_rng(0).permutation(len(labels)) if order is None else order
    kind = "float32" if scores.dtype == np.float32 else "float64"
    database.load(
        name,
        {
            "id": ("int", plain(order)),
            "s": ("int", plain(labels[order])),
            "g": (kind, plain(scores[order])),
        },
    )


def sketch_from(database, table="scores", label="s", probability="g", **values):
    query = sketch_query(table, label, probability, database.dialect, **values)
    return ScoreSketch.from_counts(database.rows(query))


def dropped_by(database, sketch, key="id", **keywords):
    """Return the first key of the rows to drop, sorted."""
    query = prune_query("scores", "s", "g", key, sketch, database.dialect, **keywords)
    return sorted(int(row[0]) for row in database.rows(query))


def assert_as_in_memory(database, labels, scores):
    """Assert that memory, batches and the database give the same sketch, rates and mask."""
    load(database, labels, scores)
    sketch = sketch_from(database)
    assert sketch == ScoreSketch.from_rows(labels, scores)
    rates = quietly(estimate_noise_rates, labels, scores)
    assert quietly(estimate_noise_rates, sketch) == rates
    mask = quietly(prune_labels, labels, scores, rates).mask
    batches = [(labels[:7], scores[:7]), (labels[7:], scores[7:])]
    streamed = quietly(stream.prune_labels, batches)
    assert streamed.noise_rates == rates
    np.testing.assert_array_equal(streamed.mask(), mask)
    assert quietly(dropped_by, database, sketch) == np.flatnonzero(mask).tolist()


class EveryDatabase:
    """The tests of a database, which a fixture named ``database`` gives."""

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_edges_and_their_neighbours_give_the_sketch_of_memory(self, database, dtype):
        labels, scores = edges(dtype)
        load(database, labels, scores)
        assert sketch_from(database) == ScoreSketch.from_rows(labels, scores)

    @pytest.mark.parametrize("rows", ROWS, ids=lambda rows: rows.__name__)
    def test_sketch_rates_and_rows_are_those_of_memory_and_batches(self, database, rows):
        assert_as_in_memory(database, *rows())

    @pytest.mark.parametrize("rates", RATES)
    @pytest.mark.parametrize("rows", [spread, ties, signed_zeros], ids=lambda rows: rows.__name__)
    def test_as_many_rows_go_as_in_memory_and_ties_go_by_key(self, database, rows, rates):
        labels, scores = rows()
        load(database, labels, scores)
        known = RATES[rates](labels.mean())
        used = known or quietly(estimate_noise_rates, labels, scores)
        expected = quietly(prune_labels, labels, scores, used).mask
        found = quietly(dropped_by, database, sketch_from(database), noise_rates=known)
        assert found == np.flatnonzero(expected).tolist()
        assert (len(found) > 0) == (rates != "nothing")

    def test_a_key_of_several_columns_is_sorted_by_all_of_them(self, database):
        labels, scores = ties()
        places = np.random.default_rng(1).permutation(len(labels))
        number = plain(places)
        columns = {
            "part": ("text", [f"p{place // 100:02d}" for place in number]),
            "the id": ("int", number),
            "s": ("int", plain(labels[places])),
            "g": ("float64", plain(scores[places])),
        }
        database.load("scores", columns)
        sketch = sketch_from(database)
        expected = prune_labels(labels, scores, estimate_noise_rates(sketch)).mask
        keys = ("part", "the id")
        rows = database.rows(prune_query("scores", "s", "g", keys, sketch, database.dialect))
        assert sorted(int(number) for _, number in rows) == np.flatnonzero(expected).tolist()
        assert all(part == f"p{int(number) // 100:02d}" for part, number in rows)

    @pytest.mark.parametrize(("positive", "negative", "kind"), PAIRS, ids=map(repr, PAIRS))
    def test_labels_of_any_two_values(self, database, positive, negative, kind):
        values = [
            one.item() if isinstance(one, np.generic) else one for one in (positive, negative)
        ]
        given = [values[0], values[1], values[0], values[1]]
        scores = [0.9, 0.2, 0.3, 0.8]
        database.load("scores", {"s": (kind, given), "g": ("float64", scores)})
        sketch = sketch_from(database, pos_label=positive, neg_label=negative)
        assert sketch == ScoreSketch().update([1, 0, 1, 0], scores)

    @pytest.mark.parametrize(
        "bad",
        [(None, 0.5), (2, 0.5), (None, None), (1, None)]
        + [(0, bad) for bad in (np.nan, np.inf, -np.inf, 1 + 2**-52, -5e-324, 1.7e308)],
        ids=str,
    )
    def test_other_labels_and_scores_come_back_and_are_refused(self, database, bad):
        labels, scores = zip((1, 0.9), (0, 0.2), bad, bad, strict=True)
        database.load("scores", {"s": ("int", labels), "g": ("float64", scores)})
        with pytest.raises(ValueError, match=r"2 rows of the table have other values, or none\. L"):
            sketch_from(database)

    def test_decimals_are_the_floats_nearest_to_them(self, database):
        numbers = np.arange(1001)
        scores = [Decimal(number) / 1000 for number in numbers.tolist()]
        database.load("scores", {"s": ("int", plain(numbers % 2)), "g": ("decimal", scores)})
        assert sketch_from(database) == ScoreSketch.from_rows(numbers % 2, numbers / 1000)

    def test_an_empty_table_gives_an_empty_sketch(self, database):
        database.load("scores", {"s": ("int", []), "g": ("float64", [])})
        assert sketch_from(database) == ScoreSketch()

    @pytest.mark.parametrize("quote", QUOTES)
    def test_hostile_names_are_only_names(self, database, quote):
        labels, scores = ties()
        database.load("victims", {"id": ("int", [1])})
        hostile = f"x{quote}; DROP TABLE victims; --"
        key, label, probability = names = [f"{role} {hostile}" for role in "isg"]
        values = (np.arange(len(labels)), labels, scores)
        kinds = ("int", "int", "float64")
        columns = {
            name: (kind, plain(one)) for name, kind, one in zip(names, kinds, values, strict=True)
        }
        table = (hostile,)
        database.load(table, columns)
        sketch = sketch_from(database, table, label, probability)
        assert sketch == ScoreSketch.from_rows(labels, scores)
        query = prune_query(table, label, probability, key, sketch, database.dialect)
        expected = prune_labels(labels, scores, estimate_noise_rates(labels, scores)).mask
        found = sorted(int(row[0]) for row in database.rows(query))
        assert found == np.flatnonzero(expected).tolist()
        assert len(database.rows("SELECT * FROM victims")) == 1

    @pytest.mark.parametrize("names", ["label score", "score label", "bin units", "given_rows g"])
    def test_columns_may_be_named_as_those_of_the_query(self, database, names):
        label, probability = names.split()
        database.load("scores", {label: ("int", [1, 0]), probability: ("float64", [0.9, 0.2])})
        found = sketch_from(database, "scores", label, probability)
        assert found == ScoreSketch().update([1, 0], [0.9, 0.2])
