"""How a command ends: its exit code, and errors as one line that says what to do."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

from rankprune.cli._flags import COMMAND, in_flags
from rankprune.storage._atomic import remove_unfinished

DONE, INPUT, INTERNAL, INTERRUPTED = 0, 2, 3, 130
# Compiled code may not notice an interrupt for a while; after so many seconds the process ends.
_PATIENCE = 3.0


def exit_code(command: Callable[[], object]) -> int:
    """Return the exit code of a command; errors become one line that says what to do."""
    from click import Abort, ClickException
    from click.exceptions import Exit

    COMMAND.set(None)
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
        if COMMAND.get() is None and isinstance(error.code, int):
            # Shell completion: click answers it before any command runs.
            return error.code
        # Click leaves so when whoever reads the output has seen enough, and marks the output.
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return DONE
        code = "" if error.code is None else repr(error.code)
        _say(
            f"Error: Your module called sys.exit({code}), so nothing was done. Remove the call, or "
            'put it below: if __name__ == "__main__":'
        )
        return INPUT
    except (ValueError, TypeError, OSError, ImportError) as error:
        _explain(error)
        return INPUT
    except Exception as error:
        _explain(error, "This is a bug in rankprune; please report it with the output of -v. ")
        return INTERNAL
    return returned if isinstance(returned, int) else DONE


def _explain(error: Exception, prefix: str = "") -> None:
    if "-v" in sys.argv or "--verbose" in sys.argv:
        import traceback

        traceback.print_exception(error)
        return
    lines = [str(error) or type(error).__name__, *getattr(error, "__notes__", [])]
    _say(f"Error: {prefix}{in_flags(' '.join(' '.join(lines).split()))}")


def _say(message: str) -> None:
    if sys.stderr is not None:
        print(message, file=sys.stderr)  # noqa: T201 (the command line's last word)


def leave_soon_when_interrupted() -> None:
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
        remove_unfinished()
        _say("Interrupted.")
        os._exit(INTERRUPTED)

    # The thread holds on to the other end, which would be closed otherwise.
    threading.Thread(target=wait, args=(tells,), daemon=True).start()
