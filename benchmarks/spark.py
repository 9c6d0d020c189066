"""Time per row of `rankprune.spark.prune` on two cores of one machine."""

from __future__ import annotations

import argparse
import time

from pyspark.sql import functions

from rankprune.spark import local_session, prune


def main() -> None:
    """Print the time of all passes over rows in memory, and of marking them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    n_rows = parser.parse_args().rows
    spark = local_session(
        "local[2]", spark__driver__memory="6g", spark__ui__showConsoleProgress="false"
    )
    spark.sparkContext.setLogLevel("OFF")
    truth = functions.rand(1) < 0.3
    wrong = functions.rand(2) < functions.when(functions.col("y"), 0.3).otherwise(0.1)
    middle = functions.when(functions.col("y"), 0.7).otherwise(0.3)
    score = functions.least(
        functions.lit(1.0),
        functions.greatest(functions.lit(0.0), middle + 0.14 * functions.randn(3)),
    )
    data = spark.range(n_rows, numPartitions=8).withColumn("y", truth)
    data = data.withColumn("s", (functions.col("y") != wrong).cast("double"))
    data = data.withColumn("g", score).drop("y").cache()
    data.count()
    prune(data.limit(1000), "s", "g", order="id")  # starts the workers
    start = time.perf_counter()
    found = prune(data, "s", "g", order="id")
    counted = time.perf_counter() - start
    start = time.perf_counter()
    n_pruned = found.data.filter("pruned").count()
    marked = time.perf_counter() - start
    assert n_pruned == found.n_positive_pruned + found.n_negative_pruned
    print(f"\n## Spark, {n_rows:,} rows in memory, two cores\n")
    print("| | jobs | s | ns a row and core |")
    print("|---|---|---|---|")
    print(f"| rates and cut-offs | {found.n_jobs} | {counted:.1f} | {2e9 * counted / n_rows:.0f} |")
    print(f"| marking and counting | 1 | {marked:.1f} | {2e9 * marked / n_rows:.0f} |")
    spark.stop()


if __name__ == "__main__":
    main()
