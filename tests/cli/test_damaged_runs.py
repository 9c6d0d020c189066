"""Whatever a stored file holds, a command succeeds or says what is wrong: never a fault of ours."""

import json
import os
import shutil
import zipfile
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from resealed import reseal

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("skops")

RELEASE = Path(__file__).parents[1] / "releases" / "0.1.0"
ABSENT = object()
# NaN is not JSON, and the longest integer is no float.
DAMAGES = [
    ABSENT,
    None,
    "text",
    [],
    {},
    -1,
    1e308,
    10**400,
    float("nan"),
    True,
    [None] * 3,
    "9" * 99,
]
EVERY = os.environ.get("RANKPRUNE_FAULTS") == "all"


@pytest.fixture
def stored(tmp_path):
    shutil.copytree(RELEASE, tmp_path / "stored")
    return tmp_path / "stored"


def places(value, path=()):
    """Yield the paths to all parts of a JSON value; of lists, to the first part only."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield (*path, name)
            yield from places(part, (*path, name))
    elif isinstance(value, list) and value:
        yield (*path, 0)
        yield from places(value[0], (*path, 0))


def damaged(value, path, damage):
    """Return a copy of a JSON value with one part damaged."""
    first, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[first] = damaged(copy[first], rest, damage)
    elif damage is ABSENT:
        del copy[first]
    else:
        copy[first] = damage
    return copy


def variants(value):
    """Yield damaged copies of a JSON value: every part in one way each, or in every way."""
    for i, path in enumerate(places(value)):
        for damage in DAMAGES if EVERY else DAMAGES[i % len(DAMAGES) :: len(DAMAGES)]:
            variant = damaged(value, path, damage)
            if variant != value:
                yield path, variant


def refused_or_done(command, name, *words):
    """Run a command; it must succeed, or name a file."""
    code, _, err = command(*words, "-q")
    assert code in (0, 2), (words, err)
    if code:
        assert err.startswith("Error: ")
        assert name in err, err
    assert "Traceback" not in err
    return code


def test_any_damage_to_a_result_is_refused_by_name(command, stored):
    """In a result of the first release, which does not hold its hash."""
    path = stored / "run" / "result.json"
    result = json.loads(path.read_text())
    codes = []
    for _, variant in variants(result):
        path.write_text(json.dumps(variant))
        for words in (
            (
                "export",
                stored / "run",
                "-o",
                stored / "o.csv",
                "--force",
                "--table",
                stored / "t.csv",
            ),
            ("report", stored / "run", "-o", stored / "r.html", "--force"),
        ):
            codes.append(refused_or_done(command, "", *words))
    assert codes.count(2) > len(codes) / 3


def test_any_change_of_a_result_with_a_hash_is_noticed(command, stored):
    assert command("report", stored / "run", "-q")[0] == 0
    path = stored / "run" / "result.json"
    result = json.loads(path.read_text())
    for place, variant in variants(result):
        path.write_text(json.dumps(variant, indent=1, ensure_ascii=False) + "\n")
        code = refused_or_done(command, "result.json", "report", stored / "run")
        assert code == 2, place


def test_any_damage_to_an_audit_is_refused_by_name(command, stored):
    assert command("report", stored / "run", "-q")[0] == 0
    path = stored / "run" / "audit.json"
    record = json.loads(path.read_text())
    for _, variant in variants(record):
        path.write_text(json.dumps(variant))
        refused_or_done(command, "audit.json", "report", stored / "run")
        reseal(stored / "run")
        refused_or_done(command, "audit.json", "report", stored / "run", "-o", stored / "r.html")
        (stored / "r.html").unlink(missing_ok=True)


COLUMNS = ["row", "id", "label", "is_positive", "probability", "suspect", "rank", "weight"]
CHANGES = [
    *(f"* EXCLUDE ({name})" for name in COLUMNS),
    *(f"* REPLACE (NULL AS {name})" for name in COLUMNS),
    *(f"* REPLACE ('text' AS {name})" for name in COLUMNS),
    *(f"* REPLACE ([1, 2] AS {name})" for name in COLUMNS),
    *(f"* REPLACE (CAST('nan' AS DOUBLE) AS {name})" for name in COLUMNS),
    *(f"* REPLACE (1e300 AS {name})" for name in COLUMNS),
    *(f"* REPLACE (-5 AS {name})" for name in COLUMNS),
    "* FROM s LIMIT 0 --",
    "* FROM s LIMIT 5 --",
    "* FROM (SELECT * FROM s UNION ALL SELECT * FROM s) --",
]


@pytest.mark.parametrize("change", CHANGES)
def test_any_damage_to_the_scores_is_refused_by_name(command, stored, change):
    run = stored / "run"
    assert command("report", run, "-q")[0] == 0
    shutil.move(run / "scores.parquet", stored / "s.parquet")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW s AS FROM read_parquet('{stored / 's.parquet'}')")
        target = run / "scores.parquet"
        connection.execute(f"COPY (SELECT {change} FROM s\n) TO '{target}' (FORMAT parquet)")
    refused_or_done(command, "scores.parquet", "report", run, "-o", stored / "r.html")
    reseal(run)
    table = ("--table", stored / "t.csv")
    for words in (
        ("export", run, "-o", stored / "o.csv", "--force", *table),
        ("audit", run, "--plan"),
        ("train", run, "-o", stored / "m.skops", *table, "--prune"),
    ):
        code, _, err = command(*words, "-q")
        assert code in (0, 2), (change, words, err)


@pytest.mark.parametrize("seed", range(20 if not EVERY else 400))
def test_any_damage_to_a_model_is_refused_by_name(command, stored, seed):
    path = stored / "model.skops"
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for place in rng.integers(len(content), size=1 + seed % 4):
        content[place] ^= int(rng.integers(1, 256))
    path.write_bytes(content if seed % 5 else content[: rng.integers(len(content))])
    refused_or_done(command, "model.skops", "predict", path, stored / "t.csv")


def rewritten_models(path):
    """Yield the parts of models whose archive is sound, but not the values and arrays in it."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    described = variants(json.loads(parts["schema.json"]))
    for _, variant in described if EVERY else islice(described, 0, None, 5):
        yield {**parts, "schema.json": json.dumps(variant).encode()}
    for name, content in parts.items():
        for end in (0, 17, 60, 118, len(content) - 1):
            yield {**parts, name: content[:end]}
            yield {**parts, name: content[:end] + b"\xff'(" + content[end + 3 :]}


def test_any_damage_inside_a_model_is_refused_by_name(command, stored):
    path = stored / "model.skops"
    for parts in rewritten_models(path):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        refused_or_done(command, "model", "predict", path, stored / "t.csv")
