"""Labels and scores of a Spark data frame -> noise rates -> cut-offs -> the rows to drop.

Workers update the mergeable state of the core with the batches of their partitions and send it
back; the algebra stays on the driver. The number and order of partitions does not matter.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rankprune.core import ConfidentState, Cutoff, Cutoffs, NoiseRates


@dataclass(frozen=True)
class SparkPruning:
    """The rows of a Spark data frame to drop.

    Attributes
    ----------
    noise_rates : NoiseRates
        Noise rates, known or estimated.
    positive_cutoff, negative_cutoff : float or None
        As in `rankprune.core.Pruning`.
    n_positive_pruned, n_negative_pruned : int
        Number of rows to drop with each label, as the rates imply.
    data : pyspark.sql.DataFrame
        The data frame with one more column, true for rows to drop.
    n_jobs : int
        Number of Spark jobs that were run.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.spark import local_session, prune
    >>> rows = [(1, 0.9), (1, 0.2), (0, 0.3), (0, 0.1)]
    >>> data = local_session("local[2]").createDataFrame(rows, ["label", "score"])
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.5)
    >>> pruning = prune(data, "label", "score", noise_rates=rates)
    >>> pruning.positive_cutoff, pruning.n_positive_pruned, pruning.n_negative_pruned
    (0.2, 1, 0)
    """

    noise_rates: NoiseRates
    positive_cutoff: float | None
    negative_cutoff: float | None
    n_positive_pruned: int
    n_negative_pruned: int
    data: Any
    n_jobs: int


def prune(
    data: Any,
    label: str,
    probability: str,
    *,
    noise_rates: NoiseRates | None = None,
    method: Any = None,
    order: str | None = None,
    column: str = "pruned",
) -> SparkPruning:
    """Return which rows of a data frame to drop.

    Parameters
    ----------
    data : pyspark.sql.DataFrame
        Labels and probabilities. They are read two or three times: cache them if they are slow to
        compute.
    label, probability : str
        Columns of labels 0 and 1, and of the probability of 1: numbers, or the vectors that Spark's
        classifiers return.
    noise_rates : NoiseRates, default=None
        Known rates; by default they are estimated in the same passes.
    method : str or callable, default=None
        As in `rankprune.stream.estimate_noise_rates`.
    order : str, default=None
        Column of distinct values that sets the order of the rows, which matters only if some of
        the rows tied at a cut-off are dropped and others kept. By default they are ordered by a
        hash of all cells; identical rows are then dropped together, which may drop a few more
        than the rates imply.
    column : str, default="pruned"
        Name of the column to add.

    Returns
    -------
    SparkPruning
        The same counts, cut-offs and rows as from `rankprune.prune_labels` on the same data.

    Examples
    --------
    >>> from rankprune import NoiseRates
    >>> from rankprune.spark import local_session, prune
    >>> rows = [(1, 0.9), (1, 0.2), (0, 0.3), (0, 0.1)]
    >>> data = local_session("local[2]").createDataFrame(rows, ["label", "score"])
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.5)
    >>> prune(data, "label", "score", noise_rates=rates).data.filter("pruned").collect()
    [Row(label=1, score=0.2, pruned=True)]
    """
    functions = _functions()
    if column in data.columns:
        raise ValueError(
            f"column must be a new name; data already has a column {column!r}. Pass another name."
        )
    scored = data.withColumn("__s", functions.col(_quoted(label)).cast("double"))
    scored = scored.withColumn("__g", _score(data, probability))
    state = run_passes(scored, ConfidentState(method, noise_rates=noise_rates))
    cutoffs, n_jobs = state.cutoffs(), state.n_pass - 1
    marks, n_more, scored = _marks(scored, cutoffs, order)
    parts = (cutoffs.positive, cutoffs.negative)
    n_positive, n_negative = (0 if part is None else part.n_pruned for part in parts)
    return SparkPruning(
        state.rates(),
        *cutoffs.values,
        n_positive,
        n_negative,
        scored.withColumn(column, marks).drop("__s", "__g", "__n"),
        n_jobs + n_more,
    )


def run_passes(scored: Any, state: ConfidentState) -> ConfidentState:
    """Return the state after its passes over the columns __s and __g, with one job per pass."""
    while not state.is_done:
        state = _one_pass(scored.select("__s", "__g"), state).after_pass()
    return state


def _one_pass(rows: Any, state: ConfidentState) -> ConfidentState:
    sent = pickle.dumps(state.empty())

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the state of one partition; runs on the workers."""
        import pyarrow as pa

        found, problem = pickle.loads(sent), None
        try:
            for batch in batches:
                found.update(*(_column(batch, name) for name in ("__s", "__g")))
        except ValueError as error:
            problem = str(error)
        yield pa.RecordBatch.from_pydict(
            {"state": pa.array([pickle.dumps(found.forget())], pa.binary()), "problem": [problem]},
            schema=pa.schema([("state", pa.binary()), ("problem", pa.string())]),
        )

    merged = state.empty()
    for row in rows.mapInArrow(count, "state binary, problem string").collect():
        if row.problem is not None:
            raise ValueError(row.problem)
        merged = merged.merge(pickle.loads(bytes(row.state)))
    return merged


