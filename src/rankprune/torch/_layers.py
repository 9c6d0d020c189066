"""Layers of our own; the one module here that imports PyTorch at its top."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from rankprune.torch._losses import log_probabilities
from rankprune.torch._networks import outputs_of

# Logit of the given label that equals the predicted one, before anything is learned.
_CERTAIN = 4.0


class Standardize(nn.Module):
    """Subtract the mean and divide by the standard deviation of the training rows."""

    def __init__(self, rows: Any) -> None:
        super().__init__()
        scale = rows.std(0, correction=0)
        self.register_buffer("mean", rows.mean(0))
        # A constant column becomes 0.
        varies = scale > torch.finfo(scale.dtype).tiny
        self.register_buffer("factor", torch.where(varies, 1 / scale, 0.0))

    def forward(self, rows: Any) -> Any:
        """Return standardised rows."""
        return (rows - self.mean) * self.factor


class Reconstruction(nn.Module):
    """Explain the given label and the inputs by the network's prediction of the true label.

    The outputs are the logits of the given label, followed by the mean squared error with which
    the standardised inputs are rebuilt from the prediction.
    """

    def __init__(self, network: nn.Module, rows: Any, n_classes: int) -> None:
        super().__init__()
        self.network = network
        self.standardize = Standardize(rows)
        # At the start, the given label is most likely the true one.
        self.given = nn.Linear(n_classes, n_classes)
        nn.init.zeros_(self.given.bias)
        with torch.no_grad():
            self.given.weight.copy_(_CERTAIN * torch.eye(n_classes))
        self.rebuild = nn.Linear(n_classes, rows.shape[1])

    def label_map(self) -> Any:
        """Return the probability of each given label for each class the network is certain of."""
        with torch.inference_mode():
            certain = torch.eye(self.given.in_features, device=self.given.weight.device)
            return self.given(certain).softmax(1).cpu().numpy()

    def forward(self, inputs: Any) -> Any:
        """Return the logits of the given label and the error of the rebuilt inputs."""
        likely = log_probabilities(outputs_of(self.network, inputs)).exp()
        missed = self.rebuild(likely) - self.standardize(inputs.flatten(1))
        return torch.cat([self.given(likely), missed.square().mean(1, keepdim=True)], dim=1)
