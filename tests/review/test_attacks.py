"""Attacks: none gains access, leaks data, or breaks anything."""

import json

import pytest

from asgi import HOST, call
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE
from reviewed_run import uid

BAD_HOSTS = [
    "evil.example",
    "evil.example:8000",
    "127.0.0.1",
    "127.0.0.1:8001",
    "127.0.0.1:8000.evil.example",
    "localhost.evil.example:8000",
    "127.0.0.1:8000@evil.example",
    "evil.example#127.0.0.1:8000",
    "[::1]:8000",
    "0.0.0.0:8000",
    "2130706433:8000",
    "127.1:8000",
    "",
    " 127.0.0.1:8000",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory, checked):
    """A queue that all attacks are sent to; nothing may ever be written."""
    import shutil

    from asgi import Client
    from rankprune.review import open_queue
    from rankprune.review._app import make_app

    folder = tmp_path_factory.mktemp("attacked")
    shutil.copytree(checked, folder / "data")
    run = folder / "data" / "people.csv.rankprune"
    root = folder / "images"
    root.mkdir()
    (folder / "secret.png").write_bytes(b"secret")
    with open_queue(run, "review", table=folder / "data" / "people.csv", image_root=root) as queue:
        app = make_app(queue, {"token-of-ann": "ann"}, (HOST, "localhost:8000"))
        ann = Client(app, "token-of-ann")
        ann.row = queue.order[0] + 1
        ann.run = run
        yield ann


def unchanged(ann):
    with DecisionLog(ann.run / LOG_FILE) as log:
        return log.decisions("review") == []


def good(ann):
    return {"uid": uid(), "row": ann.row, "answer": "flip"}


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_other_hosts_are_not_served(world, host):
    for method, target in (("GET", "/"), ("GET", "/api/progress"), ("POST", "/api/decide")):
        answer = call(
            world.app,
            method,
            target,
            [("host", host), ("cookie", world.cookie), ("x-csrf-token", world.csrf)],
            json.dumps(good(world)).encode(),
        )
        assert answer.status == 421
        assert "people" not in answer.text
    assert unchanged(world)


def test_requests_with_no_host_or_two_hosts_are_not_served(world):
    assert call(world.app, "GET", "/", [("cookie", world.cookie)]).status == 421
    two = [("host", HOST), ("host", "evil.example"), ("cookie", world.cookie)]
    assert call(world.app, "GET", "/", two).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"origin": ""},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:8001"},
        {"origin": "http://127.0.0.1"},
        {"origin": f"http://{HOST}.evil.example"},
        {"origin": f"http://{HOST}/"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"x_csrf_token": None},
        {"x_csrf_token": ""},
        {"x_csrf_token": "guess"},
        {"x_csrf_token": "é"},
        {"cookie": None},
        {"cookie": "rankprune="},
        {"cookie": "rankprune=guess"},
        {"cookie": "rankprune_8000=guess; rankprune='"},
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "multipart/form-data; boundary=x"},
        {"content_type": None},
    ],
    ids=str,
)
def test_only_the_page_itself_may_write(world, headers):
    for target, body in (
        ("/api/decide", good(world)),
        ("/api/undo", {"uid": uid()}),
        ("/api/next", {}),
    ):
        assert world.post(target, body, **headers).status in (401, 403, 415)
    assert unchanged(world)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
@pytest.mark.parametrize(
    "target", ["/api/progress", "/api/card/1", "/api/find?name=1", "/image/1/4"]
)
def test_other_sites_may_not_read(world, site, target):
    assert world.get(target, **{"sec-fetch-site": site}).status == 403


@pytest.mark.parametrize(
    "target", ["/api/progress", "/api/card/1", "/api/find?name=1", "/image/1/4"]
)
def test_nobody_reads_without_a_cookie(world, target):
    assert call(world.app, "GET", target, [("host", HOST)]).status == 401


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("target", ["/api/decide", "/api/undo", "/api/next"])
def test_nothing_but_post_writes(world, method, target):
    assert world.post(target, good(world), method=method).status in (404, 405)
    assert unchanged(world)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("target", ["/", "/api/progress", "/api/card/1", "/static/review.js"])
