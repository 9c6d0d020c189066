"""The fixed bins of scores: where each begins, and which one a score falls into.

Scores crowd near 0 and 1, so bins are finer there: 64 for every halving of the distance to the
nearer end. A bin holds the scores from its edge nearer that end up to, but without, the next; the
middle one holds those around 1/2 with both of its edges. So a score on an edge belongs to the bin
nearer 1/2, and swapping the classes reverses the order of the bins.

The distance of a float64 to the nearer end is exact, and bins of it are ranges of its leading bits.
So the bin of a score can be read off its bits, or found with powers of two in SQL: both are the
same as comparing the score with the edges.
"""

from __future__ import annotations

import numpy as np

# Bins of each halving of the distance.
BINS_PER_HALVING = 64
# Distances below 2**-N_HALVINGS share one bin; the largest is 2**-1.
N_HALVINGS = 32

# A distance of at least 2**-N_HALVINGS has the bin whose number is its leading bits.
SHIFT = 52 - (BINS_PER_HALVING - 1).bit_length()
# One unit below the bits of 2**-N_HALVINGS: the bits of all smaller distances count as these.
LOWEST_BITS = int(np.float64(2.0**-N_HALVINGS).view(np.int64)) - 1
FIRST_CODE = LOWEST_BITS >> SHIFT
# The number of the middle bin, counted from the nearer end; and of all bins.
MIDDLE = (int(np.float64(0.5).view(np.int64)) >> SHIFT) - 1 - FIRST_CODE
N_BINS = 2 * MIDDLE + 1


def _lower_edges() -> np.ndarray:
    parts = np.arange(BINS_PER_HALVING) / BINS_PER_HALVING
    halvings = 2.0 ** np.arange(-N_HALVINGS, -1)
    return np.asarray((halvings[:, None] * (1 + parts)).ravel())


_LOWER = _lower_edges()
# The N_BINS - 1 edges between the bins, all of them whole multiples of 2**-40.
EDGES = np.concatenate([_LOWER, 1 - _LOWER[::-1]])
EDGES.flags.writeable = False
_ALL_EDGES = np.concatenate([[0.0], EDGES, [1.0]])
# A score in the middle of each bin.
MIDDLES = (_ALL_EDGES[:-1] + _ALL_EDGES[1:]) / 2
MIDDLES.flags.writeable = False


def bin_of(score: float) -> int:
    """Return the number of the bin of a score, by comparison with the edges."""
    return int(np.searchsorted(EDGES, score, side="right" if score < 0.5 else "left"))
