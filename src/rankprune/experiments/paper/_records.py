"""Results as rows of a tidy file: each unit of work is appended whole and never repeated."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from rankprune.experiments._published import key_of
from rankprune.storage._atomic import write_whole

COLUMNS = (
    "table",
    "dataset",
    "classifier",
    "metric",
    "image",
    "pi1",
    "rho1",
    "method",
    "value",
    "seed",
    "n_train",
)
_PACKAGES = ("rankprune", "numpy", "scipy", "scikit-learn", "torch", "cleanlab")


class Key(NamedTuple):
    """Everything that defines what a figure measures."""

    dataset: str
    classifier: str
    metric: str
    image: str
    pi1: float
    rho1: float
    method: str
    seed: int


@dataclass(frozen=True)
class Record:
    """One figure: a row of the file."""

    key: Key
    value: float
    n_train: int
    table: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the row in the order of the columns."""
        key = self.key
        return (
            self.table,
            key.dataset,
            key.classifier,
            key.metric,
            key.image,
            f"{key.pi1:g}",
            f"{key.rho1:g}",
            key.method,
            f"{self.value:.8g}",
            str(key.seed),
            str(self.n_train),
        )


@dataclass(frozen=True)
class Unit:
    """Work that is measured and written as a whole.

    Attributes
    ----------
    name : str
        Name to show as progress.
    keys : sequence of Key
        Keys of the figures that it measures.
    compute : callable
        Returns the records of these figures; may run in another process.
    """

    name: str
    keys: Sequence[Key]
    compute: Callable[[], list[Record]]

    def measure(self) -> list[Record]:
        """Return the records, computed on one thread so that all digits are reproducible."""
        with threadpool_limits(1):
            return self.compute()


class Results:
    """The figures of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[Key, Record] = {}
        if path.exists():
            self._read()

    def __contains__(self, key: Key) -> bool:
        return key in self.records

    def missing(self, units: Iterable[Unit]) -> list[Unit]:
        """Return the units with at least one missing figure."""
        return [unit for unit in units if any(key not in self for key in unit.keys)]

    def append(self, records: Sequence[Record]) -> None:
        """Append figures that the file does not have yet, and sync it to disk."""
        new = [record for record in records if record.key not in self]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            self._remove_torn_line()
            if not self.path.stat().st_size:
                writer.writerow(COLUMNS)
            writer.writerows(record.cells() for record in new)
            # One write: an interruption leaves whole rows and at most one torn line.
            file.write(text.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())
        self.records |= {record.key: record for record in new}

    def _remove_torn_line(self) -> None:
        content = self.path.read_bytes()
        os.truncate(self.path, content.rfind(b"\n") + 1)

    def _read(self) -> None:
        content = self.path.read_bytes()
        # Another process may still be writing an incomplete last line, so it stays in the file.
        whole = content[: content.rfind(b"\n") + 1]
        rows = csv.DictReader(io.StringIO(whole.decode()))
        if whole and tuple(rows.fieldnames or ()) != COLUMNS:
            raise ValueError(
                f"{self.path} must have the columns {', '.join(COLUMNS)}, but its first line is "
                f"{whole.splitlines()[0].decode()!r}. Move the file, or pass another "
                "results directory."
            )
        for row in rows:
            key = Key(*key_of(row), int(row["seed"]))
            value, n_train = float(row["value"]), int(row["n_train"])
            self.records[key] = Record(key, value, n_train, row["table"])


def note_run(folder: Path, files: Sequence[str], **run: Any) -> None:
    """Add a run to the manifest: its command, time, and versions."""
    path = folder / "manifest.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    run |= {
        "files": list(files),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {package: version for package in _PACKAGES if (version := _version(package))},
    }
    write_whole(path, (json.dumps({"runs": [*runs, run]}, indent=2) + "\n").encode())


def refuse_other_size(folder: Path, *, small: bool) -> None:
    """Raise an error if figures of small and of full runs would be mixed."""
    path = folder / "manifest.json"
    runs = json.loads(path.read_text())["runs"] if path.exists() else []
    if any(run["small"] != small for run in runs):
        raise ValueError(
            f"results must not mix small and full runs; {folder} has figures of "
            f"{'full' if small else 'small'} runs. Pass another results directory."
        )


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
