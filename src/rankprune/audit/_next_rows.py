"""How many rows to judge next in each stratum: those that narrow a share fastest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankprune.audit._beliefs import Posterior, update

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

# Of 25 rows, at least so many come from the least suspicious stratum of each label, taken together.
_LEAST_UNSUSPICIOUS = 4 / 25
_LEAST_VARIANCE = 1e-3
BATCH = 25


def next_counts(posterior: Posterior, n: int, aim: Reals, *, left: Counts | None = None) -> Counts:
    """Return how many rows of each stratum to judge next.

    Parameters
    ----------
    posterior : Posterior
    n : int
        Number of rows; fewer are returned only if fewer are left.
    aim : ndarray of shape (n_strata,)
        What the share of wrong labels in each stratum counts in the share to be narrowed.
    left : ndarray of int of shape (n_strata,), default=None
        Number of rows that can be drawn; by default those that were not judged.

    Notes
    -----
    One row after the other goes where it lowers the variance of that share most, by a linear
    approximation to what its answer would do to the shares of all strata.
    """
    beliefs = posterior.beliefs
    left = beliefs.sizes - posterior.judged if left is None else left
    n = min(n, int(left.sum()))
    centered = posterior.rates - posterior.weight @ posterior.rates
    covariance = (centered * posterior.weight[:, None]).T @ centered
    answer = posterior.weight @ (posterior.rates * (1 - posterior.rates))
    answer = np.maximum(answer, _LEAST_VARIANCE)
    found = np.zeros(len(left), dtype=np.int64)
    first = _unsuspicious(posterior, n, aim)
    while found.sum() < n:
        gain = (covariance @ aim) ** 2 / (np.diag(covariance) + answer)
        wanted = first[found.sum()] if found.sum() < len(first) else int(np.argmax(gain))
        if found[wanted] == left[wanted]:
            open_ = found < left
            wanted = int(np.argmax(np.where(open_, gain, -1.0)))
        found[wanted] += 1
        column = covariance[:, wanted]
        covariance = covariance - np.outer(column, column) / (column[wanted] + answer[wanted])
    return found


def _unsuspicious(posterior: Posterior, n: int, aim: Reals) -> list[int]:
    """Return the strata of the rows that are drawn whatever the model believes."""
    beliefs = posterior.beliefs
    groups = dict.fromkeys(beliefs.group.tolist())
    last = [int(np.flatnonzero(beliefs.group == number)[-1]) for number in groups]
    last = [number for number in last if aim[number] > 0] or last
    total = max(round(_LEAST_UNSUSPICIOUS * n), 1)
    if len(last) > total:
        return _in_turn(last, beliefs.sizes[last], posterior.judged[last], total)
    sizes = beliefs.sizes[last] / beliefs.sizes[last].sum()
    return [
        number
        for number, part in zip(last, sizes.tolist(), strict=True)
        for _ in range(max(round(total * part), 1))
    ]


def _in_turn(strata: list[int], sizes: Counts, judged: Counts, n: int) -> list[int]:
    """Return strata in turn, so that rows are drawn in proportion to size over many batches."""
    drawn, found = judged.copy(), []
    for _ in range(n):
        place = int(np.argmax(sizes / (drawn + 1)))
        drawn[place] += 1
        found.append(strata[place])
    return found


def planned_widths(
    posterior: Posterior,
    sizes: tuple[int, ...],
    generator: np.random.Generator,
    *,
    aim: Reals,
    level: float,
    n_futures: int = 24,
) -> dict[int, float]:
    """Return how wide the range of the share of wrong labels will be after more rows, on average.

    Parameters
    ----------
    posterior : Posterior
    sizes : tuple of int
        Numbers of further rows, in ascending order.
    generator : Generator
    aim, level
        As in `next_counts` and `Posterior.range_of`.
    n_futures : int, default=24
        Number of times that the answers are drawn from what is believed now.
    """
    beliefs = posterior.beliefs
    widths: dict[int, list[float]] = {size: [] for size in sizes}
    futures = generator.choice(len(posterior.weight), n_futures, p=posterior.weight)
    # A stream of random numbers for each, so that the plan of a size does not depend on the others.
    streams = generator.spawn(n_futures)
    for future, stream in zip(futures.tolist(), streams, strict=True):
        wrong_rows = np.rint(posterior.shares[future] * beliefs.sizes).astype(np.int64)
        judged, wrong, now = posterior.judged, posterior.wrong, posterior
        done = 0
        for size in sizes:
            while done < size:
                step = min(BATCH, size - done)
                more = next_counts(now, step, aim)
                wrong_left = np.maximum(wrong_rows - wrong, 0)
                right_left = np.maximum(beliefs.sizes - judged - wrong_left, 0)
                wrong = wrong + stream.hypergeometric(wrong_left, right_left, more)
                judged, done = judged + more, done + step
                now = update(beliefs, judged, wrong, stream)
            low, high = now.range_of(now.shares @ aim, level)
            widths[size].append(high - low)
    return {size: float(np.mean(found)) for size, found in widths.items()}
