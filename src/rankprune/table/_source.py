"""Read the input of a table once: hash it, check that it is valid text, and pass it to DuckDB."""

from __future__ import annotations

import codecs
import difflib
import gzip
import hashlib
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rankprune.exceptions import TableError
from rankprune.storage._links import link_or_copy
from rankprune.storage._names import refuse_undecodable
from rankprune.table._errors import MAX_SHOWN_RECORD, half_character

FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_CHUNK = 1 << 22
# What may stand between cells of a text file.
_BETWEEN = r"""[,;\t|\r\n"]"""


@dataclass(frozen=True)
class Spooled:
    """A file that DuckDB can read: UTF-8 or Parquet, uncompressed, with a plain name."""

    path: Path
    format: str
    sha256: str


class _Hashed(io.RawIOBase):
    """A stream that hashes the bytes read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self.hash.update(data)
        return len(data)


def spool(path: Path | None, name: str, encoding: str | None, folder: Path) -> Spooled:
    """Return the input as a file for DuckDB: read once, hashed, checked, and linked or copied."""
    with _opened(path) as stream:
        hashed = _Hashed(stream)
        raw: Any = io.BufferedReader(hashed, _CHUNK)
        head = raw.peek(4)
        if head[:2] == b"\x1f\x8b":
            raw = io.BufferedReader(gzip.GzipFile(fileobj=raw), _CHUNK)
            try:
                head = raw.peek(4)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise _broken_gzip(name, error) from error
        if not head:
            raise TableError(f"{name} is empty. Pass a table with a header and rows.")
        kind = _format(name, head)
        if encoding is None and head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            encoding = "utf-16"
        target = folder / f"table.{kind}"
        is_plain = path is not None and path.is_file() and isinstance(raw.raw, _Hashed)
        has_mark = kind == "jsonl" and head[:3] == codecs.BOM_UTF8
        must_copy = not is_plain or has_mark or (kind != "parquet" and not _is_utf8(encoding))
        with target.open("wb") if must_copy else io.BytesIO() as copy:
            sink = copy if must_copy else None
            try:
                if kind == "parquet":
                    _pass_bytes(raw, sink)
                else:
                    _pass_text(raw, sink, encoding, name)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise _broken_gzip(name, error) from error
            except UnicodeError as error:  # such as a missing mark of byte order
                raise TableError(
                    f"{name} must be {str(encoding).upper()} text, but: {error}. Pass its "
                    "encoding, such as encoding='latin-1', or none if it is UTF-8."
                ) from error
        if not must_copy and path is not None:
            link_or_copy(path, target)
        return Spooled(target, kind, hashed.hash.hexdigest())


def _pass_bytes(raw: BinaryIO, sink: BinaryIO | None) -> None:
    while chunk := raw.read(_CHUNK):
        if sink is not None:
            sink.write(chunk)


def _pass_text(raw: BinaryIO, sink: BinaryIO | None, encoding: str | None, name: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-8-sig" if _is_utf8(encoding) else str(encoding))()
    before, is_first = 0, True
    while True:
        chunk = raw.read(_CHUNK)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            wanted = (encoding or "utf-8").upper()
            offset = before - (len(error.object) - len(chunk)) + error.start
            raise TableError(
                f"{name} must be {wanted} text; byte {offset} "
                f"(0x{error.object[error.start]:02x}) is not valid {wanted}. Save the file as "
                f"UTF-8, or pass its encoding, such as encoding='latin-1'."
            ) from error
        before += len(chunk)
        if "\0" in text:
            raise TableError(
                f"{name} must be text; it has a NUL byte (\\x00) near byte "
                f"{before - len(chunk) + text.index(chr(0))}. If the file is "
                "UTF-16, pass encoding='utf-16'."
            )
        if not chunk:
            return
        if sink is not None:
            try:
                sink.write(text.encode())
            except UnicodeEncodeError as error:
                raise half_character(_around(text, error.start, name, is_first)) from error
        is_first = False


def _around(text: str, place: int, name: str, is_first: bool) -> str:
    """Return which cell or column name of a text file holds a character."""
    cell = re.split(_BETWEEN, text[:place])[-1] + re.split(_BETWEEN, text[place:])[0]
    kind = "column name" if is_first and "\n" not in text[:place] else "cell"
    return f"the {kind} {cell[:MAX_SHOWN_RECORD]!r} of {name}"


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    if path is None:
        if sys.stdin is None:
            raise TableError("Standard input is closed. Pass a file, or pipe a table to it.")
        yield sys.stdin.buffer
        return
    with path.open("rb") as stream:
        yield stream


def existing(path: Path) -> Path:
    refuse_undecodable(path)
    if path.is_dir():
        raise TableError(f"{path} is a folder. Pass a file.")
    if not path.exists():
        near = [] if not path.parent.is_dir() else os.listdir(path.parent)
        found = difflib.get_close_matches(path.name, near, n=1, cutoff=0.75)
        advice = f"Did you mean {str(path.with_name(found[0]))!r}?" if found else "Check its path."
        raise TableError(f"{path} does not exist. {advice}")
    return path


def _format(name: str, head: bytes) -> str:
    if head[:4] == b"PAR1":
        return "parquet"
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] == ".json" and start == b"[":
        raise TableError(
            f"{name} must hold one JSON object per line, but holds an array of them. Convert "
            f"it: jq -c '.[]' {name} > table.jsonl"
        )
    known = FORMATS.get(suffixes[-1]) if suffixes else None
    return known or ("jsonl" if start == b"{" else "csv")


def _is_utf8(encoding: str | None) -> bool:
    return encoding is None or codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def refuse_unknown_encoding(encoding: str) -> None:
    try:
        " ".encode(encoding).decode(encoding, "replace")
    except (LookupError, UnicodeError) as error:
        raise TableError(
            f"encoding must be the name of a text encoding, got {encoding!r}. Try latin-1, cp1252 "
            "or utf-16."
        ) from error


def _broken_gzip(name: str, error: Exception) -> TableError:
    return TableError(
        f"{name} is not a complete gzip file: {error}. Download or compress it again."
    )
