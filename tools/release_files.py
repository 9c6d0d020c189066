"""Write the files that this release stores, for later releases to open in their tests.

Usage: python tools/release_files.py, once for each release; the files go to tests/releases/VERSION.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import rankprune
from rankprune.cli import cli, exit_code
from rankprune.review import start_audit
from rankprune.review._queue import Filter
from rankprune.review._serve import open_queue

RUN, TABLE = Path("run"), "t.csv"


def table_text() -> str:
    """Return a table with given probabilities, of which some contradict the labels."""
    lines = ["size,colour,p,label"]
    for i in range(120):
        positive, is_wrong = i % 2 == 1, i % 10 == 3
        p = (0.9 if positive != is_wrong else 0.1) + (i % 7) / 100
        colour = "red" if i % 3 else "blue"
        lines.append(f"{i % 13 + 5 * positive},{colour},{p:.2f},{int(positive)}")
    return "\n".join(lines) + "\n"


def command(*words: str) -> None:
    """Run a command, which must succeed."""
    code = exit_code(lambda: cli.main(list(words), prog_name="rankprune", standalone_mode=False))
    if code:
        sys.exit(code)


def judge(mode: str, answer: str, n: int) -> None:
    """Let somebody judge the next rows."""
    with open_queue(RUN, mode) as queue:  # type: ignore[arg-type]  # one of the two modes
        for card in queue.next_cards("ann", Filter(), (), n):
            row = queue.row(card["row"])
            queue.decide(f"{mode}-{row:08d}", "ann", row, answer, seconds=1, note="")


def main() -> None:
    """Write the files of one run: checked, reviewed, audited, with a trained model."""
    place = Path(__file__).parents[1] / "tests" / "releases" / rankprune.__version__
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(TABLE).write_text(table_text())
        command("check", TABLE, "--label", "label", "--probabilities", "p", "-o", "run", "-q")
        judge("review", "flip", 6)
        start_audit(RUN, 20, seed=0)
        judge("audit", "positive", 20)
        command("audit", "run", "--estimate", "-q")
        command("train", "run", "-o", "model.skops", "-q")
        shutil.copytree(folder, place)
    (place / "versions.json").write_text(
        json.dumps(json.loads((place / "run" / "result.json").read_text())["versions"], indent=1)
    )


if __name__ == "__main__":
    main()
