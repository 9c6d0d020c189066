"""Code shared by all classifiers: folds, cloning, weights, base classes, and models by name."""

from rankprune.learners._probabilities import out_of_fold_probabilities

__all__ = ["out_of_fold_probabilities"]
