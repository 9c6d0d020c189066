"""PyTorch, loaded where it is needed, and its process-wide settings, changed only in a context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

_MISSING = (
    "Networks need PyTorch, which is not installed. Install it with: pip install 'rankprune[torch]'"
)
# PyTorch has one generator and one number of threads for the whole process, so that networks
# trained at the same time would disturb each other's random numbers.
_ONE_AT_A_TIME = RLock()


def load_torch() -> Any:
    """Return the module ``torch``; the error names the extra that installs it."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_MISSING) from error
    return torch


def chosen_device(name: str) -> Any:
    """Return the device of this name; "auto" is a graphics processor if there is one."""
    torch = load_torch()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        # Fails for unknown names, and for devices that are not there.
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        raise ValueError(
            f'device must be "auto" or a device that PyTorch has here, got {name!r}: '
            f"{str(error).splitlines()[0]}"
        ) from error
    return torch.device(name)


@contextmanager
def thread_limit(n_threads: int | None) -> Iterator[None]:
    """Let PyTorch use this number of threads in the context; None changes nothing."""
    torch = load_torch()
    if n_threads is None:
        yield
        return
    with _ONE_AT_A_TIME:
        before = torch.get_num_threads()
        torch.set_num_threads(n_threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def learning_mode() -> Iterator[None]:
    """Let networks learn in single precision in the context, whatever the caller has switched."""
    torch = load_torch()
    with _ONE_AT_A_TIME, torch.inference_mode(False), torch.enable_grad():
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


@contextmanager
def private_generator(seed: int, device: Any) -> Iterator[None]:
    """Seed the generators of the processor and this device in the context; then restore them."""
    torch = load_torch()
    devices = [device] if device.type == "cuda" else []
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if devices:  # pragma: no cover (graphics processors)
            torch.cuda.manual_seed(seed)
        yield
