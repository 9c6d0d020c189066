"""From rows to rates and cut-offs in passes over batches, with a mergeable state.

Rows need not be in memory or on one machine: a few passes over them, in any batches and on any
number of machines, give the same counts and cut-offs as arrays in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.core._auc import auc_bounds, needed_auc
from rankprune.core._blocks import blocks
from rankprune.core._inputs import BoolArray, FloatArray, refuse_improbable, validate_batch
from rankprune.core._noise_rates import ConfidentCounts, NoiseRates, validate_noise_rates
from rankprune.core._pruning import Cutoffs, cutoff_of, pruned_shares, rank_of, rows_to_prune
from rankprune.core._rate_algebra import possible_noise_rates
from rankprune.core._verdict_reasons import AUC_REASON
from rankprune.core.counting._exact_sums import in_units
from rankprune.core.counting._histogram import ScoreHistogram
from rankprune.core.counting._kernel import Kernel, kernel_for
from rankprune.core.counting._open_auc import OpenAuc
from rankprune.core.counting._selection import Ranked, RankSearch, settled
from rankprune.core.counting._sketch import ScoreSketch
from rankprune.core.estimators._confident_counts import ClassSums, rates_from_counts
from rankprune.core.estimators._registry import (
    DEFAULT_ESTIMATOR,
    NoiseEstimator,
    find_noise_estimator,
    is_exact,
    rates_of_sketch,
    threshold_reason,
    with_intervals,
    with_warning,
)

# Number of values that a state may hold besides its counts: 8 MiB.
_MAX_COPIED = 1 << 20


class ConfidentState:
    """State of a few passes over the rows: limited in size, and mergeable.

    Feed it all rows in any batches, get the state of the next pass from `after_pass`, and repeat
    until `is_done`. States of the same pass that were fed different rows can be merged.

    Parameters
    ----------
    method : str or callable, default="learned"
        The noise estimator; its rates are those of `estimate_noise_rates` on all rows at once. A
        callable sees the bins of a `ScoreSketch` as rows with weights.
    noise_rates : NoiseRates, default=None
        Known rates; if given, nothing is estimated.
    prunes : bool, default=True
        Whether to find cut-offs in addition to rates.

    Examples
    --------
    >>> from rankprune.core import ConfidentState
    >>> batches = [([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1]), ([1, 0, 1], [0.2, 0.7, 0.6])] * 5
    >>> state = ConfidentState("confident-counts")
    >>> while not state.is_done:
    ...     for labels, probabilities in batches:
    ...         state = state.update(labels, probabilities)
    ...     state = state.after_pass()
    >>> state.rates().positive_threshold, state.cutoffs().positive.value
    (0.625, 0.2)

    Notes
    -----
    The first pass sums and bins the scores of each label, and most estimators need no other. For
    the paper's, the sums are exact, so the thresholds LB_{y=1} and UB_{y=0} do not depend on the
    order of rows, and the second pass counts the rows beyond them. The second pass also searches
    the bins that may contain a cut-off. If such a bin holds more than a million rows, one or two
    further passes divide it into finer ones. Bins are ranges of the bits of a float, so cut-offs
    are found exactly, by integer rank.
    """

    def __init__(
        self,
        method: str | NoiseEstimator | None = None,
        *,
        noise_rates: NoiseRates | None = None,
        prunes: bool = True,
    ) -> None:
        find_noise_estimator(method)
        if noise_rates is not None:
            validate_noise_rates(noise_rates)
        self.n_pass = 1
        method = DEFAULT_ESTIMATOR if method is None else method
        self._method, self._given, self._prunes = method, noise_rates, prunes
        self._sums = ClassSums()
        self._extremes = (1.0, 0.0)
        self._n_seen = 0
        self._histogram = ScoreHistogram()
        # In place of sums and histogram, unless rates are known or exact.
        is_sketched = noise_rates is None and not is_exact(method)
        self._sketch = ScoreSketch() if is_sketched else None
        # Beside them if the rates are exact, for the range around these.
        self._for_range = ScoreSketch() if noise_rates is None and is_exact(method) else None
        self._thresholds: tuple[float, float] | None = None
        self._rates: NoiseRates | None = None
        self._to_prune = (0, 0)
        # What a pass after the first collects.
        self._counts: NDArray[np.int64] | None = None
        self._searches: dict[bool, RankSearch] = {}
        self._doubt: OpenAuc | None = None
        self._found: dict[bool, Ranked] = {}

    @property
    def is_done(self) -> bool:
        """Return whether no further pass is needed."""
        return self.n_pass > 1 and not (self._counts is not None or self._searches)

    @property
    def n_rows(self) -> int:
        """Return the number of rows seen in the first pass."""
        return sum(self._sizes)

    @property
    def _sizes(self) -> tuple[int, int]:
        if self._sketch is not None:
            return int(self._sketch.n_positive), int(self._sketch.n_negative)
        one = in_units(1)
        return self._sums.positive_mass // one, self._sums.negative_mass // one

    def update(self, labels: ArrayLike, probabilities: ArrayLike) -> ConfidentState:
        """Add a batch of rows with labels 0 and 1 to the pass, and return the state itself."""
        if self.is_done:
            raise ValueError(
                "The state is done and accepts no more rows. Start another with ConfidentState()."
            )
        is_positive, values = validate_batch(labels, probabilities)
        if self.n_pass > 1:
            kernel = kernel_for(len(is_positive))
            for rows in blocks(len(is_positive)):
                self._add_block(kernel, is_positive[rows], kernel.prepared(values[rows]))
        elif self._sketch is not None:
            self._sketch.take(is_positive, values)
            self._see(0.0, 1.0)
        else:
            self._add_first(is_positive, values)
        self._n_seen += len(is_positive)
        return self

    def _add_first(self, is_positive: BoolArray, values: FloatArray) -> None:
        """Add a batch in the first pass, with exact sums; a refused one changes nothing."""
        kernel, before = kernel_for(len(is_positive)), (self._sums, self._extremes)
        counts = self._histogram.counts.copy()
        if self._for_range is not None:
            self._for_range.take(is_positive, values)  # a refused batch changes nothing
        for rows in blocks(len(is_positive)):
            block = kernel.prepared(values[rows])
            smallest, largest = kernel.extremes(block)
            # Written so that NaN, which compares false, is caught too.
            if not (smallest >= 0 and largest <= 1):
                self._sums, self._extremes = before
                np.copyto(self._histogram.counts, counts)
                refuse_improbable(values, "probabilities")
            self._see(smallest, largest)
            sums = ClassSums.of_block(kernel, is_positive[rows], block)
            self._sums = self._sums.merge(sums)
            self._histogram.add_block(kernel, is_positive[rows], block)

    def _add_block(self, kernel: Kernel, is_positive: BoolArray, values: FloatArray) -> None:
        if self._counts is not None and self._thresholds is not None:
            self._counts += kernel.count_beyond(is_positive, values, self._thresholds)
        if self._doubt is not None:
            self._doubt.add_block(kernel, is_positive, values)
        for search in self._searches.values():
            search.add_block(kernel, is_positive, values)

    def _see(self, smallest: float, largest: float) -> None:
        self._extremes = (min(self._extremes[0], smallest), max(self._extremes[1], largest))

    def empty(self) -> ConfidentState:
        """Return a state of the same pass that has seen no rows yet, for another worker."""
        other = ConfidentState(self._method, noise_rates=self._given, prunes=self._prunes)
        if self.n_pass > 1:
            other._sums, other._histogram = self._sums, self._histogram
            other._sketch, other._for_range = self._sketch, self._for_range
            other._extremes = self._extremes
        other.n_pass, other._thresholds = self.n_pass, self._thresholds
        other._rates, other._to_prune, other._found = self._rates, self._to_prune, self._found
        other._counts = None if self._counts is None else np.zeros(4, dtype=np.int64)
        other._doubt = None if self._doubt is None else self._doubt.empty()
        other._searches = {label: search.empty() for label, search in self._searches.items()}
        return other

    def merge(self, other: ConfidentState) -> ConfidentState:
        """Return the state for the rows of both states, which must be of the same pass."""
        if self.n_pass != other.n_pass or self._method != other._method:
            raise ValueError(
                f"states must be of the same pass and method to merge, got {self.n_pass} "
                f"({self._method!r}) and {other.n_pass} ({other._method!r}). Merge all of a pass "
                "before after_pass, and start the next from empty() copies."
            )
        merged = self.empty()
        merged._n_seen = self._n_seen + other._n_seen
        if self.n_pass == 1:
            merged._sums = self._sums.merge(other._sums)
            merged._histogram = self._histogram.merge(other._histogram)
            if self._sketch is not None and other._sketch is not None:
                merged._sketch = self._sketch.merge(other._sketch)
            if self._for_range is not None and other._for_range is not None:
                merged._for_range = self._for_range.merge(other._for_range)
            merged._extremes = self._extremes
            merged._see(*other._extremes)
        if self._counts is not None and other._counts is not None:
            merged._counts = self._counts + other._counts
        if self._doubt is not None and other._doubt is not None:
            merged._doubt = self._doubt.merge(other._doubt)
        for label, search in self._searches.items():
            merged._searches[label] = search.merge(other._searches[label])
        return merged

    def after_pass(self) -> ConfidentState:
        """Return the state for the next pass; call this once all rows were fed in this one."""
        following = self.empty()
        following.n_pass += 1
        if self.n_pass > 1:
            self._refuse_other_rows()
        if self._doubt is not None:
            following._doubt = self._doubt.closer(needed_auc(*self._sizes))
            if following._doubt is not None:
                return following  # the same pass again, with finer bins for the AUC
        following._counts = None
        following._searches = {}
        if self.n_pass == 1:
            self._refuse_one_label()
            following._sums, following._histogram = self._sums, self._histogram
            following._sketch, following._for_range = self._sketch, self._for_range
            following._extremes = self._extremes
            following._begin()
            return following
        if self._counts is not None:
            following._know(self._counted_rates(self._counts))
        for label, rank in following._ranks():
            search = self._searches.get(label)
            if label in self._found:
                continue
            if search is not None and search.covers(rank):
                following._take(label, search.after_pass(rank))
            else:
                following._look_for(label, (rank, rank))
        return following

    def rates(self) -> NoiseRates:
        """Return the noise rates."""
        if self._rates is None:
            raise ValueError(
                "The rates are not known yet. Feed all rows again after after_pass, until is_done."
            )
        return self._rates

    def cutoffs(self) -> Cutoffs:
        """Return the cut-offs at which pruning stops."""
        if not self.is_done:
            raise ValueError(
                "The cut-offs are not known yet. Feed all rows again after after_pass, until "
                "is_done."
            )
        parts = zip((True, False), self._to_prune, self._sizes, strict=True)
        return Cutoffs(
            *(
                cutoff_of(self._found[label], label, count, size) if count else None
                for label, count, size in parts
            )
        )

    def _begin(self) -> None:
        """Decide after the first pass what the second collects."""
        known = self._given
        if self._sketch is not None:
            known = rates_of_sketch(self._sketch, self._method)
        if known is not None:
            self._know(known)
            for label, rank in self._ranks():
                self._look_for(label, (rank, rank))
            return
        self._thresholds = self._sums.thresholds()
        self._counts = np.zeros(4, dtype=np.int64)
        if self._auc_is_open():
            self._doubt = OpenAuc.in_histogram(self._histogram, self._extremes, _MAX_COPIED)
        if self._prunes and self._reason(None) is None:
            for label, ranks in self._possible_ranks():
                self._look_for(label, ranks)

    def _know(self, rates: NoiseRates) -> None:
        self._rates = rates
        if self._prunes:
            self._to_prune = rows_to_prune(pruned_shares(rates), self._sizes)

    def _refuse_one_label(self) -> None:
        if not self.n_rows:
            raise ValueError("batches must hold at least one row, got none. Check the selection.")
        for size, name in zip(self._sizes, ("positive", "negative"), strict=True):
            if not size:
                raise ValueError(
                    f"labels must hold two classes, but none of {self.n_rows} rows is {name}. "
                    "Pass rows of both classes, or name the positive label with pos_label."
                )

    def _refuse_other_rows(self) -> None:
        if self._n_seen != self.n_rows:
            raise ValueError(
                f"Every pass must see the same rows, got {self.n_rows} rows in the first and "
                f"{self._n_seen} later. Feed all of them again, or start over."
            )

    def forget(self) -> ConfidentState:
        """Drop the results of earlier passes and return the state, ready to be sent and merged."""
        if self.n_pass > 1:
            self._histogram = ScoreHistogram(0, 1)
            self._for_range = self._for_range and ScoreSketch()
            if self._doubt is not None:
                self._doubt.forget()
        return self

    def _counted_rates(self, counts: NDArray[np.int64]) -> NoiseRates:
        rates = rates_from_counts(self._sums, ConfidentCounts(*counts.astype(float).tolist()))
        assert self._for_range is not None  # always kept if rates are exact
        rates = with_intervals(rates, self._for_range)
        return with_warning(rates, threshold_reason(rates) or self._reason(self._doubt))

    def _auc_is_open(self) -> bool:
        least, most = auc_bounds(*self._histogram.counts)
        # If all scores are equal, they tie, and finer bins would not tell them apart.
        return self._extremes[0] < self._extremes[1] and least <= needed_auc(*self._sizes) < most

    def _reason(self, doubt: OpenAuc | None) -> str | None:
        """Return why the AUC shows that the scores fail, or None if it does not."""
        least, most = auc_bounds(*self._histogram.counts) if doubt is None else doubt.bounds()
        # Ties count half. Until an open AUC is refined, scores get the benefit of the doubt.
        is_open = doubt is None and self._auc_is_open()
        middle = most if is_open else (least + most) / 2
        return None if middle > needed_auc(*self._sizes) else AUC_REASON

    def _ranks(self) -> Iterator[tuple[bool, int]]:
        """Yield the label and rank of each cut-off."""
        for label, count, size in zip((True, False), self._to_prune, self._sizes, strict=True):
            if count:
                yield label, rank_of(label, count, size)

    def _possible_ranks(self) -> Iterator[tuple[bool, tuple[int, int]]]:
        """Yield the label and the range of possible ranks of each cut-off, given the bins."""
        (positive_low, positive_high), (negative_low, negative_high) = self._rate_limits()
        few, many = (
            self._shares(positive_high, negative_low),
            self._shares(positive_low, negative_high),
        )
        # Wrong positive labels grow with the negative noise rate and shrink with the positive one;
        # wrong negative labels the other way round.
        for label, size, shares in (
            (True, self._sizes[0], (few[0], many[0])),
            (False, self._sizes[1], (many[1], few[1])),
        ):
            least, most = (min(round(share * size), size - 1) for share in shares)
            if most:
                ends = sorted((rank_of(label, max(least, 1), size), rank_of(label, most, size)))
                yield label, (ends[0], ends[1])

    def _shares(self, positive: float, negative: float) -> tuple[float, float]:
        observed = self._sizes[0] / self.n_rows
        positive, negative, _ = possible_noise_rates(positive, negative, observed)
        return pruned_shares(NoiseRates.from_noise_rates(positive, negative, observed))

    def _rate_limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the smallest and the largest possible value of each noise rate."""
        positive_threshold, negative_threshold = self._sums.thresholds()
        negatives, positives = self._histogram.counts
        above = self._histogram.bin_of(positive_threshold)
        below = self._histogram.bin_of(negative_threshold)
        return (
            _share_limits(negatives[above:], positives[above:]),
            _share_limits(positives[: below + 1][::-1], negatives[: below + 1][::-1]),
        )

    def _look_for(self, label: bool, ranks: tuple[int, int]) -> None:
        bins = self._histogram if self._sketch is None else self._sketch
        search = RankSearch.in_histogram(bins, label, ranks, _MAX_COPIED, self._extremes)
        # A range of several ranks is not settled even if one value is left: its rank is not known.
        self._take(label, settled(search) if ranks[0] == ranks[1] else search)

    def _take(self, label: bool, found: Ranked | RankSearch) -> None:
        if isinstance(found, Ranked):
            self._found = {**self._found, label: found}
        else:
            self._searches[label] = found


def _share_limits(wrong: NDArray[np.int64], right: NDArray[np.int64]) -> tuple[float, float]:
    """Return the limits of a share if only part of the first bin may count."""
    wrong_most, right_most = int(wrong.sum()), int(right.sum())
    wrong_least, right_least = wrong_most - int(wrong[0]), right_most - int(right[0])
    return (
        wrong_least / max(1, wrong_least + right_most),
        wrong_most / max(1, wrong_most + right_least),
    )
