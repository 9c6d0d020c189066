"""Rank Pruning on Spark, in two worker processes: the counts, cut-offs and models of arrays."""

import os
import re
import signal
import subprocess
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark")

import pandas as pd
from pyspark.ml import Pipeline
from pyspark.ml.classification import (
    LinearSVC,
    LogisticRegression,
    MultilayerPerceptronClassifier,
)
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import array_to_vector
from pyspark.ml.tuning import ParamGridBuilder, TrainValidationSplit
from pyspark.sql import functions
from sklearn.linear_model import LogisticRegression as ScikitLogisticRegression

import rankprune
from rankprune import NoiseRates, estimate_noise_rates, flip_labels, prune_labels
from rankprune.exceptions import SampleWeightIgnoredWarning, UninformativeProbabilitiesWarning
from rankprune.spark import (
    RankPruningClassificationModel,
    RankPruningClassifier,
    local_session,
    prune,
)

pytestmark = [
    pytest.mark.spark,
    # Spark's own: sockets and processes that end with the session.
    pytest.mark.filterwarnings("default::ResourceWarning", "default::DeprecationWarning"),
    pytest.mark.filterwarnings("default::FutureWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def spark():
    session = local_session(
        "local-cluster[2,1,1024]",
        spark__sql__shuffle__partitions=4,
        spark__sql__execution__arrow__pyspark__enabled="true",
        spark__task__maxFailures=8,
        spark__sql__execution__arrow__maxRecordsPerBatch=3000,
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def noisy_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n_rows) < 0.3
    labels = np.where(truth, rng.random(n_rows) >= 0.3, rng.random(n_rows) < 0.1)
    return labels, np.where(truth, rng.beta(5, 2, n_rows), rng.beta(2, 5, n_rows))


def frame(spark, labels, scores):
    columns = {"i": np.arange(len(labels)), "s": labels.astype(float), "g": scores}
    return spark.createDataFrame(pd.DataFrame(columns))


def mask_of(pruning):
    rows = pruning.data.orderBy("i").select("pruned").collect()
    return np.array([row.pruned for row in rows])


SCORES = {
    "spread": lambda scores: scores,
    "ties": lambda scores: np.round(scores, 1),
    "one bin": lambda scores: 0.5 + scores * 1e-9,
    "tiny": lambda scores: scores * 1e-300,
    "float32": lambda scores: scores.astype(np.float32),
}


class TestPrune:
    @pytest.mark.parametrize(
        ("kind", "partitions"),
        [("spread", 1), ("ties", 5), ("ties", 40), ("one bin", 4), ("tiny", 3), ("float32", 7)],
    )
    @pytest.mark.parametrize("method", [None, "confident-counts"])
    def test_as_arrays_in_any_partitions(self, spark, kind, partitions, method):
        # More partitions than there are rows for: some are empty.
        labels, scores = noisy_rows(30 if partitions == 40 else 4000, seed=1)
        scores = SCORES[kind](scores)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeProbabilitiesWarning)
            rates = estimate_noise_rates(labels, scores, method=method)
            data = frame(spark, labels, scores).repartition(partitions, "g")
            pruning = prune(data, "s", "g", order="i", method=method)
        whole = prune_labels(labels, scores, rates)
        assert pruning.noise_rates == rates
        assert (pruning.positive_cutoff, pruning.negative_cutoff) == (
            whole.positive_cutoff,
            whole.negative_cutoff,
        )
        np.testing.assert_array_equal(mask_of(pruning), whole.mask)

    def test_at_most_four_jobs(self, spark):
        labels, scores = noisy_rows(3000)
        data = frame(spark, labels, np.round(scores, 1)).repartition(4).cache()
        data.count()
        spark.sparkContext.setJobGroup("counted", "jobs of prune")
        pruning = prune(data, "s", "g", order="i")
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("counted")
        spark.sparkContext.setJobGroup("others", "")
        assert pruning.n_jobs <= 4
        # Adaptive execution may run a stage of a job as a job of its own.
        assert len(jobs) <= pruning.n_jobs + 1

    def test_without_an_order_as_many_rows_go_and_the_same_in_any_partitions(self, spark):
        labels, scores = noisy_rows(2000)
        data = frame(spark, labels, np.round(scores, 1))
        masks = [mask_of(prune(data.repartition(n), "s", "g")) for n in (3, 8)]
        pruning = prune(data, "s", "g")
        assert masks[0].sum() == pruning.n_positive_pruned + pruning.n_negative_pruned > 0
        np.testing.assert_array_equal(*masks)

    def test_known_rates_vectors_and_odd_names(self, spark):
        labels, scores = noisy_rows(2000)
        rates = NoiseRates.from_noise_rates(0.3, 0.05, labels.mean())
        data = frame(spark, labels, scores)
        vectors = array_to_vector(functions.array(1 - functions.col("g"), "g"))
        data = data.withColumn("a.`b", vectors).withColumnRenamed("s", "the label")
        pruning = prune(data, "the label", "a.`b", noise_rates=rates, column="gone")
        assert pruning.noise_rates is rates
        assert pruning.data.columns == ["i", "the label", "g", "a.`b", "gone"]
        rows = pruning.data.orderBy("i").select("gone").collect()
        expected = prune_labels(labels, scores, rates).mask
        np.testing.assert_array_equal([row.gone for row in rows], expected)

    def test_errors_are_one_sentence(self, spark):
        labels, scores = noisy_rows(100)
        data = frame(spark, labels, scores)
        hole = functions.when(functions.col("i") == 7, None)
        with pytest.raises(ValueError, match=r"labels must not be null; 1 of \d+ rows"):
            prune(data.withColumn("s", hole.otherwise(functions.col("s"))), "s", "g")
        with pytest.raises(ValueError, match="probabilities must not be null"):
            prune(data.withColumn("g", hole.otherwise(functions.col("g"))), "s", "g")
        with pytest.raises(ValueError, match=r"probabilities must lie in \[0, 1\]"):
            prune(data.withColumn("g", functions.col("g") * 3), "s", "g")
        with pytest.raises(ValueError, match="labels must be 0 or 1"):
            prune(data.withColumn("s", functions.col("s") + 1), "s", "g")
        with pytest.raises(ValueError, match="at least one row"):
            prune(data.limit(0), "s", "g")
        with pytest.raises(ValueError, match="already has a column 'g'"):
            prune(data, "s", "g", column="g")

    def test_an_order_with_holes_or_repeats_is_refused(self, spark):
        # Of the four positives that tie at 0.2 two go: rows 0 and 1 if i says so.
        labels = np.array([1, 1, 1, 1, 1, 0, 0, 0])
        scores = np.array([0.2, 0.2, 0.2, 0.2, 0.9, 0.1, 0.1, 0.1])
        rates = NoiseRates.from_label_error_rates(0.4, 0.0, observed_prevalence=5 / 8)
        data = frame(spark, labels, scores)

        def pruned(number):
            return prune(data.withColumn("n", number), "s", "g", noise_rates=rates, order="n")

        i = functions.col("i")
        np.testing.assert_array_equal(mask_of(pruned(3 - i)).nonzero()[0], [2, 3])
        # Repeats matter only where they leave open which row goes.
        elsewhere = functions.when(i == 3, 2).otherwise(i)
        np.testing.assert_array_equal(mask_of(pruned(elsewhere)).nonzero()[0], [0, 1])
        with pytest.raises(ValueError, match="must not be null; 'n' is null"):
            pruned(functions.when(i == 3, None).otherwise(i))
        with pytest.raises(ValueError, match="must hold distinct values; 'n' is 1 in two"):
            pruned(functions.when(i == 2, 1).otherwise(i))
        with pytest.raises(ValueError, match="must hold distinct values; 'n' is nan in two"):
            pruned(functions.when(i > 0, float("nan")).otherwise(0.0))


N_LARGE = 1_000_000


@pytest.fixture(scope="module")
def large():
    """A million rows of twenty features, a third of the positives mislabeled."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_LARGE, 20)).astype(np.float64)
    truth = X @ rng.standard_normal(20) + 0.5 * rng.standard_normal(N_LARGE) > 1
    labels = flip_labels(
        truth.astype(int), positive_noise_rate=0.3, negative_noise_rate=0.1, random_state=0
    )
    return X, labels, np.arange(N_LARGE) % 3


def features(spark, X, labels, folds):
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    table = pd.DataFrame(columns | {"i": np.arange(len(X)), "label": labels.astype(float)})
    table["fold"] = folds
    assembler = VectorAssembler(inputCols=list(columns), outputCol="features")
    return assembler.transform(spark.createDataFrame(table)).select(
        "i", "fold", "label", "features"
    )


def classifier(max_iter=200, **asked):
    base = LogisticRegression(regParam=0.0, tol=1e-12, maxIter=max_iter, standardization=False)
    return RankPruningClassifier(estimator=base, **asked)


def quick(**asked):
    """A few iterations of few fits: each of them is a job."""
    return classifier(max_iter=2, **{"numFolds": 2, **asked})


def test_a_million_rows_as_in_scikit_learn_although_a_worker_dies(spark, large):
    X, labels, folds = large
    data = features(spark, X, labels, folds).repartition(4).persist()
    data.count()
    killer = threading.Timer(3.0, kill_an_executor)
    killer.start()
    model = classifier(foldCol="fold", idCol="i", noiseEstimator="confident-counts").fit(data)
    assert killed, "it was over before an executor could be killed"
    data.unpersist()
    base = ScikitLogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(3)]
    expected = rankprune.RankPruningClassifier(
        base, noise_estimator="confident-counts", cv=splits
    ).fit(X, labels)
    assert model.noise_rates.counts == expected.noise_rates_.counts
    n_pruned = model.n_positive_pruned + model.n_negative_pruned
    assert n_pruned == expected.prune_mask_.sum()
    scale = np.abs(expected.estimator_.coef_).max()
    difference = np.abs(model.model.coefficients.toArray() - expected.estimator_.coef_[0]).max()
    assert difference < 1e-5 * max(1, scale)
    assert model.model.intercept == pytest.approx(expected.estimator_.intercept_[0], abs=1e-5)


killed = []


def kill_an_executor():
    found = subprocess.run(
        ["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True
    )
    for number in found.stdout.split()[:1]:
        os.kill(int(number), signal.SIGKILL)
        killed.append(number)


@pytest.fixture(scope="module")
def small(spark):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 3))
    truth = (X[:, 0] > 0.3).astype(int)
    labels = flip_labels(truth, positive_noise_rate=0.25, negative_noise_rate=0.1, random_state=0)
    data = features(spark, X, labels, np.arange(900) % 3).withColumn(
        "group", functions.col("i") % 50
    )
    return data.repartition(2).cache()


class TestClassifier:
    def test_it_finds_what_right_labels_would_have_given(self, small):
        model = quick(idCol="i").fit(small)
        assert model.noise_rates.positive_noise_rate == pytest.approx(0.25, abs=0.12)
        assert model.n_positive_pruned + model.n_negative_pruned > 60
        columns = model.transform(small).columns
        assert {"rawPrediction", "probability", "prediction"} <= set(columns)
        assert not [column for column in columns if column.startswith("__")]

    def test_folds_depend_on_neither_partitions_nor_order(self, small):
        for asked in ({"groupCol": "group", "idCol": "i"}, {}):
            one = quick(**asked).fit(small.repartition(1))
            many = quick(**asked).fit(small.orderBy(functions.desc("i")).repartition(3))
            assert many.noise_rates.counts == one.noise_rates.counts
            assert many.n_positive_pruned == one.n_positive_pruned

    def test_rows_of_a_group_share_a_fold(self, small):
        chosen = quick(groupCol="group", numFolds=3)
        folds = small.withColumn("f", chosen._folds(small, chosen._estimator()))
        counted = folds.groupBy("group").agg(functions.countDistinct("f").alias("n")).collect()
        assert {row.n for row in counted} == {1}
        assert folds.select("f").distinct().count() == 3

    def test_known_rates_win(self, small):
        both = quick(idCol="i", positiveNoiseRate=0.25, negativeNoiseRate=0.0).fit(small)
        assert both.noise_rates.positive_noise_rate == 0.25
        assert both.n_positive_pruned == 0
        one = quick(idCol="i", negativeNoiseRate=0.0).fit(small)
        assert one.noise_rates.negative_noise_rate == 0.0
        assert one.noise_rates.positive_noise_rate > 0.05

    def test_weights_go_into_the_fits(self, small):
        weighted = small.withColumn("w", functions.lit(2.0))
        plain, twice = (
            quick(idCol="i", **asked).fit(weighted) for asked in ({}, {"weightCol": "w"})
        )
        np.testing.assert_allclose(
            twice.model.coefficients.toArray(), plain.model.coefficients.toArray(), atol=1e-6
        )

    def test_a_classifier_without_weights_is_named(self, small):
        base = MultilayerPerceptronClassifier(layers=[3, 2], maxIter=30, seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeProbabilitiesWarning)
            warnings.simplefilter("error", SampleWeightIgnoredWarning)
            with pytest.raises(
                SampleWeightIgnoredWarning, match="MultilayerPerceptronClassifier takes"
            ):
                RankPruningClassifier(estimator=base, idCol="i").fit(small)

    def test_folds_of_ones_own_cover_all_rows(self, small):
        for wrong in (functions.lit(3), functions.lit(None).cast("int")):
            with pytest.raises(ValueError, match="foldCol must hold whole numbers from 0 to 2"):
                quick(foldCol="fold", numFolds=3).fit(small.withColumn("fold", wrong))

    def test_it_needs_probabilities(self, small):
        for wrong in (None, LinearSVC()):
            with pytest.raises(ValueError, match="estimator must be a classifier that predicts"):
                RankPruningClassifier(estimator=wrong).fit(small)

    def test_saved_and_loaded(self, small, tmp_path):
        chosen = quick(idCol="i", numFolds=2, negativeNoiseRate=0.05, seed=3)
        chosen.write().overwrite().save(str(tmp_path / "chosen"))
        again = RankPruningClassifier.load(str(tmp_path / "chosen"))
        assert again.uid == chosen.uid
        assert again.getOrDefault("numFolds") == 2
        assert again.getOrDefault("estimator").getTol() == 1e-12
        model, other = chosen.fit(small), again.fit(small)
        assert other.noise_rates == model.noise_rates
        model.save(str(tmp_path / "model"))
        loaded = RankPruningClassificationModel.load(str(tmp_path / "model"))
        assert loaded.noise_rates == model.noise_rates
        assert loaded.positive_cutoff == model.positive_cutoff
        assert loaded.getOrDefault("numFolds") == 2
        expected = [row.prediction for row in model.transform(small).orderBy("i").collect()]
        assert [
            row.prediction for row in loaded.transform(small).orderBy("i").collect()
        ] == expected

    def test_copies_do_not_share(self, small):
        chosen = quick(idCol="i")
        inner = chosen.getOrDefault("estimator")
        copied = chosen.copy({inner.regParam: 0.5, chosen.numFolds: 5})
        assert copied.getOrDefault("numFolds") == 5
        assert chosen.getOrDefault("numFolds") == 2
        assert copied.getOrDefault("estimator").getRegParam() == 0.5
        assert inner.getRegParam() == 0.0
        model = chosen.fit(small, {chosen.numFolds: 3})
        assert model.copy().model is not model.model

    def test_in_a_pipeline_and_a_search(self, small):
        chosen = quick(idCol="i")
        inner = chosen.getOrDefault("estimator")
        grid = ParamGridBuilder().addGrid(inner.regParam, [0.0, 0.01]).build()
        search = TrainValidationSplit(
            estimator=Pipeline(stages=[chosen]),
            estimatorParamMaps=grid,
            evaluator=BinaryClassificationEvaluator(),
            seed=0,
        ).fit(small)
        assert len(search.validationMetrics) == 2


def test_the_guide_to_spark_runs_as_printed(small, tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    (snippet,) = (
        text for text in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "pyspark" in text
    )
    small.withColumnRenamed("i", "id").write.parquet(str(tmp_path / "features.parquet"))
    scores = small.selectExpr("i AS id", "label", "0.2 + 0.6 * label AS probability")
    scores.write.parquet(str(tmp_path / "scores.parquet"))
    # Spark looks for files where it was started.
    snippet = snippet.replace('parquet("', f'parquet("{tmp_path}/')
    names = {}
    exec(snippet, names)
    assert names["found"].data.count() == names["data"].count() == 900


def test_java_is_found_or_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(OSError, match=r"Spark needs Java 17 or later.*openjdk-17-jre-headless"):
        local_session()
