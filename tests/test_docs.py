"""Everything that the documentation names exists."""

import ast
import importlib
import inspect
import re
import runpy
from itertools import takewhile
from pathlib import Path

import pytest

import rankprune
from rankprune import core, methods

ROOT = Path(__file__).parents[1]
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
MAP = (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:[\w/.]*::)?(test_\w+)`", MAP))))
def test_the_paper_map_names_tests_that_exist(name):
    assert f"def {name}(" in TESTS


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:tests|core)/[\w/]+\.py)", MAP))))
def test_the_paper_map_names_files_that_exist(path):
    assert (ROOT / path).exists() or (ROOT / "src" / "rankprune" / path).exists()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`core\.(\w+)`", MAP))))
def test_the_paper_map_names_functions_that_exist(name):
    assert name in core.__all__


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`methods\.(\w+)`", MAP))))
def test_the_paper_map_names_methods_that_exist(name):
    assert name in methods.__all__


@pytest.mark.parametrize("field", sorted(set(re.findall(r"`NoiseRates\.(\w+)`", MAP))))
def test_the_paper_map_names_fields_that_exist(field):
    assert field in rankprune.NoiseRates.__dataclass_fields__ or hasattr(
        rankprune.NoiseRates, field
    )


# The public modules; the API pages list the names in their __all__.
PUBLIC = (
    "rankprune",
    "rankprune.annotators",
    "rankprune.audit",
    "rankprune.comparison",
    "rankprune.core",
    "rankprune.diagnostics",
    "rankprune.exceptions",
    "rankprune.methods",
    "rankprune.metrics",
    "rankprune.sql",
    "rankprune.stream",
    "rankprune.torch",
)
API = (ROOT / "docs" / "api.rst").read_text(encoding="utf-8")


def promised(module):
    names = importlib.import_module(module).__all__
    return [name for name in names if callable(getattr(importlib.import_module(module), name))]


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_documented_with_an_example(module):
    for name in promised(module):
        found = getattr(importlib.import_module(module), name)
        assert ">>>" in (found.__doc__ or ""), name
        if not isinstance(found, type) and inspect.signature(found).parameters:
            assert "Parameters" in found.__doc__, name


@pytest.mark.parametrize("module", [*PUBLIC, "rankprune.spark"])
def test_every_public_name_is_in_the_api_reference(module):
    parts = re.split(r"^\.\. currentmodule:: (\S+)$", API, flags=re.MULTILINE)
    listed = dict(zip(parts[1::2], map(str.split, parts[2::2]), strict=True))
    if module == "rankprune.spark":  # cannot be imported everywhere
        source = (ROOT / "src" / "rankprune" / "spark" / "__init__.py").read_text(encoding="utf-8")
        assert set(ast.literal_eval(source.split("__all__ = ")[1])) <= set(listed[module])
        return

    def is_listed_elsewhere(name):
        """Return whether the same object is listed under another module."""
        found = getattr(importlib.import_module(module), name)
        others = [importlib.import_module(other) for other in PUBLIC if name in listed[other]]
        return any(getattr(other, name) is found for other in others)

    names = [name for name in promised(module) if name not in listed[module]]
    assert [name for name in names if not is_listed_elsewhere(name)] == []


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOMS, LAYERS, QUESTIONS = (
    re.split(r"^## ", CONTRIBUTING.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]
    for title in ("Where to find what", "Layers", "Ten questions")
)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w./-]+(?:/|\.\w+))`", CONTRIBUTING))))
def test_contributing_names_files_that_exist(path):
    assert any((folder / path).exists() for folder in (ROOT, ROOT / "src/rankprune", ROOT / "docs"))


def test_every_room_is_explained_in_one_line():
    from test_layers import LEVEL_OF

    explained = set(re.findall(r"^\| `(\w+)(?:/|\.py)` \|", ROOMS, re.MULTILINE))
    assert explained == set(LEVEL_OF) - {"__main__"}


def test_the_layers_that_are_explained_are_those_that_are_checked():
    from test_layers import LEVELS

    told = re.findall(r"^\| (\d) \| (.*) \|$", LAYERS, re.MULTILINE)
    levels = {int(level): set(re.findall(r"`(\w+)`", rooms)) for level, rooms in told}
    assert [levels[level] for level in sorted(levels)] == list(LEVELS[: len(levels)])
    assert LEVELS[len(levels) :] == ({"__main__"},)