def test_read_routes_accept_no_other_method(world, method, target):
    assert world.post(target, {}, method=method).status == 405


@pytest.mark.parametrize(
    "token",
    [
        "",
        "guess",
        "token-of-ann",
        "TOKEN-OF-ANN",
        "token-of-ann%00",
        "%E2%80%AE",
        "' OR 1=1 --",
        "t" * 5000,
    ],
)
def test_used_and_guessed_tokens_open_nothing(world, token):
    answer = call(world.app, "GET", f"/?token={token}", [("host", HOST)])
    assert answer.status == 403
    assert answer.header("set-cookie") is None


TRAVERSALS = [
    "../_store.py",
    "..%2f_store.py",
    "%2e%2e/_store.py",
    "%2e%2e%2f_store.py",
    "..%252f_store.py",
    "..\\_store.py",
    "..%5c_store.py",
    "%c0%ae%c0%ae/_store.py",
    "....//_store.py",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "review.js%00.css",
    "review.js/../../_store.py",
    "./review.js",
    "REVIEW.JS",
    "page.html",
    "~root",
    "file:%2f%2f%2fetc%2fpasswd",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_to_other_files(world, path):
    answer = world.get(f"/static/{path}")
    assert answer.status == 404
    assert "import" not in answer.text


@pytest.mark.parametrize(
    "cell",
    [
        "../secret.png",
        "..%2fsecret.png",
        "./../secret.png",
        "a/../../secret.png",
        "/etc/passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        "..\\secret.png",
        "\0.png",
        "http://evil.example/x.png",
    ],
)
def test_no_cell_leads_to_an_image_outside_the_root(world, cell):
    queue = world.app._app.state.site.queue
    queue.rows.read([world.row - 1])
    before = queue.rows._kept[world.row - 1][4]
    queue.rows._kept[world.row - 1][4] = cell
    try:
        assert world.get(f"/image/{world.row}/4").status == 404
    finally:
        queue.rows._kept[world.row - 1][4] = before


@pytest.mark.parametrize(
    "target",
    [
        "/image/1/5",
        "/image/1/-1",
        "/image/0/4",
        "/image/1/999999",
        "/image/1/4/..",
        "/image/../api/progress",
        "/api/card/0",
        "/api/card/-1",
        "/api/card/301",
        "/api/card/1.0",
        "/api/card/0x1",
        "/api/card/%F0%9F%98%80",
        "/api/card/" + "9" * 6000,
        "/api/card/1;DROP TABLE decisions",
        "/api/find?name=" + "9" * 6000,
        "/api/find?name=%27%20OR%201=1",
        "/api/find?name=%00",
        "/.git/config",
        "/review.sqlite",
        "/api",
        "/docs",
        "//evil.example/",
    ],
)
def test_missing_rows_and_files_are_404(world, target):
    assert world.get(target).status == 404


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "yes"},
        {"answer": "positive"},
        {"answer": "undo"},
        {"answer": "disagreement"},
        {"answer": ""},
        {"answer": None},
        {"answer": ["flip"]},
        {"answer": {"$ne": 1}},
        {"answer": "flip'; DROP TABLE decisions; --"},
        {"answer": True},
        {"row": "1"},
        {"row": 1.5},
        {"row": True},
        {"row": None},
        {"row": [1]},
        {"uid": ""},
        {"uid": "short"},
        {"uid": "x" * 16},
        {"uid": "0" * 65},
        {"uid": "'; DROP TABLE decisions; --"},
        {"uid": 12345678},
        {"seconds": -1},
        {"seconds": "3"},
        {"seconds": True},
        {"note": 1},
        {"note": "x" * 2001},
        {"note": "\ud800"},
        {"note": None},
    ],
    ids=str,
)
def test_invalid_answers_are_422(world, change):
    answer = world.post("/api/decide", {**good(world), **change})
    assert answer.status == 422
    assert set(answer.json) == {"error"}
    assert unchanged(world)


