"""Every sentence about the answers of several annotators, for terminal and report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankprune.run._sentences import rate_names
from rankprune.run._words import count, percent

if TYPE_CHECKING:
    from rankprune.core import Interval
    from rankprune.run._label_check import LabelCheck
    from rankprune.run._repeated_answers import RepeatedAnswers
    from rankprune.run._reviewers import Reviewers

WRONG_NOTE = (
    "Scores are compared with the labels that were checked, which lean on similar scores, so the "
    "shares by scores may be too low. Answers are compared with each other, which assumes that "
    "errors of annotators are independent given the true label; rows that are hard for everyone "
    "make the shares too low."
)
ANNOTATORS_NOTE = (
    "Accuracy is the share of answers that are right, the next two columns are the shares of the "
    "rows of each true label that were called the other; all with 95% intervals, which cover the "
    "choice of rows and doubt about their labels, but not errors that annotators share. Intervals "
    "from 0% to 100% mean that the answers cannot tell."
)
# Names that a line of the summary shows.
_NAMED = 5


def answers_lines(check: LabelCheck) -> list[str]:
    """Return what the answers say in a few lines of text; none if labels did not come from them."""
    found = check.repeated_answers
    if found is None:
        return []
    lines = ["", answers_sentence(found), *wrong_sentences(found)]
    return [*lines, *([] if not suspicious(found) else [suspicious(found)])]


def answers_sentence(found: RepeatedAnswers) -> str:
    """Return how many answers there are, and what became of them."""
    people = count(len(found.annotators), "annotator")
    per_row = found.n_answers / max(found.n_rows, 1)
    return (
        f"The labels are the consensus of {count(found.n_answers, 'answer')} by {people} about "
        f"{count(found.n_rows, 'row')}, {per_row:.1f} a row; {percent(found.agreement)} of the "
        "answers about a row agree with it on average."
    )


def wrong_sentences(found: RepeatedAnswers) -> list[str]:
    """Return how many labels are wrong by the answers, and what that assumes."""
    if found.doubts:
        return [f"The answers {doubt}." for doubt in map(_of_answers, found.doubts)]
    votes, labels = found.by_votes.wrong_share, found.by_consensus.wrong_share
    return [
        f"By the answers, {_range(labels)} of these labels are wrong, most likely "
        f"{percent(labels.estimate)}; of the labels by majority vote, {_range(votes)}, most likely "
        f"{percent(votes.estimate)}. This assumes that errors are independent given the true "
        "label; rows that are hard for everyone make these shares too low."
    ]


def _of_answers(doubt: str) -> str:
    """Return a doubt of the consensus as what answers do."""
    return doubt if doubt.startswith("cannot tell") else f"leave a doubt: {doubt}"


def _range(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def suspicious(found: RepeatedAnswers) -> str:
    """Return who needs a second look, or nothing."""
    names = [one.annotator for one in found.annotators if one.remarks]
    if not names:
        return ""
    needs = "annotator needs" if len(names) == 1 else "annotators need"
    more = "" if len(names) <= _NAMED else f" and {len(names) - _NAMED} more"
    return f"{len(names)} {needs} a second look: {', '.join(names[:_NAMED])}{more}."


def wrong_rows(check: LabelCheck) -> list[tuple[str, str, str, str]]:
    """Return each rate by the scores, and by the answers for votes and consensus, as texts."""
    found = check.repeated_answers
    if found is None or found.doubts:
        return []
    return [
        (
            name,
            str(getattr(check.intervals, rate)),
            str(getattr(found.by_consensus, rate)),
            str(getattr(found.by_votes, rate)),
        )
        for rate, name in rate_names(check).items()
    ]


# ---- several reviewers

# Pairs of reviewers, and rows, that a summary shows.
_PAIRS, _ROWS = 6, 5


def reviewers_lines(
    found: Reviewers | None, by_consensus: frozenset[int] = frozenset()
) -> list[str]:
    """Return how far reviewers agree, who was overruled, and what is likely; none for one alone.

    Of the open disagreements, those that were settled by the consensus are left out.
    """
    if found is None:
        return []
    lines = [
        f"{' and '.join(one.reviewers)} agree on {percent(one.share)} of "
        f"{count(one.n_rows, 'row')} that both judged"
        + ("." if one.kappa is None else f" (kappa {one.kappa:.2f}).")
        for one in found.agreements[:_PAIRS]
    ]
    if found.n_settled:
        told = (
            f"{one.name} was overruled in {one.n_overruled:,} of {one.n_settled:,}"
            for one in found.reviewers
            if one.n_settled
        )
        were = "was" if found.n_settled == 1 else "were"
        lines.append(f"{count(found.n_settled, 'disagreement')} {were} settled: {', '.join(told)}.")
    if found.doubts:
        return [*lines, *(f"The answers {doubt}." for doubt in map(_of_answers, found.doubts))]
    accuracies = ", ".join(f"{one.name} {one.accuracy}" for one in found.reviewers)
    lines.append(f"Share of correct answers, by the consensus ({found.method}): {accuracies}.")
    return [*lines, *_likely_lines([one for one in found.likely if one[0] not in by_consensus])]


def _likely_lines(likely: list[tuple[int, str, float]]) -> list[str]:
    """Return the consensus about open disagreements."""
    if not likely:
        return []
    told = ", ".join(
        f"row {row + 1} “{label}” ({percent(confidence)})"
        for row, label, confidence in likely[:_ROWS]
    )
    n = len(likely)
    more = "" if n <= _ROWS else f", and {n - _ROWS:,} more"
    keeps = "It keeps its label" if n == 1 else "They keep their labels"
    are = "is" if n == 1 else "are"
    return [
        f"{count(n, 'disagreement')} {are} open; most likely are {told}{more}. {keeps} until a "
        "person settles the disagreement."
    ]
