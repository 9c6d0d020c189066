"""The pages: drawn from the result files alone, with gaps where nothing was measured."""

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankprune.cli import _paper as _cli_paper
from rankprune.cli._group import cli
from rankprune.experiments.paper import Choice, render, run_experiment
from rankprune.experiments.paper._book import Book, side_by_side
from rankprune.experiments.paper._rate_grid import grid_cells
from rankprune.experiments.paper._records import Key, Record, Results
from rankprune.experiments.paper._run import Progress

ROOT = Path(__file__).parents[3]


def paper(*arguments):
    return CliRunner().invoke(cli, ["paper", *map(str, arguments)])


@pytest.mark.parametrize(
    ("ours", "paper", "text"),
    [
        (0.8765, None, ".876"),
        (0.8765, 0.8754, ".876 (.875, +.001)"),
        (0.5, 0.75, ".500 (.750, -.250)"),
        (1.0, 0.99, "1.000 (.990, +.010)"),
        (None, 0.75, "not run (.750)"),
        (None, None, "not run"),
        (0.0, 0.0, ".000 (.000, +.000)"),
    ],
)
def test_a_figure_is_shown_with_the_papers_and_the_difference(ours, paper, text):
    assert side_by_side(ours, paper) == text


def test_pages_without_figures_show_gaps(tmp_path):
    (tmp_path / "results").mkdir()
    written = render(tmp_path / "results", tmp_path / "docs")
    assert sorted(path.suffix for path in written) == [".md"] * 6
    assert "Ours: not run and not run." in (tmp_path / "docs" / "README.md").read_text()
    table = (tmp_path / "docs" / "table4.md").read_text()
    assert "| 1 | not run (.0015) | not run (.0025)" in table


def written(path, dataset, metric, values, method="rp_estimated"):
    """A file with one figure for every digit and cell."""
    records = [
        Record(Key(dataset, "logreg", metric, str(digit), *cell, method, 0), value, 60_000)
        for cell, value in values.items()
        for digit in range(10)
    ]
    Results(path).append(records)


def test_a_figure_is_shown_at_its_cell_beside_the_papers(tmp_path):
    written(tmp_path / "mnist_logreg.csv", "mnist", "f1", {(0.25, 0.0): 0.9, (0.0, 0.25): 0.8})
    render(tmp_path, tmp_path / "docs")
    page = (tmp_path / "docs" / "table3.md").read_text()
    # The paper: .883 at pi1 = 0, rho1 = .25, and .881 at pi1 = .25, rho1 = 0.
    assert "| 0 / 0.25 | not run (.894) | .800 (.883, -.083) |" in page
    assert "| 0.25 / 0 | not run (.894) | .900 (.881, +.019) |" in page


def test_differences_over_the_grid_are_computed_for_each_rate(tmp_path):
    cells = grid_cells(small=False)
    path = tmp_path / "mnist_grid.csv"
    grid = {"path": path, "dataset": "mnist, grid"}
    written(**grid, metric="rho1_hat", values={cell: cell[1] + 0.11 for cell in cells})
    written(**grid, metric="pi1_hat", values={cell: cell[0] - 0.03 for cell in cells})
    theory = {"method": "theory", **grid}
    written(**theory, metric="rho1_hat", values={cell: cell[1] + 0.1 for cell in cells})
    written(**theory, metric="pi1_hat", values={cell: cell[0] - 0.01 for cell in cells})
    render(tmp_path, tmp_path / "docs")
    page = (tmp_path / "docs" / "figures.md").read_text()
    assert "estimate - true | .1100 (.1050, +.0050) | .0300 (.0620, -.0320) |" in page
    assert "| estimate - theory | .0100 (.0028, +.0072) | .0200 (.0058, +.0142) |" in page


