"""The record of one check: settings, results, scores, reviewers' decisions, and texts."""

from rankprune.run._class_check import ClassCheck
from rankprune.run._label_check import LabelCheck
from rankprune.run._loading import load_check

__all__ = ["ClassCheck", "LabelCheck", "load_check"]
