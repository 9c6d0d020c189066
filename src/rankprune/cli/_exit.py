"""How a command ends: its exit code, and errors as one line that says what to do."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from rankprune.cli._flags import COMMAND, in_flags
from rankprune.storage._claims import remove_claimed, sweep_temporary

DONE, INPUT, INTERNAL, INTERRUPTED = 0, 2, 3, 130
# Signals that ask a process to end; a shell reports them as 128 and their number.
# Set when a request to end has done what it should.
_HEARD = threading.Event()
_ENDINGS = ("SIGINT", "SIGTERM", "SIGHUP")
# Compiled code may not notice an interrupt for a while; after so many seconds the process ends.
_PATIENCE, _LONG_PATIENCE = 3.0, 15.0
_patience = _PATIENCE
# Messages with more characters are shown in part; those of ours are far shorter.
_LONGEST = 2000


class Stopped(SystemExit):
    """The system asked the process to end."""


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
    except Stopped as error:
        _say("Terminated.")
        return int(str(error.code))
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
    text = " ".join(" ".join(lines).split())
    if len(text) > _LONGEST:
        # A damaged file may hold a name of any length.
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    _say(f"Error: {prefix}{in_flags(text)}")


def _say(message: str) -> None:
    # The terminal may be gone.
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"{message}\n")
        sys.stderr.flush()


def start_process() -> None:
    """Prepare the process in which a command runs.

    What killed processes left in the temporary folder is removed. A request to end removes what
    this process has not finished, and ends it after a few seconds even if compiled code does not
    let the request through.
    """
    sweep_temporary()
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Under nohup, the end of the terminal is ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    global _patience
    _patience = _PATIENCE
    _HEARD.clear()
    heard, tells = socket.socketpair()
    tells.setblocking(False)
    signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)

    def wait(_: socket.socket) -> None:
        endings = {getattr(signal, name) for name in _ENDINGS}
        while (number := heard.recv(1)[0]) not in endings or _HEARD.wait(_patience):
            _HEARD.clear()
        remove_claimed()
        _say("Interrupted." if number == signal.SIGINT else "Terminated.")
        os._exit(128 + number)

    # The thread holds on to the other end, which would be closed otherwise.
    threading.Thread(target=wait, args=(tells,), daemon=True).start()


def wait_longer() -> None:
    """Let a server finish what it was asked for before a request to end takes effect by force."""
    global _patience
    _patience = _LONG_PATIENCE


def go_on() -> None:
    """Let the process go on after a request to end, which has ended a server and nothing else."""
    _HEARD.set()


def _stop(number: int, _: object) -> None:
    # A second request must not disturb the removal of unfinished files.
    for other in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(128 + number)
