"""Xiao's model of a given label: right, wrong by chance, or confused with a similar class.

Kinds of noise are columns in this order: none, random, confused. Classes are numbers from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]

N_KINDS = 3
# This share of a row is added to each sum over rows.
_SMOOTHING = 0.1


@dataclass(frozen=True)
class Posterior:
    """What the given labels say about the true classes and the kinds of noise.

    Attributes
    ----------
    joint : ndarray of shape (n_rows, n_classes, 3)
        Probability of each true class and kind of noise; each row has a sum of 1.
    log_likelihood : ndarray of shape (n_rows,)
        Logarithm of the probability of the given label.
    """

    joint: Reals
    log_likelihood: Reals

    @property
    def classes(self) -> Reals:
        """Return the probability of each true class."""
        return np.asarray(self.joint.sum(axis=2))

    @property
    def kinds(self) -> Reals:
        """Return the probability of each kind of noise."""
        return np.asarray(self.joint.sum(axis=1))


def label_probabilities(confusion: Reals) -> Reals:
    """Return P(given label | true class, kind), of shape (n_classes, 3, n_classes).

    Parameters
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        P(given label | true class) of confused labels; rows are true classes, 0 on the diagonal.
    """
    n_classes = len(confusion)
    same = np.eye(n_classes)
    return np.stack([same, (1 - same) / (n_classes - 1), confusion], axis=1)


def posterior_of(
    given: Codes, true: Codes, classes: Reals, kinds: Reals, confusion: Reals
) -> Posterior:
    """Return the posterior of each row: the expectation step.

    Parameters
    ----------
    given, true : ndarray of shape (n_rows,)
        Given labels and true classes, -1 where they are unknown.
    classes, kinds : ndarray of shape (n_rows, n_classes) and (n_rows, 3)
        Probabilities of the true classes and of the kinds of noise before the label is known.
    """
    chances = label_probabilities(confusion)[:, :, given].transpose(2, 0, 1).copy()
    chances[given < 0] = 1.0
    settled = true >= 0
    chances[settled] *= np.eye(classes.shape[1])[true[settled], :, None]
    joint = chances * classes[:, :, None] * kinds[:, None, :]
    # A network may be so certain that nothing it believes possible explains the label.
    joint = np.maximum(joint, np.where(chances > 0, np.finfo(float).tiny, 0.0))
    total = joint.sum(axis=(1, 2))
    return Posterior(joint / total[:, None, None], np.log(total))


def label_transition(true: Codes, labels: Reals, weights: Reals) -> Reals:
    """Return P(given label | true class) from rows whose true class is known.

    Parameters
    ----------
    true : ndarray of shape (n_rows,)
        True classes.
    labels : ndarray of shape (n_rows, n_classes)
        Probability of each given label: a unit vector where the label is known. A little is added
        to each sum, so that nothing is impossible because it was not seen.
    """
    n_classes = labels.shape[1]
    sums = np.full((n_classes, n_classes), _SMOOTHING)
    np.add.at(sums, true, labels * weights[:, None])
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))


def confusion_in(transition: Reals) -> Reals:
    """Return the confusions alone: the transition of rows whose label is wrong."""
    wrong = transition.copy()
    np.fill_diagonal(wrong, 0.0)
    return np.asarray(wrong / wrong.sum(axis=1, keepdims=True))


def confusion_of(given: Codes, joint: Reals, weights: Reals) -> Reals:
    """Return the confusions that make the given labels most likely: a maximisation step.

    ``joint`` is that of `Posterior`: its last column says how far each row is confused. A little is
    added to each sum, as in `label_transition`.
    """
    known = given >= 0
    sums = np.full((joint.shape[1],) * 2, _SMOOTHING)
    np.add.at(sums.T, given[known], (joint[:, :, -1] * weights[:, None])[known])
    return confusion_in(sums)
