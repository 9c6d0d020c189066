"""Imports point down only: read from the import statements, checked against the table."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rankprune"

# Imports point down: a room imports from lower levels and from itself, never from a neighbour.
LEVELS = (
    {"core", "exceptions", "storage"},
    {"learners", "metrics", "sql", "stream"},
    {"classifier", "methods", "spark", "torch"},
    {"table", "diagnostics", "audit", "annotators"},
    {"run"},
    {"check", "model", "export", "comparison"},
    {"report", "review"},
    {"demo", "experiments"},
    {"cli"},
    {"__main__"},
)
LEVEL_OF = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
# What the core may import from outside.
CORE_MAY = {"numpy", "scipy"}
# Packages that are no base dependency: imported in these rooms or files alone.
EXTRAS = {
    "click": {"cli"},
    "duckdb": {"table", "run/_scores.py", "stream/_sources.py"},
    "pyarrow": {"stream/_sources.py", "spark"},
    "pyspark": {"spark"},
    "jinja2": {"report", "review"},
    "markupsafe": {"report"},
    "rich": {"cli"},
    "skops": {"model/_file.py"},
    "starlette": {"review"},
    "uvicorn": {"review"},
    # A dependency of uvicorn.
    "h11": {"review"},
    "matplotlib": {"diagnostics", "report", "experiments"},
    "cleanlab": {"experiments"},
    "torch": {"torch"},
    "numba": {"core/counting/_numba.py"},
    "llvmlite": {"core/counting/_numba.py"},
    "pandas": {"comparison"},
}
# The last two are scikit-learn's own dependencies.
BASE = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}

FILES = sorted(SOURCE.rglob("*.py"))


def imports(path):
    """Yield every module that a file imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            yield node.module


def room_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_every_room_has_a_level():
    assert {room_of(path) for path in FILES} - {"__init__"} == set(LEVEL_OF)


def test_the_top_level_is_a_hall_with_few_doors():
    assert len(list(SOURCE.glob("*.py"))) <= 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    mine = room_of(path)
    if mine == "__init__":
        return  # loads everything, but only when asked for a name
    for module in imports(path):
        theirs = module.removeprefix("rankprune.").split(".")[0]
        if not module.startswith("rankprune.") or theirs == mine:
            continue
        if (mine, theirs) == ("core", "exceptions"):
            continue
        assert LEVEL_OF[theirs] < LEVEL_OF[mine], f"{path.relative_to(SOURCE)} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_outside_packages_are_imported_where_they_belong(path):
    import sys

    for module in imports(path):
        package = module.split(".")[0]
        if package in sys.stdlib_module_names or package == "rankprune":
            continue
        if package in EXTRAS:
            place = path.relative_to(SOURCE)
            assert {str(place), place.parts[0]} & EXTRAS[package]
        elif room_of(path) in ("core", "exceptions"):
            assert package in CORE_MAY, f"{path.name} imports {package}"
        else:
            assert package in BASE, f"{path.name} imports {package}"
