"""``rankprune predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankprune.cli._options import (
    FILE,
    TABLE,
    NamedPath,
    force_option,
    form_option,
    read_options,
    safe_option,
    shown,
)
from rankprune.cli._output import print_rows
from rankprune.cli._progress import progress


@click.command()
@click.argument("model", type=FILE)
@click.argument("table", type=TABLE)
@click.option(
    "--embeddings",
    type=NamedPath(exists=True, dir_okay=False),
    metavar="NPY",
    help="Embeddings of the rows of TABLE.",
)
@click.option(
    "--trust",
    multiple=True,
    metavar="TYPE",
    help="Type in the model file to trust, if you made the file; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="Write TABLE with the predicted label and the probabilities in more columns to this CSV, "
    "TSV or Parquet file.",
)
@safe_option
@read_options
@form_option("csv", "jsonl", "json", "text")
@force_option
@shown
def predict(model: Path, table: str, output: Path | None, **asked: Any) -> None:
    """Score the rows of TABLE with a trained MODEL."""
    from rankprune.model import load_model, predict_table
    from rankprune.model._predict import predicted_columns, predicted_names
    from rankprune.run._directory import refuse_output

    if output is not None:
        vectors = asked["embeddings"]
        refuse_output(output, asked["force"], model, vectors and Path(vectors))
    loaded = load_model(model, trusted=asked["trust"])
    with progress(asked["quiet"] or asked["no_progress"], asked["verbose"]):
        found = predict_table(
            loaded,
            table,
            output,
            embeddings=asked["embeddings"],
            encoding=asked["encoding"],
            delimiter=asked["delimiter"],
            spreadsheet_safe=asked["spreadsheet_safe"],
        )
    if output is not None:
        click.echo(output)
        return
    columns = [column.tolist() for column in predicted_columns(loaded, found)]
    rows = ((i + 1, *cells) for i, cells in enumerate(zip(*columns, strict=True)))
    print_rows(("row", *predicted_names(loaded)), rows, asked["form"])
