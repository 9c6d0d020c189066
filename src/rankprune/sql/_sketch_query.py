"""The query whose rows are a `ScoreSketch`: counts of each label in the fixed bins of the score.

It uses only operations that all engines round alike: comparisons, whole numbers, products with
powers of two, and the same two sums as `rankprune.core.counting`. There is no logarithm in it.
"""

from __future__ import annotations

from typing import Any

from rankprune.core.counting._bins import BINS_PER_HALVING, MIDDLE, N_BINS, N_HALVINGS
from rankprune.core.counting._sketch import UNITS
from rankprune.sql._rows import rows_of


def sketch_query(
    table: Any,
    label: str,
    probability: str,
    dialect: str = "duckdb",
    *,
    pos_label: Any = 1,
    neg_label: Any = 0,
) -> str:
    """Return the query whose rows are the `ScoreSketch` of a table.

    Run it in your database, and pass all of its rows, unchanged, to `ScoreSketch.from_counts`. The
    sketch is the same to the bit as that of the rows in memory, and so are all rates from it.

    Parameters
    ----------
    table : str or tuple of str
        Name of the table or view, as in ``"scores"`` or ``"schema.scores"``. A string is split at
        its dots; if a name holds a dot, pass a tuple of the parts: ``("schema", "scores.2026")``.
    label, probability : str
        Names of the columns with the given labels and with the out-of-fold P(positive label). All
        names are quoted, so write them as the database stores them: PostgreSQL turns names into
        lower case unless they were created in quotes.
    dialect : {"duckdb", "spark", "postgresql"}, default="duckdb"
        The database for which names and values are quoted.
    pos_label, neg_label : str, bool, int or float, default=1 and 0
        The values of the positive and of the negative label, of the same type as in the column.

    Returns
    -------
    str
        A SELECT with the columns label, bin, n_rows, score_sum, lowest and highest, and at most
        7,939 rows. If labels or probabilities are missing or have other values, their rows come
        back as one of bin -1, and `ScoreSketch.from_counts` refuses it and says how many they are.

    Notes
    -----
    Every bin is found by comparing the distance of the score to 0 or 1 with powers of two, and sums
    are added as whole numbers, so that neither the engine nor the order of the rows matters.

    Examples
    --------
    >>> import duckdb
    >>> from rankprune import ScoreSketch
    >>> from rankprune.sql import sketch_query
    >>> with duckdb.connect() as database:
    ...     _ = database.sql(
    ...         "CREATE TABLE scores AS SELECT * FROM (VALUES (1, 'bad', 0.9), (2, 'good', 0.2), "
    ...         "(3, 'bad', 0.1)) AS t(id, given, g)"
    ...     )
    ...     query = sketch_query("scores", "given", "g", pos_label="bad", neg_label="good")
    ...     sketch = ScoreSketch.from_counts(database.sql(query).fetchall())
    >>> sketch == ScoreSketch.from_rows(["bad", "good", "bad"], [0.9, 0.2, 0.1], pos_label="bad")
    True
    """
    rows = rows_of(table, label, probability, dialect, pos_label=pos_label, neg_label=neg_label)
    is_possible = "score >= 0 AND score <= 1"  # never true for NULL and NaN
    # Merged into one, each step would compute the steps before it once for each use: 20 times
    # slower in PostgreSQL.
    fence = rows.dialect.fence
    # The innermost SELECT reads the columns; each one around it adds a step. Scores that are
    # impossible become 0 first, so that nothing after it can overflow.
    query = f"""\
SELECT label, bin, COUNT(*) AS n_rows, SUM(units) AS score_sum,
  MIN(score) AS lowest, MAX(score) AS highest
FROM (
  SELECT label, score,
    CAST(FLOOR(score * {UNITS} + 0.5) AS {rows.dialect.summed}) AS units,
    CASE WHEN label < 0 THEN -1
      WHEN score > 1 - score THEN {N_BINS - 1} - from_nearer_end
      ELSE from_nearer_end END AS bin
  FROM (
    SELECT label, score,
      CAST(CASE
        {_ladder("distance")}
      END AS INTEGER) AS from_nearer_end
    FROM (
      SELECT label, score,
        (CASE WHEN score > 1 - score THEN 1 - score ELSE score END) * {1 << N_HALVINGS} AS distance
      FROM (
        SELECT CASE WHEN {is_possible} THEN label ELSE -1 END AS label,
          CASE WHEN {is_possible} THEN score ELSE 0 END AS score
        FROM (
          SELECT CASE WHEN {rows.positive} THEN 1 WHEN {rows.negative} THEN 0 ELSE -1 END AS label,
            {rows.score} AS score
          FROM {rows.source}
        ) AS given_values
      ) AS checked_values {fence}
    ) AS distances {fence}
  ) AS numbered
) AS binned
GROUP BY label, bin"""
    return "\n".join(line.rstrip() for line in query.splitlines())


def _ladder(distance: str) -> str:
    """Return the branches of a CASE that finds the bin of a distance in units of 2**-N_HALVINGS.

    The bin is counted from the nearer end. There is one branch for each halving of the distance,
    the widest and most frequent first.
    """
    branches = [f"WHEN {distance} >= {1 << (N_HALVINGS - 1)} THEN {MIDDLE}"]
    for power in range(N_HALVINGS - 2, -1, -1):
        # Powers of two: neither the product nor the quotient is rounded.
        scale = BINS_PER_HALVING / 2**power
        part = f"{distance} * {int(scale)}" if scale >= 1 else f"{distance} / {int(1 / scale)}"
        before = BINS_PER_HALVING * power + 1
        branches.append(
            f"WHEN {distance} >= {1 << power} THEN FLOOR({part}) - {BINS_PER_HALVING} + {before}"
        )
    return "\n        ".join([*branches, "ELSE 0"])
