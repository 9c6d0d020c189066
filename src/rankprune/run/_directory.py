"""A run directory: files that belong together, replaced together, and protected from other outputs.

``result.json`` lists the other files with their hashes. A command writes the files it changes to a
folder of their own, then replaces ``result.json``: before that moment the earlier run is untouched,
after it the new one is whole. Only then do the new files take the places of the old ones; if the
process is killed in between, the next command finishes this. The decision log is not part of it:
nothing replaces it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankprune.exceptions import TableError
from rankprune.run._first_release import FIRST_SCHEMA, as_now
from rankprune.storage._atomic import (
    made_folder,
    naming_file,
    refuse_existing_file,
    refuse_same_file,
    refuse_special_file,
    refuse_unwritable,
    sync,
    write_whole,
)
from rankprune.storage._claims import PART, locked, new_part_folder, remove_abandoned
from rankprune.storage._hashes import file_sha256

RESULT, SCORES, REPORT, AUDIT = "result.json", "scores.parquet", "report.html", "audit.json"
# The result and the scores as they were before any row was judged.
UNJUDGED_RESULT, UNJUDGED_SCORES = "unjudged.json", "unjudged.parquet"
LOG_FILE = "review.sqlite"
# Version 3 knows checks of two labels only.
SCHEMA, _OF_TWO_LABELS = 4, 3
# The name in a result of what only checks of many labels have.
MATRIX = "noise_matrix"
# Files in a run directory that no other output may replace.
KEPT = (RESULT, SCORES, LOG_FILE, AUDIT, UNJUDGED_RESULT, UNJUDGED_SCORES)
# Files that belong to a result besides the scores.
_OPTIONAL = (REPORT, AUDIT, UNJUDGED_RESULT, UNJUDGED_SCORES)
_OF_AUDIT = (AUDIT, UNJUDGED_RESULT, UNJUDGED_SCORES)
# Where new files wait until they take their places.
_STAGE = re.compile(r"\.generation-[0-9a-f]{16}")
# What the first release left when it was killed: unfinished files, and an empty file to find out
# whether it could write. Other programs use names like that of the empty one.
_OLD_PART = re.compile(r"(tmp_)?\.[a-z.]+\.[0-9a-f]{8}\.part")
_OLD_PROBE = re.compile(r"tmp[a-z0-9_]{8}")
# Seconds to wait while another process saves a run.
PATIENCE = 10.0

Content = bytes | Callable[[Path], None]


@dataclass(frozen=True)
class RunFiles:
    """The result of a run directory, and the files that belong to it.

    Attributes
    ----------
    result : dict
        What ``result.json`` holds.
    paths : dict of str to Path
        Where each file is, by name.
    hashes : dict of str to str
        The SHA-256 hashes of the files, by name.
    """

    result: dict[str, Any]
    paths: dict[str, Path]
    hashes: dict[str, str]

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it is missing."""
        if name not in self.paths:
            return None
        path = place_by_now(self.paths[name])
        if not path.exists():
            return None
        content = path.read_bytes()
        # The bytes that are hashed are the bytes that are used.
        if hashlib.sha256(content).hexdigest() != self.hashes[name]:
            raise TableError(foreign_file(path))
        return content


def save_run(
    folder: Path,
    result: Mapping[str, Any],
    files: Mapping[str, Content],
    *,
    force: bool = False,
) -> None:
    """Write a result and its files to a run directory, all of them or none.

    An audit of the same scores stays.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    result : mapping
        Values that JSON can hold.
    files : mapping of str to bytes or function
        For each file to write its name and its content, or a function that writes it to a path.
    force : bool, default=False
        Replace an earlier run.
    """
    refuse_existing(folder, force)
    result_bytes(result)
    with made_folder(folder), _writing(folder):
        # Again, now that no other process can write.
        refuse_existing(folder, force)
        _save(folder, result, files, lambda hashes: _audit_of(folder, hashes[SCORES]))


