"""Plain English: the worst phrases stay out of everything that people can read.

Strings and docstrings of the package, templates, README, guide and examples are searched. Beside
each phrase stands what to write instead.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A phrase as a regular expression, and a better wording.
BAD = (
    (r"(?-i:(?<![Tt]here )\b(?:is|are) none\b)(?! of)", "t.csv has no column 'q'; is not valid"),
    (r"\bsave it so\b", "save the file as UTF-8"),
    (r"\bone sign\b|\d signs\b|\bhidden signs?\b", "a single character; invisible characters"),
    (r"\bmend(?:s|ed|ing)?\b", "fix"),
    (r"\bcosts? more than it\b", "does more harm than good"),
    (r"\bfetch or pack\b|\bpacked by gzip\b", "download it again; compressed with gzip"),
    (r"\bother ones here\b", "rows that differ in this table"),
    (r"\bthe other one, where\b", "the negative label, if"),
    (r"\blies now\b|\bit lay\b", "the current path"),
    (r"\bkeep nowhere\b", "never store"),
    (r"\banother than that\b", "a different one from"),
    (r"\bof (?:yours|ours)\b", "your ...; our ..."),
    (r"\b(?:was|were|is|are) heard\b|\bhear more\b|\bhears? the\b", "was used; uses"),
    (r"\brather too \w+ than\b", "more likely too high than too low"),
    (r"\btoo little to see\b", "too few to detect"),
    (r"\b(?:is|are|and) said\b", "is reported"),
    (r"\bmildest\b", "the lowest of the estimates"),
    (r"\bwrong labels touch\b", "wrong labels affect"),
    (r"\btaken for\b(?! granted)", "used as; mistaken for"),
    (r"\bteaches anybody\b", "is used for training"),
    (r"\bgoes before\b", "comes before; takes precedence over"),
    (r"\bwhat is asked\b|\bis asked for\b", "what was requested"),
    (r"\bthat is no suspect\b", "that is not a suspect"),
    (r"\b(?:each|every|no|that|this|such a|a) thing\b|\bmain things\b", "name it"),
    (r"\bsomebody\b|\banybody\b", "someone; anyone; a person"),
    (r"\b(?:is|are) there already\b", "already exists"),
    (r"\ball the same\b", "anyway"),
    (r"\ba fault of\b", "an internal error"),
    (r"\bgone over\b", "read; processed"),
)
GENERATED = {"_build", "gallery", "generated"}


def pages():
    """Yield every file with text that people can read."""
    source = ROOT / "src" / "rankprune"
    yield from (path for path in source.rglob("*") if path.suffix in (".py", ".html", ".js"))
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".md", ".rst", ".py") and not GENERATED & set(path.parts):
            yield path
    yield from (ROOT / "examples").glob("*.py")


def texts(path):
    """Yield the line and the text of every string of a module, or the whole of another file."""
    content = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield 1, re.sub(r"\{%.*?%\}", " ", content, flags=re.DOTALL)
        return
    nodes = list(ast.walk(ast.parse(content)))
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in joined:
        shown = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(shown)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def complaints(path):
    """Return one line for each bad phrase of a file."""
    found = {}
    for line, text in texts(path):
        flat = " ".join(text.split())
        for bad, better in BAD:
            for match in re.finditer(bad, flat, re.IGNORECASE):
                shown = flat[max(0, match.start() - 40) : match.end() + 40]
                found[f"{path.relative_to(ROOT)}:{line}: “…{shown}…”; write: {better}"] = None
    return list(found)


@pytest.mark.parametrize("path", sorted(pages()), ids=lambda path: str(path.relative_to(ROOT)))
def test_people_read_plain_english(path):
    assert not complaints(path), "\n".join(complaints(path))


# Below the command line only these print flags: what they return is a command.
PRINT_COMMANDS = ("cli/", "experiments/paper/", "run/_settings.py")


def library():
    source = ROOT / "src" / "rankprune"
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source).as_posix()
        if path.suffix in (".py", ".html", ".js") and not name.startswith(PRINT_COMMANDS):
            yield path


@pytest.mark.parametrize("path", list(library()), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_library_names_arguments_and_not_flags(path):
    # Options of pip and jq, and custom properties of CSS, are no flags of ours.
    flags = [
        (line, match)
        for line, text in texts(path)
        for match in re.findall(r"(?<![\w-])--[a-z][\w-]*", text)
        if match not in ("--no-deps", "--target")
    ]
    assert flags == []


def test_a_bad_phrase_is_shown_with_its_file_and_a_better_wording(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text('"""Fine."""\n\nprint(f"{1} rows: one " "sign is enough")\n')
    (complaint,) = complaints(path)
    assert complaint.startswith("module.py:3: “…{} rows: one sign is enough…”; write: a single ch")
