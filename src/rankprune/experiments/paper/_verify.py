"""Figures measured again from scratch and compared with the written ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankprune.experiments._cache import empty_cache
from rankprune.experiments.paper._records import Results
from rankprune.experiments.paper._run import EXPERIMENTS, Choice

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Agreement:
    """The number of figures measured again, and the largest difference."""

    n_compared: int
    largest: float
    where: str

    @property
    def agrees(self) -> bool:
        """Return whether all figures are equal up to rounding."""
        return self.largest <= TOLERANCE


def verify_experiment(name: str, choice: Choice) -> Agreement:
    """Measure the selected figures with an empty cache and compare them with the written ones."""
    choice.check()
    differences: dict[str, float] = {}
    for file, units in EXPERIMENTS[name](choice).items():
        written = Results(choice.results / file).records
        for unit in units:
            # Units without written figures cannot be compared, so they are skipped.
            if not any(key in written for key in unit.keys):
                continue
            with empty_cache():
                again = unit.measure()
            for record in again:
                if record.key in written:
                    difference = abs(record.value - written[record.key].value)
                    differences[" ".join(map(str, record.key))] = difference
    if not differences:
        raise ValueError(
            f"results must hold selected figures of {name}; {choice.results} has none. Run "
            f"rankprune paper {name} first."
        )
    # NaN must not pass as equal.
    values = np.nan_to_num(list(differences.values()), nan=np.inf)
    worst = int(np.argmax(values))
    return Agreement(len(values), float(values[worst]), list(differences)[worst])
