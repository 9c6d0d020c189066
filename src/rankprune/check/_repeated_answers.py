"""What the answers say, as a part of the record of a check."""

from __future__ import annotations

import numpy as np

from rankprune.annotators import Consensus, annotator_report, consensus, next_rows
from rankprune.check._answer_tables import LongTable, Matched
from rankprune.run._repeated_answers import AnnotatorRow, RepeatedAnswers, WrongLabels

# Rows to ask again that are kept with the run.
_N_NEXT = 100
_WITNESS = "scores of the rows are one more witness"


def repeated_answers(
    given: LongTable, matched: Matched, found: Consensus, *, shown: bool
) -> RepeatedAnswers:
    """Return the record of answers and their consensus; rows are not named unless `shown`."""
    answers = matched.answers
    is_answered = answers.per_row > 0
    votes = consensus(answers, method="majority").labels
    return RepeatedAnswers(
        name=given.name,
        sha256=given.sha256,
        n_answers=len(answers),
        n_rows=int(is_answered.sum()),
        n_unanswered=matched.n_unanswered,
        n_without_features=matched.n_without_features,
        agreement=float(np.mean(found.agreement[is_answered])),
        confidence=float(np.mean(found.confidence[is_answered])),
        method=found.method,
        reason=found.reason.replace("probabilities were given", _WITNESS),
        doubts=found.doubts,
        by_votes=_wrong(found, votes, matched),
        by_consensus=_wrong(found, found.labels, matched),
        annotators=_annotators(matched, found),
        next_rows=tuple(map(str, next_rows(answers, _N_NEXT, found=found))) if shown else (),
    )


def _wrong(found: Consensus, labels: np.ndarray, matched: Matched) -> WrongLabels:
    """Return how many of these labels are wrong, in the rows that are checked."""
    known = labels.astype(object)
    known[: matched.n_items][~matched.is_answered] = None
    known[matched.n_items :] = None
    errors = found.label_errors(known)
    negative, positive = 0, 1
    return WrongLabels(
        wrong_share=errors.wrong_share,
        positive_label_error_rate=errors.label_error_rates[positive],
        negative_label_error_rate=errors.label_error_rates[negative],
        positive_noise_rate=errors.noise_rates[positive],
        negative_noise_rate=errors.noise_rates[negative],
    )


def _annotators(matched: Matched, found: Consensus) -> tuple[AnnotatorRow, ...]:
    """Return the annotators, those who need a second look first, then by accuracy."""
    remarks: dict[str, list[str]] = {}
    for one in annotator_report(matched.answers, found=found):
        remarks.setdefault(one.annotator, []).append(f"{one.kind} ({one.detail})")
    rows = [
        AnnotatorRow(
            annotator=str(one.annotator),
            n_answers=one.n_answers,
            accuracy=one.accuracy,
            positive_noise_rate=one.confusion[1][0],
            negative_noise_rate=one.confusion[0][1],
            remarks=tuple(remarks.get(one.annotator, ())),
        )
        for one in found.annotators
    ]
    return tuple(sorted(rows, key=lambda one: (not one.remarks, one.accuracy.estimate)))
