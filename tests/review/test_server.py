"""The server as a process: killed, used by many people at once, and stopped normally."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from rankprune import LabelCheck
from rankprune.review._serve import Server, _names, checked_reviewers, is_loopback
from rankprune.run._decision_log import DecisionLog
from rankprune.run._directory import LOG_FILE


def test_no_acknowledged_decision_is_lost_when_the_server_is_killed(bench):
    assert bench.kills(10) > 10


def test_no_answer_of_an_audit_is_lost_or_counted_twice_when_the_server_is_killed(bench):
    n_answers, n_batches = bench.batch_kills(4)
    assert n_answers > 4
    assert n_batches


def test_simultaneous_reviewers_lose_and_duplicate_nothing(bench):
    assert len(bench.crowd(200)) == 200


def test_answers_to_the_same_rows_survive_a_log_that_is_locked_again_and_again(bench):
    found = bench.contend(12, 0.3, 0.1)
    assert (found.n_sent, found.n_first) == (48, 12)
    assert found.n_locks
    assert found.reads


def start(folder, *words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "rankprune", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        **options,
    )


def test_an_interrupt_is_the_normal_way_to_stop(folder, run, bench):
    table = folder / "people.csv"
    process = start(folder, "review", run, "--table", table, "--reviewer", "ann")
    link = process.stdout.readline().strip()
    assert link.startswith("http://127.0.0.1:")
    client = bench.Client(link)
    client.judge(3)
    assert len(client.acknowledged) == 3
    client.close()
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert rest == ""
    assert "Press Ctrl-C to stop" in said
    assert "3 of " in said
    assert "3 flip" in said
    assert "rankprune export" in said
    with DecisionLog(run / LOG_FILE) as log:
        assert len(log.decisions("review")) == 3


def test_an_interrupt_ends_the_page_of_an_audit_and_its_result_is_printed(folder, run, bench):
    table = folder / "people.csv"
    words = ("--table", table, "--reviewer", "ann", "--n", "6", "-q")
    process = start(folder, "audit", run, *words)
    client = bench.Client(process.stdout.readline().strip())
    client.judge(answer="positive")
    assert len(client.acknowledged) == 6
    client.close()
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert "(6 rows judged)" in said
    assert LabelCheck.load(run).judged.n_sure == 6


def test_each_person_has_a_link_and_other_hosts_cause_a_warning(folder, run, bench):
    table = folder / "people.csv"
    words = ("--table", table, "--reviewer", "ann", "--reviewer", "ben b", "--host", "0.0.0.0")
    process = start(folder, "review", run, *words)
    lines = [process.stdout.readline() for _ in range(2)]
    # The link has a name that others can use, and that the server accepts.
    assert lines[0].startswith(f"ann: http://{socket.gethostname()}:")
    assert lines[1].startswith(f"ben b: http://{socket.gethostname()}:")
    bench.Client(lines[0].split()[1]).close()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert "warning: anyone who can reach 0.0.0.0 can try to connect" in said


def test_a_port_in_use_is_reported(open_queue):
    first = Server(open_queue(), ["ann"])
    port = int(first.links[0].url.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match=f"host and port must be free; 127.0.0.1:{port} is not"):
        Server(open_queue(), ["ann"], port=port)
    first.close()


def test_links_are_unique(open_queue):
    first, second = Server(open_queue(), ["ann", "ben"]), Server(open_queue(), ["ann"])
    urls = [link.url.partition("token=")[2] for link in (*first.links, *second.links)]
    assert len(set(urls)) == 3
    assert min(map(len, urls)) >= 32
    first.close()
    second.close()


def test_the_loopback_address_has_several_names():
    assert is_loopback("127.0.0.1")
    assert not is_loopback("0.0.0.0")
    assert set(_names("127.0.0.1", 80)) == {"127.0.0.1:80", "localhost:80", "[::1]:80"}
    assert _names("Example.org", 80) == ("example.org:80",)
    assert _names("fe80::1", 80) == ("[fe80::1]:80",)
    everywhere = _names("0.0.0.0", 80)
    assert {"127.0.0.1:80", f"{socket.gethostname().lower()}:80"} <= set(everywhere)


def test_reviewers_are_checked(monkeypatch):
    import getpass

    assert checked_reviewers(["ann", "ben"]) == ["ann", "ben"]
    monkeypatch.setattr(getpass, "getuser", lambda: "me")
    assert checked_reviewers([]) == ["me"]

    def nobody():
        raise OSError("no name")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert checked_reviewers([]) == ["reviewer"]
    for bad in (" ", "x" * 61, "a\nb", "a\u202eb"):
        with pytest.raises(ValueError, match="reviewers must be printable names"):
            checked_reviewers([bad])
    with pytest.raises(ValueError, match="name each person once"):
        checked_reviewers(["ann", "ann"])


def test_without_starlette_the_extra_is_named(open_queue, monkeypatch):
    monkeypatch.setitem(sys.modules, "rankprune.review._app", None)
    with pytest.raises(ImportError, match=r"starlette, uvicorn and jinja2.*rankprune\[cli\]"):
        Server(open_queue(), ["ann"])
