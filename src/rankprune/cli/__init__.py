"""The command line: parse, call one function, show the result."""

from rankprune.cli._exit import exit_code, start_process
from rankprune.cli._group import cli

__all__ = ["cli", "exit_code", "start_process"]
