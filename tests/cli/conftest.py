"""Commands run in this process."""

import pytest

from noisy_table import noisy_csv
from rankprune.cli import cli, exit_code


@pytest.fixture
def command(capsys):
    """Run a command in this process; return exit code, standard output and standard error."""

    def run(*words):
        arguments = [str(word) for word in words]
        code = exit_code(lambda: cli.main(arguments, prog_name="rankprune", standalone_mode=False))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture
def people(tmp_path):
    return noisy_csv(tmp_path, n=300)[0]
