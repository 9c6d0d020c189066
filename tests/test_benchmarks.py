"""Benchmarks are only run by hand, but the names that they import must exist."""

import ast
import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_names_imported_from_the_package_exist(path):
    if path.stem == "spark":
        pytest.importorskip("pyspark")
    imports = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankprune")
    ]
    assert imports
    for node in imports:
        module = importlib.import_module(node.module)
        for alias in node.names:
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")
