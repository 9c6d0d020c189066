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
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            hint = f" Did you mean {share:g}%?" if 1 < share <= 100 and "%" not in text else ""
            self.fail(f"must be a share such as 10% or 0.1, got {value!r}.{hint}", param, ctx)
        return share


SHARE = _Share()


class NamedPath(click.Path):
    """A path whose name is valid UTF-8, refused before anything is computed."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        from rankprune.storage._names import refuse_undecodable

        if value != "-":
            refuse_undecodable(value)
        return super().convert(value, param, ctx)


# Whether it is a run is checked when it is loaded, with an error that says what to do.
RUN = NamedPath(path_type=Path)
FILE = NamedPath(path_type=Path, dir_okay=False)
FOLDER = NamedPath(path_type=Path, file_okay=False)
# A file, or standard input.
TABLE = NamedPath(path_type=str)
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


def _refuse_no_jobs(_: Any, __: Any, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("must be a positive number, or -1 for one job per core, got 0.")
    return value


def jobs_option(help: str) -> Callable[[_Command], _Command]:
    return click.option(
        "--jobs", type=int, default=None, metavar="N", callback=_refuse_no_jobs, help=help
    )


shown = add_options(
    click.option("-q", "--quiet", is_flag=True, help="Print only results and errors."),
    click.option("-v", "--verbose", is_flag=True, help="Print every step, and full tracebacks."),
    click.option("--no-progress", is_flag=True, help="Do not show progress."),
)
read_options = add_options(
    click.option("--encoding", help="Encoding of a text file (default: UTF-8)."),
    click.option(
        "--delimiter", help="Delimiter of a CSV file (default: the most frequent in its header)."
    ),
)
learned_options = add_options(
    click.option("--label", required=True, metavar="COL", help="Column of labels."),
    click.option(
        "--positive",
        metavar="VALUE",
        help="The positive label of two (default: the obvious one, such as 1 or yes, or the last "
        "in sorted order).",
    ),
    click.option(
        "--negative",
        metavar="VALUE",
        help="The negative label, if it looks like a missing value, such as NA.",
    ),
    click.option(
        "--drop",
        multiple=True,
        metavar="COL",
        help="Column to leave out of the features; may be repeated.",
    ),
    click.option(
        "--keep",
        multiple=True,
        metavar="COL",
        help="Column to use even if it looks useless; may be repeated.",
    ),
    click.option(
        "--text",
        multiple=True,
        metavar="COL",
        help="Column whose words are used; may be repeated. Free text is found without it.",
    ),
    click.option(
        "--group", metavar="COL", help="Rows with the same value here stay in the same fold."
    ),
    click.option(
        "--embeddings",
        type=NamedPath(exists=True, dir_okay=False),
        metavar="NPY",
        help="File of numbers to use alongside the columns, one row per row of the table.",
    ),
    click.option(
        "--model",
        default="logistic",
        show_default=True,
        metavar="NAME",
        help="Model: logistic, boosting, or MODULE:OBJECT for your own classifier.",
    ),
    click.option(
        "--folds",
        type=click.IntRange(min=2),
        default=3,
        show_default=True,
        help="Number of cross-validation folds.",
    ),
    jobs_option("Number of folds to fit at the same time, -1 for one per core."),
    click.option(
        "--seed", default=0, show_default=True, help="Random seed for the folds and the models."
    ),
    click.option(
        "--drop-unlabeled",
        is_flag=True,
        help="Leave out rows without a label (otherwise an error).",
    ),
)
limit_options = add_options(
    click.option(
        "--fail-over",
        type=SHARE,
        metavar="SHARE",
        help="Exit with 1 if more labels than this share are wrong, such as 5%.",
    ),
    click.option(
        "--fail-on",
        type=click.Choice(["point", "lower", "upper"]),
        help="What --fail-over compares with: the most likely share, only if noise was found "
        "(point, the default), or an end of the range, whatever the verdict. lower fails only if "
        "the range is above the share; upper passes only if it is not.",
    ),
)
force_option = click.option("--force", is_flag=True, help="Replace existing output.")
safe_option = click.option(
    "--spreadsheet-safe",
    is_flag=True,
    help="Put an apostrophe before cells that a spreadsheet would read as formulas.",
)
table_of_run = click.option(
    "--table", type=FILE, help="Current path of the table (default: its original path)."
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


def form_option(*choices: str, help: str = "Output format.") -> Callable[[_Command], _Command]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help=help,
    )
