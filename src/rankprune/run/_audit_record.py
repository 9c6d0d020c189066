"""The result of a blind audit, saved as ``audit.json`` in a run directory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rankprune.audit import AuditEstimate
from rankprune.exceptions import TableError
from rankprune.run._directory import SCORES
from rankprune.run._findings import BeforeAfter
from rankprune.storage._atomic import write_whole
from rankprune.storage._hashes import file_sha256
from rankprune.storage._json_records import from_plain, to_plain

AUDIT = "audit.json"
SCHEMA = 1


@dataclass(frozen=True)
class AuditRecord:
    """What people found in a random sample of the rows of a run.

    Attributes
    ----------
    estimate : AuditEstimate
    n_unjudged : int
        Rows of the sample not judged yet; they count as unsure.
    n_disagreements : int
        Rows that reviewers judge differently and nobody has settled; they count as unsure too.
    reviewers : tuple of str
    before_after : BeforeAfter or None
        The plain model and the one without suspects, judged on the sample.
    notes : tuple of str
    scores_sha256 : str
        Of the scores that the sample was drawn by.
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

    def save(self, folder: Path) -> Path:
        """Write it to the run directory."""
        content = {"schema": SCHEMA, **to_plain(self)}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(folder / AUDIT, text.encode())
        return folder / AUDIT

    @classmethod
    def load(cls, folder: Path) -> AuditRecord | None:
        """Return the audit of the run in a directory, or None if it was never audited."""
        path = folder / AUDIT
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError(f"schema {content['schema']}")
            found = from_plain(cls, content)
        except (ValueError, KeyError, TypeError) as error:
            raise TableError(
                f"{path} is not an audit that this version can read. Estimate again from the "
                "answers, which are in the decision log."
            ) from error
        # An audit of an earlier check of other scores says nothing about these suspects.
        return found if found.scores_sha256 == file_sha256(folder / SCORES) else None
