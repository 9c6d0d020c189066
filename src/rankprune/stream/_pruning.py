"""Rates and masks of rows that need not fit in memory: the same results, a batch at a time.

`rankprune.core.ConfidentState` holds what is known after each batch, or `ClassState` if there are
more than two labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core import (
    ClassCutoffs,
    ClassMarker,
    ClassState,
    ConfidentState,
    Cutoffs,
    Marker,
    NoiseMatrix,
    NoiseRates,
)
from rankprune.core._inputs import as_array
from rankprune.core._noise_rates import validate_noise_rates
from rankprune.core._parameters import validate_count
from rankprune.core.classes._class_inputs import (
    collected_classes,
    column_with_classes,
    is_matrix,
    rates_for_matrix,
    refuse_for_two_labels,
    validate_classes,
)
from rankprune.stream._marking import BatchMarker, MarkedRows
from rankprune.stream._passes import run_passes
from rankprune.stream._sources import Batch, Batches, MappedBatches, opened_batches, with_first


def estimate_noise_rates(
    batches: Batches,
    *,
    classes: ArrayLike | None = None,
    method: Any = None,
    pos_label: Any = None,
    n_jobs: int = 1,
) -> NoiseRates | Any:
    """Return how many labels are wrong in each class, from batches of labels and probabilities.

    Parameters
    ----------
    batches : iterable of (labels, probabilities), callable or tuple of two arrays
        The rows: a list or another iterable of batches, which may be empty or hold a single label;
        a function that returns such an iterable and is called for each pass; or two arrays or
        memory maps. An iterator, which can be read only once, is first copied to a temporary file.
        `read_scores` reads Parquet and Arrow files. Probabilities have one column per class if
        there are more than two labels.
    classes : array-like of shape (n_classes,), default=None
        The label value of each column. By default the sorted labels of all rows: batches are then
        read until as many labels were seen as there are columns, usually only the first one.
    method : str or callable, default=None
        As in `rankprune.estimate_noise_rates`, with the same defaults and the same result. A
        callable sees the bins of a `ScoreSketch` as rows with weights.
    pos_label : default=None
        The positive label, if labels are not 0 and 1; for two labels alone.
    n_jobs : int, default=1
        Number of threads. Does not change the result.

    Returns
    -------
    NoiseRates or NoiseMatrix
        A `NoiseMatrix` for more than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import stream
    >>> rng = np.random.default_rng(0)
    >>> def batches():
    ...     for seed in range(10):
    ...         rng = np.random.default_rng(seed)
    ...         truth = rng.random(1000) < 0.5
    ...         labels = np.where(rng.random(1000) < 0.2, 0, truth)
    ...         yield labels, np.where(truth, 0.8, 0.0)
    >>> rates = stream.estimate_noise_rates(batches)
    >>> round(rates.positive_noise_rate, 2), round(rates.negative_noise_rate, 6)
    (0.2, 0.0)
    """
    jobs = validate_count(n_jobs, "n_jobs", 2)
    with opened_batches(batches, pos_label, classes) as source:
        begun = _begun(source, classes, jobs, method=method, prunes=False)
        done = begun.run(jobs)
    return done.matrix() if isinstance(done, ClassState) else done.rates()


@dataclass(frozen=True)
class _Begun:
    """Rows in the form in which a state takes them, and those of the first pass if it began."""

    source: MappedBatches
    state: ConfidentState | ClassState
    first: Iterator[Batch] | None = None

    def run(self, n_jobs: int) -> ConfidentState | ClassState:
        """Return the state after all passes."""
        if isinstance(self.state, ClassState):
            return run_passes(self.source, self.state, n_jobs, self.first)
        return run_passes(self.source, self.state, n_jobs, self.first)


def _begun(
    source: MappedBatches,
    classes: ArrayLike | None,
    n_jobs: int,
    *,
    method: Any,
    noise: NoiseRates | NoiseMatrix | None = None,
    prunes: bool = True,
) -> _Begun:
    """Return how to begin: with rows of two labels or of more, which the first batch shows."""
    if isinstance(noise, NoiseMatrix):
        refuse_for_two_labels(pos_label=source.pos_label)
        known = noise.classes if classes is None else classes
        return _Begun(source, ClassState(known, method, noise_matrix=noise))
    if noise is not None:
        validate_noise_rates(noise)
    head, pairs = with_first(source.pairs())
    first: Iterator[Batch] | None = pairs
    if head is None or not is_matrix(head[1]):
        if classes is not None:
            raise column_with_classes(() if head is None else head[1])
        of_two = ConfidentState(method, noise_rates=noise, prunes=prunes)
        return _Begun(source, of_two, source.held(n_jobs, pairs))
    if classes is None:
        n_columns = as_array(head[1], "probabilities").shape[1]
        known, n_read = collected_classes((labels for labels, _ in pairs), n_columns)
        # Batches after the first were read for their labels alone, so they are read again.
        first = chain([head], pairs) if n_read == 1 else None
    else:
        known = validate_classes(classes)
    state: ConfidentState | ClassState
    if len(known) == 2:
        source = replace(source, two_classes=known)
        state = ConfidentState(method, noise_rates=noise, prunes=prunes)
    else:
        refuse_for_two_labels(pos_label=source.pos_label)
        if noise is not None:
            raise rates_for_matrix(known)
        state = ClassState(known, method, prunes=prunes, are_named=classes is not None)
    return _Begun(source, state, first and source.held(n_jobs, first))


@dataclass(frozen=True)
class StreamedPruning(MarkedRows):
    """Which rows to drop, without holding them: the rates, the cut-offs, and the masks.

    Attributes
    ----------
    noise_rates : NoiseRates
    positive_cutoff, negative_cutoff : float or None
        As in `Pruning`.
    n_positive_pruned, n_negative_pruned : int
    n_rows, n_passes : int
        Number of rows, and of passes over them.

    Examples
    --------
    >>> from rankprune import NoiseRates, stream
    >>> rates = NoiseRates.from_label_error_rates(0.5, 0.0, observed_prevalence=0.5)
    >>> pruning = stream.prune_labels([([1, 0], [0.9, 0.1]), ([1, 0], [0.2, 0.3])], rates)
    >>> pruning.n_rows, pruning.positive_cutoff, pruning.mask().tolist()
    (4, 0.2, [False, False, True, False])
    """

    noise_rates: NoiseRates
    positive_cutoff: float | None
    negative_cutoff: float | None
    n_positive_pruned: int
    n_negative_pruned: int
    n_rows: int
    n_passes: int
    _cutoffs: Cutoffs = field(repr=False)
    _source: MappedBatches = field(repr=False)
    _n_jobs: int = field(repr=False)

    def _marker(self) -> BatchMarker:
        return Marker(self._cutoffs)


@dataclass(frozen=True, eq=False)
class StreamedClassPruning(MarkedRows):
    """Which rows of many classes to drop, without holding them: the matrix, cut-offs, and masks.

    Attributes
    ----------
    noise_rates : NoiseMatrix
    cutoffs : ndarray of shape (n_classes,)
    n_pruned : ndarray of shape (n_classes,)
    classes : ndarray of shape (n_classes,)
        As in `ClassPruning`.
    n_rows, n_passes : int
        Number of rows, and of passes over them.

    Examples
    --------
    >>> from rankprune import NoiseMatrix, stream
    >>> matrix = NoiseMatrix([[0.25, 0.25, 0], [0, 0.25, 0], [0, 0, 0.25]], classes=list("abc"))
    >>> rows = (["a", "a"], [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2]]), (["c"], [[0.1, 0.1, 0.8]])
    >>> pruning = stream.prune_labels(list(rows), matrix)
    >>> pruning.n_pruned.tolist(), pruning.mask().tolist()
    ([1, 0, 0], [False, True, False])
    """

    noise_rates: NoiseMatrix
    cutoffs: NDArray[np.float64]
    n_pruned: NDArray[np.int64]
    classes: NDArray[Any]
    n_rows: int
    n_passes: int
    _cutoffs: ClassCutoffs = field(repr=False)
    _source: MappedBatches = field(repr=False)
    _n_jobs: int = field(repr=False)

    def _marker(self) -> BatchMarker:
        return ClassMarker(self._cutoffs, self.classes)


def prune_labels(
    batches: Batches,
    noise_rates: NoiseRates | NoiseMatrix | None = None,
    *,
    classes: ArrayLike | None = None,
    method: Any = None,
    pos_label: Any = None,
    n_jobs: int = 1,
) -> StreamedPruning | Any:
    """Return which rows to drop, from batches of labels and probabilities.

    Counts, cut-offs and masks are those of `rankprune.prune_labels` on all rows at once, whatever
    the batches.

    Parameters
    ----------
    batches, classes, method, pos_label, n_jobs
        As in `estimate_noise_rates`, except that an iterator is refused: the mask needs a second
        pass.
    noise_rates : NoiseRates or NoiseMatrix, default=None
        Known or estimated; a matrix for more than two classes. By default they are estimated in
        the same passes.

    Returns
    -------
    StreamedPruning or StreamedClassPruning
        The latter for more than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from rankprune import NoiseRates, stream
    >>> rates = NoiseRates.from_label_error_rates(0.25, 0.25, observed_prevalence=0.5)
    >>> batches = [([1, 1, 1, 1, 0], [0.9, 0.2, 0.7, 0.8, 0.1]), ([0, 0, 0], [0.6, 0.3, 0.2])]
    >>> pruning = stream.prune_labels(batches, rates)
    >>> pruning.positive_cutoff, pruning.negative_cutoff
    (0.2, 0.6)
    >>> [mask.nonzero()[0].tolist() for mask in pruning.masks()]
    [[1], [0]]
    """
    if isinstance(batches, Iterator):
        raise TypeError(
            "batches must be readable more than once, because marking rows takes another pass; got "
            f"an iterator ({type(batches).__name__}). Pass a list, or a function that returns it."
        )
    jobs = validate_count(n_jobs, "n_jobs", 2)
    with opened_batches(batches, pos_label, classes) as opened:
        begun = _begun(opened, classes, jobs, method=method, noise=noise_rates)
        state, source = begun.run(jobs), begun.source
    n_passes = state.n_pass - 1
    if isinstance(state, ClassState):
        found = state.cutoffs()
        return StreamedClassPruning(
            state.matrix(),
            found.margins,
            found.n_pruned,
            state.classes,
            state.n_rows,
            n_passes,
            found,
            source,
            jobs,
        )
    cutoffs = state.cutoffs()
    parts = (cutoffs.positive, cutoffs.negative)
    n_positive, n_negative = (0 if part is None else part.n_pruned for part in parts)
    return StreamedPruning(
        state.rates(),
        *cutoffs.values,
        n_positive,
        n_negative,
        state.n_rows,
        n_passes,
        cutoffs,
        source,
        jobs,
    )