def test_the_whole_path_on_data_that_ships_with_scikit_learn(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = Choice(Path("results-small"), small=True)
    for name in ("fig1", "fig4", "fig5", "figb", "settings", "speed"):
        for _ in run_experiment(name, replace(whole, images=("1",) if name == "fig5" else ())):
            pass
    found = paper("table3", "--small", "--images", "1,2", "--cells", "0.5/0.5,0/0.5")
    assert found.exit_code == 0, found.output
    assert "table3: 2 of 2 done (digits 2, logistic regression)" in found.output
    assert "Results are in results-small; " in found.output
    pages = tmp_path / "results-small" / "reproduction"
    before = {path.name: path.read_bytes() for path in pages.iterdir()}
    assert {name for name in before if name.endswith(".png")} == {
        f"fig{name}.png" for name in "12345b"
    }
    findings = before["README.md"].decode()
    assert re.search(r"We measured \d+\.\d\d T, ", findings)
    assert re.search(r"\| liblinear, pixels in \[0, 1\] \| \.\d{3} \| \.\d{3} \|", findings)
    # The mean of ten digits is a gap as long as any of them is missing.
    assert "| mean | not run |" in before["table3.md"].decode()
    assert re.search(r"\| 1 \| \.\d{3} \| \.\d{3} \|", before["tablec5.md"].decode())
    again = paper("render", "--small")
    assert again.exit_code == 0
    assert {path.name: path.read_bytes() for path in pages.iterdir()} == before
    checked = paper("verify", "table3", "--small", "--images", "1", "--cells", "0.5/0.5")
    assert checked.exit_code == 0, checked.output
    assert "results were measured again; the largest difference is" in checked.output


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(monkeypatch, is_terminal):
    class Screen(io.StringIO):
        def isatty(self):
            return is_terminal

    def steps():
        progress = Progress(2)
        yield progress
        for name in ("first", "second"):
            progress.done += 1
            progress.name = name
            yield progress

    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    _cli_paper._show(steps(), "table3", quiet=False)
    shown = screen.getvalue()
    if is_terminal:
        assert "100%" in shown
        assert "second" in shown
    else:
        lines = [line for line in shown.splitlines() if line.strip()]
        assert lines[0] == "table3: 2 measurements to do"
        assert re.fullmatch(r"table3: 1 of 2 done, \d+ s left \(first\)", lines[1])
        assert lines[2] == "table3: 2 of 2 done (second)"


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.2, "3 s"), (89, "89 s"), (150, "2 min"), (7200, "2.0 h")]
)
def test_durations_are_shown_in_a_suitable_unit(seconds, text):
    assert _cli_paper._duration(seconds) == text


def test_verify_exits_with_1_if_figures_differ(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = ("table3", "--small", "--images", "1", "--cells", "0.5/0.5", "--quiet")
    assert paper(*chosen).exit_code == 0
    path = tmp_path / "results-small" / "digits_logreg.csv"
    lines = path.read_text().splitlines()
    row = lines[1].split(",")
    row[8] = "0.123"
    path.write_text("\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n")
    assert paper("verify", *chosen).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table3", "--cells", "half"), "must be pairs pi1/rho1"),
        (("table3", "--cells", "0.5"), "must be pairs pi1/rho1"),
        (("table3", "--small", "--images", "cow"), "images must be among"),
        (("verify", "table3", "--small"), "Run rankprune paper table3 first"),
        (("tablec5",), "CIFAR-10 is needed, but"),
        (("tablec5", "--images", "1"), "must select at least one figure of tablec5"),
    ],
)
def test_wrong_or_missing_input_is_reported(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    found = paper(*arguments)
    assert found.exit_code in (1, 2)
    assert message in found.output
    assert not (tmp_path / "docs").exists()


def test_all_reports_what_it_could_not_run_and_continues(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = []

    def run_experiment(name, choice):
        if name == "table4":
            raise ModuleNotFoundError("The convolutional network needs PyTorch.")
        ran.append(name)
        yield type("Progress", (), {"total": 0})

    monkeypatch.setattr("rankprune.experiments.paper.run_experiment", run_experiment)
    found = paper("all", "--small")
    assert found.exit_code == 1, found.output
    assert "table4 was not finished. The convolutional network needs PyTorch." in found.output
    assert {"fig1", "table3", "speed"} <= set(ran)
    assert ran[-1] == "speed"


def test_the_committed_pages_show_the_committed_figures(tmp_path):
    render(ROOT / "results", tmp_path)
    for page in sorted(tmp_path.glob("*.md")):
        committed = ROOT / "docs" / "reproduction" / page.name
        assert committed.read_text() == page.read_text(), f"run: rankprune paper render ({page})"
    for picture in tmp_path.glob("*.png"):
        assert (ROOT / "docs" / "reproduction" / picture.name).exists()


def test_the_committed_figures_come_from_full_data_sets():
    book = Book.read(ROOT / "results")
    sizes = {key.dataset: record.n_train for key, record in book.records.items()}
    assert (sizes["mnist"], sizes["cifar"]) == (60_000, 50_000)
