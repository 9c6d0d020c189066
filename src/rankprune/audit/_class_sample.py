"""Rows with more than two labels, from which a sample of fixed size is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune.audit._label_groups import rows_by_label
from rankprune.audit._sample import FEW_ZONES, SMALL, ZONES, AuditSample, kinds_of
from rankprune.audit._strata import Strata, strata_of_groups
from rankprune.core import NoiseMatrix
from rankprune.core._inputs import BoolArray, FloatArray, validate_mask, values_of_labels
from rankprune.core.classes._class_inputs import (
    codes_of_labels,
    validate_class_inputs,
)
from rankprune.core.classes._class_pruning import inputs_for
from rankprune.core.classes._class_ranking import chances_by_margin, margins_of


@dataclass(frozen=True)
class DividedClasses:
    """Rows as they are divided into strata: suspects and others, or zones of suspicion.

    There are as many strata as with two labels, whatever the number of labels, because limits get
    wider with every stratum that holds few drawn rows. So the rows of all labels are divided
    together, and the share of a label comes from its rows in each stratum.

    Attributes
    ----------
    codes : ndarray of int
        Numbers of the given labels.
    classes : tuple
        The label values.
    suspect : ndarray of bool
    suspicion, expected : ndarray or None
        As in `strata_of`.
    """

    codes: NDArray[np.intp]
    classes: tuple[Any, ...]
    suspect: BoolArray
    suspicion: FloatArray | None
    expected: FloatArray | None

    def strata(self, n: int) -> Strata:
        """Return the strata for a sample of some size: more of them for larger ones."""
        alike = np.zeros(len(self.codes), dtype=np.intp)
        return strata_of_groups(
            alike,
            alike.astype(np.float64) if self.suspicion is None else self.suspicion,
            self.suspect,
            self.expected,
            2 * (FEW_ZONES if n < SMALL else ZONES),
        )

    def sample(self, places: NDArray[np.intp], strata: Strata) -> AuditSample:
        """Return some of the rows as a sample that was drawn from strata."""
        return AuditSample(
            places,
            np.zeros(len(places), dtype=bool),
            self.suspect[places],
            strata.of_row[places],
            strata.sizes,
            None,
            None,
            kinds_of(strata),
            self.classes,
            self.codes[places],
            rows_by_label(strata, self.codes, len(self.classes)),
        )


def divided_classes(
    labels: ArrayLike, suspects: ArrayLike, probabilities: ArrayLike | None, noise: Any
) -> DividedClasses:
    """Return checked rows with more than two labels; see `draw`."""
    if noise is not None:
        refuse_other_noise(noise)
    if probabilities is None:
        if noise is not None:
            raise ValueError(
                "probabilities must be given with noise_rates, got None. Pass predict_proba(X), "
                "or leave both out."
            )
        codes, classes = codes_of_labels(values_of_labels(labels, "labels"), None)
        suspicion = expected = None
    else:
        if noise is None:
            inputs = validate_class_inputs(labels, probabilities)
        else:
            inputs = inputs_for(labels, probabilities, noise, None)
        codes, classes, margins = inputs.codes, inputs.classes, margins_of(inputs)
        suspicion = -margins
        expected = None if noise is None else chances_by_margin(margins, codes, noise)
    suspect = validate_mask(suspects, len(codes), "suspects", "suspects")
    return DividedClasses(
        codes.astype(np.intp), tuple(classes.tolist()), suspect, suspicion, expected
    )


def refuse_other_noise(noise: Any) -> None:
    """Raise an error if noise rates are not those of more than two labels."""
    if not isinstance(noise, NoiseMatrix):
        raise TypeError(
            f"noise_rates must be a NoiseMatrix for more than two labels, got "
            f"{type(noise).__name__}. Pass what estimate_noise_rates returns for them."
        )