def test_ten_questions_are_answered_by_one_file_each():
    answers = re.findall(r"^\| .*\? \| `([\w/]+\.py)` \|$", QUESTIONS, re.MULTILINE)
    assert len(set(answers)) == 10
    assert all((ROOT / "src" / "rankprune" / answer).exists() for answer in answers)


def test_the_layers_that_are_drawn_are_those_that_are_checked():
    from test_layers import LEVELS

    source = (ROOT / "docs" / "figures.py").read_text(encoding="utf-8")
    drawn = ast.literal_eval(source.split("\nLAYERS = ")[1].split("\n)\n")[0] + "\n)")
    levels = [set(rooms.split(", ")) for _, rooms in reversed(drawn)]
    assert levels == list(LEVELS[: len(drawn)])


def unreleased(folder):
    """Return what the site shows of the changelog fragments in a folder."""
    path = ROOT / "docs" / "_extensions" / "changes.py"
    return runpy.run_path(str(path))["unreleased"](folder)


def test_the_changelog_page_shows_nothing_without_unreleased_changes(tmp_path):
    (tmp_path / "README.md").write_text("One file for each change.\n")
    assert unreleased(tmp_path) == ""


def test_the_changelog_page_groups_unreleased_changes_by_kind(tmp_path):
    (tmp_path / "b.feature.md").write_text("A second\nfeature.\n")
    (tmp_path / "a.feature.md").write_text("A feature.\n")
    (tmp_path / "a.fix.md").write_text("A fix.\n")
    assert unreleased(tmp_path) == (
        "## Not released yet\n\n"
        "### New\n\n- A feature.\n- A second feature.\n\n"
        "### Fixed\n\n- A fix.\n"
    )


def test_the_changelog_has_an_entry_for_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {rankprune.__version__}\n" in changelog


@pytest.mark.parametrize("name", [name for name in methods.__all__ if name.endswith("Classifier")])
def test_every_method_says_where_it_comes_from_and_when_it_fails(name):
    doc = getattr(methods, name).__doc__
    assert "References" in doc
    assert "Notes" in doc
    if name != "DensityRatioClassifier":  # a scorer, not a method
        advice = doc.split("Use it")[1].split("\n\n")[0]
        _, limits = re.split(r"[.:;,]\s", advice, maxsplit=1)
        assert re.search(r"\b(fails?|not|suffers?|slow|wastes|poor)\b", limits)


@pytest.mark.parametrize("name", ["noise_rates", "choosing", "scorers", "judged_rows"])
def test_every_measured_row_was_printed_by_the_command(name):
    results = {"choosing": "methods"}.get(name, name)
    printed = set((ROOT / "results" / f"{results}.md").read_text(encoding="utf-8").splitlines())
    told = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in told if line.startswith("|") and not line.startswith("|---")]
    # Tables of advice, of what a class needs and of scorers are text; all others were measured.
    headers = ("| situation", "| class", "| scorer")
    words = [row for header in headers for row in _table(told, header)]
    measured = [row for row in rows if row not in words]
    assert len(measured) > 20
    assert not [row for row in measured if row not in printed]


def _table(lines, header):
    """Return the lines of all tables whose first line starts with the header."""
    starts = [number for number, line in enumerate(lines) if line.startswith(header)]
    return [
        line
        for start in starts
        for line in takewhile(lambda line: line.startswith("|"), lines[start:])
    ]


def test_the_guide_to_many_rows_runs_as_printed(tmp_path, monkeypatch):
    import numpy as np
    import polars as pl

    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.4
    labels = (truth ^ (rng.random(2000) < 0.1)).astype(np.uint8)
    scores = np.clip(np.where(truth, 0.8, 0.2) + 0.1 * rng.standard_normal(2000), 0, 1)
    labels.tofile("labels.u1")
    scores.astype(np.float32).tofile("scores.f4")
    pl.DataFrame({"s": labels, "g": scores}).write_parquet("scores.parquet")
    guide = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", guide, re.S)
    names = {"parts": [(labels[:900], scores[:900]), (labels[900:], scores[900:])]}
    for snippet in snippets:
        if "pyspark" not in snippet:  # Spark has its own tests
            exec(snippet, names)
    assert np.load("mask.npy").sum() > 50
    assert names["rates"] == rankprune.estimate_noise_rates(labels, scores)
