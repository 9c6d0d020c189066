"""The sentences about a run that differ where there are more than two labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from rankprune.run._words import Level, Point, count, percent

if TYPE_CHECKING:
    from rankprune.core import Interval, MatrixIntervals
    from rankprune.run._check_record import CheckRecord
    from rankprune.run._class_check import ClassCheck
    from rankprune.run._label_check import LabelCheck

# Labels and confusions that the summary in a terminal lists.
MOST_LABELS, _MOST_CONFUSIONS = 8, 3
# Rows of a label that make its range narrow, and that are hardly enough.
_ENOUGH, _FEW = 100, 20
# Share of the rows whose label has the largest score, if the models tell the labels apart well.
_GOOD_AGREEMENT, _FAIR_AGREEMENT = 0.9, 0.7


def is_of_many(check: CheckRecord) -> TypeGuard[ClassCheck]:
    """Return whether a check is of more than two labels."""
    return len(check.classes) > 2


def is_of_two(check: CheckRecord) -> TypeGuard[LabelCheck]:
    """Return whether a check is of two labels."""
    return len(check.classes) == 2


def most_frequent_words(check: ClassCheck) -> str:
    """Return which label should most often be which other, to end a sentence."""
    most = check.confusions()[:1]
    return f"; most often “{most[0].given}” should be “{most[0].true}”" if most else ""


def label_rates(check: ClassCheck, intervals: MatrixIntervals) -> list[tuple[str, Interval]]:
    """Return the share of wrong labels of all labels and of each, with names; the total first."""
    return [
        ("labels that are wrong", intervals.wrong_share),
        *(
            (f"labels “{name}” that are wrong", one)
            for name, one in zip(check.classes, intervals.error_rates, strict=True)
        ),
    ]


def most_often_wrong(check: ClassCheck) -> list[int]:
    """Return the numbers of the labels, those with the largest share of wrong ones first."""
    rates = check.intervals.error_rates
    return sorted(range(len(rates)), key=lambda k: (-rates[k].estimate, -rates[k].high))


def class_rate_lines(check: ClassCheck) -> list[str]:
    """Return the share of wrong labels, those of the labels that are most often wrong, and why."""
    total, *rates = label_rates(check, check.intervals)
    shown = [total, *(rates[k] for k in most_often_wrong(check)[:MOST_LABELS])]
    width = max(len(name) for name, _ in shown)
    lines = [f"  {name:<{width}}  {one}" for name, one in shown]
    if len(rates) > MOST_LABELS:
        lines.append(f"  and {count(len(rates) - MOST_LABELS, 'more label')}, less often wrong")
    confusions = check.confusions()[:_MOST_CONFUSIONS]
    if confusions:
        lines.append("")
    return lines + [
        f"  “{one.given}” should be “{one.true}”: {percent(one.share)} of all labels"
        for one in confusions
    ]


def class_points(check: ClassCheck) -> list[Point]:
    """Return the questions about a check of many labels that others do not have."""
    return [_agreement(check), _sizes(check), _uncounted(check)]


def _agreement(check: ClassCheck) -> Point:
    question = "Do the models tell the labels apart?"
    answer = f"The given label has the largest score in {percent(check.agreement)} of the rows."
    better = "Better features or a stronger model, such as boosting, would sharpen the estimate."
    if not check.estimated_matrix.reliable:
        return Point(question, "bad", f"{answer} That is no more than by chance.", better)
    # Labels that are surely wrong do not speak against the models.
    share = check.agreement + check.wrong_share_interval.low
    level: Level = "good" if share >= _GOOD_AGREEMENT else "beware"
    level = level if share >= _FAIR_AGREEMENT else "bad"
    return Point(question, level, answer, "" if level == "good" else better)


def _sizes(check: ClassCheck) -> Point:
    fewest = min(check.tally.n_labels)
    name = check.classes[check.tally.n_labels.index(fewest)]
    answer = (
        f"{count(check.n_rows, 'row')} with {len(check.classes)} labels; the fewest, {fewest:,}, "
        f"are labeled {name}. {_ENOUGH} of each are enough."
    )
    level: Level = "good" if fewest >= _ENOUGH else "beware" if fewest >= _FEW else "bad"
    more = "" if level == "good" else "More rows of rare labels would narrow their ranges."
    return Point("Are there enough rows with each label?", level, answer, more)


def _uncounted(check: ClassCheck) -> Point:
    question = "Does every label have rows that surely belong to it?"
    names = [str(name) for name in check.estimated_matrix.uncounted]
    if not names:
        return Point(question, "good", "Yes.")
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return Point(
        question,
        "beware",
        f"No: for {shown}, nothing is known about wrong labels.",
        "Merge labels that hardly any row has, or collect more rows of them.",
    )
