"""What only the report of a check of more than two labels shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankprune.core import Interval
from rankprune.report._plots import MOST_PLOTTED, draw_class_plots
from rankprune.report._room import bytes_of, fitting
from rankprune.run import ClassCheck
from rankprune.run._class_sentences import most_often_wrong
from rankprune.run._findings import CandidateRow
from rankprune.run._visible import visible_label

# Maximum size in bytes of the tables, and of the rows of the second one; with these the page stays
# below 2 MB. An allowance for the numbers of a row.
_LABEL_BYTES, _CONFUSION_BYTES, _MAX_CONFUSIONS = 350_000, 150_000, 100
_NUMBERS = 200


@dataclass(frozen=True)
class LabelRow:
    """A row of the table by label."""

    name: str
    n_rows: int
    n_suspects: int
    wrong: Interval
    should_be: str


@dataclass(frozen=True)
class ConfusionRow:
    """How many labels of one value should be another."""

    given: str
    true: str
    share: float
    n_rows: int


def values_of_many(check: ClassCheck, style: str) -> dict[str, Any]:
    """Return what fills the blocks of ``many_labels.html``."""
    from markupsafe import Markup

    confusions, total = check.confusions(), check.wrong_share_interval
    return {
        "plots": {name: Markup(svg) for name, svg in draw_class_plots(check).items()},
        "style_of_many": Markup(style),
        "n_plotted": MOST_PLOTTED,
        "total": LabelRow("all labels", check.n_rows, check.n_suspects, total, ""),
        "labels": list(fitting(_labels(check), _LABEL_BYTES, _size_of_label)),
        "confusions": list(fitting(_confusions(check), _CONFUSION_BYTES, _size_of_confusion)),
        "n_confusions": len(confusions),
    }


def labels_of(row: CandidateRow) -> dict[str, Any]:
    """Return the given and the suggested label of a row on the list, with their probabilities."""
    assert row.suggested is not None  # of many labels, all rows have one
    return {
        "label": visible_label(row.label),
        "probability": row.probability,
        "suggested": visible_label(row.suggested),
        "suggested_probability": row.suggested_probability,
    }


def _labels(check: ClassCheck) -> Iterator[LabelRow]:
    """Yield the labels, the one that is most often wrong first."""
    joint = check.noise_matrix.joint.copy()
    np.fill_diagonal(joint, 0.0)
    for k in most_often_wrong(check):
        true = int(joint[k].argmax())
        yield LabelRow(
            visible_label(check.classes[k]),
            check.tally.n_labels[k],
            check.tally.n_suspects_by_label[k],
            check.intervals.error_rates[k],
            visible_label(check.classes[true]) if joint[k, true] > 0 else "",
        )


def _confusions(check: ClassCheck) -> Iterator[ConfusionRow]:
    for one in check.confusions()[:_MAX_CONFUSIONS]:
        n_rows = round(one.share * check.n_doubted)
        yield ConfusionRow(visible_label(one.given), visible_label(one.true), one.share, n_rows)


def _size_of_label(row: LabelRow) -> int:
    return _NUMBERS + bytes_of(row.name, row.should_be)


def _size_of_confusion(row: ConfusionRow) -> int:
    return _NUMBERS + bytes_of(row.given, row.true)
