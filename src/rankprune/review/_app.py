"""The page for judging rows: handlers take a request, ask the queue, and return a response."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from rankprune.exceptions import TableError
from rankprune.review._batches import Batches
from rankprune.review._cards import IMAGES
from rankprune.review._connections import MAX_CONNECTIONS
from rankprune.review._queue import SHOWN, Filter, ReviewQueue
from rankprune.review._security import Guard, Session, Sessions, refusal, small_body
from rankprune.run._class_sentences import is_of_many
from rankprune.run._decision_log import Conflict
from rankprune.run._decisions import ANSWERS, UNSURE, answer_words, naming
from rankprune.run._visible import visible

_HERE = Path(__file__).parent
_STATIC = {"review.js": "text/javascript; charset=utf-8", "review.css": "text/css; charset=utf-8"}
_UID = re.compile(r"[0-9a-f-]{8,64}")
_MAX_NOTE, _MAX_CARDS, _MAX_HELD = 2000, 20, 2000
_MAX_SECONDS = 3600.0
# What the page calls two labels, in the order of their numbers.
_OF_TWO = ("negative", "positive")

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Site:
    """What the handlers use."""

    queue: ReviewQueue
    sessions: Sessions
    guideline: str
    next_step: str
    templates: jinja2.Environment
    writers: ThreadPoolExecutor


def make_app(
    queue: ReviewQueue,
    tokens: Mapping[str, str],
    hosts: tuple[str, ...],
    *,
    guideline: str = "",
    next_step: str = "",
    cookie: str = "rankprune",
) -> ASGIApp:
    """Return the application that serves a queue.

    Parameters
    ----------
    queue : ReviewQueue
    tokens : mapping of str to str
        Each link's token and the person it is for.
    hosts : tuple of str
        Names and ports under which it can be reached.
    guideline : str
        Text to show to reviewers.
    next_step : str
        Command to show when every row is judged.
    cookie : str
        Name of the cookie.
    """
    app = Starlette(routes=ROUTES, exception_handlers={HTTPException: refusal})
    app.state.site = Site(
        queue,
        Sessions(tokens, cookie, hosts),
        guideline,
        next_step,
        jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        ),
        # Threads apart from those of readers, and enough for every connection: while another
        # process keeps the log locked, writes wait here and readers do not wait for them.
        ThreadPoolExecutor(MAX_CONNECTIONS, "rankprune-write"),
    )
    return Guard(app, hosts)


def _site(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def _reading(work: Callable[[Request, Site, Session], Response]) -> Handler:
    """Return a handler for reviewers who are signed in; it runs in a thread."""

    async def handler(request: Request) -> Response:
        site = _site(request)
        session = site.sessions.of_reader(request)
        with _log_errors():
            return await run_in_threadpool(work, request, site, session)

    return handler


def _asking(work: Callable[[Site, Session, dict[str, Any]], dict[str, Any]]) -> Handler:
    """Return a handler for what our own page asks with a body."""

    async def handler(request: Request) -> Response:
        site = _site(request)
        session, body = await _sent(request, site)
        with _log_errors():
            return JSONResponse(await run_in_threadpool(work, site, session, body))

    return handler


def _writing(work: Callable[[Site, Session, dict[str, Any]], dict[str, Any]]) -> Handler:
    """Return a handler for what our own page sends to the log, which may have to wait for it."""

    async def handler(request: Request) -> Response:
        site = _site(request)
        session, body = await _sent(request, site)
        loop = asyncio.get_running_loop()
        try:
            with _log_errors():
                done = await loop.run_in_executor(site.writers, work, site, session, body)
        except Conflict as error:
            first = {"reviewer": error.first.reviewer, "answer": answer_words(error.first.answer)}
            return JSONResponse({"error": f"Already judged: {error}.", "first": first}, 409)
        return JSONResponse(done)

    return handler


async def _sent(request: Request, site: Site) -> tuple[Session, dict[str, Any]]:
    """Return who sent a body, and the body."""
    session = site.sessions.of_writer(request)
    try:
        body = json.loads(await small_body(request))
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, "The body must be JSON.") from error
    if not isinstance(body, dict):
        raise HTTPException(422, "The body must be an object.")
    return session, body


@contextmanager
def _log_errors() -> Iterator[None]:
    """Report a log that is locked, damaged or on a full disk; the page keeps the answer."""
    try:
        yield
    except (OSError, TableError) as error:
        raise HTTPException(503, str(error), {"Retry-After": "1"}) from error


# ---- reading


async def page(request: Request) -> Response:
    """Return the page; a request with a link's token signs its person in first."""
    site = _site(request)
    token = request.query_params.get("token")
    if token is not None:
        return _welcome(site, token)
    try:
        session = site.sessions.of(request)
    except HTTPException as error:
        return _html(site, "closed.html", 401, message=error.detail)
    run, queue = site.queue.rows.run, site.queue
    return _html(
        site,
        "page.html",
        mode=queue.mode,
        reviewer=visible(session.reviewer, 60),
        csrf=session.csrf,
        title=visible(run.source.name, 80),
        question=visible(run.settings.label, 80),
        labels=_labels(queue),
        are_many=is_of_many(run),
        guideline=visible(site.guideline, 20_000),
        next_step=visible(site.next_step, 2_000),
        subgroups=_subgroups(queue) if queue.mode == "review" else [],
    )


