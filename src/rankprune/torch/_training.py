"""The training loop that all networks share: batches, a cycle of rates, early stopping."""

from __future__ import annotations

import logging
import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from rankprune.torch._load import load_torch
from rankprune.torch._losses import Loss
from rankprune.torch._networks import outputs_of

_log = logging.getLogger("rankprune")

ROWS_AT_ONCE = 1000


@dataclass(frozen=True)
class Rows:
    """The rows to learn from, as tensors on the central processor; equal weights are just 1."""

    inputs: Any
    targets: Any
    weights: Any

    def take(self, chosen: Any, device: Any) -> tuple[Any, Any, Any]:
        """Return the inputs, targets and weights of some rows on the device that learns."""
        weights = self.weights[chosen] if self.weights.ndim else self.weights
        return self.inputs[chosen].to(device), self.targets[chosen].to(device), weights.to(device)


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn, and where."""

    max_epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    half_precision: bool
    device: Any
    log_level: int = logging.DEBUG


@dataclass(frozen=True)
class Trained:
    """The network of the best epoch; epochs count from 1."""

    network: Any
    n_epochs: int
    best_epoch: int

    def part(self, name: str) -> Trained:
        """Return the same training with a part of the network."""
        return replace(self, network=getattr(self.network, name))


def train(
    network: Any, rows: Rows, fitted: Any, held_out: Any, loss: Loss, schedule: Schedule
) -> Trained:
    """Return the network of the epoch with the lowest loss on the rows held out, else the last."""
    torch = load_torch()
    network = network.to(schedule.device)
    learned = [one for one in network.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, fused=True)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        schedule.learning_rate,
        epochs=schedule.max_epochs,
        steps_per_epoch=-(-len(fitted) // schedule.batch_size),
    )
    best: dict[str, Any] = {}
    best_loss, best_epoch = math.inf, 0
    started = time.monotonic()
    for epoch in range(schedule.max_epochs):
        cost = _learn_once(network, rows, fitted, loss, schedule, optimizer, cycle)
        if len(held_out):
            cost = mean_loss(network, rows, held_out, loss, schedule.device)
        _stop_unless_finite(cost, epoch, schedule)
        _log_epoch(epoch, cost, len(held_out), started, schedule)
        if not len(held_out):
            best_epoch = epoch
        elif cost < best_loss:
            best, best_loss, best_epoch = _state(network), cost, epoch
        if epoch - best_epoch >= schedule.patience:
            break
    if not len(held_out):
        # The last step may have spoiled a network whose losses were finite until then.
        some = fitted[:ROWS_AT_ONCE]
        _stop_unless_finite(mean_loss(network, rows, some, loss, schedule.device), epoch, schedule)
    _restore(network, best)
    return Trained(network.eval(), epoch + 1, best_epoch + 1)


def mean_loss(network: Any, rows: Rows, chosen: Any, loss: Loss, device: Any) -> float:
    """Return the mean loss of some rows."""
    network.eval()
    total = 0.0
    with load_torch().inference_mode():
        for batch in chosen.split(ROWS_AT_ONCE):
            inputs, targets, weights = rows.take(batch, device)
            total += float(loss(outputs_of(network, inputs), targets, weights)) * len(batch)
    return total / len(chosen)


def _tensors(network: Any) -> dict[str, Any]:
    """Return all that a network learns or counts; a state_dict may lack some buffers."""
    return {**dict(network.named_parameters()), **dict(network.named_buffers())}


def _state(network: Any) -> dict[str, Any]:
    """Return a copy of what a network has learned; this costs far less than one of the network."""
    return {name: tensor.detach().clone() for name, tensor in _tensors(network).items()}


def _restore(network: Any, state: dict[str, Any]) -> None:
    """Let a network be what it was."""
    with load_torch().no_grad():
        for name, tensor in _tensors(network).items():
            if name in state:
                tensor.copy_(state[name])


def _learn_once(
    network: Any,
    rows: Rows,
    fitted: Any,
    loss: Loss,
    schedule: Schedule,
    optimizer: Any,
    cycle: Any,
) -> float:
    """Learn from every row once; return the mean loss of the batches."""
    torch = load_torch()
    network.train()
    precision: Any = nullcontext()
    if schedule.half_precision:
        precision = torch.autocast(schedule.device.type, torch.bfloat16)
    total = torch.zeros((), device=schedule.device)
    batches = _batches(fitted[torch.randperm(len(fitted))], schedule.batch_size)
    for batch in batches:
        inputs, targets, weights = rows.take(batch, schedule.device)
        with precision:
            outputs = outputs_of(network, inputs)
        optimizer.zero_grad()
        cost = loss(outputs.float(), targets, weights)
        cost.backward()
        optimizer.step()
        cycle.step()
        total += cost.detach()
    return float(total) / len(batches)


def _batches(order: Any, size: int) -> list[Any]:
    """Return batches of this size; a single row joins the one before, as it has no variance."""
    batches = list(order.split(size))
    if len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [load_torch().cat(batches[-2:])]
    return batches


def _stop_unless_finite(cost: float, epoch: int, schedule: Schedule) -> None:
    if not math.isfinite(cost):
        raise ValueError(
            f"The loss became {cost} in epoch {epoch + 1}. Lower learning_rate, which is "
            f"{schedule.learning_rate:g}, or scale X, e.g. with StandardScaler."
        )


def _log_epoch(epoch: int, loss: float, n_rows: int, started: float, schedule: Schedule) -> None:
    left = (time.monotonic() - started) / (epoch + 1) * (schedule.max_epochs - epoch - 1)
    _log.log(
        schedule.log_level,
        "epoch %d of %d: loss %.5f on %s rows, at most %.0f s left",
        epoch + 1,
        schedule.max_epochs,
        loss,
        f"{n_rows} held-out" if n_rows else "the training",
        left,
    )
