"""The plain network as a classifier, and the base class of the networks that expect noise."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rankprune.core._inputs import validate_sample_weight
from rankprune.learners._cloning import forget_results, private_random_state
from rankprune.torch._load import (
    chosen_device,
    learning_mode,
    load_torch,
    private_generator,
    thread_limit,
)
from rankprune.torch._losses import Loss, cross_entropy
from rankprune.torch._networks import Module, build_network, outputs_of
from rankprune.torch._training import ROWS_AT_ONCE, Rows, Schedule, Trained, train

# Below this number, rows held out say too little about the best epoch.
_FEWEST_HELD_OUT = 10
# Statistics of a batch need two rows.
_FEWEST_FITTED = 2
# batch_size="auto": this share of the rows, within these limits.
_BATCHES_PER_EPOCH = 16
_SMALLEST_BATCH, _LARGEST_BATCH = 16, 256


@dataclass(frozen=True)
class Given:
    """The arguments of one fit, checked.

    Attributes
    ----------
    used : ndarray of shape (n_used,)
        Numbers of the rows with a weight above 0.
    codes : ndarray of shape (n_used,)
        The given label of each of them, as its number in ``classes_``.
    weights : ndarray of shape (n_rows,)
    """

    X: NDArray[np.float32]
    used: NDArray[np.intp]
    codes: NDArray[np.intp]
    weights: NDArray[np.float64]

    def relative_weights(self) -> NDArray[np.float32]:
        """Return the weights of the used rows, scaled to a mean of 1.

        A constant factor changes the steps of the training but not the minimum.
        """
        weights = self.weights[self.used]
        # Dividing by a power of two changes no digit, and their sum fits into single precision.
        exponent = np.frexp(weights.max())[1]
        weights = np.ldexp(weights, -exponent).astype(np.float32)
        return np.asarray(weights / weights.mean())


@dataclass(frozen=True)
class Task:
    """The rows of one fit as tensors, and how to learn from them.

    Attributes
    ----------
    fitted, held_out : tensors
        Numbers of the rows to learn from and of those that choose the epoch, within ``rows``.
    """

    rows: Rows
    fitted: Any
    held_out: Any
    schedule: Schedule
    n_classes: int

    def build(self, module: Module | None) -> Any:
        """Return an untrained network for these rows."""
        return build_network(module, self.rows.inputs[self.fitted], self.n_classes)

    def train(self, network: Any, loss: Loss) -> Trained:
        """Return the trained network."""
        return train(network, self.rows, self.fitted, self.held_out, loss, self.schedule)


class NetworkClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base class: reads the rows, trains in a private context and predicts."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "module": [callable, None],
        "shape": [tuple, list, None],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "device": [str],
        "half_precision": ["boolean"],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        module: Module | None = None,
        *,
        shape: tuple[int, ...] | None = None,
        max_epochs: int = 30,
        patience: int = 10,
        validation_fraction: float = 0.1,
        batch_size: int | str = "auto",
        learning_rate: float = 0.004,
        device: str = "auto",
        half_precision: bool = False,
        n_threads: int | None = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.module = module
        self.shape = shape
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device
        self.half_precision = half_precision
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False, allow_nd=True)
        if X.shape[1:] != self.row_shape_:
            raise ValueError(
                f"X must have rows of shape {self.row_shape_}, as in fit, got {X.shape[1:]}."
            )
        return self._probabilities(self.network_, self._tensor(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        # First, so that a model that was never fitted is refused by name.
        likely = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likely])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _read(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Given:
        """Return the checked rows of a new fit, after deleting the result of an earlier one."""
        load_torch()
        forget_results(self)
        self._validate_params()
        X, labels = validate_data(self, X, y, dtype=np.float32, allow_nd=True)
        check_classification_targets(labels)
        weights = validate_sample_weight(sample_weight, len(X))
        weights = np.ones(len(X)) if weights is None else weights
        used = np.flatnonzero(weights)
        self.classes_, codes = np.unique(labels[used], return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "y must have at least 2 classes among the rows with a weight other than 0, got "
                f"{len(self.classes_)} class."
            )
        self.row_shape_ = X.shape[1:]
        return Given(X, used, codes, weights)

    @contextmanager
    def _task(self, given: Given) -> Iterator[Task]:
        """Let PyTorch's generator and threads be those of this fit in the context."""
        generator = private_random_state(self.random_state)
        device = chosen_device(self.device)
        seed = generator.randint(2**31 - 1)
        with thread_limit(self.n_threads), private_generator(seed, device), learning_mode():
            # Large tables are copied once.
            is_whole = len(given.used) == len(given.X)
            inputs = self._tensor(given.X if is_whole else given.X[given.used])
            rows = self._rows(inputs, given.codes, given.relative_weights())
            order = load_torch().from_numpy(generator.permutation(len(given.used)))
            n_held_out = round(self.validation_fraction * len(order))
            n_held_out = n_held_out if n_held_out >= _FEWEST_HELD_OUT else 0
            n_held_out = min(n_held_out, len(order) - _FEWEST_FITTED)
            held_out, fitted = order[:n_held_out], order[n_held_out:]
            schedule = self._schedule(len(fitted), device)
            yield Task(rows, fitted, held_out, schedule, len(self.classes_))

    def _rows(self, inputs: Any, codes: NDArray[np.intp], weights: NDArray[np.float32]) -> Rows:
        from_numpy = load_torch().from_numpy
        # The loss of a single output is that of real numbers.
        kind = np.float32 if len(self.classes_) == 2 else np.int64
        if (weights == 1).all():
            weights = np.ones((), np.float32)
        return Rows(inputs, from_numpy(codes.astype(kind)), from_numpy(weights))

    def _schedule(self, n_rows: int, device: Any) -> Schedule:
        size = self.batch_size
        if size == "auto":
            size = min(max(n_rows // _BATCHES_PER_EPOCH, _SMALLEST_BATCH), _LARGEST_BATCH)
        return Schedule(
            self.max_epochs,
            self.patience,
            int(size),
            self.learning_rate,
            self.half_precision,
            device,
            logging.INFO if self.verbose else logging.DEBUG,
        )

    def _keep(self, trained: Trained) -> None:
        """Set what was learned; the network comes last, so that a failed fit leaves none."""
        self.n_iter_ = trained.n_epochs
        self.best_epoch_ = trained.best_epoch
        self.network_ = trained.network.cpu()

    def _tensor(self, X: NDArray[np.float32]) -> Any:
        """Return a copy of the rows in the shape of the network's inputs."""
        shape = X.shape[1:] if self.shape is None else tuple(self.shape)
        if np.prod(X.shape[1:]) != np.prod(shape):
            raise ValueError(
                f"shape={shape} needs {np.prod(shape)} columns, but X has "
                f"{np.prod(X.shape[1:])}. Give the shape of one row, e.g. (planes, rows, columns) "
                "of an image."
            )
        from_numpy = load_torch().from_numpy
        rows = X.reshape(-1, *shape)
        if len(shape) != 3:
            return from_numpy(np.array(rows))
        # Channels come last in memory, which is faster for convolutions.
        return from_numpy(np.array(rows.transpose(0, 2, 3, 1), order="C")).permute(0, 3, 1, 2)

    def _probabilities(self, network: Any, inputs: Any) -> NDArray[np.float64]:
        """Return the probability of each row and class."""
        torch = load_torch()
        device = chosen_device(self.device)
        network.to(device).eval()
        with thread_limit(self.n_threads), torch.inference_mode():
            parts = [
                outputs_of(network, part.to(device)).cpu() for part in inputs.split(ROWS_AT_ONCE)
            ]
        network.cpu()
        scores = torch.cat(parts).double()
        if scores.ndim == 2:
            return np.asarray(torch.softmax(scores, dim=1).numpy())
        likely = torch.sigmoid(scores).numpy()
        return np.column_stack([1 - likely, likely])


class NetClassifier(NetworkClassifier):
    """A network that is trained on the labels as they are.

    AdamW with a one-cycle learning rate minimises the weighted cross-entropy. Some rows are held
    out, and the network of the epoch with the lowest weighted loss on them is kept.

    Parameters
    ----------
    module : callable, default=None
        ``module(inputs, n_classes)`` returns a new ``torch.nn.Module``; ``inputs`` is a tensor of
        the training rows, from which it may take sizes and statistics. The network must give one
        output per row and class; with two classes, one output per row will do, the logit of
        ``classes_[1]``. By default `ConvolutionalNet` for images and `DenseNet` for vectors.
    shape : tuple of ints, default=None
        Shape of one row as the network sees it, e.g. (planes, rows, columns) of an image whose
        planes are the columns of X. By default that of the rows of X, which may have any number of
        dimensions.
    max_epochs : int, default=30
        Maximum number of epochs; the learning rate is close to 0 at the end of the last one.
    patience : int, default=10
        Stop after this many epochs without a lower loss on the held-out rows.
    validation_fraction : float, default=0.1
        Share of the rows to hold out. If that makes fewer than 10 rows, none are held out, and the
        network of the last epoch is kept.
    batch_size : int or "auto", default="auto"
        ``"auto"`` is a sixteenth of the rows, at least 16 and at most 256.
    learning_rate : float, default=0.004
        Highest rate of the cycle.
    device : str, default="auto"
        Device of PyTorch that trains and predicts; ``"auto"`` is ``"cuda"`` if there is one, else
        ``"cpu"``. The network that is kept is on the CPU.
    half_precision : bool, default=False
        Train in bfloat16: faster on processors that support it, many times slower on others.
        Scores are always computed in single precision.
    n_threads : int or None, default=1
        Number of threads that PyTorch uses; None leaves its setting. Sums depend on it in their
        last digits, so a fixed number gives the same network for any ``n_jobs`` of what is fitted
        around it. More threads can help large networks if no other work needs the cores. To use
        all cores, give folds to ``n_jobs``.
    random_state : int, RandomState instance or None, default=None
        Decides the first weights, the rows held out and the order of rows.
    verbose : int, default=0
        If above 0, the progress of each epoch is logged at level INFO.

    Attributes
    ----------
    network_ : torch.nn.Module
    classes_ : ndarray of shape (n_classes,)
    n_iter_, best_epoch_ : int
        Number of epochs, and the one whose network was kept.
    row_shape_ : tuple of ints
        Shape of a row of X.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Threads of one process train and predict one after the other, since PyTorch has one random
    generator and one number of threads; both are restored afterwards. Processes (``n_jobs`` with
    joblib's default) are independent. On graphics processors the last digits may differ from run
    to run.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rankprune.torch import NetClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NetClassifier(shape=(1, 8, 8), max_epochs=4, random_state=0)
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.8  # doctest: +SKIP
    True
    """

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a network; a weight of 0 leaves a row out.

        Parameters
        ----------
        X : array-like of shape (n_rows, ...)
            Numbers; one row may be a vector or, e.g., an image.
        y : array-like of shape (n_rows,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : NetClassifier
        """
        with self._task(self._read(X, y, sample_weight)) as task:
            self._keep(task.train(task.build(self.module), cross_entropy))
        return self
