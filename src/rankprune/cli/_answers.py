"""Options of ``rankprune check`` for a table with one answer per line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import FILE, add_options

answers_options = add_options(
    click.option(
        "--row",
        metavar="COL",
        help="Several answers a row: column that names the row, here and in --features.",
    ),
    click.option(
        "--annotator", metavar="COL", help="Several answers a row: column that names who answered."
    ),
    click.option(
        "--features",
        type=FILE,
        metavar="TABLE",
        help="Several answers a row: table of the rows with their features.",
    ),
    click.option(
        "--labeled",
        type=FILE,
        help="Where to write the rows with their consensus (default: beside --features, such as "
        "items.labeled.csv).",
    ),
    click.option(
        "--seconds", metavar="COL", help="Column with the time of each answer, in seconds."
    ),
    click.option(
        "--duplicates",
        type=click.Choice(["last", "error", "all"]),
        default="last",
        show_default=True,
        help="What counts if a person answers about a row again.",
    ),
)
_TOGETHER = ("row", "annotator", "features")


def labeled_path(asked: dict[str, Any]) -> Path | None:
    """Return where to write the rows with their consensus; None if the table has labels."""
    named = [name for name in _TOGETHER if asked[name] is not None]
    if not named:
        alone = [name for name in ("labeled", "seconds") if asked[name] is not None]
        if alone:
            raise click.UsageError(f"--{alone[0]} only works with --row, --annotator, --features.")
        return None
    missing = [f"--{name}" for name in _TOGETHER if name not in named]
    if missing:
        raise click.UsageError(
            f"--{named[0]} needs {' and '.join(missing)} too: answers are one table, the rows they "
            "are about another. Without features, use rankprune.annotators in Python."
        )
    for name in ("id_", "trusted", "drop_unlabeled"):
        if asked[name]:
            flag = name.strip("_").replace("_", "-")
            raise click.UsageError(f"--{flag} does not work with --row. Leave it out.")
    if asked["labeled"] is not None:
        return Path(asked["labeled"])
    path = Path(asked["features"])
    name = path.name.removesuffix(".gz")
    stem, kind = Path(name).stem, Path(name).suffix.lower()
    kinds = (".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq")
    return path.with_name(f"{stem}.labeled{kind if kind in kinds else '.csv'}")


def refuse_labeled(labeled: Path, table: str, asked: dict[str, Any]) -> None:
    """Raise an error if the labeled rows cannot be written, before anything is computed."""
    from rankprune.run._directory import refuse_output
    from rankprune.table._missing_column import refuse_missing_column

    how = {name: asked[name] for name in ("encoding", "delimiter")}
    if table != "-":
        for name in ("row", "annotator"):
            refuse_missing_column(table, asked[name], name, **how)
    refuse_missing_column(asked["features"], asked["row"], "row", **how)
    inputs = [Path(one) for one in (table, asked["features"]) if one != "-"]
    refuse_output(labeled, asked["force"], *inputs)
