"""Probabilities from density ratios: how much likelier a row is in a class than among all rows.

P(s|x) = P(s) p(x|s) / p(x), and the ratio of two densities can be estimated without either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from rankprune.core._inputs import validate_choices
from rankprune.learners._base import ProbabilityClassifier
from rankprune.learners._cloning import RandomState, private_random_state

Matrix = NDArray[np.float64]

# Number of parts for cross-validation, which chooses the width and the penalty.
_N_PARTS = 5
_N_STEPS = 200
# Largest number of rows used for the median distance.
_MAX_PAIRS = 500


class DensityRatioClassifier(ProbabilityClassifier):
    """Estimate P(label | x) by the ratio of each class's density to that of all rows.

    Parameters
    ----------
    method : {"ulsif", "kliep"}, default="ulsif"
        Least-squares importance fitting (Kanamori et al. 2009), which solves linear equations, or
        the Kullback-Leibler procedure (Sugiyama et al. 2007), which maximises a likelihood.
    n_centers : int, default=100
        Number of Gaussian kernels of each ratio, centered at random rows of the class.
    widths : sequence of float, default=(0.25, 0.5, 1.0, 2.0)
        Kernel widths to try, as multiples of the median distance between rows.
    penalties : sequence of float, default=(0.001, 0.01, 0.1, 1.0)
        Penalties to try; only used by ``"ulsif"``.
    pos_label : default=None
        As in `RankPruningClassifier`.
    random_state : int, RandomState or None, default=None
        Determines the centers and the parts of the cross-validation.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels in sorted order.
    n_features_in_, feature_names_in_
        Number and names of the features seen in ``fit``.

    Notes
    -----
    Meant as the ``scorer`` of `ImportanceReweightingClassifier`, as its source proposes; other
    classifiers with a ``scorer`` accept it too. The two ratios are estimated separately, and the
    probabilities are scaled to add up to 1. Kernels need few, scaled features.

    References
    ----------
    T. Kanamori, S. Hido and M. Sugiyama: A Least-squares Approach to Direct Importance Estimation.
    JMLR 10, 2009. M. Sugiyama, S. Nakajima, H. Kashima, P. von Buenau and M. Kawanabe: Direct
    Importance Estimation with Model Selection. NIPS 2007.

    Examples
    --------
    >>> from rankprune.core import gaussian_posterior, make_gaussians
    >>> from rankprune.methods import DensityRatioClassifier
    >>> X, y = make_gaussians(2000, separability=2, random_state=0)
    >>> model = DensityRatioClassifier(random_state=0).fit(X, y)
    >>> error = model.predict_proba(X)[:, 1] - gaussian_posterior(X, separability=2)
    >>> bool(abs(error).mean() < 0.1)
    True
    """

    _model_attribute = "_ratios_"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        **ProbabilityClassifier._parameter_constraints,
        "method": [StrOptions({"ulsif", "kliep"})],
        "n_centers": [Interval(Integral, 1, None, closed="left")],
        "widths": ["array-like"],
        "penalties": ["array-like"],
    }

    def __init__(
        self,
        method: str = "ulsif",
        *,
        n_centers: int = 100,
        widths: Sequence[float] = (0.25, 0.5, 1.0, 2.0),
        penalties: Sequence[float] = (0.001, 0.01, 0.1, 1.0),
        pos_label: Any = None,
        random_state: RandomState = None,
    ) -> None:
        self.method = method
        self.n_centers = n_centers
        self.widths = widths
        self.penalties = penalties
        self.pos_label = pos_label
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> DensityRatioClassifier:
        """Estimate the two ratios.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Numeric features, preferably scaled.
        y : array-like of shape (n_rows,)
            Labels, of any two values.

        Returns
        -------
        DensityRatioClassifier
            The object itself.
        """
        labels = self._read(X, y, None).labels
        X = validate_data(self, X, dtype=np.float64)
        generator = private_random_state(self.random_state)
        unit = _median_distance(X, generator)
        widths = [width * unit for width in validate_choices(self.widths, "widths")]
        penalties = validate_choices(self.penalties, "penalties")
        ratios = {}
        for value in (True, False):
            rows = X[labels.is_positive == value]
            chosen = generator.permutation(len(rows))[: self.n_centers]
            if self.method == "ulsif":
                ratio = _fit_ulsif(rows, X, rows[chosen], widths, penalties, generator)
            else:
                ratio = _fit_kliep(rows, X, rows[chosen], widths, generator)
            ratios[value] = ratio
        self._prevalence_ = float(labels.is_positive.mean())
        self._keep_classes(labels)
        self._ratios_ = ratios
        return self

    def _positive_probability(self, X: Any) -> Matrix:
        X = validate_data(self, X, dtype=np.float64, reset=False)
        prevalence = self._prevalence_
        positive = prevalence * self._ratios_[True].at(X)
        total = positive + (1 - prevalence) * self._ratios_[False].at(X)
        # Far from every center, only the shares of the classes are known.
        share = np.full(len(X), prevalence)
        np.divide(positive, total, out=share, where=total > 0)
        return share


@dataclass(frozen=True)
class Ratio:
    """A sum of Gaussian kernels: the density of some rows divided by that of all."""

    centers: Matrix
    width: float
    heights: Matrix

    def at(self, X: Matrix) -> Matrix:
        """Return the ratio at each row."""
        return np.asarray(_kernels(X, self.centers, self.width) @ self.heights)


def _kernels(X: Matrix, centers: Matrix, width: float) -> Matrix:
    return np.asarray(rbf_kernel(X, centers, gamma=1 / (2 * width**2)))


def _median_distance(X: Matrix, generator: np.random.RandomState) -> float:
    some = X[generator.permutation(len(X))[:_MAX_PAIRS]]
    squares = ((some[:, None, :] - some[None, :, :]) ** 2).sum(axis=2)
    distances = np.sqrt(squares[np.triu_indices(len(some), 1)])
    return float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0


def _parts(n_rows: int, generator: np.random.RandomState) -> NDArray[np.intp]:
    """Return the part of the cross-validation that each row belongs to."""
    return np.asarray(generator.permutation(n_rows) % min(_N_PARTS, n_rows))


def _fit_ulsif(
    rows: Matrix,
    everyone: Matrix,
    centers: Matrix,
    widths: Sequence[float],
    penalties: Sequence[float],
    generator: np.random.RandomState,
) -> Ratio:
    """Return the ratio of least squared error; cross-validation chooses width and penalty."""
    row_part, all_part = _parts(len(rows), generator), _parts(len(everyone), generator)
    best: tuple[float, float, float] = (np.inf, widths[-1], penalties[-1])
    for width in widths if len(rows) > 1 else ():  # a single row cannot be left out
        near, all_near = _kernels(rows, centers, width), _kernels(everyone, centers, width)
        losses = np.zeros(len(penalties))
        for part in range(int(row_part.max()) + 1):
            fitted = near[row_part != part], all_near[all_part != part]
            held_near, held_all = near[row_part == part], all_near[all_part == part]
            for number, penalty in enumerate(penalties):
                heights = ulsif_heights(*fitted, penalty)
                square = ((held_all @ heights) ** 2).mean() if len(held_all) else 0.0
                losses[number] += square / 2 - (held_near @ heights).mean()
        least = int(losses.argmin())
        best = min(best, (float(losses[least]), width, penalties[least]))
    _, width, penalty = best
    heights = ulsif_heights(
        _kernels(rows, centers, width), _kernels(everyone, centers, width), penalty
    )
    return Ratio(centers, width, heights)


def ulsif_heights(near: Matrix, all_near: Matrix, penalty: float) -> Matrix:
    """Return the heights that minimise the squared error, with negative ones set to 0."""
    square = all_near.T @ all_near / len(all_near)
    square[np.diag_indices_from(square)] += penalty
    return np.maximum(np.linalg.solve(square, near.mean(axis=0)), 0.0)


def _fit_kliep(
    rows: Matrix,
    everyone: Matrix,
    centers: Matrix,
    widths: Sequence[float],
    generator: np.random.RandomState,
) -> Ratio:
    """Return the most likely ratio with mean 1 over all rows; cross-validation sets its width."""
    row_part = _parts(len(rows), generator)
    scores = []
    if len(rows) == 1:  # a single row cannot be left out
        widths = widths[-1:]
    for width in widths if len(widths) > 1 else ():
        near, mean = _kernels(rows, centers, width), _kernels(everyone, centers, width).mean(axis=0)
        score = 0.0
        for part in range(int(row_part.max()) + 1):
            heights = kliep_heights(near[row_part != part], mean)
            held = near[row_part == part] @ heights
            score += float(np.log(np.maximum(held, np.finfo(float).tiny)).mean())
        scores.append(score)
    width = widths[int(np.argmax(scores))] if scores else widths[0]
    mean = _kernels(everyone, centers, width).mean(axis=0)
    return Ratio(centers, width, kliep_heights(_kernels(rows, centers, width), mean))


def kliep_heights(near: Matrix, mean: Matrix) -> Matrix:
    """Return the most likely heights, computed as the shares of a mixture of scaled kernels.

    Each kernel divided by its mean over all rows is itself a ratio, and so is any mixture of them.
    Every step of expectation maximisation raises the likelihood.
    """
    scaled = near / mean
    shares = np.full(near.shape[1], 1 / near.shape[1])
    for _ in range(_N_STEPS):
        mixture = np.maximum(scaled @ shares, np.finfo(float).tiny)
        shares = shares * (scaled / mixture[:, None]).mean(axis=0)
        shares /= shares.sum()
    return np.asarray(shares / mean)
