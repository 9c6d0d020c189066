"""``python -m rankprune`` and the ``rankprune`` command: the way into the command line."""

import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from rankprune.cli import cli, exit_code, start_process
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("The command line needs click. Install it with: pip install 'rankprune[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    start_process()
    sys.exit(exit_code(lambda: cli.main(prog_name="rankprune", standalone_mode=False)))


if __name__ == "__main__":
    main()
