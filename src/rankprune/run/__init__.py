"""The record of one check: settings, results, scores, reviewers' decisions, and texts."""

from rankprune.run._label_check import LabelCheck

__all__ = ["LabelCheck"]
