"""The result of a blind audit, saved as ``audit.json`` in a run directory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankprune.audit import AuditEstimate, ClassAuditEstimate
from rankprune.core import Interval
from rankprune.exceptions import TableError
from rankprune.run._check_record import scores_key_of
from rankprune.run._directory import (
    AUDIT,
    REPORT,
    RunFiles,
    open_run,
    own_place,
    replace_files,
)
from rankprune.run._findings import BeforeAfter
from rankprune.run._judged_rows import Method
from rankprune.storage._json_records import from_plain, to_plain

SCHEMA = 2
_FIRST_SCHEMA = 1


@dataclass(frozen=True)
class AuditRecord:
    """The result of a blind audit.

    Attributes
    ----------
    estimate : AuditEstimate, ClassAuditEstimate or None
        What the answers show whatever the model believes, if the audit is one fixed sample; None
        if it goes by batches.
    n_unjudged : int
        Number of drawn rows not judged yet.
    n_disagreements : int
        Number of rows with an unsettled disagreement between reviewers; they count as unsure.
    reviewers : tuple of str
    before_after : BeforeAfter or None
        Errors on the sample of the plain model and of the model trained without suspects.
    notes : tuple of str
    scores_sha256 : str
        `LabelCheck.scores_key` of the check that was audited.
    method : {"model", "design"}
        Whether the rows came in batches, and model and answers together give the result, or from
        one fixed sample, whose answers alone do.
    about : str or None
        The label whose errors the last batch is about; None for those of both.
    before, after : Interval or None
        The share of wrong labels with its range, before any row was judged and now; None in audits
        of the first release.
    n_judged, n_sure, n_wrong : int
        Numbers of rows that were judged, of those with a clear answer, and of wrong labels among
        them.
    n_batches : int
    contradicts_model : bool
        Whether the answers contradict the range that the model gave, and count alone.
    """

    estimate: AuditEstimate | ClassAuditEstimate | None
    n_unjudged: int
    n_disagreements: int
    reviewers: tuple[str, ...]
    before_after: BeforeAfter | None
    notes: tuple[str, ...]
    scores_sha256: str
    method: Method = "design"
    about: str | None = None
    before: Interval | None = None
    after: Interval | None = None
    n_judged: int = 0
    n_sure: int = 0
    n_wrong: int = 0
    n_batches: int = 1
    contradicts_model: bool = False

    @property
    def is_finished(self) -> bool:
        """Return whether every row that was drawn has been judged."""
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
            if plain["schema"] not in (_FIRST_SCHEMA, SCHEMA):
                raise ValueError(f"schema {plain['schema']}")
            if plain["schema"] == _FIRST_SCHEMA:
                plain |= _counts(plain)
            if plain["estimate"] is not None:
                plain["estimate"] = _estimate(plain["estimate"])
            found = from_plain(cls, plain)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TableError(
                f"{own_place(run.paths[AUDIT])} is not an audit that this version can read. "
                "Estimate again from the answers, which are in the decision log."
            ) from error
        # An audit of other scores, from an earlier check, does not apply to these suspects.
        return found if found.scores_sha256 == scores_key_of(run) else None


def _estimate(plain: dict[str, Any]) -> AuditEstimate | ClassAuditEstimate:
    """Return an estimate about two labels, or about more."""
    if "error_rates" in plain:
        return from_plain(ClassAuditEstimate, plain)
    return from_plain(AuditEstimate, plain)


def _counts(plain: dict[str, Any]) -> dict[str, int]:
    """Return the numbers of judged rows, which the first release did not store."""
    estimate, n_unjudged = plain["estimate"], plain["n_unjudged"]
    n_drawn = estimate["n_drawn"]
    return {"n_judged": n_drawn - n_unjudged, "n_sure": n_drawn - estimate["n_unsure"]}
