"""Results as rows of a tidy file: each unit of work appended whole, none done twice."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

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
    """What a figure is of."""

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
    """Work that is done and written as a whole.

    Attributes
    ----------
    name : str
        Shown while it runs.
    keys : sequence of Key
        The figures that it brings.
    compute : callable
        Returns their records; runs in another process where there are several.
    """

    name: str
    keys: Sequence[Key]
    compute: Callable[[], list[Record]]


class Results:
    """The figures of one file, and the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[Key, Record] = {}
        if path.exists():
            self._read()

    def __contains__(self, key: Key) -> bool:
        return key in self.records

    def missing(self, units: Iterable[Unit]) -> list[Unit]:
        """Return the units of which any figure is not there."""
        return [unit for unit in units if any(key not in self for key in unit.keys)]

    def append(self, records: Sequence[Record]) -> None:
        """Add figures to the file, all or none of them."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            writer.writerow(COLUMNS)
        writer.writerows(record.cells() for record in records)
        # One write, so that an interruption leaves whole rows or, at worst, one torn line at the
        # end, which the next run removes.
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, text.getvalue().encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self.records |= {record.key: record for record in records}

    def value(self, *key: Any) -> float | None:
        """Return a figure, or None where it was not measured."""
        record = self.records.get(Key(*key))
        return None if record is None else record.value

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        rows = csv.DictReader(io.StringIO(whole.decode()))
        if whole and tuple(rows.fieldnames or ()) != COLUMNS:
            raise ValueError(
                f"{self.path} must have the columns {', '.join(COLUMNS)}, but its first line is "
                f"{whole.splitlines()[0].decode()!r}. Move it away or choose another directory "
                "with --results."
            )
        for row in rows:
            key = Key(
                row["dataset"],
                row["classifier"],
                row["metric"],
                row["image"],
                float(row["pi1"]),
                float(row["rho1"]),
                row["method"],
                int(row["seed"]),
            )
            value, n_train = float(row["value"]), int(row["n_train"])
            self.records[key] = Record(key, value, n_train, row["table"])


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it, so that there is never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as part:
        part.write(content)
    Path(part.name).chmod(0o644)
    Path(part.name).replace(path)


def note_run(folder: Path, name: str, command: str, seed: int) -> None:
    """Say in the manifest how the newest figures of a file came about."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text()) if path.exists() else {}
    manifest[name] = {
        "command": command,
        "seed": seed,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {package: version for package in _PACKAGES if (version := _version(package))},
    }
    write_whole(path, (json.dumps(manifest, indent=2, sort_keys=True) + "\n").encode())


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
