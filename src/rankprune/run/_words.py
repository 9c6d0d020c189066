"""What the report says in words, from what a check found."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Literal

from rankprune._label_check import LabelCheck
from rankprune._models import MODELS
from rankprune._table_rows import means_none
from rankprune.core import NOISE_ESTIMATORS

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
    ]


def _seen(check: LabelCheck) -> Point:
    question = "Was each row scored by models that had not seen it?"
    if check.out_of_fold:
        return Point(question, "good", f"Yes, in {check.settings.get('folds', 'several')} folds.")
    return Point(
        question,
        "open",
        "The probabilities were given with the table, so this cannot be seen here.",
        "Make sure that no row was scored by a model fitted to it: such scores hide wrong labels.",
    )


def _model(check: LabelCheck) -> Point:
    verdict = check.verdict
    question = "Do the models tell the two labels apart?"
    answer = (
        f"AUC {verdict.auc:.2f} against the given labels; {verdict.clean_auc:.2f} against right "
        "ones, if the estimated noise is true."
    )
    advice = "Better features or another model (--model boosting) would make the estimate sharper."
    if verdict.clean_auc >= 0.95:
        return Point(question, "good", answer)
    if verdict.clean_auc >= 0.85:
        return Point(question, "beware", answer, advice)
    return Point(question, "bad", answer, advice)


def _sizes(check: LabelCheck) -> Point:
    positive, negative = check.tally.n_positive, check.tally.n_negative
    answer = f"{positive:,} labeled {check.positive}, {negative:,} labeled {check.negative}."
    smaller = min(positive, negative)
    level: Level = "good" if smaller >= 500 else "beware" if smaller >= 100 else "bad"
    advice = "" if level == "good" else "Few rows make wide intervals; more rows would help."
    return Point("Are there enough rows of each label?", level, answer, advice)


def _sum(check: LabelCheck) -> Point:
    rates = check.estimated_rates
    total = rates.positive_noise_rate + rates.negative_noise_rate
    answer = f"The two noise rates add up to {total:.2f}; beyond 1 the labels would mean nothing."
    if not rates.reliable:
        return Point(
            "Do the labels mean anything?",
            "bad",
            f"{answer} The models cannot tell the labels apart, so the rates say nothing.",
            "Use a stronger model, or check which label is which.",
        )
    level: Level = "good" if total < 0.6 else "beware"
    return Point("Do the labels mean anything?", level, answer)


def _stability(check: LabelCheck) -> Point:
    question = "Does the answer depend on where the line is drawn?"
    sides = (
        (check.positive, check.separability.positive.flat),
        (check.negative, check.separability.negative.flat),
    )
    climbing = [name for name, flat in sides if flat is False]
    if climbing:
        return Point(
            question,
            "beware",
            f"Yes, for {' and '.join(climbing)}: part of what looks like noise is overlap.",
            "The rates are rather too high than too low.",
        )
    if any(flat is None for _, flat in sides):
        return Point(question, "open", "There are too few rows to say.")
    return Point(question, "good", "No: the rates stay level over the surer rows of both labels.")


def _groups(check: LabelCheck) -> Point:
    question = "Could rows that belong together have been split?"
    if not check.out_of_fold:
        return Point(question, "open", "Nothing was fitted here, so this cannot be seen.")
    if check.n_groups is not None:
        return Point(question, "good", f"No: {check.n_groups:,} groups were kept together.")
    return Point(
        question,
        "open",
        "No groups were named.",
        "If several rows come from one person or device, name that column with --group: else the "
        "models recognise them, and wrong labels that they share stay hidden.",
    )


def _duplicates(check: LabelCheck) -> Point:
    question = "Do rows repeat each other?"
    found = check.duplicates
    if found is None:
        return Point(question, "open", "No features were looked at.")
    if found.n_rows == 0:
        return Point(question, "good", "No.")
    answer = (
        f"{found.n_rows:,} rows have an exact copy; {found.n_straddling:,} of them in another "
        f"fold, and {found.n_contradicting:,} with the other label."
    )
    if not found.n_straddling and not found.n_contradicting:
        return Point(question, "good", answer)
    advice = (
        "Copies that carry both labels hold a wrong one, or the columns do not decide the label: "
        "look at some of them."
    )
    return Point(question, "beware", answer, advice if found.n_contradicting else "")


def better(check: LabelCheck) -> list[str]:
    """Return what would make the answer more certain, without repetition."""
    advice = [point.advice for point in trust_points(check) if point.advice]
    return list(dict.fromkeys(advice))


def command(check: LabelCheck) -> str:
    """Return what does the check again: a command, or a call where a command cannot say it."""
    asked = check.settings
    if "label" not in asked:
        return "rankprune.check_labels(X, y)  # with the arguments that were passed then"
    if _needs_python(check):
        told = {name: value for name, value in asked.items() if value not in (None, [], False)}
        return f"rankprune.check_table(table, **{told!r})"
    words = ["rankprune", "check", "-" if check.source.path is None else check.source.name]
    words += ["--label", asked["label"], "--positive", asked["positive"]]
    if means_none(asked["negative"]):
        words += ["--negative", asked["negative"]]
    for option in (*_SINGLE, *_REPEATED):
        values = asked[option] if option in _REPEATED else [asked[option]]
        for value in values:
            words += [] if value is None else [f"--{option}", value]
    words += ["--model", asked["model"], "--scorer", asked["scorer"] or "model"]
    words += ["--noise-estimator", asked["noise_estimator"], "--rounds", str(asked["rounds"])]
    words += ["--folds", str(asked["folds"]), "--seed", str(asked["random_state"])]
    if asked["drop_unlabeled"]:
        words.append("--drop-unlabeled")
    return shlex.join(words)


_SINGLE = ("id", "group", "probabilities", "trusted", "embeddings", "encoding", "delimiter")
_REPEATED = ("drop", "keep", "text", "redact")


def _needs_python(check: LabelCheck) -> bool:
    """Return whether a frame, an array or an object of the caller's was used."""
    asked = check.settings
    named = asked["model"] in MODELS or re.fullmatch(r"[\w.]+:\w+", asked["model"])
    return (
        (check.source.path is None and check.source.name != "stdin")
        or not named
        or asked["scorer"] not in ("committee", None)
        or asked["noise_estimator"] not in NOISE_ESTIMATORS
        or asked["embeddings"] == "(an array)"
    )
