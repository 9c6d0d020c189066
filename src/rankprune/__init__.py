"""Find mislabeled rows, estimate how many there are, and train as if the labels were correct."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rankprune.check import check_answers, check_labels, check_table
    from rankprune.classifier import RankPruningClassifier
    from rankprune.comparison import Comparison, compare
    from rankprune.core import (
        NoiseMatrix,
        NoiseRates,
        correction_weights,
        estimate_noise_rates,
        flip_labels,
        noise_rate_intervals,
        prune_labels,
        rank_suspects,
    )
    from rankprune.learners._probabilities import out_of_fold_probabilities
    from rankprune.report import write_report
    from rankprune.run import ClassCheck, LabelCheck, load_check

__all__ = [
    "ClassCheck",
    "Comparison",
    "LabelCheck",
    "NoiseMatrix",
    "NoiseRates",
    "RankPruningClassifier",
    "ScoreSketch",
    "check_answers",
    "check_labels",
    "check_table",
    "compare",
    "correction_weights",
    "estimate_noise_rates",
    "flip_labels",
    "load_check",
    "noise_rate_intervals",
    "out_of_fold_probabilities",
    "prune_labels",
    "rank_suspects",
    "write_report",
]

# Where each name lives when it does not live in the core: loaded on first use (PEP 562), so that
# importing the package costs nothing.
_HOMES = {
    "Comparison": "rankprune.comparison",
    "ClassCheck": "rankprune.run",
    "LabelCheck": "rankprune.run",
    "load_check": "rankprune.run",
    "check_answers": "rankprune.check",
    "check_labels": "rankprune.check",
    "check_table": "rankprune.check",
    "compare": "rankprune.comparison",
    "RankPruningClassifier": "rankprune.classifier",
    "out_of_fold_probabilities": "rankprune.learners",
    "write_report": "rankprune.report",
}

_MODULES = (
    "annotators",
    "audit",
    "core",
    "diagnostics",
    "exceptions",
    "methods",
    "metrics",
    "sql",
    "stream",
    "table",
    "torch",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"rankprune.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'rankprune' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "rankprune.core")), name)


def __dir__() -> list[str]:
    return [*__all__, *_MODULES, "__version__"]