def _welcome(site: Site, token: str) -> Response:
    """Sign a person in; this small page loads the real one, so that the cookie is sent."""
    value = site.sessions.let_in(token)
    if value is None:
        return _html(
            site,
            "closed.html",
            403,
            message="This link has been used, or is not valid. Run the command again to get a new "
            "one. A browser that is signed in stays signed in.",
        )
    answer = _html(site, "welcome.html")
    answer.set_cookie(site.sessions.cookie, value, path="/", httponly=True, samesite="strict")
    return answer


def _html(site: Site, name: str, status: int = 200, **values: Any) -> HTMLResponse:
    return HTMLResponse(site.templates.get_template(name).render(**values), status)


def _labels(queue: ReviewQueue) -> list[tuple[Any, str]]:
    """Return each label as the page sends it, and as it is shown; of two, the positive one first.

    Of many labels, it is sent as a number.
    """
    run = queue.rows.run
    if is_of_many(run):
        return list(enumerate(queue.rows.keys.texts))
    names = zip(_OF_TWO, run.classes, strict=True)
    return [(name, visible(label, 80)) for name, label in names][::-1]


def _subgroups(queue: ReviewQueue) -> list[tuple[int, str, str]]:
    """Return column, value and text of the groups to filter by."""
    names = {queue.rows.column_name(column): column for column in queue.rows.shown}
    return [
        (names[part.column], part.value, f"{visible(part.column, 40)}: {visible(part.value, 40)}")
        for part in queue.rows.run.subgroups
        if part.column in names
    ]


async def static(request: Request) -> Response:
    """Return the style sheet or the script of the page."""
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, "There is no such file.")
    return Response((_HERE / name).read_bytes(), media_type=_STATIC[name])


async def icon(_: Request) -> Response:
    """Return an empty icon, so that browsers do not report it as missing."""
    return Response(status_code=204)


def card(request: Request, site: Site, session: Session) -> Response:
    """Return one card."""
    row = _row(site.queue, _path_number(request, "row"))
    return JSONResponse(site.queue.card(session.reviewer, row))


def find(request: Request, site: Site, _: Session) -> Response:
    """Return the number of the row with this name."""
    row = site.queue.find(request.query_params.get("name", "")[:500])
    if row is None:
        raise HTTPException(404, "There is no such row.")
    return JSONResponse({"row": site.queue.number(row)})


def progress(_: Request, site: Site, session: Session) -> Response:
    """Return how much is done."""
    return JSONResponse(site.queue.progress(session.reviewer))


def image(request: Request, site: Site, _: Session) -> Response:
    """Return the image that a cell names."""
    row = _row(site.queue, _path_number(request, "row"))
    path = site.queue.rows.image(row, _path_number(request, "column"))
    try:
        content = None if path is None else path.read_bytes()
    except OSError:
        # The error would name the path, which may reveal the label.
        content = None
    if path is None or content is None:
        raise HTTPException(404, "There is no such image.")
    return Response(content, media_type=IMAGES[path.suffix.lower()])


# ---- writing


