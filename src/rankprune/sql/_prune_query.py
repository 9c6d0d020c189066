"""The query for the rows to drop: the sketch says in which bin the cut-off lies, SQL ranks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankprune.core import NoiseRates, ScoreSketch, estimate_noise_rates
from rankprune.core._noise_rates import validate_noise_rates
from rankprune.core._pruning import pruned_shares, rows_to_prune
from rankprune.core.counting._sketch import given_sketch
from rankprune.sql._rows import Rows, rows_of, validate_names


@dataclass(frozen=True)
class _Cut:
    """Where the pruning of a label stops: in a bin of the score, of which ``n_ranked`` rows go."""

    positive: bool
    lowest: float
    highest: float
    n_ranked: int


def prune_query(
    table: Any,
    label: str,
    probability: str,
    key: str | list[str] | tuple[str, ...],
    sketch: ScoreSketch,
    dialect: str = "duckdb",
    *,
    noise_rates: NoiseRates | None = None,
    pos_label: Any = 1,
    neg_label: Any = 0,
) -> str:
    """Return the query for the keys of the rows to drop.

    These are the rows that `prune_labels` drops from the same rows sorted by the key: exactly as
    many of each label, and of rows that tie at a cut-off those with the smallest keys.

    Parameters
    ----------
    table, label, probability, dialect, pos_label, neg_label
        As in `sketch_query`.
    key : str or list of str
        The column that identifies a row, or several that do so together. It must be unique and
        never NULL, as a primary key is; ties are broken in the order in which the database sorts
        it.
    sketch : ScoreSketch
        The sketch of the same rows, from `sketch_query`. Only rows in the bins of the cut-offs are
        sorted.
    noise_rates : NoiseRates, default=None
        Known rates, or those of an estimator. By default they are estimated from the sketch, as
        `estimate_noise_rates` does. Rates with ``reliable=False`` prune nothing.

    Returns
    -------
    str
        A SELECT of the key alone, with one row for each row to drop. If rows come or go between
        the two queries, the counts are off by as many; run both in one transaction or on a
        snapshot if that matters.

    Examples
    --------
    >>> import duckdb
    >>> from rankprune import NoiseRates, ScoreSketch
    >>> from rankprune.sql import prune_query, sketch_query
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.8)
    >>> with duckdb.connect() as database:
    ...     _ = database.sql(
    ...         "CREATE TABLE scores AS SELECT * FROM (VALUES (1, 1, 0.9), (2, 1, 0.2), "
    ...         "(3, 1, 0.3), (4, 1, 0.3), (5, 0, 0.1)) AS t(id, s, g)"
    ...     )
    ...     counts = database.sql(sketch_query("scores", "s", "g")).fetchall()
    ...     sketch = ScoreSketch.from_counts(counts)
    ...     query = prune_query("scores", "s", "g", "id", sketch, noise_rates=rates)
    ...     dropped = database.sql(query).fetchall()
    >>> sorted(dropped)  # rows 3 and 4 tie: the smaller key goes
    [(2,), (3,)]
    """
    rows = rows_of(table, label, probability, dialect, pos_label=pos_label, neg_label=neg_label)
    names = validate_names(key, "key")
    shares = pruned_shares(_rates(sketch, noise_rates))
    # NumPy adds counts as floats, without rounding below 2**53.
    sizes = int(sketch.n_positive), int(sketch.n_negative)
    counts = rows_to_prune(shares, sizes)
    cuts = [
        _cut(sketch, positive, count)
        for positive, count in zip((True, False), counts, strict=True)
        if count
    ]
    keys = ", ".join(rows.columns(names))
    if not cuts:
        return f"SELECT {keys}\nFROM {rows.source}\nWHERE FALSE"
    beyond = "\n  OR ".join(f"({_beyond(rows, cut)})" for cut in cuts)
    parts = [f"SELECT {keys}\nFROM {rows.source}\nWHERE {beyond}"]
    parts += [_ranked(rows, names, cut) for cut in cuts]
    return "\nUNION ALL\n".join(parts)


def _rates(sketch: Any, noise_rates: NoiseRates | None) -> NoiseRates:
    if not isinstance(sketch, ScoreSketch):
        raise TypeError(
            f"sketch must be a ScoreSketch, got {type(sketch).__name__}. Run sketch_query, and "
            "pass ScoreSketch.from_counts(rows)."
        )
    if not sketch.in_counts:
        raise ValueError(
            "sketch must count the rows of the table, but its rows have weights. Run sketch_query, "
            "and pass ScoreSketch.from_counts(rows)."
        )
    given_sketch(sketch, None)  # refuses a table without both labels
    if noise_rates is None:
        return estimate_noise_rates(sketch)
    validate_noise_rates(noise_rates)
    return noise_rates


def _cut(sketch: ScoreSketch, positive: bool, count: int) -> _Cut:
    """Return the bin in which the last of the pruned rows of a label lies."""
    counts = sketch.counts[int(positive)]
    # Positive labels are pruned from the lowest scores up, negative ones from the highest down.
    reached = np.cumsum(counts if positive else counts[::-1])
    place = int(np.searchsorted(reached, count))
    before = int(reached[place - 1]) if place else 0
    low, beyond = sketch.bin_range(place if positive else len(counts) - 1 - place)
    lowest, highest = (float(np.int64(bits).view(np.float64)) for bits in (low, beyond - 1))
    return _Cut(positive, lowest, highest, count - before)


def _beyond(rows: Rows, cut: _Cut) -> str:
    """Return the condition of the rows that lie beyond the bin of a cut-off; all of them go."""
    number = rows.dialect.number
    if cut.positive:
        inside = f"{rows.score} >= 0 AND {rows.score} < {number(cut.lowest)}"
    else:
        inside = f"{rows.score} > {number(cut.highest)} AND {rows.score} <= 1"
    return f"{rows.label_is(cut.positive)} AND {inside}"


def _ranked(rows: Rows, names: list[str], cut: _Cut) -> str:
    """Return the query for the first rows in the bin of a cut-off."""
    number, keys = rows.dialect.number, rows.columns(names)
    quoted = ", ".join(f"in_bin.key_{place}" for place in range(len(names)))
    columns = ", ".join(f"{column} AS key_{place}" for place, column in enumerate(keys))
    direction = "ASC" if cut.positive else "DESC"
    return f"""\
SELECT {quoted}
FROM (
  SELECT {columns},
    ROW_NUMBER() OVER (ORDER BY {rows.score} {direction}, {", ".join(keys)}) AS place
  FROM {rows.source}
  WHERE {rows.label_is(cut.positive)}
    AND {rows.score} >= {number(cut.lowest)} AND {rows.score} <= {number(cut.highest)}
) AS in_bin
WHERE in_bin.place <= {cut.n_ranked}"""
