"""A queue opened on a run directory, and served until it is interrupted."""

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
from rankprune.review._audits import current_draw
from rankprune.review._cards import Rows
from rankprune.review._queue import ReviewQueue, suspects_first
from rankprune.run import LabelCheck
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import LOG_FILE, DecisionLog
from rankprune.run._decisions import Mode

# The most suspects that are read when a review begins.
TOP = 10_000
_MAX_NAME = 60
# Addresses that nobody but this machine can reach.
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Those that stand for all addresses of the machine.
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
) -> Iterator[ReviewQueue]:
    """Open a run directory for people to judge its rows.

    Parameters
    ----------
    folder : Path
        Of the run.
    mode : {"review", "audit"}
        Of an audit, the sample must have been drawn.
    table : path, default=None
        Where the checked table lies now; where it lay by default. A changed one is refused.
    image_root : Path, default=None
        Where images lie that cells name by their path.
    hide : sequence of str
        Columns that are not shown.
    overlap : float, default=0
        Share of the rows that two people judge.
    top : int
        Suspects to judge, the most suspicious ones.
    """
    run = LabelCheck.load(folder)
    if image_root is not None and not image_root.is_dir():
        raise TableError(f"--image-root must be a folder; {image_root} is none.")
    # A table that is touched meanwhile does no harm: every answer knows the cells it is about.
    with open_checked(run, table, watch=False) as opened, DecisionLog(folder / LOG_FILE) as log:
        log.refuse_unwritable()
        rows = Rows(run, opened, blind=mode == "audit", hide=hide, image_root=image_root)
        draw = None
        if mode == "audit":
            kept = current_draw(folder, log)
            draw, order = kept.id, [row for row, _, _ in kept.rows]
        else:
            order = suspects_first(rows, top)
        yield ReviewQueue(rows, log, mode, order, draw=draw, overlap=overlap)


@dataclass(frozen=True)
class Link:
    """A link that lets one person in, once."""

    reviewer: str
    url: str


class Server:
    """A queue served over HTTP on a port of its own.

    Parameters
    ----------
    queue : ReviewQueue
    reviewers : sequence of str
        A link is made for each.
    host : str
        Nobody else can reach the loopback address, which is the default of the command.
    port : int
        0 for any that is free.
    guideline : str
    """

    def __init__(
        self,
        queue: ReviewQueue,
        reviewers: Sequence[str],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        guideline: str = "",
    ) -> None:
        try:
            from rankprune.review._app import make_app
        except ImportError as error:
            raise ImportError(
                "The page needs starlette, uvicorn and jinja2. Install rankprune[cli]."
            ) from error
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Named as TCP, so that asyncio sends small answers at once and not 40 ms later.
        self._socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
            # So that whoever is quicker than the server only waits.
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise OSError(
                f"--host and --port must be free; {host}:{port} is not: {error.strerror}. Leave "
                "--port out for any that is free."
            ) from error
        port = self._socket.getsockname()[1]
        hosts = _names(host, port)
        tokens = {secrets.token_urlsafe(24): name for name in reviewers}
        shown = socket.gethostname() if host in _ANY else host
        self.links = [
            Link(name, f"http://{_bracketed(shown)}:{port}/?token={token}")
            for token, name in tokens.items()
        ]
        # A cookie belongs to a host, whatever the port: two servers must not share one.
        self._app = make_app(queue, tokens, hosts, guideline=guideline, cookie=f"rankprune_{port}")

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()

    def run(self) -> None:
        """Serve until interrupted."""
        import uvicorn

        config = uvicorn.Config(
            self._app,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=1,
        )
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[self._socket])


def checked_reviewers(names: Sequence[str]) -> list[str]:
    """Return the names of those who judge; one's own where none is given."""
    found = list(names)
    if not found:
        try:
            found = [getpass.getuser()]
        except (OSError, KeyError):
            found = ["reviewer"]
    for name in found:
        if not name.strip() or len(name) > _MAX_NAME or not name.isprintable():
            raise ValueError(
                f"--reviewer must be a printable name of at most {_MAX_NAME} signs, got {name!r}."
            )
    if len(set(found)) < len(found):
        raise ValueError("--reviewer must name each person once.")
    return found


def is_loopback(host: str) -> bool:
    """Return whether nobody but this machine can reach the host."""
    return host in _LOOPBACK


def _names(host: str, port: int) -> tuple[str, ...]:
    """Return the names under which a server is reached."""
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