@pytest.mark.parametrize("row", [0, -1, 301, 10**30])
def test_answers_about_missing_rows_are_404(world, row):
    assert world.post("/api/decide", {**good(world), "row": row}).status == 404
    assert unchanged(world)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"1",
        b'"text"',
        b"\xff\xfe",
        b"\x00",
        b'{"row": ' + b"9" * 5000 + b"}",
        b"[" * 10_000,
        b'{"a":' * 2_000 + b"1" + b"}" * 2_000,
        b'{"seconds": NaN, "uid": "0123456789abcdef", "row": 1, "answer": "flip"}',
        b"uid=1&row=1&answer=flip",
        b"<xml/>",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_bodies_that_are_not_objects_are_422(world, body):
    assert world.post("/api/decide", body).status == 422
    assert unchanged(world)


@pytest.mark.parametrize("chunks", [[b"x" * 20_000], [b"x" * 9_000] * 4, [b" "] * 16_400])
def test_large_bodies_are_not_read(world, chunks):
    assert world.post("/api/decide", chunks).status == 413


@pytest.mark.parametrize(
    "wanted",
    [
        {"show": "all"},
        {"show": ["open"]},
        {"label": "yes"},
        {"label": 1},
        {"least": 2},
        {"least": "0"},
        {"most": -0.1},
        {"column": 5, "value": "yes"},
        {"column": -1, "value": "yes"},
        {"column": 99, "value": "x"},
        {"column": "c3", "value": "x"},
        {"column": 3},
        {"column": 3, "value": 1},
        {"count": 0},
        {"count": 10_000},
        {"count": "5"},
        {"held": "1"},
        {"held": ["1"]},
        {"held": [None]},
        {"held": [1] * 3_000},
    ],
    ids=lambda wanted: str(wanted)[:40],
)
def test_invalid_filters_are_422(world, wanted):
    assert world.next(**wanted).status == 422


EVIL = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "</title><script>alert(1)</script>",
    "\u202egnp.exe",
    "&lt;script&gt;",
    "${7*7}",
]


@pytest.mark.parametrize("evil", EVIL)
def test_foreign_text_is_never_markup(tmp_path, evil):
    """Text in cells, names of columns, files, labels and people, guidelines and notes."""
    from asgi import Client
    from noisy_table import NAMES, noisy_rows, write_csv
    from rankprune import check_table
    from rankprune.review import open_queue
    from rankprune.review._app import make_app

    rows, _, _ = noisy_rows(120)
    named = {"yes": evil, "no": "no"}
    rows = [[*row[:3], evil, named[row[4]]] for row in rows]
    name = evil.replace("/", "-")
    path = write_csv(tmp_path / f"{name}.csv", rows, [*NAMES[:3], f"col {evil}", f"label {evil}"])
    check = check_table(
        path, f"label {evil}", scorer=None, noise_estimator="confident-counts", pos_label=evil
    )
    check.save(tmp_path / "run")
    with open_queue(tmp_path / "run", "review", overlap=1.0) as queue:
        app = make_app(queue, {"a": evil, "b": "ben", "c": "cec"}, (HOST,), guideline=evil)
        first, ben, cec = (Client(app, token) for token in "abc")
        page = first.get("/").text
        assert page.count("<script") == 1
        for tag in ("<img", "<svg", "onerror=alert(1)>", "onload=alert(1)>"):
            assert tag not in page
        assert "\u202e" not in page
        assert "49" not in page.replace(first.csrf, "")
        row = queue.order[0] + 1
        first.decide(row, "flip", uid(), note=evil)
        ben.decide(row, "keep", uid())
        card = cec.get(f"/api/card/{row}")
        assert card.header("content-type") == "application/json"
        assert "\u202e" not in card.text
        said = card.json["said"][0]
        shown = evil.replace("\u202e", "⟨U+202E⟩")
        assert said["note"] == shown
        assert said["reviewer"] == shown
        assert card.json["fields"][3]["text"] == shown


def test_web_sockets_are_closed(world):
    import asyncio

    sent = []

    async def talk():
        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        scope = {"type": "websocket", "path": "/", "headers": [(b"host", HOST.encode())]}
        await world.app(scope, receive, send)

    asyncio.run(talk())
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_there_are_more_than_sixty_attacks(request):
    attacks = [item for item in request.session.items if item.fspath == request.node.fspath]
    assert len(attacks) > 60


def test_in_the_end_nothing_was_written(world):
    assert unchanged(world)
    answer = world.decide(world.row, "flip", uid())
    assert answer.status == 200
