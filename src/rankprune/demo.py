"""The demo: flip labels of a data set that comes with scikit-learn, and find them again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from rankprune.check import check_table
from rankprune.core import NoiseRates, flip_labels
from rankprune.model import TableModel, predict_table, train_model, train_plain
from rankprune.report import write_report
from rankprune.run import LabelCheck
from rankprune.storage._atomic import refuse_unwritable, write_whole

_RUN = "digits.csv.rankprune"
_TABLES = ("digits.csv", "new.csv", "digits-clean.csv")
_NAMES = np.asarray(["even", "odd"])


@dataclass(frozen=True)
class Demo:
    """What one run of the demo found.

    Attributes
    ----------
    n_rows : int
        Rows checked.
    n_flipped, n_suspects, n_found : int
        Labels flipped, suspects, and flipped labels among the suspects.
    true_rates, estimated_rates : NoiseRates
    f1_noisy, f1_pruned, f1_clean : float
        F1 on clean test labels: of a plain fit to the noisy labels, of Rank Pruning, and of a
        plain fit to clean labels.
    table, new_table, run, report : Path
        The table that was checked, one of new rows, the run directory and its report.
    """

    n_rows: int
    n_flipped: int
    n_suspects: int
    n_found: int
    true_rates: NoiseRates
    estimated_rates: NoiseRates
    f1_noisy: float
    f1_pruned: float
    f1_clean: float
    table: Path
    new_table: Path
    run: Path
    report: Path


def run_demo(
    folder: Path,
    *,
    positive_noise_rate: float = 0.4,
    negative_noise_rate: float = 0.1,
    random_state: int = 0,
) -> Demo:
    """Flip labels of the digits (odd is positive), check the table, and compare with the truth.

    Parameters
    ----------
    folder : Path
        Folder for the tables and the run directory.
    positive_noise_rate, negative_noise_rate : float
        Shares of labels to flip.
    random_state : int
        Decides which labels are flipped.
    """
    X, digits = load_digits(return_X_y=True)
    X, new_X, truth, new_truth = train_test_split(
        X, digits % 2, test_size=0.3, stratify=digits, random_state=random_state
    )
    labels = flip_labels(
        truth,
        positive_noise_rate=positive_noise_rate,
        negative_noise_rate=negative_noise_rate,
        random_state=random_state,
    )
    # All of them before the run: beside a run, they tell the demo from a table of the user's.
    table, new_table, clean_table = (folder / name for name in _TABLES)
    _write(table, X, labels)
    _write(new_table, new_X, None)
    _write(clean_table, X, truth)
    check = check_table(table, "label", pos_label="odd", random_state=random_state)
    run = check.save(folder / _RUN, force=True)
    is_wrong = labels != truth

    def f1(model: TableModel) -> float:
        return float(f1_score(new_truth, predict_table(model, new_table) > 0.5))

    assert isinstance(check, LabelCheck)  # of odd and even digits
    return Demo(
        n_rows=len(truth),
        n_flipped=int(is_wrong.sum()),
        n_suspects=check.n_suspects,
        n_found=int(is_wrong[check.suspect_rows()].sum()),
        true_rates=NoiseRates.from_true_labels(truth, labels),
        estimated_rates=check.noise_rates,
        f1_noisy=f1(train_plain(table, "label", pos_label="odd")),
        f1_pruned=f1(train_model(check)),
        f1_clean=f1(train_plain(clean_table, "label", pos_label="odd")),
        table=table,
        new_table=new_table,
        run=run,
        report=write_report(run),
    )


def refuse_other_folder(folder: Path, force: bool = False) -> None:
    """Raise an error if the demo would replace files of the user's, or a reviewed demo."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is not a folder. Choose a folder for the demo.")
    own = (folder / _RUN).is_dir() and all((folder / name).is_file() for name in _TABLES)
    if folder.is_dir() and not own and any(folder.iterdir()):
        raise FileExistsError(f"{folder} already holds other files. Choose another folder.")
    if (folder / _RUN / "review.sqlite").exists() and not force:
        raise FileExistsError(
            f"{folder} holds a demo that someone has reviewed. Pass force=True to replace it, or "
            "choose another folder."
        )
    refuse_unwritable(folder)


def _write(path: Path, X: NDArray[np.float64], labels: NDArray[np.int64] | None) -> None:
    names = [f"pixel_{i}" for i in range(X.shape[1])]
    rows = [[f"{value:g}" for value in row] for row in X]
    if labels is not None:
        names.append("label")
        rows = [[*row, name] for row, name in zip(rows, _NAMES[labels], strict=True)]
    text = "\n".join(",".join(row) for row in [names, *rows]) + "\n"
    write_whole(path, text.encode())
