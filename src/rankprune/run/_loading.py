"""Load the check in a run directory, whether of two labels or of many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankprune.run._class_check import ClassCheck
from rankprune.run._directory import MATRIX, RunFiles, open_run
from rankprune.run._label_check import LabelCheck


def load_check(folder: Any) -> LabelCheck | ClassCheck:
    """Return the check that was saved in a run directory.

    Parameters
    ----------
    folder : path
        The run directory.

    Returns
    -------
    LabelCheck or ClassCheck
        Of two labels, or of more.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rankprune import check_labels, load_check
    >>> labels = np.repeat(["cat", "dog", "owl"], 100)
    >>> check = check_labels(None, labels, probabilities=np.repeat(np.eye(3), 100, axis=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(load_check(check.save(folder)).classes)
    ('cat', 'dog', 'owl')
    """
    return check_of(open_run(Path(folder)))


def check_of(run: RunFiles) -> LabelCheck | ClassCheck:
    """Return the check of a run that was opened."""
    return ClassCheck.of(run) if MATRIX in run.result else LabelCheck.of(run)
