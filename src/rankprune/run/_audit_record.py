"""The result of a blind audit, saved as ``audit.json`` in a run directory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankprune.audit import AuditEstimate
from rankprune.exceptions import TableError
from rankprune.run._directory import (
    AUDIT,
    REPORT,
    SCORES,
    RunFiles,
    open_run,
    own_place,
    replace_files,
)
from rankprune.run._findings import BeforeAfter
from rankprune.storage._json_records import from_plain, to_plain

SCHEMA = 1


@dataclass(frozen=True)
class AuditRecord:
    """The result of a blind audit of a random sample of rows.

    Attributes
    ----------
    estimate : AuditEstimate
    n_unjudged : int
        Number of sampled rows not judged yet; they count as unsure.
    n_disagreements : int
        Number of rows with an unsettled disagreement between reviewers; they count as unsure too.
    reviewers : tuple of str
    before_after : BeforeAfter or None
        Errors on the sample of the plain model and of the model trained without suspects.
    notes : tuple of str
    scores_sha256 : str
        SHA-256 hash of the scores file from which the sample was drawn.
    """

    estimate: AuditEstimate
    n_unjudged: int
    n_disagreements: int
    reviewers: tuple[str, ...]
    before_after: BeforeAfter | None
    notes: tuple[str, ...]
    scores_sha256: str

    @property
    def is_finished(self) -> bool:
        """Return whether every row of the sample has been judged."""
        return self.n_unjudged == 0

    def to_bytes(self) -> bytes:
        """Return the content of ``audit.json``."""
        content = {"schema": SCHEMA, **to_plain(self)}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"

    def save(self, folder: Path) -> Path:
        """Write the audit to the run directory, and return the path of its file."""
        run = open_run(folder, repairs=(AUDIT, REPORT))
        replace_files(folder, run, {AUDIT: self.to_bytes()})
        return folder / AUDIT

    @classmethod
    def load(cls, folder: Path) -> AuditRecord | None:
        """Return the audit of a run directory, or None if its scores were never audited."""
        return cls.of(open_run(folder))

    @classmethod
    def of(cls, run: RunFiles) -> AuditRecord | None:
        """Return the audit of a run that was opened."""
        content = run.read(AUDIT)
        if content is None:
            return None
        try:
            plain: dict[str, Any] = json.loads(content)
            if plain["schema"] != SCHEMA:
                raise ValueError(f"schema {plain['schema']}")
            found = from_plain(cls, plain)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TableError(
                f"{own_place(run.paths[AUDIT])} is not an audit that this version can read. "
                "Estimate again from the answers, which are in the decision log."
            ) from error
        # An audit of other scores, from an earlier check, does not apply to these suspects.
        return found if found.scores_sha256 == run.hashes[SCORES] else None
