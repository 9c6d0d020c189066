"""A compact convolutional network as a scikit-learn classifier: the paper's second classifier."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

_log = logging.getLogger("rankprune")

_ROWS_AT_ONCE = 1000
_KERNELS = (5, 3, 3)
_MISSING = (
    "The convolutional network needs PyTorch, which is not installed. "
    "Install it with: pip install 'rankprune[torch]'"
)


class ConvolutionalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Convolutional network for two classes of images.

    Each block is a convolution (5 x 5 in the first, 3 x 3 in the others), 2 x 2 pooling, batch
    normalisation and a rectifier. After the blocks come dropout, one layer of hidden units, dropout
    and one output. AdamW with a one-cycle learning rate minimises the weighted cross-entropy. Some
    rows are held out, and the network of the epoch with the lowest weighted loss on them is kept.

    Parameters
    ----------
    shape : tuple of 3 ints, default=(1, 28, 28)
        Number of planes, rows and columns of an image; a row of X holds its planes in order.
    channels : tuple of ints, default=(16, 32)
        Number of channels of each block; at most three blocks.
    hidden_units : int, default=64
    max_epochs : int, default=6
        Maximum number of epochs; the learning rate is close to 0 at the end of the last one.
    patience : int, default=10
        Stop after this many epochs without a lower loss on the held-out rows.
    validation_fraction : float, default=0.1
        Share of the rows to hold out.
    batch_size : int, default=256
    learning_rate : float, default=0.004
        Highest rate of the cycle.
    half_precision : bool, default=False
        Train with convolutions in bfloat16: faster on processors that support it, many times
        slower on others. Scores are always computed in single precision.
    random_state : int, RandomState instance or None, default=None
    """

    def __init__(
        self,
        shape: tuple[int, int, int] = (1, 28, 28),
        *,
        channels: tuple[int, ...] = (16, 32),
        hidden_units: int = 64,
        max_epochs: int = 6,
        patience: int = 10,
        validation_fraction: float = 0.1,
        batch_size: int = 256,
        learning_rate: float = 0.004,
        half_precision: bool = False,
        random_state: Any = None,
    ) -> None:
        self.shape = shape
        self.channels = channels
        self.hidden_units = hidden_units
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.half_precision = half_precision
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the network; a weight of 0 leaves a row out."""
        torch = _torch()
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        if X.shape[1] != np.prod(self.shape):
            raise ValueError(
                f"shape={self.shape} needs {np.prod(self.shape)} columns, but X has {X.shape[1]}. "
                "Give shape as (planes, rows, columns) of an image."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float32)
        used = np.flatnonzero(weights)
        self.classes_, positive = np.unique(y[used], return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "y must have 2 classes among the rows with a weight other than 0, got "
                f"{len(self.classes_)}."
            )
        random_state = check_random_state(self.random_state)
        images = self._images(X[used])
        # Scaled to a mean of 1: a constant factor changes the steps but not the minimum.
        targets = np.column_stack([positive, weights[used] / weights[used].mean()])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_state.randint(2**31 - 1))
            self._learn(images, torch.from_numpy(targets.astype(np.float32)), random_state)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of both classes."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        torch = _torch()
        self.network_.eval()
        with torch.inference_mode():
            scores = [
                self.network_(self._images(X[start : start + _ROWS_AT_ONCE]))
                for start in range(0, len(X), _ROWS_AT_ONCE)
            ]
        likely = torch.sigmoid(torch.cat(scores).double()).numpy()
        return np.column_stack([1 - likely, likely])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely class."""
        # First, so that a model that was never fitted is refused by name.
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])

    def _images(self, rows: NDArray[np.float32]) -> Any:
        """Return rows as images in channels-last order, which is faster for convolutions."""
        planes, height, width = self.shape
        by_pixel = rows.reshape(-1, planes, height, width).transpose(0, 2, 3, 1)
        return _torch().from_numpy(np.ascontiguousarray(by_pixel)).permute(0, 3, 1, 2)

    def _learn(self, images: Any, targets: Any, random_state: np.random.RandomState) -> None:
        torch = _torch()
        order = torch.from_numpy(random_state.permutation(len(images)))
        n_held_out = round(self.validation_fraction * len(images))
        held_out, order = order[:n_held_out], order[n_held_out:]
        self.network_ = _network(images[order], self.channels, self.hidden_units)
        optimizer = torch.optim.AdamW(self.network_.parameters(), fused=True)
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            self.learning_rate,
            epochs=self.max_epochs,
            steps_per_epoch=-(-len(order) // self.batch_size),
        )
        best, best_loss, best_epoch = None, np.inf, 0
        for epoch in range(self.max_epochs):
            self.network_.train()
            for batch in order[torch.randperm(len(order))].split(self.batch_size):
                with torch.autocast("cpu", torch.bfloat16, enabled=self.half_precision):
                    scores = self.network_(images[batch])
                optimizer.zero_grad()
                _loss(scores.float(), targets[batch]).backward()
                optimizer.step()
                cycle.step()
            loss = self._held_out_loss(images, targets, held_out)
            _log.debug("epoch %d: loss %.5f on %d rows held out", epoch, loss, n_held_out)
            if loss < best_loss or not n_held_out:
                best, best_loss, best_epoch = copy.deepcopy(self.network_), loss, epoch
            if epoch - best_epoch >= self.patience:
                break
        self.network_ = best
        self.n_iter_ = epoch + 1
        self.best_epoch_ = best_epoch + 1

    def _held_out_loss(self, images: Any, targets: Any, rows: Any) -> float:
        torch = _torch()
        self.network_.eval()
        with torch.inference_mode():
            losses = [
                _loss(self.network_(images[batch]), targets[batch]) * len(batch)
                for batch in rows.split(_ROWS_AT_ONCE)
            ]
        return float(sum(losses)) / max(len(rows), 1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one PyTorch thread in the context, as the last digits of sums depend on their number."""
    torch = _torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_MISSING) from error
    return torch


def _loss(scores: Any, targets: Any) -> Any:
    """Return the mean weighted cross-entropy of columns (is positive, weight)."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(scores, targets[:, 0], weight=targets[:, 1])


def _network(images: Any, channels: tuple[int, ...], hidden_units: int) -> Any:
    """Return an untrained network whose first layer standardises these images."""
    from torch import nn

    planes, height, width = images.shape[1:]
    # Without learned scales and with fixed statistics, this only standardises the planes.
    scale = nn.BatchNorm2d(planes, affine=False, momentum=0.0)
    scale.running_mean, scale.running_var = images.mean((0, 2, 3)), images.var((0, 2, 3))
    layers: list[Any] = [scale]
    for n_channels, kernel in zip(channels, _KERNELS, strict=False):
        layers += [
            nn.Conv2d(planes, n_channels, kernel),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(n_channels),
            nn.ReLU(),
        ]
        planes = n_channels
        height, width = (height - kernel + 1) // 2, (width - kernel + 1) // 2
    layers += [
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(planes * height * width, hidden_units),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(hidden_units, 1),
        nn.Flatten(0),
    ]
    return nn.Sequential(*layers).to(memory_format=_torch().channels_last)
