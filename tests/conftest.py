"""Shared settings: tests are reproducible, and small enough to run on every change."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "rankprune",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.differing_executors,  # mutmut runs the tests twice in one process
    ],
)
settings.load_profile("rankprune")


@pytest.fixture(autouse=True, scope="session")
def one_scoring():
    """Let checks score their rows once only."""
    from rankprune.check import _stability

    before, _stability._MAX_ROWS = _stability._MAX_ROWS, 0
    yield before
    _stability._MAX_ROWS = before


@pytest.fixture(scope="module")
def two_scorings(one_scoring):
    """Let checks of small tables score their rows twice, as they do outside of tests."""
    from rankprune.check import _stability

    _stability._MAX_ROWS = one_scoring
    yield
    _stability._MAX_ROWS = 0


@pytest.fixture
def command(capsys):
    """Run a command in this process; return exit code, standard output and standard error."""
    from rankprune.cli import cli, exit_code

    def run(*words):
        arguments = [str(word) for word in words]
        code = exit_code(lambda: cli.main(arguments, prog_name="rankprune", standalone_mode=False))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run
