"""Protection of the page, which is served on the user's own machine.

Any web site can make a browser send requests to this server, and any domain name can be made to
point to it. So requests must name a host that is served, writes must come from our page and carry
its secret, and signing in takes the printed link, which works once.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 1 << 14
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Guard:
    """Answers only requests to a served host, and sets security headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Web sockets are not used.
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            answer = PlainTextResponse("This server does not serve that host.", 421)
            await answer(scope, receive, send_guarded)
            return
        await self._app(scope, receive, send_guarded)


@dataclass(frozen=True)
class Session:
    """A person who signed in with a link: the name, and the secret that writes must carry."""

    reviewer: str
    csrf: str


class Sessions:
    """Who is signed in, and which links still work.

    Parameters
    ----------
    tokens : mapping of str to str
        Each link's token and the person it is for; a token works once.
    cookie : str
        Name of the cookie.
    hosts : iterable of str
        Hosts that are served.
    """

    def __init__(self, tokens: Mapping[str, str], cookie: str, hosts: Iterable[str]) -> None:
        self._tokens = dict(tokens)
        self._open: dict[str, Session] = {}
        self.cookie = cookie
        self._origins = frozenset(f"http://{host}" for host in hosts)

    def let_in(self, token: str) -> str | None:
        """Return the value of a new cookie, or None if the token is unknown or used."""
        for known in list(self._tokens):
            if hmac.compare_digest(known.encode(), token.encode()):
                value = secrets.token_urlsafe(32)
                self._open[value] = Session(self._tokens.pop(known), secrets.token_urlsafe(32))
                return value
        return None

    def of(self, request: Request) -> Session:
        """Return the session of a request, or refuse it."""
        session = self._open.get(request.cookies.get(self.cookie, ""))
        if session is None:
            raise HTTPException(
                401, "Open the link that the command printed. Each link works once."
            )
        return session

    def of_reader(self, request: Request) -> Session:
        """Return the session of a request for data, or refuse one from another site."""
        site = request.headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin":
            raise HTTPException(403, "Other sites may not read this page.")
        return self.of(request)

    def of_writer(self, request: Request) -> Session:
        """Return the session of a write, or refuse one that does not come from our page."""
        session = self.of_reader(request)
        if request.headers.get("origin") not in self._origins:
            raise HTTPException(403, "Only the page itself may send answers.")
        given = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), session.csrf.encode()):
            raise HTTPException(403, "This page is out of date. Reload it.")
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "The body must be JSON.")
        return session


async def small_body(request: Request) -> bytes:
    """Return the body of a request, unless it is too large."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:
                raise HTTPException(413, f"The body must be at most {MAX_BODY} bytes.")
    except ClientDisconnect as error:
        raise HTTPException(400, "The connection ended before the body.") from error
    return body


def refusal(_: Request, error: Any) -> JSONResponse:
    """Return the answer to a request that was refused."""
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
