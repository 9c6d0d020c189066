"""A client that calls an application in this process, and can send what no browser would."""

import asyncio
import json
from dataclasses import dataclass
from urllib.parse import unquote

HOST = "127.0.0.1:8000"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list
    body: bytes

    def header(self, name):
        return next((value for key, value in self.headers if key == name), None)

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


def call(app, method, target, headers=(), body=b"", *, raw_path=None):
    """Send one request; headers are pairs, and may be repeated or missing."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": (raw_path or path).encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (name.lower().encode(), value if isinstance(value, bytes) else value.encode())
            for name, value in headers
        ],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
    }
    parts = [body] if isinstance(body, bytes) else list(body)
    sent, messages = iter(enumerate(parts, start=1)), []

    async def receive():
        number, part = next(sent, (0, b""))
        if not number:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": part, "more_body": number < len(parts)}

    async def send(message):
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    start = messages[0]
    content = b"".join(message.get("body", b"") for message in messages[1:])
    named = [(name.decode(), value.decode()) for name, value in start["headers"]]
    return Answer(start["status"], named, content)


class Client:
    """Somebody with a browser who came in by a link."""

    def __init__(self, app, token):
        self.app = app
        answer = call(app, "GET", f"/?token={token}", [("host", HOST)])
        assert answer.status == 200, answer.text
        self.cookie = answer.header("set-cookie").split(";")[0]
        page = self.get("/").text
        self.csrf = page.partition('name="csrf-token" content="')[2].partition('"')[0]

    def get(self, target, **headers):
        return call(
            self.app,
            "GET",
            target,
            self.headers({"sec-fetch-site": "same-origin", **headers}),
        )

    def headers(self, more):
        found = {"host": HOST, "cookie": self.cookie, **more}
        return [
            (name.replace("_", "-"), value) for name, value in found.items() if value is not None
        ]

    def post(self, target, body, *, method="POST", **headers):
        sent = body if isinstance(body, bytes | list) else json.dumps(body).encode()
        usual = {
            "origin": f"http://{HOST}",
            "sec-fetch-site": "same-origin",
            "x-csrf-token": self.csrf,
            "content-type": "application/json",
        }
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return call(self.app, method, target, self.headers({**usual, **named}), sent)

    def next(self, **body):
        return self.post("/api/next", body)

    def decide(self, row, answer, uid=None, **more):
        body = {"uid": uid or f"{id(object()):08x}{row:08x}", "row": row, "answer": answer, **more}
        return self.post("/api/decide", body)
