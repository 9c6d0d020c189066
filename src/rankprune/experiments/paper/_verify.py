"""Measuring figures again from scratch, and holding them against those that were written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankprune.experiments._cache import kept_elsewhere
from rankprune.experiments.paper._records import Results
from rankprune.experiments.paper._run import EXPERIMENTS, Choice

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Agreement:
    """How many figures were measured again, and where they differ most."""

    n_compared: int
    largest: float
    where: str

    @property
    def agrees(self) -> bool:
        """Return whether all figures are the same but for rounding."""
        return self.largest <= TOLERANCE


def verify_experiment(name: str, choice: Choice) -> Agreement:
    """Measure the chosen figures without anything kept, and compare them."""
    choice.check()
    differences: dict[str, float] = {}
    for file, units in EXPERIMENTS[name](choice).items():
        written = Results(choice.results / file).records
        for unit in units:
            # What was never written cannot be compared, and need not be measured.
            if not any(key in written for key in unit.keys):
                continue
            with kept_elsewhere():
                again = unit.measure()
            for record in again:
                if record.key in written:
                    difference = abs(record.value - written[record.key].value)
                    differences[" ".join(map(str, record.key))] = difference
    if not differences:
        raise ValueError(
            f"{choice.results} must hold figures of {name} that were chosen, but it has none. "
            f"Run rankprune paper {name} first."
        )
    # Not a number differs from everything, and must not pass.
    values = np.nan_to_num(list(differences.values()), nan=np.inf)
    place = int(np.argmax(values))
    return Agreement(len(values), float(values[place]), list(differences)[place])
