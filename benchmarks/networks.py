"""Print what a network costs beyond the same loop in plain PyTorch, and what two cores gain.

Ratios of the best of several runs on the same rows, one after the other: of processor time on one
thread, which other programs hardly change, and of elapsed time on two cores. Run: make bench
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_predict
from torch import nn

from rankprune.torch import ConvolutionalNet, DenseNet, NetClassifier

EPOCHS, BATCH, RATE = 5, 256, 0.004
# The default of the classifier.
MANY_EPOCHS = 30
REPEATS = 5


def rows(n_rows: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of numbers in this shape, and ten classes."""
    n_columns = int(np.prod(shape))
    X, y = make_classification(
        n_rows, n_columns, n_informative=20, n_classes=10, random_state=0, shuffle=False
    )
    return X.astype(np.float32).reshape(-1, *shape), y


def plain_loop(
    module: Callable[..., nn.Module], X: np.ndarray, y: np.ndarray, epochs: int = EPOCHS
) -> None:
    """Train as an engineer would write it: batches in random order, and a tenth held out."""
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)
    if inputs.ndim == 4:
        inputs = inputs.contiguous(memory_format=torch.channels_last)
    n_held_out = len(X) // 10
    network = module(inputs[n_held_out:], 10)
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)
    loss = nn.CrossEntropyLoss()
    n_steps = -(-(len(X) - n_held_out) // BATCH)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, epochs=epochs, steps_per_epoch=n_steps
    )
    for _ in range(epochs):
        network.train()
        for batch in (n_held_out + torch.randperm(len(X) - n_held_out)).split(BATCH):
            optimizer.zero_grad()
            loss(network(inputs[batch]), targets[batch]).backward()
            optimizer.step()
            cycle.step()
        network.eval()
        with torch.inference_mode():
            sum(
                float(loss(network(inputs[part]), targets[part]))
                for part in torch.arange(n_held_out).split(1000)
            )


def seconds(
    calls: dict[str, Callable[[], object]], clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the best time of each call; the calls take turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(REPEATS):
        for name, call in calls.items():
            started = clock()
            call()
            best[name] = min(best[name], clock() - started)
    return best


def overhead(
    title: str, module: Callable[..., nn.Module], X: np.ndarray, y: np.ndarray, epochs: int
) -> None:
    """Print one row: the loop, and the classifier as a multiple of it."""
    model = NetClassifier(
        module,
        max_epochs=epochs,
        patience=epochs,
        batch_size=BATCH,
        learning_rate=RATE,
        random_state=0,
    )
    torch.set_num_threads(1)
    calls = {"loop": lambda: plain_loop(module, X, y, epochs), "fit": lambda: model.fit(X, y)}
    best = seconds(calls, time.process_time)
    print(f"| {title} | {epochs} | {best['loop']:.2f} s | {best['fit'] / best['loop']:.3f} |")


def two_cores(module: Callable[..., nn.Module], X: np.ndarray, y: np.ndarray) -> None:
    """Print what a second thread and a second process change."""
    settings = {"max_epochs": EPOCHS, "batch_size": BATCH, "random_state": 0}
    fits = {
        f"one fit, n_threads={n_threads}": lambda n=n_threads: NetClassifier(
            module, **settings, n_threads=n
        ).fit(X, y)
        for n_threads in (1, 2)
    }
    folds = {
        f"four folds, n_jobs={n_jobs}": lambda n=n_jobs: cross_val_predict(
            NetClassifier(module, **settings), X, y, cv=4, n_jobs=n, method="predict_proba"
        )
        for n_jobs in (1, 2)
    }
    for calls in (fits, folds):
        best = seconds(calls)
        first = next(iter(best.values()))
        for name, found in best.items():
            print(f"| {name} | {found:.2f} s | {found / first:.2f} |")


def main() -> None:
    """Print both tables."""
    images, of_images = rows(4_000, (1, 28, 28))
    vectors, of_vectors = rows(40_000, (100,))
    print(f"\n## Networks, PyTorch {version('torch')}\n")
    print("| on one thread | epochs | the loop in plain PyTorch | NetClassifier.fit, of the loop |")
    print("|---|---|---|---|")
    overhead("4,000 images of 28 x 28, two blocks", ConvolutionalNet(), images, of_images, EPOCHS)
    for epochs in (EPOCHS, MANY_EPOCHS):
        title = "40,000 rows of 100 columns, 64 and 64 units"
        overhead(title, DenseNet(), vectors, of_vectors, epochs)
    print(f"\n| images, {EPOCHS} epochs, on two cores | time | of the first |\n|---|---|---|")
    two_cores(ConvolutionalNet(), images, of_images)


if __name__ == "__main__":
    main()
