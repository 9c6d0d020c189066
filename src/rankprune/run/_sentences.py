"""Every sentence about a run, for terminal, report, page and notebook.

Shares of wrong labels are those of `LabelCheck.noise_rates`, in one format, so that no two places
disagree; what the sentences claim follows from the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankprune.core._auc import SEPARATED_AUC
from rankprune.core._verdict import are_enough
from rankprune.core._verdict_reasons import coverage_line

if TYPE_CHECKING:
    from rankprune.core import Interval
    from rankprune.run._audit_record import AuditRecord
    from rankprune.run._decision_log import Merged
    from rankprune.run._findings import BeforeAfter, Stability
    from rankprune.run._label_check import LabelCheck
    from rankprune.run._settled import Settled

# Notes on probabilities that were given with the rows.
TOO_GOOD_SCORES = (
    "These scores fit the labels almost perfectly. If the model was trained on these rows, this "
    "proves nothing; pass out-of-fold scores."
)
INVERTED_SCORES = "These look like scores of the other label."


def percent(share: float) -> str:
    """Return a share in the one format that all texts use."""
    return f"{share:.1%}"


def count(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural if need be."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def headline(check: LabelCheck) -> str:
    """Return the verdict as one sentence for people who do not know the method."""
    level, rates, total = check.verdict.level, check.noise_rates, check.wrong_share_interval
    if level == "clean":
        return f"Your labels look clean: at most {percent(total.high)} are wrong."
    if level == "cannot tell" and not shows_something(check):
        return (
            "This data does not show whether labels are wrong. More rows or a better model may "
            "settle it; people who judge a random sample of rows will."
        )
    most_likely = f"most likely {percent(check.wrong_share)}"
    if level == "cannot tell":
        return (
            f"{range_words(total)} of your labels may be wrong, {most_likely}. The data alone "
            "cannot tell; a person who judges 25 rows can narrow it down."
        )
    return (
        f"{range_words(total)} of your labels are wrong, {most_likely}: "
        f"{percent(rates.positive_label_error_rate)} of those that say “{check.positive}” and "
        f"{percent(rates.negative_label_error_rate)} of those that say “{check.negative}”."
    )


def range_words(interval: Interval) -> str:
    """Return a range as words that begin a sentence."""
    if interval.low == 0:
        return f"Up to {percent(interval.high)}"
    return f"Between {percent(interval.low)} and {percent(interval.high)}"


def shows_something(check: LabelCheck) -> bool:
    """Return whether the scores say anything about wrong labels, however little."""
    rates, tally = check.estimated_rates, check.tally
    # Without trusted rows; rates of a callable may not say of how many rows they are.
    negative = tally.n_negative if rates.n_negative is None else rates.n_negative
    positive = tally.n_positive if rates.n_positive is None else rates.n_positive
    return rates.reliable and are_enough(negative, positive)


def wrong_share_words(check: LabelCheck) -> tuple[str, str]:
    """Return the range of the share of wrong labels, and what it is."""
    total = check.wrong_share_interval
    if check.verdict.level == "cannot tell" and not shows_something(check):
        return "unknown", "share of wrong labels"
    ends = f"{percent(total.low)} to {percent(total.high)}"
    if check.verdict.level == "clean":
        return ends, "of the labels wrong"
    return ends, f"of the labels wrong, most likely {percent(check.wrong_share)}"


def not_judged_words(check: LabelCheck, allowed: float) -> str:
    """Return why a limit on the share of wrong labels does not apply, or nothing if it does."""
    if check.verdict.level == "cannot tell":
        return "this data does not show whether labels are wrong."
    if check.verdict.level == "clean" and check.estimated_rates.wrong_share > allowed:
        return "the labels look clean."
    return ""


def exceeds_words(check: LabelCheck, allowed: float) -> str:
    """Return that more labels are wrong than allowed."""
    return (
        f"{percent(check.wrong_share)} of the labels are wrong, more than the {percent(allowed)} "
        "allowed."
    )


def training_sentence(check: LabelCheck, n_pruned: int) -> str:
    """Return how many rows a model was trained on, and why none were dropped if none were."""
    if n_pruned or check.verdict.level == "noise found":
        return f"Trained on {check.n_rows - n_pruned:,} of {check.n_rows:,} rows."
    why = {
        "clean": "The labels look clean",
        "cannot tell": "The check could not tell whether labels are wrong",
        "noise found": "",
    }[check.verdict.level]
    return (
        f"Trained on all {check.n_rows:,} rows. {why}, so none were dropped; pass prune=True to "
        "drop the least believable ones anyway."
    )


def export_line(check: LabelCheck, kept: int, removed: int, *, marked: bool) -> str:
    """Return how many rows an export wrote, and what it marked or left out."""
    if marked:
        are = "is" if check.n_suspects == 1 else "are"
        return (
            f"{count(kept, 'row')} written; {count(check.n_suspects, 'suspect')} {are} marked in "
            "three new columns."
        )
    return f"{kept:,} of {count(kept + removed, 'row')} kept, {removed:,} left out."


def rate_names(check: LabelCheck) -> dict[str, str]:
    """Return what each rate is called, in the user's own labels; the total comes first."""
    positive, negative = check.positive, check.negative
    return {
        "wrong_share": "labels that are wrong",
        "positive_label_error_rate": f"labels “{positive}” that are wrong",
        "negative_label_error_rate": f"labels “{negative}” that are wrong",
        "positive_noise_rate": f"true “{positive}” labeled “{negative}”",
        "negative_noise_rate": f"true “{negative}” labeled “{positive}”",
    }


