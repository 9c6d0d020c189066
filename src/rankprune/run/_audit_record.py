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

    def save(self, folder: Path) -> Path:
        """Write the audit to the run directory, and return the path of its file."""
        content = {"schema": SCHEMA, **to_plain(self)}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(folder / AUDIT, text.encode())
        return folder / AUDIT

    @classmethod
    def load(cls, folder: Path) -> AuditRecord | None:
        """Return the audit of a run directory, or None if its scores were never audited."""
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
        # An audit of other scores, from an earlier check, does not apply to these suspects.
        return found if found.scores_sha256 == file_sha256(folder / SCORES) else None
