"""Limiting threads to a useful number: more would wait for each other, each using a whole core.

OpenMP keeps its limit per calling thread, so a limit set here affects no other thread. The limits
of linear algebra libraries apply to the whole process: only a check of a small table by the models
of this package sets them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

# Boosting of 175,000 cells takes 0.49 s on one thread and 0.39 s on two, at 1.4 times the CPU time;
# from two million cells on, two threads take little more than half the time.
_CELLS_PER_THREAD = 500_000


@contextmanager
def useful_threads(n_cells: int) -> Iterator[None]:
    """Limit the OpenMP threads of the calling thread to the number that a table can keep busy."""
    with _limited(_libraries("openmp"), n_cells):
        yield


@contextmanager
def useful_algebra_threads(n_cells: int) -> Iterator[None]:
    """Limit the threads of linear algebra, in the whole process, to what a table can keep busy."""
    with _limited(_libraries("blas"), n_cells):
        yield


@contextmanager
def _limited(libraries: tuple[Any, ...], n_cells: int) -> Iterator[None]:
    n_useful = max(1, n_cells // _CELLS_PER_THREAD)
    allowed = [(library, library.get_num_threads()) for library in libraries]
    try:
        for library, n_threads in allowed:
            library.set_num_threads(min(n_useful, n_threads))
        yield
    finally:
        for library, n_threads in allowed:
            library.set_num_threads(n_threads)


@cache
def _libraries(kind: str) -> tuple[Any, ...]:
    # The search takes milliseconds; libraries loaded later are not the ones scikit-learn uses.
    return tuple(ThreadpoolController().select(user_api=kind).lib_controllers)