def replace_files(
    folder: Path,
    run: RunFiles,
    files: Mapping[str, Content],
    *,
    result: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
) -> None:
    """Write some files of a run again; its other files stay.

    Parameters
    ----------
    folder : Path
    run : RunFiles
        The run as it was opened. If another one has replaced it since, an error is raised.
    files
        As in `save_run`.
    result : mapping, default=None
        The result to write with them (default: the one of the run).
    without : tuple of str
        Files to remove.
    """
    new = as_now(run.result) if result is None else result
    with _writing(folder):
        if _result(folder) != run.result:
            raise TableError(f"Another process has replaced the run in {folder}. Try again.")
        gone = {*files, *without}
        kept = {name: known for name, known in run.hashes.items() if name not in gone}
        _save(folder, new, files, lambda _: kept)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Let no other process write to a run directory, and finish what a killed one began."""
    with locked(folder, PATIENCE), naming_file(folder / RESULT):
        _refuse_special_files(folder)
        _tidy(folder)
        yield


def _refuse_special_files(folder: Path) -> None:
    for name in (RESULT, SCORES, *_OPTIONAL):
        refuse_special_file(folder / name)


def _save(
    folder: Path,
    result: Mapping[str, Any],
    files: Mapping[str, Content],
    others: Callable[[Mapping[str, str]], Mapping[str, str]],
) -> None:
    """Save a result with new files, and the other files that still belong to it."""
    stage = new_part_folder(folder)
    try:
        hashes = {}
        for name, content in files.items():
            with naming_file(folder / name):
                if callable(content):
                    content(stage.path / name)
                else:
                    (stage.path / name).write_bytes(content)
                sync(stage.path / name)
            hashes[name] = file_sha256(stage.path / name)
        hashes |= others(hashes)
        sync(stage.path)
        sealed = _sealed({**result, "schema": SCHEMA, "files": hashes})
        stage.rename(_stage(folder, sealed))
        sync(folder)
        write_whole(folder / RESULT, result_bytes(sealed))
        stage.keep()
    except BaseException:
        # An error may also come after the result was replaced.
        if stage.path == _stage(folder, _result(folder)):
            stage.keep()
        else:
            stage.close()
        raise
    _take_places(folder, stage.path, hashes)


def _audit_of(folder: Path, scores: str) -> Mapping[str, str]:
    """Return names and hashes of a run's audit, if there is one and it is of these scores."""
    result = _result(folder)
    if result is None:
        return {}
    known = _run_files(folder, result).hashes
    is_same = known.get(SCORES) == scores
    return {name: known[name] for name in _OF_AUDIT if is_same and name in known}


def open_run(folder: Path, *, repairs: tuple[str, ...] = ()) -> RunFiles:
    """Return the result in a run directory and its files, all of which have their hashes.

    Parameters
    ----------
    folder : Path
    repairs : tuple of str
        Files that are about to be written again, and may be damaged or missing.
    """
    finish_saving(folder)
    path = folder / RESULT
    while True:
        if not path.is_file():
            raise TableError(f"folder must be a run directory; {_not_a_run(folder)}")
        result = _parsed(path, path.read_bytes())
        found = _run_files(folder, result)
        try:
            _refuse_foreign(found, repairs)
        except (TableError, FileNotFoundError):
            # Another process may have saved a run, or moved its files, in the meantime.
            is_same = _result(folder) in (None, result)
            if is_same and _run_files(folder, result).paths == found.paths:
                raise
            continue
        return found


def finish_saving(folder: Path) -> None:
    """Finish what a killed process began to save, if this is possible, and remove what it left."""
    with suppress(OSError):
        if any(map(_is_debris, folder.iterdir())):
            with locked(folder, 0):
                _tidy(folder)
                # All that a first check left.
                with suppress(OSError):
                    folder.rmdir()


def check_place(folder: Path, force: bool, *inputs: Path | None) -> None:
    """Raise an error if a run cannot be saved; called before anything is computed."""
    finish_saving(folder)
    refuse_existing(folder, force)
    _refuse_special_files(folder)
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
    names = _lasting_names(folder) if folder.is_dir() else set()
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


def place_by_now(path: Path) -> Path:
    """Return where a file of a run is: it may have moved to its place since the run was opened."""
    return path if path.exists() else own_place(path)


def own_place(path: Path) -> Path:
    """Return the place of a file of a run, even if it still waits to move there."""
    return path.parent.parent / path.name if _STAGE.fullmatch(path.parent.name) else path


def foreign_file(path: Path) -> str:
    """Return that a file is not the one that the result was saved with, and what to do."""
    path = own_place(path)
    what = (
        f"{path} does not belong to the result beside it: the run was cut short, or a file was "
        "changed."
    )
    todo = {REPORT: "Write the report again.", AUDIT: "Estimate the audit again."}
    return f"{what} {todo.get(path.name, 'Check again with force=True.')}"


