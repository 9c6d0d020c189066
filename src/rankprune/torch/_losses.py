"""Losses of batches of rows, as functions of the network's outputs, the targets and the weights.

Outputs are one number per row, the logit of the second of two classes, or one per row and class.
Targets are numbers of classes or a probability for each class; where there are two classes, the
probability of the second one, which is 0 or 1 for given labels. Equal weights are the number 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankprune.torch._load import load_torch

Loss = Callable[[Any, Any, Any], Any]


def cross_entropy(outputs: Any, targets: Any, weights: Any) -> Any:
    """Return the mean weighted cross-entropy."""
    from torch.nn import functional

    if outputs.ndim == 1:
        weight = weights if weights.ndim else None
        return functional.binary_cross_entropy_with_logits(outputs, targets, weight=weight)
    if targets.ndim == 1 and targets.is_floating_point():
        # Two classes may have one output or two; their targets are the same.
        targets = load_torch().stack([1 - targets, targets], dim=1)
    if not weights.ndim:
        return functional.cross_entropy(outputs, targets)
    return (functional.cross_entropy(outputs, targets, reduction="none") * weights).mean()


def log_probabilities(outputs: Any) -> Any:
    """Return the logarithm of the probability of each row and class."""
    from torch.nn.functional import log_softmax, logsigmoid

    if outputs.ndim == 1:
        return load_torch().stack([logsigmoid(-outputs), logsigmoid(outputs)], dim=1)
    return log_softmax(outputs, dim=1)


def soft_bootstrap(beta: float) -> Loss:
    """Return Reed's soft loss: targets are beta times the label plus the rest times the prediction.

    Its gradient passes through the predictions in the targets too, so that it is the cross-entropy
    times beta plus the entropy of the prediction times the rest.
    """

    def loss(outputs: Any, targets: Any, weights: Any) -> Any:
        log = log_probabilities(outputs)
        entropy = -(log.exp() * log).sum(1)
        return ((beta * _of_label(-log, targets) + (1 - beta) * entropy) * weights).mean()

    return loss


def hard_bootstrap(beta: float) -> Loss:
    """Return Reed's hard loss: the rest of each target goes to the most probable class."""

    def loss(outputs: Any, targets: Any, weights: Any) -> Any:
        log = log_probabilities(outputs)
        believed = -log.max(1).values
        return ((beta * _of_label(-log, targets) + (1 - beta) * believed) * weights).mean()

    return loss


def forward_corrected(transition: Any) -> Loss:
    """Return the cross-entropy of the given labels, which the network's classes become by chance.

    Row i of the transition holds the probabilities of each given label if the true one is i.
    """
    log_transition = transition.log()

    def loss(outputs: Any, targets: Any, weights: Any) -> Any:
        log = log_probabilities(outputs)
        paths = log + log_transition.to(log)[:, targets.long()].T
        return (-paths.logsumexp(1) * weights).mean()

    return loss


def backward_corrected(transition: Any) -> Loss:
    """Return the loss whose expectation over the noise is the cross-entropy of the true labels."""
    inverse = load_torch().linalg.inv(transition)

    def loss(outputs: Any, targets: Any, weights: Any) -> Any:
        losses = -log_probabilities(outputs)
        return ((inverse.to(losses)[targets.long()] * losses).sum(1) * weights).mean()

    return loss


def _of_label(losses: Any, targets: Any) -> Any:
    return losses.gather(1, targets.long()[:, None])[:, 0]
