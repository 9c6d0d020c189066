"""A run directory of a check of many labels, with its table, and people who judge its rows."""

import csv
import itertools
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from asgi import HOST, Client
from many_classes import class_check, class_labels
from rankprune import load_check
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog
from rankprune.run._decisions import Decision, row_hash
from rankprune.run._directory import LOG_FILE
from rankprune.table import open_table

pytest.importorskip("duckdb")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

PETS = ("cat", "dog", "owl", "yak")
COLUMNS = ("row id", "height", "color", "story", "animal")
_numbers = itertools.count(1)


def uid():
    """Return a name for a decision that no other has."""
    return f"{next(_numbers):016x}"


def class_run(folder, classes=PETS, n_rows=120, **options):
    """Write a table and the run directory of its check, and return the directory."""
    write_table(folder, classes, n_rows, **options)
    return recheck(folder, classes, n_rows, **options)


def recheck(folder, *args, **options):
    """Save the check of the table in a folder, and return the run directory."""
    run = folder / "pets.csv.rankprune"
    return table_check(folder, *args, **options).save(run, force=True)


def write_table(folder, classes=PETS, n_rows=120, **options):
    """Write a table with hostile cells, whose last column holds given labels."""
    path = folder / "pets.csv"
    given, _, _ = class_labels(n_rows, classes, *options.values())
    colors = ("red", "green", "blue")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [
                COLUMNS,
                *(
                    [f"r{row:04d}", f"{row / 100:.2f}", colors[row % 3], _story(row), label]
                    for row, label in enumerate(given)
                ),
            ]
        )


def table_check(folder, classes=PETS, n_rows=120, **options):
    """Return the check of a table that was written, whose labels may have changed since."""
    path = folder / "pets.csv"
    check = class_check(n_rows, classes, **options)
    with open_table(path) as opened:
        source = replace(check.source, path=str(path), sha256=opened.sha256, n_columns=len(COLUMNS))
    settings = replace(check.settings, table=str(path))
    return replace(check, source=source, settings=settings)


def _story(row):
    return "<script>alert(1)</script>" if row % 7 == 0 else f"text {row}"


@pytest.fixture
def pets(tmp_path):
    """A run directory of one's own, beside its table."""
    return class_run(tmp_path)


@pytest.fixture
def pets_check(pets):
    return load_check(pets)


@pytest.fixture
def judge(pets):
    """Record answers in the log of a run."""
    with judging(pets) as judge:
        yield judge


@pytest.fixture
def pet_people(pets):
    """Return a function that lets people in to a queue; it returns a client for each name."""
    from rankprune.review import open_queue
    from rankprune.review._app import make_app

    with ExitStack() as stack:

        def come_in(*names, mode="review", queue=None, **options):
            queue = queue or stack.enter_context(open_queue(pets, mode, **options))
            tokens = {f"token-of-{name}": name for name in names}
            app = make_app(queue, tokens, (HOST,))
            return [Client(app, token) for token in tokens]

        yield come_in


@contextmanager
def judging(run):
    """Open the log of a run; yield a function that records answers (reviewer, row, answer)."""
    check = load_check(run)
    label = COLUMNS.index("animal")
    with open_checked(check) as table, DecisionLog(run / LOG_FILE) as log:
        cells = table.cells(check.scores.rows, list(range(len(COLUMNS))))

        def judge(*answers, settles=False, into=log, shown=None):
            made = []
            for who, row, answer in answers:
                given = check.classes[check.given_codes[row]] if shown is None else shown
                made.append(
                    Decision(
                        *(uid(), row, row_hash(cells[row], label), "review", None, who, answer),
                        *(given, 0.5, 2.0, "", "2026-01-01T00:00:00+00:00"),
                        settles=settles,
                    )
                )
                into.add(made[-1], 9)
            return made

        judge.log, judge.table, judge.check = log, table, check
        yield judge
