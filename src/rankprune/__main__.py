"""``python -m rankprune`` and the ``rankprune`` command: the way into the command line."""

import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from rankprune.cli import cli
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("The command line needs click. Install it with: pip install 'rankprune[cli]'")
    cli(prog_name="rankprune")


if __name__ == "__main__":
    main()
