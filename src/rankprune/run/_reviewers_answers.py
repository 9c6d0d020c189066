"""The decision log as answers of annotators: reviewers are annotators, rows those of the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from rankprune.annotators import Answers
from rankprune.run._check_record import CheckRecord
from rankprune.run._checked_table import open_checked
from rankprune.run._decision_log import DecisionLog
from rankprune.run._decisions import UNSURE, Decision, right_label, standing
from rankprune.run._directory import LOG_FILE
from rankprune.run._settled import current_rows

Settling = Literal["leave out", "count"]


def reviewers_answers(
    run: CheckRecord, folder: Path, table: Any = None, *, settling: Settling = "leave out"
) -> Answers:
    """Return the answers of the reviewers of a run directory; see `LabelCheck.answers`."""
    if settling not in get_args(Settling):
        raise ValueError(
            f"settling must be 'leave out' or 'count', got {settling!r}. Answers that settle a "
            "disagreement were given with knowledge of the others; 'leave out' ignores them."
        )
    return answers_of(run, current_decisions(run, folder, table), settling=settling)


def current_decisions(run: CheckRecord, folder: Path, table: Any = None) -> list[Decision]:
    """Return the decisions of a review about rows that have not changed, also those undone."""
    with DecisionLog(folder / LOG_FILE, must_exist=True) as log:
        decisions = log.decisions("review")
    with open_checked(run, table) as opened:
        is_current = current_rows(run, opened, decisions)
    return [one for one in decisions if is_current(one)]


def answers_of(
    run: CheckRecord, decisions: list[Decision], *, settling: Settling = "leave out"
) -> Answers:
    """Return the last answer of each reviewer about each row."""
    names = run.classes
    last: dict[tuple[int, str], Decision] = {}
    for one in standing(decisions):
        # A label with another name was judged in an earlier run.
        is_known = (
            one.label in names if one.answer == UNSURE else right_label(one, names) is not None
        )
        if is_known and (settling == "count" or not one.settles):
            last[one.row, one.reviewer] = one
    made = list(last.values())
    # Of objects, since None stands for a missing label.
    labels = np.array([right_label(one, names) for one in made], dtype=object)
    return Answers.from_long(
        [one.row for one in made],
        [one.reviewer for one in made],
        labels,
        seconds=[one.seconds for one in made],
        classes=names,
    )
