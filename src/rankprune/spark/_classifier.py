"""Rank Pruning as a pyspark.ml estimator: out-of-fold scores, rates, cut-offs, refit."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict
from functools import reduce
from typing import Any

from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasSeed, HasWeightCol
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions

from rankprune.core import ConfidentState, NoiseRates
from rankprune.core._weights import class_weights
from rankprune.core.estimators._registry import DEFAULT_ESTIMATOR
from rankprune.exceptions import SampleWeightIgnoredWarning
from rankprune.spark._prune import plain_column, prune, run_passes
from rankprune.storage._json_records import from_plain

# Columns that are added during a fit.
_FOLD, _WEIGHT, _SCORE, _PRUNED = "__fold", "__weight", "__score", "__pruned"


class _RankPruningParams(HasSeed, HasWeightCol):
    """Parameters shared by the estimator and the model."""

    estimator = Param(Params._dummy(), "estimator", "classifier that predicts probabilities")
    numFolds = Param(Params._dummy(), "numFolds", "number of folds", TypeConverters.toInt)
    foldCol = Param(
        Params._dummy(), "foldCol", "column of folds 0 .. numFolds - 1", TypeConverters.toString
    )
    groupCol = Param(
        Params._dummy(), "groupCol", "rows of a group share a fold", TypeConverters.toString
    )
    idCol = Param(Params._dummy(), "idCol", "column of distinct values", TypeConverters.toString)
    noiseEstimator = Param(
        Params._dummy(), "noiseEstimator", "how rates are estimated", TypeConverters.toString
    )
    positiveNoiseRate = Param(
        Params._dummy(),
        "positiveNoiseRate",
        "known share of true positives labeled 0",
        TypeConverters.toFloat,
    )
    negativeNoiseRate = Param(
        Params._dummy(),
        "negativeNoiseRate",
        "known share of true negatives labeled 1",
        TypeConverters.toFloat,
    )

    def _value(self, param: Any) -> Any:
        """Return the value of a parameter, or None if it is not set."""
        return self.getOrDefault(param) if self.isDefined(param) else None


class RankPruningClassifier(_RankPruningParams, Estimator, MLReadable, MLWritable):
    """Rank Pruning with a probabilistic classifier of Spark.

    Parameters
    ----------
    estimator : pyspark.ml.Estimator
        A classifier that predicts probabilities. Without ``weightCol`` it is fitted unweighted,
        with a warning. It determines the columns of features, labels (0 and 1) and predictions.
    numFolds : int, default=3
        Number of folds.
    foldCol : str, default=None
        Column with the fold of each row. By default folds are computed from a hash of `groupCol`,
        or else of `idCol`, or else of the features, so that they depend neither on partitions nor
        on the order of rows.
    groupCol : str, default=None
        Column of groups; rows of the same group are in the same fold.
    idCol : str, default=None
        Column of distinct values; it orders the rows that are tied at a cut-off.
    noiseEstimator : str, default="learned"
        Name of the noise estimator; see ``method`` of `rankprune.stream.estimate_noise_rates`.
    positiveNoiseRate, negativeNoiseRate : float, default=None
        Known rates, as in `rankprune.RankPruningClassifier`.
    weightCol : str, default=None
        Column of row weights. They are used in the fits, not in the counts.
    seed : int, default=0
        Seed of the folds.

    Examples
    --------
    >>> from pyspark.ml.classification import LogisticRegression
    >>> from pyspark.ml.linalg import Vectors
    >>> from rankprune.spark import RankPruningClassifier, local_session
    >>> rows = [(i, float(i % 2 and i > 20), Vectors.dense([i % 2 + 0.01 * i])) for i in range(200)]
    >>> data = local_session("local[2]").createDataFrame(rows, ["id", "label", "features"])
    >>> base = LogisticRegression(regParam=0.01, maxIter=10)
    >>> model = RankPruningClassifier(estimator=base, idCol="id", numFolds=2).fit(data)
    >>> 0 < model.noise_rates.positive_noise_rate < 0.3
    True
    """

    @keyword_only
    def __init__(
        self,
        *,
        estimator: Any = None,
        numFolds: int = 3,
        foldCol: str | None = None,
        groupCol: str | None = None,
        idCol: str | None = None,
        noiseEstimator: str = DEFAULT_ESTIMATOR,
        positiveNoiseRate: float | None = None,
        negativeNoiseRate: float | None = None,
        weightCol: str | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._setDefault(numFolds=3, noiseEstimator=DEFAULT_ESTIMATOR, seed=0)
        self.setParams(**self._input_kwargs)

    @keyword_only
    def setParams(self, **_: Any) -> RankPruningClassifier:
        """Set parameters by name."""
        given = {name: value for name, value in self._input_kwargs.items() if value is not None}
        self._set(**given)
        return self

    def _fit(self, dataset: Any) -> RankPruningClassificationModel:
        estimator = self._estimator()
        label = estimator.getOrDefault("labelCol")
        weight = self._value(self.weightCol)
        self._refuse_other_folds(dataset)
        if not estimator.hasParam("weightCol"):
            _warn_unweighted(estimator)
        rows = dataset.withColumn(_FOLD, self._folds(dataset, estimator))
        scored = self._scored(rows, estimator, weight).persist()
        try:
            pruning = prune(
                scored,
                label,
                _SCORE,
                noise_rates=self._known_rates(scored, label),
                method=self.getOrDefault(self.noiseEstimator),
                order=self._value(self.idCol),
                column=_PRUNED,
            )
            rates = pruning.noise_rates
            kept = pruning.data.filter(~functions.col(_PRUNED))
            fitted = self._fit_weighted(estimator, kept, weight, _correction(label, rates))
        finally:
            scored.unpersist()
        model = RankPruningClassificationModel(fitted, rates, *_counts(pruning))
        return self._copyValues(model)

    def _estimator(self) -> Any:
        estimator = self._value(self.estimator)
        if estimator is None or not estimator.hasParam("probabilityCol"):
            raise ValueError(
                "estimator must be a classifier that predicts probabilities, got "
                f"{type(estimator).__name__}. Pass e.g. pyspark.ml.classification."
                "LogisticRegression()."
            )
        return estimator

    def _folds(self, dataset: Any, estimator: Any) -> Any:
        """Return the column of folds, which does not depend on partitions."""
        chosen = self._value(self.foldCol)
        if chosen is not None:
            return functions.col(chosen).cast("int")
        key = self._value(self.groupCol) or self._value(self.idCol)
        hashed = plain_column(dataset, key or estimator.getOrDefault("featuresCol"))
        seed = functions.lit(self.getOrDefault(self.seed))
        number = functions.xxhash64(hashed, seed)
        return functions.pmod(number, functions.lit(self.getOrDefault(self.numFolds))).cast("int")

    def _refuse_other_folds(self, dataset: Any) -> None:
        """Raise an error if the given folds leave rows without a score."""
        chosen, n_folds = self._value(self.foldCol), self.getOrDefault(self.numFolds)
        if chosen is None:
            return
        fold = functions.col(chosen).cast("int")
        others = dataset.filter(
            ~functions.coalesce(fold.between(0, n_folds - 1), functions.lit(False))
        )
        count = others.count()
        if count:
            raise ValueError(
                f"foldCol must hold whole numbers from 0 to {n_folds - 1}, but {count} rows of "
                f"{chosen!r} do not. Fill them in, or set numFolds."
            )

    def _scored(self, rows: Any, estimator: Any, weight: str | None) -> Any:
        """Return all rows with the probability from a model fitted to the other folds."""
        from pyspark.ml.functions import vector_to_array

        columns = [column for column in rows.columns if column != _FOLD]
        parts = []
        for fold in range(self.getOrDefault(self.numFolds)):
            others = rows.filter(functions.col(_FOLD) != fold)
            held_out = rows.filter(functions.col(_FOLD) == fold)
            fitted = self._fit_weighted(estimator, others, weight, None)
            score = vector_to_array(functions.col(fitted.getOrDefault("probabilityCol")))[1]
            parts.append(fitted.transform(held_out).select(*columns, score.alias(_SCORE)))
        return reduce(lambda first, second: first.unionByName(second), parts)

    def _fit_weighted(self, estimator: Any, rows: Any, weight: str | None, correction: Any) -> Any:
        """Return the estimator fitted with the row weights times the correction weights."""
        columns = [] if weight is None else [functions.col(weight)]
        columns += [] if correction is None else [correction]
        if not columns or not estimator.hasParam("weightCol"):
            return estimator.fit(rows)
        rows = rows.withColumn(_WEIGHT, reduce(lambda one, other: one * other, columns))
        return estimator.copy({estimator.getParam("weightCol"): _WEIGHT}).fit(rows)

    def _known_rates(self, scored: Any, label: str) -> NoiseRates | None:
        positive, negative = (
            self._value(param) for param in (self.positiveNoiseRate, self.negativeNoiseRate)
        )
        if positive is None and negative is None:
            return None
        column = functions.col(label).cast("double")
        if positive is not None and negative is not None:
            observed = scored.agg(functions.avg(column)).first()[0]
            return NoiseRates.from_noise_rates(positive, negative, observed)
        named = scored.select(column.alias("__s"), functions.col(_SCORE).alias("__g"))
        state = ConfidentState(self.getOrDefault(self.noiseEstimator), prunes=False)
        return run_passes(named, state).rates().with_known(positive=positive, negative=negative)

    def write(self) -> MLWriter:
        """Return a writer that saves the estimator."""
        return _Writer(self, {"estimator": self.getOrDefault(self.estimator)}, {})

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader that loads an estimator."""
        return _Reader(cls)

    @classmethod
    def _loaded(cls, parts: dict[str, Any], _extra: dict[str, Any]) -> RankPruningClassifier:
        return cls(estimator=parts["estimator"])

    def copy(self, extra: Any = None) -> RankPruningClassifier:
        """Return a copy, with a copy of the classifier."""
        copied = super().copy(extra)
        if copied.isDefined(copied.estimator):
            copied._set(estimator=copied.getOrDefault(copied.estimator).copy(extra))
        return copied


