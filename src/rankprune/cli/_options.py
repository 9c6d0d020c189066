"""Options that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


class _Share(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # generic of late
    """A share, as ``10%`` or ``0.1``."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            text = str(value).strip()
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"must be a share such as 10% or 0.1, got {value!r}.", param, ctx)
        return share


SHARE = _Share()
RUN = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False)
_Command = Callable[..., Any]


def look_here(model: str | None) -> None:
    """Let Python find the user's own model in the folder where the command is run."""
    if model is not None and ":" in model:
        sys.path.insert(0, os.getcwd())


def add_options(*options: Any) -> Callable[[_Command], _Command]:
    """Return a decorator that adds options to a command, in this order."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


shown = add_options(
    click.option("-q", "--quiet", is_flag=True, help="Nothing on standard error but errors."),
    click.option("-v", "--verbose", is_flag=True, help="Every step, and tracebacks of errors."),
    click.option("--no-progress", is_flag=True, help="No progress on standard error."),
)
read_options = add_options(
    click.option("--encoding", help="Of a text file; UTF-8 by default."),
    click.option("--delimiter", help="Of a CSV file; the most frequent in its header by default."),
)
learned_options = add_options(
    click.option("--label", required=True, metavar="COL", help="The labels, of two values."),
    click.option("--positive", metavar="VALUE", help="The positive label."),
    click.option(
        "--negative", metavar="VALUE", help="The other one, where it looks like a missing one."
    ),
    click.option("--drop", multiple=True, metavar="COL", help="Not a feature; may be repeated."),
    click.option("--keep", multiple=True, metavar="COL", help="A feature whatever it looks like."),
    click.option("--text", multiple=True, metavar="COL", help="Free text, used by its words."),
    click.option("--group", metavar="COL", help="Rows that share it stay in one fold."),
    click.option(
        "--embeddings",
        type=click.Path(exists=True, dir_okay=False),
        metavar="NPY",
        help="Numbers to use beside the columns, one row for each row of the table.",
    ),
    click.option(
        "--model",
        default="logistic",
        show_default=True,
        metavar="NAME",
        help="logistic, boosting, or MODULE:OBJECT for your own classifier.",
    ),
    click.option(
        "--folds", type=click.IntRange(min=2), default=3, show_default=True, help="Of the scores."
    ),
    click.option(
        "--jobs",
        type=int,
        default=None,
        metavar="N",
        help="Folds fitted at the same time; changes no result.",
    ),
    click.option("--seed", default=0, show_default=True, help="Decides folds and models."),
    click.option(
        "--drop-unlabeled", is_flag=True, help="Leave rows without a label out; else an error."
    ),
)
force_option = click.option("--force", is_flag=True, help="Replace what is there.")
table_of_run = click.option(
    "--table", type=FILE, help="Where the checked table lies now; where it lay by default."
)


# Options that share their name with an argument of the library, and those that do not.
_SAME_NAME = ("drop", "keep", "text", "embeddings", "drop_unlabeled", "encoding", "delimiter")
ARGUMENT_OF_OPTION = {
    "positive": "pos_label",
    "negative": "neg_label",
    "group": "groups",
    "model": "estimator",
    "folds": "cv",
    "jobs": "n_jobs",
    "seed": "random_state",
}


def shared_arguments(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `check_table` and `compare_table` that the options stand for."""
    renamed = {argument: asked[option] for option, argument in ARGUMENT_OF_OPTION.items()}
    return {**renamed, **{name: asked[name] for name in _SAME_NAME}}


def form_option(*choices: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="Of what is printed.",
    )