def next_cards(site: Site, session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Return the next cards, and reserve their rows for this person for a while."""
    held = _field(body, "held", list, [])
    if len(held) > _MAX_HELD or not all(isinstance(row, int) for row in held):
        raise HTTPException(422, f"held must be at most {_MAX_HELD} row numbers.")
    count = _number(body, "count", 1, _MAX_CARDS, 5)
    besides = [row for row in map(site.queue.row, held) if row is not None]
    cards = site.queue.next_cards(session.reviewer, _filter(site.queue, body), besides, int(count))
    return {"cards": cards, "progress": site.queue.progress(session.reviewer)}


def decide(site: Site, session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Save an answer; when this returns, it is on disk."""
    queue = site.queue
    answer = _answer(queue, body)
    note = _field(body, "note", str, "")
    if len(note) > _MAX_NOTE or not _is_text(note):
        raise HTTPException(422, f"note must be a text of at most {_MAX_NOTE} characters.")
    row = _row(queue, _field(body, "row", int))
    seconds = _number(body, "seconds", 0.0, float("inf"), 0.0)
    seconds = min(seconds, _MAX_SECONDS)
    try:
        queue.decide(_uid(body), session.reviewer, row, answer, seconds=seconds, note=note)
    except TableError:
        # About the log, not about the answer.
        raise
    except ValueError as error:
        raise HTTPException(422, f"{error}.") from error
    return {"progress": queue.progress(session.reviewer)}


def result(site: Site, _: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Return the result of the audit, if every row of the batch has been judged."""
    del body
    return _batches(site).result()


def more(site: Site, session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Draw the next batch, unless someone else has done so."""
    _batches(site).more(int(_number(body, "after", 1, float("inf"), 0)))
    return {"progress": site.queue.progress(session.reviewer)}


def _batches(site: Site) -> Batches:
    if site.queue.batches is None:
        raise HTTPException(404, "Only an audit has batches.")
    return site.queue.batches


def undo(site: Site, session: Session, body: dict[str, Any]) -> dict[str, Any]:
    """Undo the last answer, and return its card."""
    queue = site.queue
    try:
        row = queue.undo(_uid(body), session.reviewer)
    except KeyError as error:
        raise HTTPException(409, "That answer was already undone.") from error
    if row is None:
        raise HTTPException(404, "There is nothing to undo.")
    return {
        "card": queue.card(session.reviewer, row),
        "progress": queue.progress(session.reviewer),
    }


def _row(queue: ReviewQueue, number: int) -> int:
    row = queue.row(number)
    if row is None:
        raise HTTPException(404, "There is no such row.")
    return row


def _field(body: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    value = body.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise HTTPException(422, f"{name} must be a value of type {kind.__name__}.")
    return value


def _number(body: dict[str, Any], name: str, low: float, high: float, default: float) -> float:
    value = body.get(name, default)
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise HTTPException(422, f"{name} must be a number from {low:g} to {high:g}.")
    return value


def _answer(queue: ReviewQueue, body: dict[str, Any]) -> str:
    """Return an answer as it is stored."""
    allowed = ANSWERS[queue.mode]
    if is_of_many(queue.rows.run):
        if body.get("answer") == UNSURE:
            return UNSURE
        return naming(queue.rows.run.classes[_label_number(queue, body, "answer", " or unsure")])
    answer = _field(body, "answer", str)
    if answer not in allowed:
        raise HTTPException(422, f"answer must be one of {', '.join(allowed)}.")
    return str(answer)


def _label_number(queue: ReviewQueue, body: dict[str, Any], name: str, more: str = "") -> int:
    """Return the number of a label that the page sent."""
    value, n_labels = body.get(name), len(queue.rows.run.classes)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < n_labels:
        raise HTTPException(
            422, f"{name} must be the number of a label, from 0 to {n_labels - 1}{more}."
        )
    return value


def _uid(body: dict[str, Any]) -> str:
    uid = _field(body, "uid", str)
    if not _UID.fullmatch(uid):
        raise HTTPException(422, "uid must be 8 to 64 hexadecimal digits.")
    return str(uid)


def _is_text(value: str) -> bool:
    """Return whether a text can be stored: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _path_number(request: Request, name: str) -> int:
    text = request.path_params[name]
    if not re.fullmatch("[0-9]{1,15}", text):
        raise HTTPException(404, "There is no such row.")
    return int(text)


def _filter(queue: ReviewQueue, body: dict[str, Any]) -> Filter:
    show = _field(body, "show", str, "open")
    if show not in SHOWN:
        raise HTTPException(422, f"show must be one of {', '.join(SHOWN)}.")
    if queue.mode == "audit":
        # Which rows pass a filter would reveal what is hidden.
        if body.keys() & {"label", "least", "most", "column", "value"}:
            raise HTTPException(422, "An audit has no filters.")
        return Filter(show)
    label = None
    if is_of_many(queue.rows.run):
        label = None if body.get("label") is None else _label_number(queue, body, "label")
    elif name := _field(body, "label", str, ""):
        if name not in _OF_TWO:
            raise HTTPException(422, "label must be positive, negative or empty.")
        label = _OF_TWO.index(name)
    column, value = None, None
    if body.get("column") is not None:
        column, value = _field(body, "column", int), _field(body, "value", str)
        if column not in queue.rows.shown:
            raise HTTPException(422, "column must be a column that is shown.")
    return Filter(
        show,
        label,
        _number(body, "least", 0.0, 1.0, 0.0),
        _number(body, "most", 0.0, 1.0, 1.0),
        column,
        value,
    )


ROUTES = [
    Route("/", page),
    Route("/favicon.ico", icon),
    Route("/static/{name}", static),
    Route("/image/{row}/{column}", _reading(image)),
    Route("/api/card/{row}", _reading(card)),
    Route("/api/find", _reading(find)),
    Route("/api/progress", _reading(progress)),
    Route("/api/next", _asking(next_cards), methods=["POST"]),
    Route("/api/decide", _writing(decide), methods=["POST"]),
    Route("/api/undo", _writing(undo), methods=["POST"]),
    Route("/api/result", _writing(result), methods=["POST"]),
    Route("/api/more", _writing(more), methods=["POST"]),
]
