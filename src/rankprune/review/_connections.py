"""Connections to the page: how many at once, for how long, and how they end with the server."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which a request must arrive completely; pages send less than 16 KiB.
REQUEST_SECONDS = 20.0
# A browser opens up to six.
MAX_CONNECTIONS = 128
# Seconds to finish answers when the server ends.
_GRACE = 1


class Connection(H11Protocol):
    """A connection that is closed unless a complete request arrives in time."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._forget_limit()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close the connection with the server: at once, or after the answer to a request."""
        if self._limit is None:
            super().shutdown()
        else:
            self.transport.abort()

    def _watch(self) -> None:
        is_incomplete = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if not is_incomplete:
            self._forget_limit()
        elif self._limit is None:
            # Not begun anew by every byte, so that sending slowly does not help.
            self._limit = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _forget_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


class QuietServer(uvicorn.Server):
    """A server that ends soon and without a word when it is interrupted.

    Parameters
    ----------
    app : application
    stop_waiting : callable
        Called first, so that requests that wait are answered.
    """

    def __init__(self, app: Callable[..., object], stop_waiting: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                log_level="error",
                access_log=False,
                server_header=False,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._stop_waiting = stop_waiting

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; connections that stay open are no errors any more."""
        self._stop_waiting()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)
