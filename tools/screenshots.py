"""Take the pictures of the report and of the review page in docs/ again.

Needs what ``make .venv/.all`` and ``tools/install_chromium`` install. The data are the digits that
come with scikit-learn, some labels of which are flipped.
"""

import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS.parent / "tests"))
# The pages show its name in the commands to run next.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
RANKPRUNE = ("rankprune",)
GUIDELINE = "Odd digits are 1, 3, 5, 7 and 9.\n\nIf in doubt, answer unsure: a colleague will look."


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as name, browser() as chromium:
        folder = Path(name)
        run(folder, "demo", "-q", "-o", "demo")
        page = chromium.new_page(viewport={"width": 860, "height": 1500})
        page.goto((folder / "demo/digits.csv.rankprune/report.html").as_uri())
        page.screenshot(path=DOCS / "report.png")
        page.set_viewport_size({"width": 860, "height": 1000})
        page.screenshot(path=DOCS / "images/report_head.png")
        write_digits(folder)
        run(folder, "check", "digits.csv", "--label", "parity", "--embeddings", "pixels.npy", "-q")
        (folder / "how.txt").write_text(GUIDELINE)
        write_ten_classes(folder)
        run(folder, "check", "ten.csv", "--label", "digit", "--embeddings", "scaled.npy", "-q")
        page = chromium.new_page(viewport={"width": 860, "height": 1000})
        page.goto((folder / "ten.csv.rankprune/report.html").as_uri())
        parts = [page.locator("section").nth(number).screenshot() for number in (0, 3)]
        stack(parts, DOCS / "images/report_classes.png")
        with served(folder) as link:
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(link)
            for key in "ffkff":
                page.wait_for_selector("#card:not([hidden])")
                before = page.inner_text("#heading")
                page.keyboard.press(key)
                page.wait_for_function(
                    "before => document.getElementById('heading').textContent !== before",
                    arg=before,
                )
            page.click("#choose summary")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=DOCS / "review.png")
        with served(folder, "audit", "--seed", "0") as link:
            page = chromium.new_page(viewport={"width": 1160, "height": 700})
            page.goto(link)
            for digit in right_digits(folder):
                page.wait_for_selector("#card:not([hidden])")
                before = page.inner_text("#progress")
                page.keyboard.press("1" if digit % 2 else "0")
                page.wait_for_function(
                    "before => document.getElementById('progress').textContent !== before",
                    arg=before,
                )
                page.wait_for_selector("#back:not([disabled])")
            page.wait_for_selector("#result:not([hidden])")
            page.screenshot(path=DOCS / "audit.png")
        review_ten_classes(folder, chromium)


def review_ten_classes(folder: Path, chromium: Any) -> None:
    """Take the picture of the page for more than two labels."""
    (folder / "how.txt").write_text(GUIDELINE.partition("\n\n")[2])
    with served(folder, "review", table="ten.csv") as link:
        page = chromium.new_page(viewport={"width": 980, "height": 720})
        page.goto(link)
        page.wait_for_selector("#card:not([hidden])")
        page.wait_for_load_state("networkidle")
        page.keyboard.type("/n")
        page.screenshot(path=DOCS / "images/review_classes.png")


def right_digits(folder: Path) -> list[int]:
    """Return the digits of the rows to judge, in their order."""
    from sklearn.datasets import load_digits

    from rankprune.run._decision_log import DecisionLog
    from rankprune.run._directory import LOG_FILE

    _, digits = load_digits(return_X_y=True)
    with DecisionLog(folder / "digits.csv.rankprune" / LOG_FILE) as log:
        return [int(digits[row]) for row, *_ in log.last_draws()[-1].rows]


@contextmanager
def browser() -> Iterator[Any]:
    """Start Debian's chromium."""
    from playwright.sync_api import sync_playwright

    from chromium import FLAGS

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        yield chromium
        chromium.close()


def run(folder: Path, *words: str) -> None:
    """Run a command of rankprune in a folder."""
    subprocess.run([*RANKPRUNE, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def write_digits(folder: Path) -> None:
    """Write a table of digits, as pictures and as numbers, with flipped labels."""
    import numpy as np
    from matplotlib import pyplot
    from sklearn.datasets import load_digits

    from rankprune import flip_labels

    X, digits = load_digits(return_X_y=True)
    labels = flip_labels(
        digits % 2, positive_noise_rate=0.15, negative_noise_rate=0.1, random_state=0
    )
    np.save(folder / "pixels.npy", X)
    (folder / "scans").mkdir()
    with (folder / "digits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["scan", "ink", "desk", "parity"])
        for i, (row, label) in enumerate(zip(X, labels, strict=True)):
            large = np.kron(16 - row.reshape(8, 8), np.ones((24, 24)))
            pyplot.imsave(folder / "scans" / f"{i}.png", large, cmap="gray")
            desk = ("north", "south", "west")[i % 3]
            writer.writerow([f"{i}.png", int(row.sum()), desk, "odd" if label else "even"])


def write_ten_classes(folder: Path) -> None:
    """Write a table of digits with their names as labels, of which five pairs are confused."""
    import numpy as np
    from sklearn.datasets import load_digits

    from rankprune import flip_labels

    X, digits = load_digits(return_X_y=True)
    transition = np.eye(10)
    for true, given in ((4, 9), (9, 4), (3, 8), (8, 3), (1, 7)):
        transition[true, true], transition[given, true] = 0.8, 0.2
    labels = flip_labels(digits, transition=transition, random_state=0)
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    np.save(folder / "scaled.npy", X / 16)
    with (folder / "ten.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["scan", "desk", "digit"])
        writer.writerows(
            [f"{i}.png", ("north", "south", "west")[i % 3], names[k]] for i, k in enumerate(labels)
        )


def stack(pictures: list[bytes], path: Path) -> None:
    """Write pictures of parts of a page below each other."""
    from PIL import Image

    parts = [Image.open(BytesIO(picture)) for picture in pictures]
    gap = 30
    height = sum(part.height + gap for part in parts) - gap
    whole = Image.new("RGB", (parts[0].width, height), "white")
    top = 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height + gap
    whole.save(path, optimize=True)


@contextmanager
def served(
    folder: Path, command: str = "review", *words: str, table: str = "digits.csv"
) -> Iterator[str]:
    """Serve a review or an audit of a table, and yield its link."""
    server = subprocess.Popen(
        [*RANKPRUNE, command, f"{table}.rankprune", "--image-root", "scans", *words]
        + ["--guideline", "how.txt", "--reviewer", "Ann Lee", "-q"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)


if __name__ == "__main__":
    main()