def _column(batch: Any, name: str) -> Any:
    values = batch.column(batch.schema.get_field_index(name))
    if values.null_count:
        what = "labels" if name == "__s" else "probabilities"
        raise ValueError(
            f"{what} must not be null; {values.null_count} of {len(values)} rows of a batch are. "
            "Drop these rows, e.g. with na.drop, or fill them."
        )
    return values.to_numpy(zero_copy_only=False)


def _marks(scored: Any, cutoffs: Cutoffs, order: str | None) -> tuple[Any, int, Any]:
    """Return the condition for dropping a row, the number of jobs, and the rows to apply it to."""
    functions = _functions()
    parts = {1.0: cutoffs.positive, 0.0: cutoffs.negative}
    known = {label: cutoff for label, cutoff in parts.items() if cutoff is not None}
    split = {label: cutoff for label, cutoff in known.items() if cutoff.n_ties < cutoff.n_equal}
    last: dict[float, Any] = {}
    if split:
        number = _row_hash(scored) if order is None else functions.col(_quoted(order))
        scored = scored.withColumn("__n", number)
        last = _last_tied(scored, split, order)
    condition = functions.lit(False)
    for label, cutoff in known.items():
        score, value = functions.col("__g"), functions.lit(cutoff.value)
        tied = score == value
        if label in split:
            tied = tied & (functions.col("__n") <= functions.lit(last[label]))
        beyond = score < value if label else score > value
        condition = condition | ((functions.col("__s") == label) & (beyond | tied))
    return condition, int(bool(split)), scored


def _last_tied(scored: Any, split: dict[float, Cutoff], order: str | None) -> dict[float, Any]:
    """Return, for each label, the number of the last tied row to drop, in one job."""
    from pyspark.sql import Window

    functions = _functions()
    label, score, rank = (functions.col(name) for name in ("__s", "__g", "__rank"))
    tied, wanted = (functions.lit(False) for _ in range(2))
    for value, cutoff in split.items():
        tied = tied | ((label == value) & (score == functions.lit(cutoff.value)))
        # The first row shows whether any value is null, the last two whether they are equal.
        ranks = rank.isin(1, cutoff.n_ties, cutoff.n_ties + 1)
        wanted = wanted | ((label == value) & ranks)
    numbered = scored.filter(tied).withColumn(
        "__rank",
        functions.row_number().over(
            Window.partitionBy("__s").orderBy(functions.col("__n").asc_nulls_first())
        ),
    )
    found = numbered.filter(wanted).select("__s", "__rank", "__n").collect()
    numbers = {(row["__s"], row["__rank"]): row["__n"] for row in found}
    last = {value: numbers[value, cutoff.n_ties] for value, cutoff in split.items()}
    if order is not None:
        for value, cutoff in split.items():
            following = numbers[value, cutoff.n_ties + 1]
            _refuse_no_order(order, numbers[value, 1], last[value], following)
    return last


def _refuse_no_order(order: str, first: Any, last: Any, following: Any) -> None:
    if first is None:
        raise ValueError(
            f"order (or idCol) must not be null; {order!r} is null in a row tied at a cut-off. "
            "Fill it, or omit the argument."
        )
    # NaNs are equal in Spark, but not in Python.
    if last == following or (last != last and following != following):
        raise ValueError(
            f"order (or idCol) must hold distinct values; {order!r} is {last!r} in two tied rows "
            "of which only one is dropped. Pass a column without repeats, or omit the argument."
        )


def _score(data: Any, probability: str) -> Any:
    column = plain_column(data, probability)
    return column[1] if _is_vector(data, probability) else column.cast("double")


def _row_hash(data: Any) -> Any:
    """Return a number that depends on the cells of a row, not on its partition."""
    from pyspark.sql.types import MapType

    names = [field.name for field in data.schema.fields if not isinstance(field.dataType, MapType)]
    return _functions().xxhash64(*(plain_column(data, name) for name in names))


def plain_column(data: Any, name: str) -> Any:
    """Return a column, as an array if it holds vectors."""
    from pyspark.ml.functions import vector_to_array

    column = _functions().col(_quoted(name))
    return vector_to_array(column) if _is_vector(data, name) else column


def _is_vector(data: Any, name: str) -> bool:
    from pyspark.ml.linalg import VectorUDT

    return isinstance(data.schema[name].dataType, VectorUDT)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _functions() -> Any:
    try:
        from pyspark.sql import functions
    except ImportError as error:
        raise ImportError(
            "rankprune.spark needs pyspark, which is not installed. Install rankprune[spark]."
        ) from error
    return functions
