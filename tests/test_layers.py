"""Imports point down only: read from the import statements, checked against the table."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rankprune"

# A module may import from lower layers, and inside its own package.
LAYERS = {
    "exceptions": 0,
    "core": 0,
    "_csv_records": 0,
    "_sql": 0,
    "_files": 1,
    "_fitting": 1,
    "_plain": 1,
    "_relabel": 1,
    "_spooling": 1,
    "_table_headers": 1,
    "_visible": 1,
    "metrics": 1,
    "stream": 2,
    "tables": 2,
    "_committee": 2,
    "probabilities": 2,
    "_column_plan": 3,
    "_learners": 3,
    "_models": 3,
    "_features": 4,
    "classifier": 4,
    "methods": 4,
    "spark": 4,
    "_table_rows": 5,
    "audit": 5,
    "diagnostics": 5,
    "_label_check": 6,
    "_run_scores": 3,
    "comparison": 6,
    "_answer": 7,
    "_audit_record": 7,
    "_before_after": 7,
    "_duplicates": 7,
    "_table_findings": 7,
    "experiments": 7,
    "table_model": 7,
    "_scored_table": 8,
    "export": 8,
    "report": 8,
    "check": 9,
    "demo": 10,
    "review": 10,
    "_cli_paper": 10,
    "_cli_show": 10,
    "_cli_tables": 11,
    "_cli_review": 12,
    "cli": 13,
    "__main__": 14,
}
# What the core may import from outside.
CORE_MAY = {"numpy", "scipy"}
# Packages that are no base dependency: imported by these files alone.
EXTRAS = {
    "click": {
        "cli.py",
        "_cli_paper.py",
        "_cli_review.py",
        "_cli_show.py",
        "_cli_tables.py",
        "__main__.py",
    },
    "duckdb": {"tables.py", "_table_headers.py", "_run_scores.py", "stream.py"},
    "pyarrow": {"stream.py", "_prune.py"},
    "pyspark": {"_prune.py", "_classifier.py", "_session.py"},
    "jinja2": {"_page.py", "_app.py"},
    "markupsafe": {"_page.py"},
    "rich": {"_cli_show.py"},
    "skops": {"table_model.py"},
    "starlette": {"_app.py", "_guard.py"},
    "uvicorn": {"_serve.py"},
    "matplotlib": {"_displays.py", "_plots.py"},
    "cleanlab": {"_estimates.py", "_outcomes.py", "_recipes.py"},
    "torch": {"_network.py"},
    "numba": {"_compiled.py"},
    "llvmlite": {"_compiled.py"},
    "pandas": {"_result.py"},
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


def layer_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_every_module_has_a_layer():
    assert {layer_of(path) for path in FILES} - {"__init__"} == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    mine = layer_of(path)
    if mine == "__init__":
        return  # loads everything, but only when asked for a name
    for module in imports(path):
        if not module.startswith("rankprune."):
            continue
        theirs = module.split(".")[1]
        if theirs == mine or (mine == "core" and theirs == "exceptions"):
            continue
        assert LAYERS[theirs] < LAYERS[mine], f"{path.name} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_outside_packages_are_imported_where_they_belong(path):
    import sys

    for module in imports(path):
        package = module.split(".")[0]
        if package in sys.stdlib_module_names or package == "rankprune":
            continue
        if package in EXTRAS:
            assert path.name in EXTRAS[package]
        elif layer_of(path) in ("core", "exceptions"):
            assert package in CORE_MAY, f"{path.name} imports {package}"
        else:
            assert package in BASE, f"{path.name} imports {package}"
