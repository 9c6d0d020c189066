"""The files of a run directory, and checks that protect them from being replaced."""

from __future__ import annotations

from pathlib import Path

from rankprune.exceptions import TableError
from rankprune.storage._atomic import (
    refuse_existing_file,
    refuse_same_file,
    refuse_unwritable,
)

RESULT, SCORES, REPORT = "result.json", "scores.parquet", "report.html"
# Files in a run directory that no other output may replace.
KEPT = (RESULT, SCORES, "review.sqlite", "audit.json")


def check_place(folder: Path, force: bool, *inputs: Path | None) -> None:
    """Raise an error if a run cannot be saved; called before anything is computed."""
    refuse_existing(folder, force)
    for name in (RESULT, SCORES, REPORT):
        refuse_same_file(folder / name, *inputs)
    refuse_unwritable(folder)


def refuse_output(output: Path, force: bool, *inputs: Path | None) -> None:
    """Raise an error if a file cannot be written, or would replace an input or a run.

    Files of a run directory cannot be recreated, so no other output may overwrite them.
    """
    refuse_existing_file(output, force)
    refuse_same_file(output, *inputs)
    if output.name in KEPT and (output.parent / RESULT).exists():
        raise ValueError(
            f"{output} belongs to a run directory. Choose another name for the output."
        )
    refuse_unwritable(output.parent)


def refuse_existing(folder: Path, force: bool) -> None:
    """Raise an error if the folder holds other files, or a run that may not be replaced."""
    if folder.exists() and not folder.is_dir():
        raise TableError(f"{folder} is a file. Choose a folder for the run.")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    # Ignore unfinished files left behind by a killed process.
    names = {name for name in names if not name.endswith(".part")}
    if not names:
        return
    if not names & {RESULT, SCORES} or (RESULT not in names and names - {SCORES, REPORT}):
        raise TableError(
            f"{folder} holds files that do not belong to a run. Choose another folder."
        )
    if not force:
        raise TableError(
            f"{folder} holds an earlier run. Pass force=True to replace it, or choose another "
            "folder."
        )
