"""Train a classifier on noisy labels, save it to a file, and apply it."""

from rankprune.model._file import TableModel, load_model
from rankprune.model._predict import predict_table
from rankprune.model._train import ReviewedModel, train_model, train_plain, train_reviewed

__all__ = [
    "ReviewedModel",
    "TableModel",
    "load_model",
    "predict_table",
    "train_model",
    "train_plain",
    "train_reviewed",
]
