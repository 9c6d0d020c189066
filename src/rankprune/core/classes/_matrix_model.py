"""The networks behind the learned noise matrix: summaries -> a share and the ends of its range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankprune.core.estimators._learned_network import Layers, expit, softplus, standardized

Reals = NDArray[np.float64]

ARTEFACT = "matrix.npz"
# Raw numbers: the share, and how far the square roots of the ends of its range lie from its own.
N_RAW = 3
_NARROWEST = 1e-3
_LAYERS = tuple(Layers.__dataclass_fields__)


@dataclass(frozen=True)
class ShareNetwork:
    """Several networks whose raw numbers are averaged: a share of wrong labels and its range.

    Attributes
    ----------
    center, scale : ndarray of shape (n_summaries,)
        What makes the summaries comparable.
    members : tuple of Layers
    stretch : ndarray of shape (2,)
        By what the lower and the upper width are multiplied.
    """

    center: Reals
    scale: Reals
    members: tuple[Layers, ...]
    stretch: Reals

    def raw(self, summaries: Reals) -> Reals:
        """Return the raw numbers of each row of summaries."""
        inputs = standardized(summaries, self.center, self.scale)
        return np.asarray(np.mean([member(inputs) for member in self.members], axis=0))

    def shares(self, summaries: Reals) -> Reals:
        """Return the share of wrong labels of each row of summaries."""
        return expit(self.raw(summaries)[:, 0])

    def ends(self, summaries: Reals) -> tuple[Reals, Reals]:
        """Return the lower and the upper end of each share."""
        raw = self.raw(summaries)
        roots = np.sqrt(expit(raw[:, 0]))
        below, above = (self.stretch * widths(raw)).T
        return (roots - below).clip(0, 1) ** 2, (roots + above).clip(0, 1) ** 2

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], part: str) -> ShareNetwork:
        """Return the network that `to_arrays` stored."""
        kept = {
            name.removeprefix(part): np.asarray(array, dtype=np.float64)
            for name, array in arrays.items()
            if name.startswith(part)
        }
        members = [
            Layers(*(kept[name][number] for name in _LAYERS))
            for number in range(len(kept["first"]))
        ]
        return cls(kept["center"], kept["scale"], tuple(members), kept["stretch"])

    def to_arrays(self, part: str) -> dict[str, NDArray[Any]]:
        """Return all numbers as arrays, those of the layers in half precision."""
        arrays: dict[str, NDArray[Any]] = {
            part + name: np.stack([getattr(one, name) for one in self.members]).astype(np.float16)
            for name in _LAYERS
        }
        for name in ("center", "scale", "stretch"):
            arrays[part + name] = getattr(self, name).astype(np.float32)
        return arrays


@dataclass(frozen=True)
class MatrixModel:
    """What the share of all wrong labels, and the ranges of it and of each label, follow from."""

    total: ShareNetwork
    by_label: ShareNetwork

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> MatrixModel:
        """Return the model that `to_arrays` stored."""
        return cls(*(ShareNetwork.from_arrays(arrays, part) for part in ("total_", "by_label_")))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers as arrays."""
        return self.total.to_arrays("total_") | self.by_label.to_arrays("by_label_")


def widths(raw: Reals) -> Reals:
    """Return how far the square roots of ranges reach, before they are stretched: n x 2."""
    return np.asarray(np.maximum(softplus(raw[:, 1:]), _NARROWEST))


@lru_cache(maxsize=1)
def shipped_model() -> MatrixModel:
    """Return the model that comes with the package."""
    path = files("rankprune.core.classes") / ARTEFACT
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return MatrixModel.from_arrays(dict(arrays))
