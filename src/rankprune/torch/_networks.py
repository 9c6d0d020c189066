"""Small networks for images and for vectors, and the check of networks that callers build."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rankprune.torch._load import load_torch

# A function of the training rows, as a tensor, and the number of classes that returns a network.
Module = Callable[[Any, int], Any]

_KERNELS = (5, 3, 3)


@dataclass(frozen=True)
class ConvolutionalNet:
    """Build a convolutional network for small images.

    Each block is a convolution (5 x 5 in the first, 3 x 3 in the others), 2 x 2 pooling, batch
    normalisation and a rectifier. After the blocks come dropout, one layer of hidden units, dropout
    and the outputs. The first layer standardises the planes.

    Parameters
    ----------
    channels : tuple of ints, default=(16, 32)
        Number of channels of each block; at most three blocks.
    hidden_units : int, default=64

    Examples
    --------
    >>> from rankprune.torch import ConvolutionalNet, NetClassifier
    >>> model = NetClassifier(ConvolutionalNet(channels=(8,)), shape=(1, 8, 8))
    """

    channels: tuple[int, ...] = (16, 32)
    hidden_units: int = 64

    def __call__(self, inputs: Any, n_classes: int) -> Any:
        """Return an untrained network for images like these, of shape (rows, planes, y, x)."""
        nn = load_torch().nn

        if inputs.ndim != 4:
            raise ValueError(
                f"ConvolutionalNet needs images, got rows of shape {tuple(inputs.shape[1:])}. Pass "
                "shape=(planes, rows, columns)."
            )
        planes, height, width = inputs.shape[1:]
        if len(self.channels) > len(_KERNELS):
            raise ValueError(
                f"channels must have at most {len(_KERNELS)} numbers, got {self.channels}."
            )
        # Without learned scales, this only standardises the planes: by the statistics of the batch
        # in training, and by those of all training rows in prediction.
        scale = nn.BatchNorm2d(planes, affine=False, momentum=0.0)
        scale.running_mean, scale.running_var = inputs.mean((0, 2, 3)), inputs.var((0, 2, 3))
        layers: list[Any] = [scale]
        for n_channels, kernel in zip(self.channels, _KERNELS, strict=False):
            layers += [
                nn.Conv2d(planes, n_channels, kernel),
                nn.MaxPool2d(2),
                nn.BatchNorm2d(n_channels),
                nn.ReLU(),
            ]
            planes = n_channels
            height, width = (height - kernel + 1) // 2, (width - kernel + 1) // 2
            if min(height, width) < 1:
                raise ValueError(
                    f"channels={self.channels} needs larger images than {tuple(inputs.shape[2:])}: "
                    "every block more than halves them. Use fewer blocks."
                )
        layers += [
            nn.Flatten(),
            nn.Dropout(0.25),
            nn.Linear(planes * height * width, self.hidden_units),
            nn.ReLU(),
            nn.Dropout(0.5),
            *_outputs(self.hidden_units, n_classes),
        ]
        return nn.Sequential(*layers).to(memory_format=load_torch().channels_last)


@dataclass(frozen=True)
class DenseNet:
    """Build a fully connected network for vectors.

    The first layer standardises the columns. Each layer of hidden units is followed by a rectifier
    and dropout.

    Parameters
    ----------
    hidden_units : tuple of ints, default=(64, 64)
        Number of units of each hidden layer; an empty tuple gives logistic regression.
    dropout : float, default=0.0

    Examples
    --------
    >>> from rankprune.torch import DenseNet, NetClassifier
    >>> model = NetClassifier(DenseNet(hidden_units=(32,), dropout=0.2))
    """

    hidden_units: tuple[int, ...] = (64, 64)
    dropout: float = 0.0

    def __call__(self, inputs: Any, n_classes: int) -> Any:
        """Return an untrained network for vectors like these."""
        nn = load_torch().nn
        from rankprune.torch._layers import Standardize

        rows = inputs.flatten(1)
        width = rows.shape[1]
        layers: list[Any] = [nn.Flatten(), Standardize(rows)]
        for n_units in self.hidden_units:
            layers += [nn.Linear(width, n_units), nn.ReLU(), nn.Dropout(self.dropout)]
            width = n_units
        return nn.Sequential(*layers, *_outputs(width, n_classes))


def _outputs(width: int, n_classes: int) -> list[Any]:
    """Return the last layers: one output for two classes, else one output per class."""
    nn = load_torch().nn

    if n_classes == 2:
        return [nn.Linear(width, 1), nn.Flatten(0)]
    return [nn.Linear(width, n_classes)]


def build_network(module: Module | None, inputs: Any, n_classes: int) -> Any:
    """Return an untrained network for these rows and classes; raise ValueError if it cannot be."""
    torch = load_torch()
    module = _default_module(inputs) if module is None else module
    if isinstance(module, torch.nn.Module):
        raise TypeError(
            "module must be a function that builds a network, so that every fit starts afresh; got "
            f"a network, {type(module).__name__}. Pass lambda inputs, n_classes: ... instead."
        )
    # A copy, as a function may return the same network, such as a pretrained one, each time.
    network = copy.deepcopy(module(inputs, n_classes))
    if not isinstance(network, torch.nn.Module):
        raise TypeError(f"module must return a torch.nn.Module, got {type(network).__name__}.")
    network.eval()
    with torch.no_grad():
        outputs = network(inputs[:2])
    if not isinstance(outputs, torch.Tensor):
        raise TypeError(
            "module must build a network that returns one tensor, with an output per row and "
            f"class; it returned {type(outputs).__name__}. Wrap it in one that selects them."
        )
    shape = tuple(_as_vector(outputs).shape)
    n_rows = len(inputs[:2])
    if shape != (n_rows, n_classes) and (n_classes, shape) != (2, (n_rows,)):
        raise ValueError(
            f"module must build a network with {n_classes} outputs for each row, one per class; "
            f"{n_rows} rows gave outputs of shape {shape}."
        )
    return network


def _default_module(inputs: Any) -> Module:
    """Return two convolutional blocks for images, one for small ones; DenseNet for other rows."""
    side = min(inputs.shape[2:]) if inputs.ndim == 4 else 0
    if side >= 12:
        return ConvolutionalNet()
    return ConvolutionalNet((16,)) if side >= 6 else DenseNet()


def outputs_of(network: Any, inputs: Any) -> Any:
    """Return the outputs for these rows, a column of single outputs as a vector."""
    return _as_vector(network(inputs))


def _as_vector(outputs: Any) -> Any:
    return outputs.reshape(-1) if outputs.shape[1:] == (1,) else outputs
