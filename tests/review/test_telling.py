"""Columns that a blind audit of many labels hides, because they reveal the given one."""

import csv
from contextlib import ExitStack

import numpy as np
import pytest

from many_classes import class_labels
from rankprune import check_table
from rankprune.exceptions import UninformativeProbabilitiesWarning
from rankprune.review._cards import Rows
from rankprune.run._checked_table import open_checked

NAMES = ("cat", "dog", "owl", "yak")


@pytest.fixture
def hidden(tmp_path):
    """Return a function that tells which of some columns a blind audit hides."""
    with ExitStack() as stack:

        def find(columns, labels, **options):
            path = tmp_path / "pets.csv"
            rows = zip(labels, *columns.values(), strict=True)
            with path.open("w", newline="") as file:
                csv.writer(file).writerows([("animal", *columns), *rows])
            check = check_table(path, "animal", scorer=None, cv=2, rare="keep", **options)
            opened = stack.enter_context(open_checked(check))
            return [name for name in Rows(check, opened, blind=True).hidden if name != "animal"]

        yield find


def test_copies_and_almost_copies_are_hidden(hidden):
    given, _, _ = class_labels(400, NAMES)
    rng = np.random.default_rng(0)
    codes = np.searchsorted(NAMES, given.astype(str))
    columns = {
        "copy": [name[0].upper() for name in given],
        "number": codes,
        "almost": np.where(rng.random(400) < 0.01, "?", given.astype(str)),
        "folder": [f"{name}/{i % 30}" for i, name in enumerate(given)],
        "is owl": given == "owl",
        "order": np.argsort(np.argsort(codes * 1000 + rng.permutation(400))),
        "any": rng.integers(0, 3, 400),
        "half": np.where(rng.random(400) < 0.5, given.astype(str), "cat"),
        "name": [f"r{i}" for i in range(400)],
        "size": rng.normal(size=400).round(4) + codes,
    }
    secret = ["copy", "number", "almost", "folder", "is owl", "order"]
    assert hidden(columns, given, drop=list(columns)[:-1]) == secret


def test_probabilities_of_every_label_are_hidden(hidden):
    given, _, scores = class_labels(300, NAMES)
    columns = {f"p_{name}": scores[:, code].round(5) for code, name in enumerate(NAMES)}
    columns["rankprune_suspect"] = np.zeros(300, dtype=int)
    shown = {"height": np.random.default_rng(0).random(300).round(3)}
    assert hidden(columns | shown, given, probabilities="p_*") == list(columns)


def test_labels_that_occur_once_reveal_nothing(hidden):
    """Values that occur once go with labels that occur once, whatever they say."""
    given = np.array([*["cat"] * 30, *["dog"] * 30, *[f"rare{i}" for i in range(30)]])
    rng = np.random.default_rng(1)
    columns = {"name": [f"r{i}" for i in range(90)], "size": rng.random(90).round(4)}
    with pytest.warns(UninformativeProbabilitiesWarning):
        assert hidden(columns, given, drop=["name"]) == []
