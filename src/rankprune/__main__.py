"""``python -m rankprune`` and the ``rankprune`` command: the way into the command line."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

DONE, INPUT, INTERNAL, INTERRUPTED = 0, 2, 3, 130
# Compiled code may not notice an interrupt for a while; after so many seconds it is left anyway.
_PATIENCE = 3.0


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from rankprune.cli import cli
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("The command line needs click. Install it with: pip install 'rankprune[cli]'")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    _leave_soon_when_interrupted()
    sys.exit(exit_code(lambda: cli.main(prog_name="rankprune", standalone_mode=False)))


def exit_code(command: Callable[[], object]) -> int:
    """Return the exit code of a command; errors become one line that says what to do."""
    from click import Abort, ClickException
    from click.exceptions import Exit

    try:
        returned = command()
        if sys.stdout is not None:
            sys.stdout.flush()
    except Exit as error:
        return error.exit_code
    except ClickException as error:
        error.show()
        return INPUT
    except (Abort, KeyboardInterrupt):
        _say("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # What is left must not be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except SystemExit as error:
        # Click leaves so when whoever reads the output has seen enough, and marks the output.
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return DONE
        _say(f"Error: A module of yours left with {error.code!r} before anything was done.")
        return INPUT
    except (ValueError, TypeError, OSError, ImportError) as error:
        _explain(error)
        return INPUT
    except Exception as error:
        _explain(error, "This is a fault of rankprune; please report it with what -v shows. ")
        return INTERNAL
    return returned if isinstance(returned, int) else DONE


def _explain(error: Exception, prefix: str = "") -> None:
    if "-v" in sys.argv or "--verbose" in sys.argv:
        import traceback

        traceback.print_exception(error)
        return
    lines = [str(error) or type(error).__name__, *getattr(error, "__notes__", [])]
    _say(f"Error: {prefix}{' '.join(' '.join(lines).split())}")


def _say(message: str) -> None:
    if sys.stderr is not None:
        print(message, file=sys.stderr)  # noqa: T201 (the command line's last word)


def _leave_soon_when_interrupted() -> None:
    """End the process a few seconds after an interrupt that compiled code does not let through."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    heard, tells = socket.socketpair()
    tells.setblocking(False)
    signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)

    def wait(_: socket.socket) -> None:
        while signal.SIGINT not in heard.recv(1):
            pass
        time.sleep(_PATIENCE)
        from rankprune._files import remove_unfinished

        remove_unfinished()
        _say("Interrupted.")
        os._exit(INTERRUPTED)

    # The thread holds on to the other end, which would be closed otherwise.
    threading.Thread(target=wait, args=(tells,), daemon=True).start()


if __name__ == "__main__":
    main()