def _parsed(path: Path, content: bytes) -> dict[str, Any]:
    """Return what a result holds, if this version can read it and nobody has changed it."""
    try:
        result = json.loads(content, parse_constant=_refuse_constant)
        schema = result["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TableError(f"{path} is not a rankprune result. Check again.") from error
    if schema not in (FIRST_SCHEMA, _OF_TWO_LABELS, SCHEMA) or type(schema) is not int:
        raise TableError(
            f"{path} was written by another version of rankprune (schema {schema!r:.20}; this "
            f"version reads {SCHEMA}). Check the table again."
        )
    if schema != FIRST_SCHEMA and not _is_sealed(result, content):
        raise TableError(f"{path} was changed after it was written. Check again with force=True.")
    found: dict[str, Any] = result
    return found


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _result(folder: Path) -> dict[str, Any] | None:
    """Return what the result in a folder holds, or None if it is missing or unreadable."""
    path = folder / RESULT
    if not path.is_file():  # reading a device may never end
        return None
    try:
        return _parsed(path, path.read_bytes())
    except (OSError, TableError):
        return None


def _run_files(folder: Path, result: dict[str, Any]) -> RunFiles:
    """Return where the files of a result are."""
    if result["schema"] == FIRST_SCHEMA:
        hashes = {SCORES: str(result.get("scores_sha256"))}
        if (folder / AUDIT).is_file():
            hashes[AUDIT] = file_sha256(folder / AUDIT)
        return RunFiles(result, {name: folder / name for name in hashes}, hashes)
    stage = _stage(folder, result)
    places = {
        name: (stage if (stage / name).exists() else folder) / name for name in result["files"]
    }
    return RunFiles(result, places, result["files"])


def _stage(folder: Path, result: Mapping[str, Any] | None) -> Path:
    """Return where the new files of a result wait until they take their places."""
    return folder / f".generation-{(result or {}).get('sha256', '')[:16]}"


def _sealed(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with a hash that shows whether it was changed later."""
    rest = {name: value for name, value in result.items() if name != "sha256"}
    return {**rest, "sha256": hashlib.sha256(result_bytes(rest)).hexdigest()}


def _is_sealed(result: Mapping[str, Any], content: bytes) -> bool:
    """Return whether a result is still what its hash was made of."""
    try:
        return content == result_bytes(_sealed(result))
    except TableError:
        return False


def result_bytes(value: Any) -> bytes:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError as error:
        shown = text[max(error.start - 20, 0) : error.end + 20]
        raise TableError(
            f"Labels, names and cells must be Unicode text to be stored, but {shown!r} holds half "
            "of a pair of surrogates. Replace it."
        ) from error


def _refuse_foreign(found: RunFiles, repairs: tuple[str, ...]) -> None:
    for name, path in found.paths.items():
        # A report that was removed misleads nobody.
        if name in repairs or (name in _OPTIONAL and not path.exists()):
            continue
        if not path.is_file() or file_sha256(path) != found.hashes[name]:
            raise TableError(foreign_file(path))


def _tidy(folder: Path) -> None:
    """Let new files take their places, and remove what killed processes left."""
    result = _result(folder)
    # Elsewhere, an empty file with the name of a probe belongs to another program.
    is_of_runs = result is not None or not _lasting_names(folder) - {SCORES, REPORT}
    for path in list(folder.iterdir()):
        if result is not None and path == _stage(folder, result):
            _take_places(folder, path, result["files"])
        elif _is_unfinished(path) or (is_of_runs and _is_old_probe(path)):
            remove_abandoned(path)


def _take_places(folder: Path, stage: Path, names: Mapping[str, str]) -> None:
    """Move new files to their places, and remove those that belong to the earlier result."""
    for name in os.listdir(stage):
        os.replace(stage / name, folder / name)
    for name in set(_OPTIONAL) - names.keys():
        (folder / name).unlink(missing_ok=True)
    stage.rmdir()
    sync(folder)


def _is_debris(path: Path) -> bool:
    """Return whether this is what a killed process may have left in a run directory."""
    return _is_unfinished(path) or _is_old_probe(path)


def _is_unfinished(path: Path) -> bool:
    return any(pattern.fullmatch(path.name) for pattern in (_STAGE, PART, _OLD_PART))


def _is_old_probe(path: Path) -> bool:
    if not _OLD_PROBE.fullmatch(path.name):
        return False
    try:
        found = path.lstat()
    except OSError:  # it has just been removed
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _lasting_names(folder: Path) -> set[str]:
    """Return the names in a folder without those of debris."""
    return {path.name for path in folder.iterdir() if not _is_debris(path)}


def _not_a_run(folder: Path) -> str:
    if folder.is_file():
        return f"{folder} is a file. Pass the directory that the check wrote, TABLE.rankprune."
    what = f"has no {RESULT}" if folder.exists() else "does not exist"
    return f"{folder} {what}. Check a table first: that writes the directory TABLE.rankprune."
