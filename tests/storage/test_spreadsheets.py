"""Formulas are disarmed, in Python and in SQL alike; numbers and other texts stay."""

import pytest

from rankprune.storage._spreadsheets import FORMULA_RE2, spreadsheet_safe

FORMULAS = [
    "=1+1",
    "+cmd",
    "-cmd|x",
    "@SUM(A1)",
    "\uff1d1",
    "\uff0bx",
    "\uff0dx",
    "\uff20x",
    " =1",
    "\n=1",
    "\ufeff=1",
    "\u200b=1",
    "\u00a0\u3000@x",
    "\tx",
    "\rx",
    "\nx",
    "\u202e=1",
    "\u061c\u034f\ufe0f\u3164=1",
    "\ufff9\u17b4=1",
    "\U000e0001\U000e0100\U0001d173=1",
    "\ufe66x",
    "\ufe63x",
    "-",
]
HARMLESS = ["", "a=1", "-1.5", "+3", "  -2e3", "x", "'=1", "é=", "1-2", "5"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_a_formula_gets_an_apostrophe(cell):
    assert spreadsheet_safe(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", HARMLESS)
def test_other_cells_stay(cell):
    assert spreadsheet_safe(cell) == cell


def test_sql_finds_the_same_formulas():
    duckdb = pytest.importorskip("duckdb")
    cells = {
        **dict.fromkeys(FORMULAS, True),
        **dict.fromkeys(("", "a=1", "x", "'=1", "é=", "1-2"), False),
    }
    for cell, expected in cells.items():
        found = duckdb.execute("SELECT regexp_matches(?, ?)", [cell, FORMULA_RE2]).fetchall()
        assert found == [(expected,)]
