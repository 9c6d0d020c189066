"""The result of a blind audit, kept as ``audit.json`` in a run directory for report and people."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from rankprune._files import write_whole
from rankprune._label_check import SCORES, BeforeAfter, LabelCheck, file_sha256
from rankprune._plain import from_plain, to_plain
from rankprune.audit import AuditEstimate
from rankprune.exceptions import TableError

AUDIT = "audit.json"
SCHEMA = 1


@dataclass(frozen=True)
class AuditRecord:
    """What people found in a random sample of the rows of a run.

    Attributes
    ----------
    estimate : AuditEstimate
    n_unjudged : int
        Rows of the sample that nobody has judged yet; part of those that count as unsure.
    n_disagreements : int
        Rows that people judged differently and nobody has settled; part of them, too.
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
        """Return whether somebody has judged every row of the sample."""
        return self.n_unjudged == 0

    def save(self, folder: Path) -> Path:
        """Write it to the run directory."""
        content = {"schema": SCHEMA, **to_plain(self)}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(folder / AUDIT, text.encode())
        return folder / AUDIT

    @classmethod
    def load(cls, folder: Path) -> AuditRecord | None:
        """Return the audit of the run in a directory; None where there is none of this run."""
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
                f"{path} is not an audit that this version reads. Make it again with: rankprune "
                "audit RUN --estimate"
            ) from error
        # An audit of an earlier check of other scores says nothing about these suspects.
        return found if found.scores_sha256 == file_sha256(folder / SCORES) else None


def audit_headline(check: LabelCheck, record: AuditRecord) -> str:
    """Return the verdict of the audit as one sentence."""
    found = record.estimate
    if not record.is_finished:
        return (
            f"The blind audit is not finished: {record.n_unjudged} of its {found.n_drawn} rows "
            "are not judged yet, and may be right or wrong."
        )
    return (
        f"A blind audit of {found.n_drawn} rows finds {found.wrong_share.estimate:.1%} of your "
        f"labels wrong ({found.level:.0%} interval {found.wrong_share.low:.1%} to "
        f"{found.wrong_share.high:.1%}): {found.positive_label_error_rate.estimate:.1%} of those "
        f"that say {check.positive!r} and {found.negative_label_error_rate.estimate:.1%} of those "
        f"that say {check.negative!r}."
    )


def audit_rows(check: LabelCheck, record: AuditRecord) -> list[tuple[str, str, str]]:
    """Return what is estimated, by the model and by the audit, as texts."""
    positive, negative = check.positive, check.negative
    model, found = check.estimated_rates, record.estimate
    names = {
        "wrong_share": "labels that are wrong",
        "positive_label_error_rate": f"labels “{positive}” that are wrong",
        "negative_label_error_rate": f"labels “{negative}” that are wrong",
        "positive_noise_rate": f"true “{positive}” labeled “{negative}”",
        "negative_noise_rate": f"true “{negative}” labeled “{positive}”",
        "suspect_precision": "suspects that are wrong",
        "missed_share": "others that are wrong",
    }
    rows = []
    for name, interval in found.items():
        guess = getattr(model, name, None)
        rows.append((names[name], "" if guess is None else f"{guess:.1%}", str(interval)))
    rows.append(("wrong labels missed", "", f"at most {found.missed_at_most:,}"))
    return rows


def audit_lines(check: LabelCheck, record: AuditRecord) -> list[str]:
    """Return the audit in a few lines of text."""
    if not record.is_finished:
        return [audit_headline(check, record), "Go on with: rankprune audit RUN"]
    rows = [("", "model", "audit"), *audit_rows(check, record)]
    width, middle = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [audit_headline(check, record), ""]
    lines += [f"  {name:<{width}}  {guess:>{middle}}  {text}" for name, guess, text in rows]
    lines += ["", *audit_notes(record)]
    both = record.before_after
    if both is not None:
        lines.append(
            f"On the audited rows, weighted to stand for all, the plain model errs by "
            f"{both.before:.1%} and the one without suspects by {both.after:.1%} (difference "
            f"{both.after - both.before:+.1%}, 95 % interval {both.low:+.1%} to {both.high:+.1%}); "
            "every row was predicted by models that were not fitted to it."
        )
    return lines


def audit_notes(record: AuditRecord) -> list[str]:
    """Return what the audit rests on, in sentences."""
    found = record.estimate
    notes = [f"The intervals cover {found.wrong_share.covers}: {found.method}."]
    if found.n_unsure:
        parts = [f"{found.n_unsure} of {found.n_drawn} rows have no clear answer"]
        if record.n_disagreements:
            parts.append(f"{record.n_disagreements} were judged differently")
        notes.append("; ".join(parts) + ".")
    return [*notes, *record.notes]
