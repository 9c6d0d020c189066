"""What callers pass to the queries is quoted, or refused in a sentence."""

import warnings

import numpy as np
import pytest

from rankprune import NoiseRates, ScoreSketch
from rankprune.exceptions import ClassAlmostEmptiedWarning, UninformativeProbabilitiesWarning
from rankprune.sql import prune_query, sketch_query

LABELS, SCORES = np.array([1, 1, 1, 0, 0, 0]), np.array([0.9, 0.8, 0.1, 0.9, 0.2, 0.1])
SKETCH = ScoreSketch.from_rows(LABELS, SCORES)
RATES = NoiseRates.from_label_error_rates(0.3, 0.3, observed_prevalence=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("t", "s", "g", "mysql"), "dialect must be one of duckdb, postgresql, spark, got 'mysql'"),
        (("t", "s", "g", ["duckdb"]), "dialect must be one of .* For another database, try"),
        (("", "s", "g"), "table must be a name such as 'scores' or 'schema.scores', .* got ''"),
        ((".t", "s", "g"), "table must be a name .* For the result of a query, create a view"),
        (("a..t", "s", "g"), "table must be a name"),
        (((), "s", "g"), "table must be a name"),
        ((("a", 3), "s", "g"), "table must be a name"),
        ((None, "s", "g"), "table must be a name .* got None"),
        (("t\0", "s", "g"), "table must be text without null characters and surrogates, which no"),
        (("t", None, "g"), "label must be the name of a column, got None. Pass it as the database"),
        (("t", "", "g"), "label must be the name of a column, got ''"),
        (("t", "s", 3), "probability must be the name of a column, got 3"),
        (("t", "s", "g\0"), "probability must be text without null characters"),
        (("t", "s", "\udc80"), "probability must be text without null characters and surrogates"),
        (
            ("t", "${x}", "g", "spark"),
            r"names must not hold '\${' on Spark, .* got '\${x}'. Create",
        ),
    ],
)
def test_names_that_cannot_be_written_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sketch_query(*arguments)


@pytest.mark.parametrize(
    ("pos_label", "neg_label", "message"),
    [
        (1, 1, "pos_label and neg_label must be different, got 1 for both. Pass the two values"),
        (1, 1.0, "pos_label and neg_label must be different"),
        ("a", np.str_("a"), "pos_label and neg_label must be different"),
        ("yes", 0, "pos_label and neg_label must be of one type, got 'yes' and 0. Pass both as"),
        (True, 0, "pos_label and neg_label must be of one type"),
        (None, 0, "pos_label must be a text, a boolean or a number .* got None. Pass the value"),
        (1, float("nan"), "neg_label must be a text, a boolean or a number .* got nan"),
        (1, float("inf"), "neg_label must be a text, .*; rows without a label must be left out"),
        (2**64, 0, "pos_label must be a text, a boolean or a number of at most 64 bits"),
        (10**400, 0, "pos_label must be a text, a boolean or a number of at most 64 bits"),
        (b"a", "b", "pos_label must be a text"),
        ([1], 0, "pos_label must be a text"),
        (np.datetime64("2026-01-01"), 0, "pos_label must be a text"),
        ("a\0", "b", "pos_label must be text without null characters"),
        ("a", "\ud800", "neg_label must be text without null characters and surrogates"),
    ],
)
def test_values_that_are_no_labels_are_refused(pos_label, neg_label, message):
    with pytest.raises(ValueError, match=message):
        sketch_query("t", "s", "g", pos_label=pos_label, neg_label=neg_label)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (None, "key must be the name of a column, got None"),
        ([], "key must name the columns that identify a row, got none of them. Pass a name, or a"),
        (["a", "a"], r"key must name different columns, got \['a', 'a'\]. Pass each name once"),
        (["a", 1], "key must be the name of a column, got 1"),
        ("a\0", "key must be text without null characters"),
    ],
)
def test_keys_that_are_no_columns_are_refused(key, message):
    with pytest.raises(ValueError, match=message):
        prune_query("t", "s", "g", key, SKETCH, noise_rates=RATES)


def test_rows_go_by_a_sketch_that_counts_them():
    with pytest.raises(
        TypeError, match=r"sketch must be a ScoreSketch, got NoiseRates. Run sketch"
    ):
        prune_query("t", "s", "g", "id", RATES)
    weighted = ScoreSketch.from_rows(LABELS, SCORES, sample_weight=[0.5] * 6)
    with pytest.raises(
        ValueError, match=r"sketch must count the rows .* have weights. Run sketch_"
    ):
        prune_query("t", "s", "g", "id", weighted, noise_rates=RATES)
    with pytest.raises(TypeError, match="NoiseRates"):
        prune_query("t", "s", "g", "id", SKETCH, noise_rates=0.1)


@pytest.mark.parametrize("rows", [([], []), ([1, 1], [0.5, 0.6])])
def test_a_table_without_both_labels_is_refused(rows):
    with pytest.raises(ValueError, match="labels must hold two classes"):
        prune_query("t", "s", "g", "id", ScoreSketch().update(*rows), noise_rates=RATES)


def test_unreliable_rates_drop_nothing():
    sketch = ScoreSketch.from_rows(LABELS, 1 - SCORES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeProbabilitiesWarning)
        query = prune_query("t", "s", "g", "id", sketch)
    assert query == 'SELECT given_rows."id"\nFROM "t" AS given_rows\nWHERE FALSE'


def test_a_class_that_would_be_emptied_keeps_a_row_with_a_warning():
    rates = NoiseRates.from_label_error_rates(0.9, 0.0, observed_prevalence=0.5)
    with pytest.warns(ClassAlmostEmptiedWarning, match="every row with a positive label"):
        query = prune_query("t", "s", "g", "id", SKETCH, noise_rates=rates)
    assert "place <= 1" in query


@pytest.mark.parametrize(
    ("dialect", "names", "texts"),
    [
        ("duckdb", '"a""`\\b"', r"'it''s \'"),
        ("postgresql", '"a""`\\b"', r"E'it''s \\'"),
        ("spark", '`a"``\\b`', r"'it\'s \\'"),
    ],
)
def test_names_and_texts_are_quoted_as_each_database_does(dialect, names, texts):
    query = sketch_query('s.a"`\\b', "y", "g", dialect, pos_label="it's \\", neg_label="no")
    assert f".{names} AS given_rows" in query
    assert f"= {texts} THEN 1 WHEN" in query
    assert query.count(";") == 0


def test_numbers_are_written_as_the_column_compares_them():
    query = sketch_query("t", "s", "g", pos_label=np.float32(2), neg_label=0.1)
    assert "= 2 THEN 1" in query
    assert "= CAST('0.1' AS DOUBLE) THEN 0" in query