class RankPruningClassificationModel(_RankPruningParams, Model, MLReadable, MLWritable):
    """The classifier fitted to the rows that were kept, with correction weights.

    Attributes
    ----------
    model : pyspark.ml.Model
        The fitted classifier, which `transform` uses.
    noise_rates : NoiseRates
        Noise rates used for pruning.
    positive_cutoff, negative_cutoff : float or None
        As in `rankprune.core.Pruning`.
    n_positive_pruned, n_negative_pruned : int
        Number of rows dropped with each label.
    n_jobs : int
        Number of Spark jobs that pruning took, not counting fits and scores.

    Examples
    --------
    >>> from pyspark.ml.classification import LogisticRegression
    >>> from pyspark.ml.linalg import Vectors
    >>> from rankprune.spark import RankPruningClassifier, local_session
    >>> rows = [(i, float(i % 2 and i > 20), Vectors.dense([i % 2 + 0.01 * i])) for i in range(200)]
    >>> data = local_session("local[2]").createDataFrame(rows, ["id", "label", "features"])
    >>> base = LogisticRegression(regParam=0.01, maxIter=10)
    >>> model = RankPruningClassifier(estimator=base, idCol="id", numFolds=2).fit(data)
    >>> model.transform(data).filter("id = 199").select("prediction").collect()
    [Row(prediction=1.0)]
    """

    def __init__(
        self,
        model: Any,
        noise_rates: NoiseRates,
        positive_cutoff: float | None,
        negative_cutoff: float | None,
        n_positive_pruned: int,
        n_negative_pruned: int,
        n_jobs: int,
    ) -> None:
        super().__init__()
        self.model, self.noise_rates = model, noise_rates
        self.positive_cutoff, self.negative_cutoff = positive_cutoff, negative_cutoff
        self.n_positive_pruned, self.n_negative_pruned = n_positive_pruned, n_negative_pruned
        self.n_jobs = n_jobs

    def _transform(self, dataset: Any) -> Any:
        return self.model.transform(dataset)

    def copy(self, extra: Any = None) -> RankPruningClassificationModel:
        """Return a copy, with a copy of the fitted classifier."""
        copied = super().copy(extra)
        copied.model = self.model.copy(extra)
        return copied

    def write(self) -> MLWriter:
        """Return a writer that saves the model."""
        extra = {
            name: getattr(self, name)
            for name in (
                "positive_cutoff",
                "negative_cutoff",
                "n_positive_pruned",
                "n_negative_pruned",
                "n_jobs",
            )
        }
        return _Writer(
            self, {"model": self.model}, {**extra, "noise_rates": asdict(self.noise_rates)}
        )

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader that loads a model."""
        return _Reader(cls)

    @classmethod
    def _loaded(
        cls, parts: dict[str, Any], extra: dict[str, Any]
    ) -> RankPruningClassificationModel:
        rates = from_plain(NoiseRates, extra.pop("noise_rates"))
        return cls(parts["model"], rates, **extra)


def _warn_unweighted(estimator: Any) -> None:
    warnings.warn(
        f"{type(estimator).__name__} takes no weights, so it is fitted without the weights that "
        "restore the balance of the classes. Use a classifier with weightCol.",
        SampleWeightIgnoredWarning,
        stacklevel=3,
    )


def _correction(label: str, rates: NoiseRates) -> Any:
    """Return the column of correction weights."""
    positive, negative = class_weights(rates)
    is_positive = functions.col(label) == 1
    return functions.when(is_positive, functions.lit(positive)).otherwise(functions.lit(negative))


def _counts(pruning: Any) -> tuple[Any, ...]:
    return (
        pruning.positive_cutoff,
        pruning.negative_cutoff,
        pruning.n_positive_pruned,
        pruning.n_negative_pruned,
        pruning.n_jobs,
    )


class _Writer(MLWriter):
    """Saves parameters as JSON, and each part in its own format in the same folder."""

    def __init__(self, instance: Any, parts: dict[str, Any], extra: dict[str, Any]) -> None:
        super().__init__()
        self._instance, self._parts, self._extra = instance, parts, extra

    def saveImpl(self, path: str) -> None:
        """Write the object to a folder."""
        instance = self._instance
        values = {
            param.name: instance.getOrDefault(param)
            for param in instance.params
            if param.name != "estimator" and instance.isSet(param)
        }
        DefaultParamsWriter.saveMetadata(
            instance,
            path,
            self.sparkSession,
            extraMetadata={"rankprune": json.dumps(self._extra), "parts": list(self._parts)},
            paramMap=values,
        )
        for name, part in self._parts.items():
            part.write().overwrite().save(f"{path}/{name}")


class _Reader(MLReader):
    def __init__(self, cls: Any) -> None:
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> Any:
        """Return the object stored in a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        parts = {
            name: DefaultParamsReader.loadParamsInstance(f"{path}/{name}", self.sparkSession)
            for name in metadata["parts"]
        }
        loaded = self._cls._loaded(parts, json.loads(metadata["rankprune"]))
        loaded._resetUid(metadata["uid"])
        for name, value in metadata["paramMap"].items():
            loaded._set(**{name: value})
        return loaded
