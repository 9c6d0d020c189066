"""Opening a run directory for reviewers, and serving the page until it is interrupted."""

from __future__ import annotations

import getpass
import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankprune.exceptions import TableError
from rankprune.review._audits import RenderReport, current_draws
from rankprune.review._batches import Batches
from rankprune.review._cards import Rows
from rankprune.review._queue import ReviewQueue, most_suspicious
from rankprune.run import load_check
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog
from rankprune.run._decisions import Mode
from rankprune.run._directory import LOG_FILE

# At most this many suspects are read when a review begins.
TOP = 10_000
_MAX_NAME = 60
_LONGEST_GUIDELINE = 100_000
# Addresses that only this machine can reach.
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# These stand for all addresses of this machine.
_ANY = ("0.0.0.0", "::")


@contextmanager
def open_queue(
    folder: Path,
    mode: Mode,
    *,
    table: Any = None,
    image_root: Path | None = None,
    hide: Sequence[str] = (),
    overlap: float = 0.0,
    top: int = TOP,
    report: RenderReport | None = None,
) -> Iterator[ReviewQueue]:
    """Open a run directory for people to judge its rows.

    Parameters
    ----------
    folder : Path
        The run directory.
    mode : {"review", "audit"}
        For an audit, the sample must have been drawn.
    table : path, default=None
        Current path of the table (default: its original path). A changed table is refused.
    image_root : Path, default=None
        Folder of images; cells hold their paths below it.
    hide : sequence of str
        Columns that are not shown.
    overlap : float, default=0
        Share of the rows that two people judge.
    top : int
        Maximum number of suspects to review, most suspicious first.
    report : callable, default=None
        As in `settle_run`, which saves the result of an audit when a batch has been judged.
    """
    run = load_check(folder)
    if image_root is not None and not image_root.is_dir():
        raise TableError(f"image_root must be a folder; {image_root} is not.")
    # Each answer stores a hash of its row, so a table that changes meanwhile does no harm.
    with open_checked(run, table, watch=False) as opened, DecisionLog(folder / LOG_FILE) as log:
        log.refuse_unwritable()
        rows = Rows(run, opened, blind=mode == "audit", hide=hide, image_root=image_root)
        draws = current_draws(run, log) if mode == "audit" else []
        order = most_suspicious(rows, top) if mode == "review" else []
        queue = ReviewQueue(rows, log, mode, order, draws=draws, overlap=overlap)
        if mode == "review":
            yield queue
            return
        queue.batches = Batches(folder, queue, table, report)
        try:
            yield queue
        finally:
            queue.batches.close()


@dataclass(frozen=True)
class Link:
    """A link that signs one person in, once."""

    reviewer: str
    url: str


class Server:
    """Serves a queue over HTTP.

    Parameters
    ----------
    queue : ReviewQueue
    reviewers : sequence of str
        Each gets a link.
    host : str, default="127.0.0.1"
        Address to listen on; by default only this machine can reach it.
    port : int, default=0
        0 means any free port.
    guideline : str, default=""
        Text to show to reviewers.
    next_step : str, default=""
        Command that the page shows when every row is judged.
    """

    def __init__(
        self,
        queue: ReviewQueue,
        reviewers: Sequence[str],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        guideline: str = "",
        next_step: str = "",
    ) -> None:
        try:
            from rankprune.review._app import make_app
        except ImportError as error:
            raise ImportError(
                "The page needs starlette, uvicorn and jinja2. Install rankprune[cli]."
            ) from error
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol named, asyncio sends small answers at once and not 40 ms later.
        self._socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
            # So that a browser that is faster than the server waits.
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise OSError(
                f"host and port must be free; {host}:{port} is not: {error.strerror}. Leave port "
                "out to use any free one."
            ) from error
        port = self._socket.getsockname()[1]
        hosts = _names(host, port)
        tokens = {secrets.token_urlsafe(24): name for name in reviewers}
        shown = socket.gethostname() if host in _ANY else host
        self.links = [
            Link(name, f"http://{_bracketed(shown)}:{port}/?token={token}")
            for token, name in tokens.items()
        ]
        self._stop_waiting = queue.log.stop_waiting
        # Cookies belong to a host, whatever the port, so two servers must not share one.
        self._app = make_app(
            queue,
            tokens,
            hosts,
            guideline=guideline,
            next_step=next_step,
            cookie=f"rankprune_{port}",
        )

    def close(self) -> None:
        """Release the port."""
        self._socket.close()

    def run(self) -> None:
        """Serve until interrupted."""
        from rankprune.review._connections import QuietServer

        with suppress(KeyboardInterrupt):
            QuietServer(self._app, self._stop_waiting).run(sockets=[self._socket])


def checked_reviewers(names: Sequence[str]) -> list[str]:
    """Return the names of the reviewers; by default the name of the user."""
    found = list(names)
    if not found:
        try:
            found = [getpass.getuser()]
        except (OSError, KeyError):
            found = ["reviewer"]
    for name in found:
        if not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
            raise ValueError(
                f"reviewers must be printable names of at most {_MAX_NAME} characters, got "
                f"{name!r}. Pass shorter or plainer names."
            )
    if len(set(found)) < len(found):
        raise ValueError("reviewers must name each person once. Remove the repeated name.")
    return found


def read_guideline(path: Path) -> str:
    """Return the text that reviewers are shown."""
    try:
        with path.open(encoding="utf-8") as file:
            # Devices may never end.
            text = file.read(_LONGEST_GUIDELINE + 1)
    except FileNotFoundError as error:
        raise TableError(
            f"guideline must be a text file; {path} does not exist. Check its path."
        ) from error
    except UnicodeDecodeError as error:
        raise TableError(
            f"guideline must be UTF-8 text; byte {error.start} of {path} is not valid UTF-8. Save "
            "the file as UTF-8."
        ) from error
    if len(text) > _LONGEST_GUIDELINE:
        raise TableError(
            f"guideline must have at most {_LONGEST_GUIDELINE:,} characters, but {path} has more. "
            "Show reviewers a shorter text."
        )
    return text


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the host."""
    return host in _LOOPBACK


def _names(host: str, port: int) -> tuple[str, ...]:
    """Return the names under which the server can be reached."""
    names = {host}
    if is_loopback(host) or host in _ANY:
        names |= set(_LOOPBACK)
    if host in _ANY:
        names |= _own_names()
    return tuple(sorted(f"{_bracketed(name)}:{port}".lower() for name in names))


def _own_names() -> set[str]:
    """Return the names and addresses of this machine."""
    name = socket.gethostname()
    found = {name, socket.getfqdn()}
    with suppress(OSError):
        found |= {str(place[4][0]) for place in socket.getaddrinfo(name, None)}
    return found


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