def rates_note(check: LabelCheck) -> str:
    """Return how to read the rates under this verdict."""
    if check.verdict.level == "cannot tell" and not shows_something(check):
        return (
            "This data does not show how many labels are wrong, so do not rely on these rates and "
            "ranges. No row is a suspect."
        )
    return {
        "noise found": "",
        "clean": (
            "The labels look clean: noise this rare cannot be told from overlapping classes, so "
            "the estimates are zero and no row is a suspect."
        ),
        "cannot tell": (
            "Wrong labels and overlapping classes look alike here, so the ranges are wide and no "
            "row is a suspect."
        ),
    }[check.verdict.level]


def summary_lines(check: LabelCheck) -> list[str]:
    """Return the answer in a few lines of text."""
    names = rate_names(check)
    width = max(len(name) for name in names.values())
    lines = [headline(check), ""]
    lines += [
        f"  {name:<{width}}  {getattr(check.intervals, rate)}" for rate, name in names.items()
    ]
    lines += [""] + ([rates_note(check)] if rates_note(check) else [])
    are = "is a suspect" if check.n_suspects == 1 else "are suspects"
    lines += [f"{check.n_suspects:,} of {count(check.n_rows, 'row')} {are}."]
    lines += [precision_line(check)] if check.n_candidates else []
    lines += [f"- {reason}" for reason in check.verdict.reasons]
    return lines


def precision_line(check: LabelCheck) -> str:
    """Return how many rows to look at there are, and how many of them are likely wrong.

    The latter stretch by stretch, and only if the scores say anything about it.
    """
    rows = count(check.n_candidates, "row")
    if not check.stretches or not shows_something(check):
        return f"{rows} to look at, most suspicious first."
    first, *others = check.stretches[:3]
    n_wrong = min(round(first.expected_wrong), first.n_rows)
    are = "is" if n_wrong == 1 else "are"
    parts = [f"of the first {first.n_rows:,} about {n_wrong:,} {are} likely wrong"]
    parts += [f"of the next {one.n_rows:,} about {round(one.expected_wrong):,}" for one in others]
    return f"{rows} to look at, most suspicious first: {'; '.join(parts)}."


def intervals_line(check: LabelCheck) -> str:
    """Return what the intervals of the rates cover."""
    found = check.intervals
    return f"{coverage_line(found.level, found.covers)}."


# ---- trust

# Rows of each label that make intervals narrow.
_ENOUGH = 500
# Share of the suspects that stay with other folds, if the list is stable.
_STABLE = 0.9

Level = Literal["good", "beware", "bad", "open"]


@dataclass(frozen=True)
class Point:
    """One question about how far to trust the answer."""

    question: str
    level: Level
    answer: str
    advice: str = ""


def trust_points(check: LabelCheck) -> list[Point]:
    """Return what speaks for and against trusting the result."""
    return [
        _seen(check),
        _model(check),
        _sizes(check),
        _sum(check),
        _stability(check),
        _groups(check),
        _duplicates(check),
        *([] if check.stability is None else [_other_folds(check, check.stability)]),
    ]


def advice(check: LabelCheck) -> list[str]:
    """Return what would make the answer more certain, without repetition."""
    return list(dict.fromkeys(point.advice for point in trust_points(check) if point.advice))


def _seen(check: LabelCheck) -> Point:
    question = "Was each row scored by models that were not fitted to it?"
    if check.out_of_fold:
        return Point(question, "good", f"Yes, in {check.settings.cv or 'several'} folds.")
    return Point(
        question,
        "open",
        "The probabilities were given, so the check cannot know.",
        "Make sure that no row was scored by a model fitted to it: such scores hide wrong labels.",
    )


def _model(check: LabelCheck) -> Point:
    verdict = check.verdict
    question = "Do the models tell the two labels apart?"
    answer = (
        f"AUC {verdict.auc:.2f} against the given labels; {verdict.clean_auc:.2f} against correct "
        "ones, if the estimated noise rates are right."
    )
    better = "Better features or a stronger model, such as boosting, would sharpen the estimate."
    if verdict.clean_auc >= 0.95:
        return Point(question, "good", answer)
    if verdict.clean_auc >= SEPARATED_AUC:
        return Point(question, "beware", answer, better)
    return Point(question, "bad", answer, better)


def _sizes(check: LabelCheck) -> Point:
    positive, negative = check.tally.n_positive, check.tally.n_negative
    answer = (
        f"{positive:,} labeled {check.positive}, {negative:,} labeled {check.negative}; {_ENOUGH} "
        "of each are enough."
    )
    smaller = min(positive, negative)
    level: Level = "good" if smaller >= _ENOUGH else "beware" if smaller >= 100 else "bad"
    more = "" if level == "good" else "More rows would narrow the intervals."
    return Point("Are there enough rows with each label?", level, answer, more)


def _sum(check: LabelCheck) -> Point:
    question = "Do the labels carry information?"
    if not check.estimated_rates.reliable:
        return Point(
            question,
            "bad",
            "The models cannot tell the labels apart, so the noise rates mean nothing.",
            "Use a stronger model, or check which label is which.",
        )
    if check.verdict.level == "clean":
        return Point(question, "good", "Yes: they look clean.")
    if check.verdict.level == "cannot tell":
        return Point(question, "open", "The noise rates are not known.")
    total = check.noise_rates.positive_noise_rate + check.noise_rates.negative_noise_rate
    level: Level = "good" if total < 0.6 else "beware"
    answer = f"The two noise rates add up to {total:.2f}; at 1 the labels would be random."
    return Point(question, level, answer)


def _stability(check: LabelCheck) -> Point:
    question = "Do the estimated rates depend on the threshold?"
    sides = (
        (check.positive, check.separability.positive.flat),
        (check.negative, check.separability.negative.flat),
    )
    climbing = " and ".join(name for name, flat in sides if flat is False)
    if climbing:
        # Under each verdict only what that verdict leaves open.
        meaning = {
            "noise found": "some of the noise estimated there may not be noise",
            "clean": "the few rows that look mislabeled may only be hard",
            "cannot tell": "part of what looks like noise may be overlap",
        }[check.verdict.level]
        is_noise = check.verdict.level == "noise found"
        too_high = "The estimated rates are more likely too high than too low."
        return Point(
            question, "beware", f"Yes, for {climbing}: {meaning}.", too_high if is_noise else ""
        )
    if any(flat is None for _, flat in sides):
        return Point(question, "open", "There are too few rows to tell.")
    return Point(question, "good", "Not detectably: the differences are within the intervals.")


def _groups(check: LabelCheck) -> Point:
    question = "Could related rows have been split between folds?"
    if not check.out_of_fold:
        return Point(question, "open", "Nothing was fitted, so the check cannot know.")
    if check.n_groups is not None:
        return Point(question, "good", f"No: {count(check.n_groups, 'group')} stayed together.")
    return Point(
        question,
        "open",
        "No groups were named.",
        "If several rows come from one person or device, check again with the column that says "
        "which, as groups. Otherwise models recognise the person, and wrong labels that these rows "
        "share stay hidden.",
    )


def _duplicates(check: LabelCheck) -> Point:
    question = "Are there duplicate rows?"
    found = check.duplicates
    if found is None:
        return Point(question, "open", "The check saw no features to compare.")
    if found.n_rows == 0:
        return Point(question, "good", "No.")
    answer = (
        f"Yes, {found.n_rows:,}: {found.n_straddling:,} have a copy in another fold, and "
        f"{found.n_contradicting:,} have a copy with the other label."
    )
    if not found.n_straddling and not found.n_contradicting:
        return Point(question, "good", answer)
    look = (
        "Look at some of the copies that carry both labels: one of the labels is wrong, or the "
        "columns do not determine the label."
    )
    return Point(question, "beware", answer, look if found.n_contradicting else "")


def _other_folds(check: LabelCheck, found: Stability) -> Point:
    question = "Does the answer depend on the folds?"
    if found.level != check.verdict.level:
        return Point(
            question,
            "bad",
            f"Yes: with other folds and seeds the verdict is “{found.level}”.",
            "People who judge a random sample of rows can settle the verdict.",
        )
    n_again = found.n_stay + found.n_new
    if found.n_stay == max(found.n_suspects, n_again):
        same = "verdict and suspects are" if found.n_suspects else "verdict is"
        return Point(question, "good", f"No: with other folds and seeds the {same} the same.")
    become = "becomes a suspect" if found.n_new == 1 else "become suspects"
    answer = (
        f"With other folds and seeds, {found.n_stay:,} of {count(found.n_suspects, 'suspect')} "
        f"stay, and {count(found.n_new, 'other row')} {become}."
    )
    share = found.n_stay / max(found.n_suspects, n_again)
    if share >= _STABLE:
        return Point(question, "good", answer)
    return Point(
        question,
        "beware" if share >= 0.5 else "bad",
        answer,
        "Review suspects from the top of the list: those near its end depend on the folds.",
    )


# ---- before and after


def before_after_words(both: BeforeAfter, *, audited: bool) -> str:
    """Return how the model without suspects compares with the plain one."""
    rows = (
        f"On {count(both.n_rows, 'audited row')}, weighted to represent all rows,"
        if audited
        else f"On {count(both.n_rows, 'row')} with a trusted label,"
    )
    return (
        f"{rows} the plain model is wrong about {percent(both.before)} and the model trained "
        f"without suspects about {percent(both.after)} (difference "
        f"{both.after - both.before:+.1%}, 95% interval {both.low:+.1%} to {both.high:+.1%}). "
        "No row was predicted by a model fitted to it."
    )


# ---- rows


def row_words(check: LabelCheck) -> str:
    """Return what the row numbers and names on a page are."""
    numbers = "Row numbers are rows of the table, counted from 1 without the header"
    name = check.settings.id
    return f"{numbers}." if name is None else f"{numbers}; names are from the column “{name}”."


# ---- reviewers


def settled_lines(settled: Settled) -> list[str]:
    """Return how many labels reviewers settled, and why other rows keep theirs."""
    n = len(settled.rows)
    lines = [
        f"{count(n, 'label')} {'was' if n == 1 else 'were'} settled; {settled.n_changed:,} changed."
    ]
    n = len(settled.by_consensus)
    if n:
        lines.append(f"{n:,} of them {'was' if n == 1 else 'were'} settled by the consensus.")
    for number, why in (
        (settled.n_unsure, "reviewers are unsure"),
        (settled.n_disagreements, "reviewers disagree"),
        (settled.n_stale, "the row has changed since it was judged"),
    ):
        if number:
            keep = "keeps its label" if number == 1 else "keep their labels"
            lines.append(f"{count(number, 'row')} {keep}: {why}.")
    return lines


def merged_line(log: Path, merged: Merged) -> str:
    """Return how many decisions of another log were added."""
    counts = f"{merged.n_new:,} new, {merged.n_known:,} already known"
    if merged.n_foreign:
        counts += f", {merged.n_foreign:,} left out because their rows differ in this table"
    return f"Decisions from {log}: {counts}."


def review_summary(counts: Mapping[str, int]) -> str:
    """Return how many rows of a review were judged, and how."""
    answers = {"keep": "kept", "flip": "flipped", "unsure": "unsure", "disagreement": "disputed"}
    parts = [f"{counts[name]:,} {word}" for name, word in answers.items() if counts.get(name)]
    return audit_progress(counts).removesuffix(".") + (f": {', '.join(parts)}." if parts else ".")


def audit_progress(counts: Mapping[str, int]) -> str:
    """Return how many rows were judged."""
    return f"{counts['judged']:,} of {count(counts['rows'], 'row')} judged."


# ---- the blind audit


def audit_headline(check: LabelCheck, record: AuditRecord) -> str:
    """Return the result of the audit as one sentence."""
    found = record.estimate
    if not record.is_finished:
        are = "is" if record.n_unjudged == 1 else "are"
        return (
            f"The blind audit is not finished: {record.n_unjudged:,} of its "
            f"{count(found.n_drawn, 'row')} {are} still to be judged."
        )
    return (
        f"A blind audit of {count(found.n_drawn, 'row')} finds "
        f"{percent(found.wrong_share.estimate)} of your labels wrong ({found.level:.0%} interval "
        f"{percent(found.wrong_share.low)} to {percent(found.wrong_share.high)}): "
        f"{percent(found.positive_label_error_rate.estimate)} of those that say "
        f"{check.positive!r} and {percent(found.negative_label_error_rate.estimate)} of those that "
        f"say {check.negative!r}."
    )


def audit_rows(check: LabelCheck, record: AuditRecord) -> list[tuple[str, str, str]]:
    """Return what is estimated, by the model and by the audit, as texts."""
    names = {
        **rate_names(check),
        "suspect_precision": "suspects that are wrong",
        "missed_share": "other rows that are wrong",
    }
    is_known = check.verdict.level != "cannot tell"
    rows = []
    for name, interval in record.estimate.items():
        by_model = getattr(check.noise_rates, name, None)
        shown = "" if by_model is None else percent(by_model) if is_known else "unknown"
        rows.append((names[name], shown, str(interval)))
    rows.append(("wrong labels missed", "", f"at most {record.estimate.missed_at_most:,}"))
    return rows


def audit_lines(check: LabelCheck, record: AuditRecord) -> list[str]:
    """Return the audit in a few lines of text."""
    if not record.is_finished:
        return [audit_headline(check, record)]
    rows = [("", "model", "audit"), *audit_rows(check, record)]
    width, middle = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [audit_headline(check, record), ""]
    lines += [f"  {name:<{width}}  {guess:>{middle}}  {text}" for name, guess, text in rows]
    lines += ["", *audit_notes(record)]
    if record.before_after is not None:
        lines.append(before_after_words(record.before_after, audited=True))
    return lines


def audit_notes(record: AuditRecord) -> list[str]:
    """Return what the audit rests on, in sentences."""
    found = record.estimate
    notes = [f"The intervals cover {found.wrong_share.covers}: {found.method}."]
    if found.n_unsure:
        have = "has" if found.n_unsure == 1 else "have"
        parts = [f"{found.n_unsure:,} of {count(found.n_drawn, 'row')} {have} no clear answer"]
        if record.n_disagreements:
            parts.append(f"reviewers disagree on {record.n_disagreements:,} of them")
        notes.append("; ".join(parts) + ".")
    return [*notes, *record.notes]
