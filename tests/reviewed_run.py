"""A run directory to judge rows of, and people who do it."""

import itertools
import shutil
from contextlib import ExitStack

import pytest

from asgi import HOST, Client
from noisy_table import NAMES, noisy_rows, write_csv
from rankprune import LabelCheck, check_table
from rankprune.run._decisions import Decision

pytest.importorskip("duckdb")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

_numbers = itertools.count(1)


def uid():
    """Return a name for a decision that no other has."""
    return f"{next(_numbers):016x}"


@pytest.fixture(scope="session")
def checked(tmp_path_factory):
    """A checked table with hostile cells, copied for each test."""
    folder = tmp_path_factory.mktemp("checked")
    rows, _, _ = noisy_rows(300)
    rows = [
        [*row[:4], "<script>alert(1)</script>" if i % 7 == 0 else f"text {i}", row[4]]
        for i, row in enumerate(rows)
    ]
    path = write_csv(folder / "people.csv", rows, [*NAMES[:4], "story", "label"])
    check = check_table(
        path,
        "label",
        id="row id",
        scorer=None,
        drop=["story"],
        noise_estimator="confident-counts",
    )
    check.save(folder / "people.csv.rankprune")
    return folder


@pytest.fixture
def folder(checked, tmp_path):
    """A folder of one's own with the table and the run directory."""
    shutil.copytree(checked, tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture
def run(folder):
    return folder / "people.csv.rankprune"


@pytest.fixture
def check(run):
    return LabelCheck.load(run)


@pytest.fixture
def open_queue(folder, run):
    """Open desks that are closed at the end of the test."""
    from rankprune.review import open_queue

    with ExitStack() as stack:

        def opened(mode="review", **options):
            table = options.pop("table", folder / "people.csv")
            return stack.enter_context(open_queue(run, mode, table=table, **options))

        yield opened


@pytest.fixture
def drawn(run):
    """The sample of an audit of 60 rows."""
    from rankprune.review import draw_rows
    from rankprune.run._decision_log import DecisionLog
    from rankprune.run._directory import LOG_FILE

    with DecisionLog(run / LOG_FILE) as log:
        return draw_rows(run, log, 60, method="design", seed=0)


@pytest.fixture
def people(open_queue):
    """Return a function that lets people in to a queue; it returns a client for each name."""
    from rankprune.review._app import make_app

    def come_in(*names, queue=None, guideline="", **options):
        queue = queue or open_queue(**options)
        tokens = {f"token-of-{name}": name for name in names}
        app = make_app(queue, tokens, (HOST, "localhost:8000"), guideline=guideline)
        return [Client(app, token) for token in tokens]

    return come_in


def of_row(check, row):
    """Return the given and the other label of a row."""
    is_positive = check.scores.is_positive[check.scores.rows.tolist().index(row)]
    names = check.positive, check.negative
    return names if is_positive else names[::-1]


@pytest.fixture
def judged(open_queue, check):
    """Return a function that records answers (reviewer, row, answer) in this order."""
    queue = open_queue()

    def judge(*given, settles=False):
        decisions = []
        for name, row, answer in given:
            label = of_row(check, row)[0]
            rest = {"score": 0.5, "seconds": 2.0, "note": "", "time": "2026-01-01T00:00:00+00:00"}
            made = Decision(
                uid(),
                row,
                queue.rows.hash(row),
                "review",
                None,
                name,
                answer,
                label,
                **rest,
                settles=settles,
            )
            queue.log.add(made, 9)
            decisions.append(made)
        return queue, decisions

    return judge
