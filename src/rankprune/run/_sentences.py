"""Every sentence about a run, for terminal, report, page and notebook.

Shares of wrong labels are those of `LabelCheck.noise_rates`, in one format, so that no two places
disagree; what the sentences claim follows from the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankprune.audit._next_rows import BATCH
from rankprune.core._auc import SEPARATED_AUC
from rankprune.core._verdict_reasons import coverage_line
from rankprune.run._class_sentences import (
    MOST_LABELS,
    class_points,
    class_rate_lines,
    is_of_many,
    is_of_two,
    label_rates,
    most_frequent_words,
    most_often_wrong,
)
from rankprune.run._judged_rows import answer_of, label_name
from rankprune.run._offer import rows_left
from rankprune.run._words import Level, Point, count, percent, points, range_words

if TYPE_CHECKING:
    from rankprune.core import Interval
    from rankprune.run._audit_record import AuditRecord
    from rankprune.run._check_record import CheckRecord
    from rankprune.run._decision_log import Draw, Merged
    from rankprune.run._findings import BeforeAfter, Stability
    from rankprune.run._label_check import LabelCheck
    from rankprune.run._offer import Offer
    from rankprune.run._settled import Settled

# What a limit on the share of wrong labels is compared with: the point, or an end of the range.
Compared = Literal["point", "lower", "upper"]

# Notes on probabilities that were given with the rows.
TOO_GOOD_SCORES = (
    "These scores fit the labels almost perfectly. If the model was trained on these rows, this "
    "proves nothing; pass out-of-fold scores."
)
INVERTED_SCORES = "These look like scores of the other label."


def headline(check: CheckRecord) -> str:
    """Return the verdict as one sentence for people who do not know the method."""
    level, total = check.verdict.level, check.wrong_share_interval
    judged, known = judged_words(check), contradiction_words(check)
    if level == "clean":
        return f"Your labels look clean: at most {percent(total.high)} are wrong{judged}.{known}"
    if level == "cannot tell" and not shows_something(check):
        return (
            "This data does not show whether labels are wrong. More rows or a better model may "
            f"settle it; {_next_judged(check, 'will')}"
        )
    most_likely = f"most likely {percent(check.wrong_share)}"
    if level == "cannot tell" and judged:
        then = _next_judged(check, "can narrow it down further")
        return (
            f"{range_words(total)} of your labels may be wrong, {most_likely}{judged}.{known} "
            f"{then[0].upper()}{then[1:]}"
        )
    if level == "cannot tell":
        return (
            f"{range_words(total)} of your labels may be wrong, {most_likely}. The data alone "
            f"cannot tell; {_next_judged(check, 'can narrow it down')}"
        )
    if judged:
        return f"{range_words(total)} of your labels are wrong, {most_likely}{judged}.{known}"
    return f"{range_words(total)} of your labels are wrong, {most_likely}{_which_words(check)}."


def _which_words(check: CheckRecord) -> str:
    """Return which labels are wrong: the share of each of two, or the most frequent of many."""
    if is_of_many(check):
        return most_frequent_words(check)
    (first, of_first), (second, of_second) = check.error_rates.items()
    return (
        f": {percent(of_first.estimate)} of those that say “{first}” and "
        f"{percent(of_second.estimate)} of those that say “{second}”"
    )


def judged_words(check: CheckRecord) -> str:
    """Return how many rows people judged, in brackets, or nothing if no answer counts."""
    if not n_judged(check):
        return ""
    return f" ({count(n_judged(check), 'row')} judged)"


def n_judged(check: CheckRecord) -> int:
    """Return the number of rows that people judged with a clear answer."""
    return 0 if check.judged is None else check.judged.n_sure


def contradiction_words(check: CheckRecord) -> str:
    """Return that the judged rows contradict the model, if they do."""
    if check.judged is None or not check.judged.contradicts_model:
        return ""
    return " The answers contradict the model, so the range comes from them alone."


def _next_judged(check: CheckRecord, can: str) -> str:
    """Return the offer that ends the headline of a check that cannot tell."""
    n_left = rows_left(check)
    if not n_left:
        return "no rows are left to judge."
    if n_left >= BATCH:
        more = "another " if n_judged(check) else ""
        return f"a person who judges {more}{BATCH} rows {can}."
    rest = "the row that is left" if n_left == 1 else f"the {n_left} rows that are left"
    return f"a person who judges {rest} {can}."


def offer_line(check: CheckRecord, offer: Offer | None, command: str) -> str:
    """Return the offer to judge rows, with the command that does it, or an empty text."""
    if offer is None:
        return ""
    rows = count(offer.n_rows, "row")
    if offer.half_width is not None:
        what = f"Judge {rows} to narrow this to about ±{points(offer.half_width)}"
    elif offer.n_rows < BATCH:
        what = f"Judge the {rows} left to narrow this"
    else:
        what = f"Judge {rows} to narrow this"
    return f"{_range_alone(check)} {what}: {command}"


def _range_alone(check: CheckRecord) -> str:
    total, are = check.wrong_share_interval, "are"
    if check.verdict.level == "cannot tell":
        if not shows_something(check):
            return "How many labels are wrong is not known."
        are = "may be"
    return f"{range_words(total)} of your labels {are} wrong."


def shows_something(check: CheckRecord) -> bool:
    """Return whether scores or judged rows say anything about wrong labels, however little."""
    return n_judged(check) > 0 or check.says_something


def wrong_share_words(check: CheckRecord) -> tuple[str, str]:
    """Return the range of the share of wrong labels, and what it is."""
    total = check.wrong_share_interval
    if check.verdict.level == "cannot tell" and not shows_something(check):
        return "unknown", "share of wrong labels"
    ends = f"{percent(total.low)} to {percent(total.high)}"
    if check.verdict.level == "clean":
        return ends, "of the labels wrong"
    return ends, f"of the labels wrong, most likely {percent(check.wrong_share)}"


def not_judged_words(check: CheckRecord, allowed: float) -> str:
    """Return why a limit on the share of wrong labels does not apply, or nothing if it does."""
    if check.verdict.level == "cannot tell":
        return "this data does not show whether labels are wrong."
    share = check.wrong_share if n_judged(check) else check.estimated_intervals.wrong_share.estimate
    if check.verdict.level == "clean" and share > allowed:
        return "the labels look clean."
    return ""


def compared_share(check: CheckRecord, compared: Compared) -> float:
    """Return the share of wrong labels, or the end of its range, that a limit is compared with."""
    total = check.wrong_share_interval
    return {"point": check.wrong_share, "lower": total.low, "upper": total.high}[compared]


def exceeds_words(check: CheckRecord, allowed: float, compared: Compared = "point") -> str:
    """Return that more labels are wrong than allowed, or may be."""
    share = percent(compared_share(check, compared))
    what = {
        "point": f"{share} of the labels are wrong",
        "lower": f"At least {share} of the labels are wrong",
        "upper": f"Up to {share} of the labels may be wrong",
    }[compared]
    return f"{what}{judged_words(check)}, more than the {percent(allowed)} allowed."


def training_sentence(check: CheckRecord, n_pruned: int) -> str:
    """Return how many rows a model was trained on, and why none were dropped if none were."""
    judged = _judged_labels_words(check)
    if n_pruned or check.verdict.level == "noise found":
        return f"Trained on {check.n_rows - n_pruned:,} of {check.n_rows:,} rows.{judged}"
    why = {
        "clean": "The labels look clean",
        "cannot tell": "The check could not tell whether labels are wrong",
        "noise found": "",
    }[check.verdict.level]
    return (
        f"Trained on all {check.n_rows:,} rows. {why}, so none were dropped; pass prune=True to "
        f"drop the least believable ones anyway.{judged}"
    )


def _judged_labels_words(check: CheckRecord) -> str:
    """Return what training made of the rows that people judged, if there are any."""
    n = n_judged(check)
    if check.judged is None or not n:
        return ""
    has = "has" if n == 1 else "have"
    return f" {count(n, 'judged row')} {has} the right label; {check.judged.n_wrong:,} changed."


def export_line(
    check: CheckRecord, kept: int, removed: int, *, marked: bool, is_reviewed: bool = False
) -> str:
    """Return how many rows an export wrote, and what it marked or left out."""
    if marked:
        are = "is" if check.n_suspects == 1 else "are"
        columns = "three new columns"
        if is_of_many(check):
            columns = "four new columns, one of them with suggested labels"
        return (
            f"{count(kept, 'row')} written; {count(check.n_suspects, 'suspect')} {are} marked in "
            f"{columns}."
        )
    line = f"{kept:,} of {count(kept + removed, 'row')} kept, {removed:,} left out."
    return line + (f" {_wrong_left_out(check)}" if not is_reviewed and n_wrong(check) else "")


def n_wrong(check: CheckRecord) -> int:
    """Return the number of judged rows whose label is wrong."""
    return 0 if check.judged is None else check.judged.n_wrong


def _wrong_left_out(check: CheckRecord) -> str:
    was = "label was" if n_wrong(check) == 1 else "labels were"
    return (
        f"Of these, {n_wrong(check):,} {was} judged wrong; an export with settled labels corrects "
        "such labels instead."
    )


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


def rates_note(check: CheckRecord) -> str:
    """Return how to read the rates under this verdict, and what judged rows did to them."""
    return " ".join([*_verdict_note(check), *judged_notes(check)])


def _verdict_note(check: CheckRecord) -> list[str]:
    level = check.verdict.level
    if level == "noise found":
        return []
    if level == "cannot tell" and not shows_something(check):
        return [
            "This data does not show how many labels are wrong, so do not rely on these rates and "
            "ranges. No row is a suspect."
        ]
    if n_judged(check):
        why = "The labels look clean" if level == "clean" else "The range is still wide"
        return [f"{why}, so no row is a suspect."]
    if level == "clean":
        return [
            "The labels look clean: noise this rare cannot be told from overlapping classes, so "
            "the estimates are zero and no row is a suspect."
        ]
    return [
        "Wrong labels and overlapping classes look alike here, so the ranges are wide and no row "
        "is a suspect."
    ]


def judged_notes(check: CheckRecord) -> list[str]:
    """Return what the answers about judged rows did to the rates, in sentences."""
    judged, n = check.judged, n_judged(check)
    if judged is None:
        return []
    if not n:
        rows = count(len(judged.rows), "judged row")
        return [f"None of {rows} has a clear answer, so the rates are those of the model."]
    are = "is" if judged.n_wrong == 1 else "are"
    wrong = f"{judged.n_wrong:,} of {count(n, 'judged label')} {are} wrong"
    if judged.method == "design":
        notes = [
            f"{wrong}. The ranges come from the answers alone, so they hold whatever the model "
            "believes."
        ]
    elif judged.contradicts_model:
        notes = [f"{wrong}.{contradiction_words(check)}"]
    else:
        notes = [
            f"{wrong}; they were drawn where answers tell most, so this is not the share of all "
            "labels. The ranges come from the model and the answers together."
        ]
    return [*notes, *_unsure_notes(check, len(judged.rows) - n)]


def _unsure_notes(check: CheckRecord, n_unsure: int) -> list[str]:
    assert check.judged is not None
    if not n_unsure:
        return []
    rows = f"{n_unsure:,} more {'row has' if n_unsure == 1 else 'rows have'} no clear answer"
    if check.judged.method == "model" and not check.judged.contradicts_model:
        return [f"{rows} and {'is' if n_unsure == 1 else 'are'} not used."]
    they = "it counts" if n_unsure == 1 else "they count"
    return [
        f"{rows}; {they} as right for the lower end of a range, and as wrong for the upper end."
    ]


def range_before_words(check: CheckRecord) -> str:
    """Return the range of the share of wrong labels before any row was judged."""
    before = check.estimated_intervals.wrong_share
    return f"{percent(before.low)} to {percent(before.high)}"


def summary_lines(check: CheckRecord) -> list[str]:
    """Return the answer in a few lines of text."""
    lines = [headline(check), "", *_rate_lines(check)]
    lines += [""] + ([rates_note(check)] if rates_note(check) else [])
    are = "is a suspect" if check.n_suspects == 1 else "are suspects"
    lines += [f"{check.n_suspects:,} of {count(check.n_rows, 'row')} {are}."]
    lines += [precision_line(check)] if check.n_candidates else []
    lines += [f"- {reason}" for reason in check.verdict.reasons]
    return lines


def _rate_lines(check: CheckRecord) -> list[str]:
    if is_of_many(check):
        return class_rate_lines(check)
    rates = rates_in_words(check, check.intervals)
    width = max(len(name) for name, _ in rates)
    return [f"  {name:<{width}}  {interval}" for name, interval in rates]


def rates_in_words(check: CheckRecord, intervals: Any) -> list[tuple[str, Interval]]:
    """Return the rates with their ranges and what each is called; the total comes first.

    ``intervals`` are those of the check, or of an estimate about the same labels.
    """
    if is_of_many(check):
        return label_rates(check, intervals)
    assert is_of_two(check)
    return [(name, getattr(intervals, rate)) for rate, name in rate_names(check).items()]


def precision_line(check: CheckRecord) -> str:
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


def intervals_line(check: CheckRecord) -> str:
    """Return what the intervals of the rates cover."""
    found = check.intervals
    return f"{coverage_line(found.level, found.covers)}."


# ---- trust

# Rows of each label that make intervals narrow.
_ENOUGH = 500
# Share of the suspects that stay with other folds, if the list is stable.
_STABLE = 0.9


def trust_points(check: CheckRecord) -> list[Point]:
    """Return what speaks for and against trusting the result."""
    return [
        _seen(check),
        *_about_labels(check),
        _groups(check),
        _duplicates(check),
        *_repeated(check),
        *_people(check),
    ]


def _about_labels(check: CheckRecord) -> list[Point]:
    if is_of_many(check):
        return class_points(check)
    assert is_of_two(check)
    return [_model(check), _sizes(check), _sum(check), _stability(check)]


def advice(check: CheckRecord) -> list[str]:
    """Return what would make the answer more certain, without repetition."""
    return list(dict.fromkeys(point.advice for point in trust_points(check) if point.advice))


def _seen(check: CheckRecord) -> Point:
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
        is_noise = check.verdict.level == "noise found" and not n_judged(check)
        too_high = "The estimated rates are more likely too high than too low."
        return Point(
            question, "beware", f"Yes, for {climbing}: {meaning}.", too_high if is_noise else ""
        )
    if any(flat is None for _, flat in sides):
        return Point(question, "open", "There are too few rows to tell.")
    return Point(question, "good", "Not detectably: the differences are within the intervals.")


def _groups(check: CheckRecord) -> Point:
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


def _duplicates(check: CheckRecord) -> Point:
    question = "Are there duplicate rows?"
    found = check.duplicates
    if found is None:
        return Point(question, "open", "The check saw no features to compare.")
    if found.n_rows == 0:
        return Point(question, "good", "No.")
    other = "the other" if len(check.classes) == 2 else "another"
    answer = (
        f"Yes, {found.n_rows:,}: {found.n_straddling:,} have a copy in another fold, and "
        f"{found.n_contradicting:,} have a copy with {other} label."
    )
    if not found.n_straddling and not found.n_contradicting:
        return Point(question, "good", answer)
    look = (
        f"Look at some of the copies that carry {'both' if len(check.classes) == 2 else 'several'} "
        "labels: one of the labels is wrong, or the columns do not determine the label."
    )
    return Point(question, "beware", answer, look if found.n_contradicting else "")


def _people(check: CheckRecord) -> list[Point]:
    """Return what people who judged rows found, if any did."""
    if check.judged is None:
        return []
    question = "Did people judge rows blindly?"
    if not n_judged(check):
        more = f"A person who judges {BATCH} other rows can narrow the range."
        return [Point(question, "open", " ".join(judged_notes(check)), more)]
    answer = (
        f"Yes, {count(n_judged(check), 'row')}; the range was {range_before_words(check)} before."
    )
    level: Level = "beware" if check.judged.contradicts_model else "good"
    return [Point(question, level, f"{answer}{contradiction_words(check)}")]


def _repeated(check: CheckRecord) -> list[Point]:
    """Return whether other folds agree; they say nothing about an answer that people settled."""
    if check.stability is None or n_judged(check):
        return []
    return [_other_folds(check, check.stability)]


def _other_folds(check: CheckRecord, found: Stability) -> Point:
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


def row_words(check: CheckRecord) -> str:
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
    if settled.n_judged:
        come = "comes" if settled.n_judged == 1 else "come"
        lines.append(f"{settled.n_judged:,} of them {come} from the audit.")
    if settled.n_overruled:
        rows = count(settled.n_overruled, "row")
        lines.append(f"On {rows}, review and audit disagree: the later answer counts.")
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
    answers = {
        "keep": "kept",
        "flip": "flipped",
        "relabel": "relabeled",
        "unsure": "unsure",
        "disagreement": "disputed",
    }
    parts = [f"{counts[name]:,} {word}" for name, word in answers.items() if counts.get(name)]
    return audit_progress(counts).removesuffix(".") + (f": {', '.join(parts)}." if parts else ".")


def audit_progress(counts: Mapping[str, int]) -> str:
    """Return how many rows were judged."""
    return f"{counts['judged']:,} of {count(counts['rows'], 'row')} judged."


# ---- the blind audit


def answers_words(record: AuditRecord) -> str:
    """Return how many rows were judged for an audit, and what became of the answers."""
    wrong = "1 label is wrong" if record.n_wrong == 1 else f"{record.n_wrong:,} labels are wrong"
    n_unclear = record.n_judged - record.n_sure
    has = "has" if n_unclear == 1 else "have"
    unclear = f", {count(n_unclear, 'row')} {has} no clear answer" if n_unclear else ""
    said = f"{count(record.n_judged, 'row')} judged: {wrong}{unclear}."
    if record.method == "design" or not record.n_wrong:
        return said
    return (
        f"{said} They were drawn where answers tell most, so this is not the share of all labels."
    )


def drawn_line(draw: Draw) -> str:
    """Return which rows were drawn for an audit."""
    rows = count(len(draw.rows), "row")
    were = "was" if len(draw.rows) == 1 else "were"
    if draw.method == "design":
        return f"{rows} {were} drawn on {draw.time[:10]}; the size of this sample is fixed."
    about = "" if draw.about is None else f", about labels “{draw.about}”"
    return f"Batch {draw.batch}: {rows} {were} drawn on {draw.time[:10]}{about}."


def plan_title(check: CheckRecord, about: Any = None) -> str:
    """Return what a table of planned widths shows."""
    share, interval = "the share of wrong labels", check.wrong_share_interval
    if about is not None:
        name = label_name(check, answer_of(check, about, "about"))
        share, interval = f"{share} among those that say “{name}”", check.error_rates[name]
    return (
        f"Expected width of the {check.intervals.level:.0%} range of {share}, which is "
        f"{percent(interval.high - interval.low)} now, after people have judged so many "
        f"{'more ' if n_judged(check) else ''}rows:"
    )


def audit_headline(check: CheckRecord, record: AuditRecord) -> str:
    """Return the result of the audit as one sentence."""
    found = record.estimate
    if not record.is_finished:
        are = "is" if record.n_unjudged == 1 else "are"
        n_drawn = record.n_judged + record.n_unjudged if found is None else found.n_drawn
        return (
            f"The blind audit is not finished: {record.n_unjudged:,} of its "
            f"{count(n_drawn, 'row')} {are} still to be judged."
        )
    if found is None:
        return headline(check)
    by_audit = check.intervals if n_judged(check) else found
    total = by_audit.wrong_share
    return (
        f"A blind audit of {count(found.n_drawn, 'row')} finds {percent(total.estimate)} of your "
        f"labels wrong ({found.level:.0%} interval {percent(total.low)} to {percent(total.high)})"
        f"{_by_audit(check, by_audit)}."
    )


def _by_audit(check: CheckRecord, found: Any) -> str:
    """Return the share of wrong labels of each of two values by an audit; nothing of many."""
    if not is_of_two(check):
        return ""
    return (
        f": {percent(found.positive_label_error_rate.estimate)} of those that say "
        f"{check.positive!r} and {percent(found.negative_label_error_rate.estimate)} of those "
        f"that say {check.negative!r}"
    )


def audit_rows(check: CheckRecord, record: AuditRecord) -> list[tuple[str, str, str]]:
    """Return the ranges before rows were judged, and what is estimated now, as texts.

    There are none of a sample that is not finished.
    """
    if not record.is_finished and record.method == "design":
        return []
    now = check.intervals if n_judged(check) else record.estimate
    rows = []
    if now is not None:
        total, *others = zip(
            rates_in_words(check, check.estimated_intervals),
            rates_in_words(check, now),
            strict=True,
        )
        if is_of_many(check):
            others = [others[k] for k in most_often_wrong(check)[:MOST_LABELS]]
        rows += [
            (text, f"{percent(before.low)} to {percent(before.high)}", str(after))
            for (text, before), (_, after) in [total, *others]
        ]
    if record.estimate is not None:
        shares = (
            ("suspects that are wrong", record.estimate.suspect_precision),
            ("other rows that are wrong", record.estimate.missed_share),
        )
        # Without suspects, or with suspects alone, one of these does not exist.
        rows += [(text, "", str(share)) for text, share in shares if share is not None]
        rows.append(("wrong labels missed", "", f"at most {record.estimate.missed_at_most:,}"))
    return rows


def audit_lines(check: CheckRecord, record: AuditRecord) -> list[str]:
    """Return the audit in a few lines of text: the range before and after."""
    lines = [audit_headline(check, record)]
    rows = audit_rows(check, record)
    if not rows:
        return lines
    if n_judged(check) and not record.is_finished:
        lines.append(headline(check))
    rows = [("", "before", "after"), *rows]
    width, middle = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines += ["", *(f"  {a:<{width}}  {b:>{middle}}  {c}" for a, b, c in rows)]
    lines += ["", *audit_notes(check, record)]
    if record.before_after is not None:
        lines.append(before_after_words(record.before_after, audited=True))
    return lines


def audit_notes(check: CheckRecord, record: AuditRecord) -> list[str]:
    """Return what the audit rests on, in sentences."""
    notes = judged_notes(check)
    found = record.estimate
    if found is not None:
        notes.append(f"The intervals cover {found.wrong_share.covers}: {found.method}.")
        if found.n_unsure and not n_judged(check):
            have = "has" if found.n_unsure == 1 else "have"
            rows = count(found.n_drawn, "row")
            line = f"{found.n_unsure:,} of {rows} {have} no clear answer"
            if record.n_disagreements:
                line += f"; reviewers disagree on {record.n_disagreements:,} of them"
            notes.append(f"{line}.")
    elif n_judged(check):
        notes.append(intervals_line(check))
    if record.n_disagreements and (found is None or n_judged(check)):
        notes.append(f"Reviewers disagree on {count(record.n_disagreements, 'row')}.")
    return [*notes, *record.notes]
