"""No command opens a connection, no cell controls the terminal, and no array holds code."""

import re
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from noisy_table import NAMES, noisy_rows, write_csv

pytest.importorskip("duckdb")
pytest.importorskip("skops")

ROOT = Path(__file__).parents[2]
# Python reports these before it looks up a name or reaches another machine.
_EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
_WATCHED: list[list[tuple[str, object]]] = []


def _hook(event, arguments):
    if _WATCHED and event.startswith(_EVENTS):
        _WATCHED[-1].append((event, arguments))


sys.addaudithook(_hook)  # for good: Python removes no hook


@pytest.fixture
def connections():
    """Watch the connections of this process."""
    seen: list[tuple[str, object]] = []
    _WATCHED.append(seen)
    yield seen
    _WATCHED.remove(seen)


@pytest.fixture
def listener():
    """Listen on this machine, and collect whoever connects."""
    callers = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        stopped = threading.Event()

        def listen():
            while not stopped.is_set():
                try:
                    caller, address = server.accept()
                except TimeoutError:
                    continue
                callers.append(address)
                caller.close()

        thread = threading.Thread(target=listen)
        thread.start()
        yield server.getsockname()[1], callers
        stopped.set()
        thread.join()


def test_the_watch_sees_a_connection(connections, listener):
    port, _ = listener
    socket.create_connection(("127.0.0.1", port)).close()
    assert ("socket.connect", ("127.0.0.1", port)) in [
        (event, arguments[1]) for event, arguments in connections if event == "socket.connect"
    ]


def test_no_command_opens_a_connection(command, people, tmp_path, connections):
    run, model = f"{people}.rankprune", tmp_path / "m.skops"
    for words in (
        ("check", people, "--label", "label", "--scorer", "model"),
        ("report", run, "-o", tmp_path / "r.html"),
        ("export", run, "-o", tmp_path / "e.csv"),
        ("train", run, "-o", model),
        ("predict", model, people, "-o", tmp_path / "p.csv"),
        ("compare", people, "--label", "label", "--method", "rank-pruning"),
    ):
        code, _, said = command(*words)
        assert code == 0, said
    assert connections == []


@pytest.mark.parametrize("scheme", ["http", "https", "s3", "hf"])
def test_an_address_is_not_a_table(command, listener, connections, tmp_path, monkeypatch, scheme):
    """DuckDB would fetch it, in code that Python does not see, so a server listens too."""
    monkeypatch.chdir(tmp_path)
    port, callers = listener
    code, _, said = command("check", f"{scheme}://127.0.0.1:{port}/t.csv", "--label", "label")
    assert code == 2
    assert "does not exist" in said
    assert (connections, callers) == ([], [])


def test_cells_and_names_do_not_control_the_terminal(command, tmp_path):
    evil = "\x1b[2J\x1b[31m\x07"
    named = [[evil + cell for cell in row] for row in noisy_rows(300)[0]]
    names = [evil + name for name in NAMES]
    place = write_csv(tmp_path / "t.csv", named, names)
    asked = ("--label", names[-1], "--id", names[0], "--scorer", "model")
    code, shown, said = command("check", place, *asked)
    assert code == 0, said
    for answer in ((shown, said), command("check", place, "--label", f"{evil}missing")[1:]):
        assert not any(sign in "".join(answer) for sign in ("\x1b", "\x07"))


class Harmful:
    """Would be called if its pickle were loaded."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was loaded",)


def test_embeddings_are_never_unpickled(command, people, tmp_path):
    place = tmp_path / "e.npy"
    np.save(place, np.array([[Harmful()]] * 300, dtype=object), allow_pickle=True)
    code, _, said = command("check", people, "--label", "label", "--embeddings", place)
    assert code == 2
    assert "must be an npy file of numbers" in said


def test_every_test_that_the_security_page_names_exists():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(tests/[\w/.]+)`", page))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []
