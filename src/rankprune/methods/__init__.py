"""Other methods that learn from noisy labels or from positive and unlabeled rows."""

from rankprune.methods._bagging import BaggingPUClassifier
from rankprune.methods._biased_svm import BiasedSVMClassifier
from rankprune.methods._co_training import CoTrainingClassifier
from rankprune.methods._consistency import ConsistencyPruningClassifier
from rankprune.methods._density_ratio import DensityRatioClassifier
from rankprune.methods._elkan_noto import ElkanNotoClassifier
from rankprune.methods._importance import ImportanceReweightingClassifier
from rankprune.methods._natarajan import LabelDependentCostClassifier, UnbiasedLossClassifier
from rankprune.methods._one_class import OneClassPUClassifier
from rankprune.methods._pu import pu_criterion
from rankprune.methods._resvm import RESVMClassifier
from rankprune.methods._weighted_logistic import WeightedLogisticPUClassifier

__all__ = [
    "BaggingPUClassifier",
    "BiasedSVMClassifier",
    "CoTrainingClassifier",
    "ConsistencyPruningClassifier",
    "DensityRatioClassifier",
    "ElkanNotoClassifier",
    "ImportanceReweightingClassifier",
    "LabelDependentCostClassifier",
    "OneClassPUClassifier",
    "RESVMClassifier",
    "UnbiasedLossClassifier",
    "WeightedLogisticPUClassifier",
    "pu_criterion",
]
