"""Rank Pruning on Spark: the counts and cut-offs of `rankprune.core`, over data frames."""

from rankprune.spark._classifier import RankPruningClassificationModel, RankPruningClassifier
from rankprune.spark._prune import SparkPruning, prune
from rankprune.spark._session import local_session

__all__ = [
    "RankPruningClassificationModel",
    "RankPruningClassifier",
    "SparkPruning",
    "local_session",
    "prune",
]
