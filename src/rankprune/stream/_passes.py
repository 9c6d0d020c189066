"""Passes over batches, in one or more threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from rankprune.core import ClassState, ConfidentState, Cutoffs
from rankprune.stream._sources import Batch, Batches, MappedBatches, opened_batches

State = TypeVar("State", ConfidentState, ClassState)


def find_cutoffs(batches: Batches, state: ConfidentState) -> Cutoffs:
    """Return the cut-offs that a state finds in batches."""
    with opened_batches(batches) as source:
        return run_passes(source, state, 1).cutoffs()


def run_passes(
    source: MappedBatches, state: State, n_jobs: int, first: Iterator[Batch] | None = None
) -> State:
    """Return the state after as many passes as it needs.

    The batches of the first pass are those of an iterator, if it is given.
    """
    while not state.is_done:
        batches = source.held(n_jobs) if first is None else first
        state, first = _one_pass(batches, state, n_jobs).after_pass(), None
    return state


def _one_pass(batches: Iterator[Batch], state: State, n_jobs: int) -> State:
    states: list[State] = []
    own = threading.local()

    def update(batch: Batch) -> None:
        if not hasattr(own, "state"):
            own.state = state.empty()
            states.append(own.state)
        own.state.update(*batch)

    with thread_pool(n_jobs) as run:
        run(update, batches)
    merged = state.empty()
    for one in states:
        merged = merged.merge(one)
    return merged


@contextmanager
def thread_pool(n_jobs: int) -> Iterator[Callable[[Callable[[Any], None], Iterator[Any]], None]]:
    """Yield a function that calls another for each item of an iterator, in several threads.

    Items are taken one per thread at a time, so they need not all fit into memory.
    """
    if n_jobs == 1:

        def in_turn(call: Callable[[Any], None], items: Iterator[Any]) -> None:
            for item in items:
                call(item)

        yield in_turn
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        lock, failed = threading.Lock(), threading.Event()

        def side_by_side(call: Callable[[Any], None], items: Iterator[Any]) -> None:
            def work() -> None:
                try:
                    while not failed.is_set():
                        with lock:
                            item = next(items, None)
                        if item is None:
                            return
                        call(item)
                except BaseException:
                    failed.set()  # the other threads stop too
                    raise

            for done in [pool.submit(work) for _ in range(n_jobs)]:
                done.result()

        yield side_by_side
