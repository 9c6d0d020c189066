"""What judged rows are best spent on: an audit, or fixing the most suspicious labels.

Models are fitted on real tables with flipped labels, and measured on test rows with true labels.
The estimator saw nothing of the data family. Results are cached in the folder of experiments.
``--reviewed`` prints what `train --reviewed` makes of reviewed rows instead.
"""

from __future__ import annotations

import argparse
import math
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from judged_rows import Bools, Networks, Reals, method_key, rates_of
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from rankprune import LabelCheck, NoiseRates, RankPruningClassifier, check_labels
from rankprune.core import correction_weights, prune_labels
from rankprune.core._answer import acts, answered_rates
from rankprune.core._inputs import Inputs
from rankprune.core._verdict import judge
from rankprune.core.counting._sketch import sketch_of
from rankprune.core.estimators._learned import shipped_network
from rankprune.core.estimators._learned_network import Network
from rankprune.experiments._bank import PROBLEMS, Problem, flipped, load_split, slug
from rankprune.experiments._cache import cached, forget
from rankprune.experiments._table import Table
from rankprune.run._judged_labels import rates_of_rest
from rankprune.run._pruned import pruned_rows

Rows = np.ndarray[Any, np.dtype[np.intp]]

# Numbers of judged rows.
SPENT = (25, 50, 100)
# (rho1, pi1)
NOISE_LEVELS = ((0.0, 0.0), (0.05, 0.05), (0.2, 0.2), (0.4, 0.1), (0.1, 0.4))
N_REPEATS = 3
CHOSEN = (
    "digits: odd",
    "spambase: spam",
    "pima: diabetes",
    "german: bad",
    "breast cancer: malignant",
    "satimage: 4",
    "phoneme: oral",
    "splice: EI",
    "twonorm: 1",
    "mushroom: poisonous",
    "australian: approved",
    "mammographic: malignant",
)


@dataclass(frozen=True)
class Qualities:
    """Error and F1 on test rows of the models of one problem; see `Models`.

    Attributes
    ----------
    clean, nothing : ndarray of shape (2,)
        With the true labels, and without judged rows.
    again, kept, audited : ndarray of shape (3, 2)
        By number of judged rows: the most suspicious labels fixed and rates estimated again, fixed
        with the rates of the check, and audited.
    acted : ndarray of shape (4,)
        How often noise is found, before and after audits.
    """

    clean: Reals
    nothing: Reals
    again: Reals
    kept: Reals
    audited: Reals
    acted: Reals


def qualities(problem: Problem, level: tuple[float, float], network: Network) -> Qualities:
    """Return how good the models of one problem are, from the cache if possible."""

    def compute() -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # weak models on noisy labels are intended here
            return Models(problem, level, network).qualities()

    check = method_key()
    for name, values in sorted(network.to_arrays().items()):
        check = zlib.crc32(np.ascontiguousarray(values).tobytes(), zlib.crc32(name.encode(), check))
    return Qualities(**cached(f"judged-models-{slug(problem, level)}-{check:08x}", compute))


class Models:
    """Models of one problem at one noise level, and of judged rows spent in different ways."""

    def __init__(self, problem: Problem, level: tuple[float, float], network: Network) -> None:
        self._split, self._network = load_split(problem), network
        self._y = flipped(self._split, level)
        scorer = RankPruningClassifier(_logistic(), scorer="committee", random_state=0)
        self._scores = scorer.fit(self._split.X, self._y).probabilities_
        rates = rates_of(self._y, self._scores, network)
        check = check_labels(None, self._y, probabilities=self._scores)
        verdict = judge(sketch_of(Inputs(self._y, self._scores, None)), estimated=rates)
        answered = answered_rates(verdict, rates)
        self._check = replace(check, verdict=verdict, estimated_rates=rates, noise_rates=answered)

    def qualities(self) -> dict[str, Any]:
        order = self._check.scores.rank.argsort()
        audited = np.array([self._audited(seed) for seed in range(N_REPEATS)])
        return {
            "clean": self._quality(_logistic().fit(self._split.X, self._split.true_labels)),
            "nothing": self._kept(order[:0]),
            "again": np.array([self._again(order[:size]) for size in SPENT]),
            "kept": np.array([self._kept(order[:size]) for size in SPENT]),
            "audited": audited[..., :2].mean(axis=0),
            "acted": np.append(acts(self._check.verdict), audited[..., 2].mean(axis=0)),
        }

    def _again(self, rows: Rows) -> Reals:
        """Return the quality with right labels in some rows, and rates estimated from the rest."""
        y, trusted = self._fixed(rows), np.zeros(len(self._y), dtype=bool)
        trusted[rows] = True
        rate = None if acts(self._check.verdict) else 0.0
        model = RankPruningClassifier(
            _logistic(),
            positive_noise_rate=rate,
            negative_noise_rate=rate,
            noise_estimator=self._rates,
            random_state=0,
        )
        model.fit(self._split.X, y, probabilities=self._scores, trusted=trusted)
        return self._quality(model)

    def reviewed(self) -> dict[str, Any]:
        """Return the qualities that `reviewed_qualities` caches."""
        order = self._check.scores.rank.argsort()
        pairs = np.array([self._reviewed(order[:size]) for size in SPENT])
        return {"nothing": self._kept(order[:0]), "again": pairs[:, 0], "kept": pairs[:, 1]}

    def _reviewed(self, rows: Rows) -> list[Reals]:
        """Return the quality with rates estimated again, and with those of the check."""
        y, trusted = self._fixed(rows), np.zeros(len(self._y), dtype=bool)
        trusted[rows] = True
        right = self._split.true_labels[rows]
        of_rest = rates_of_rest(self._check.noise_rates, self._y, rows, right)
        does_act = acts(self._check.verdict)
        known = (0.0, 0.0)
        if does_act and of_rest is not None:
            known = (of_rest.positive_noise_rate, of_rest.negative_noise_rate)
        again = RankPruningClassifier(
            _logistic(),
            scorer="committee",
            positive_noise_rate=None if does_act else 0.0,
            negative_noise_rate=None if does_act else 0.0,
            random_state=0,
        )
        again.fit(self._split.X, y, trusted=trusted)
        kept = RankPruningClassifier(
            _logistic(),
            positive_noise_rate=known[0],
            negative_noise_rate=known[1],
            random_state=0,
        )
        kept.fit(self._split.X, y, probabilities=again.probabilities_, trusted=trusted)
        return [self._quality(again), self._quality(kept)]

    def _rates(self, labels: Any, scores: Any, *, sample_weight: Any = None) -> NoiseRates:
        assert sample_weight is None
        return rates_of(np.asarray(labels) == 1, np.asarray(scores), self._network)

    def _kept(self, rows: Rows) -> Reals:
        """Return the quality with right labels in some rows; the rest has what the rates leave."""
        weight, rest = np.ones(len(self._y)), np.ones(len(self._y), dtype=bool)
        rest[rows] = False
        labels = self._y[rest]
        rates = rates_of_rest(
            self._check.estimated_rates, self._y, rows, self._split.true_labels[rows]
        )
        if acts(self._check.verdict) and rates is not None:
            pruned = prune_labels(labels, self._scores[rest], rates).mask
            weight[rest] = np.where(pruned, 0.0, correction_weights(labels, rates))
        return self._fitted(self._fixed(rows), weight)

    def _audited(self, seed: int) -> list[list[float]]:
        """Return the quality, and whether noise is found, after some numbers of judged rows."""
        check, found = self._check, []
        generator = np.random.default_rng(seed)
        for before, size in pairwise((0, *SPENT)):
            sample = check.draw_audit(size - before, random_state=generator)
            check = check.settle(sample, self._split.true_labels[sample.rows].tolist())
            found.append([*self._settled(check), float(acts(check.verdict))])
        return found

    def _settled(self, check: LabelCheck) -> Reals:
        assert check.judged is not None
        weight, rows = pruned_rows(check)[1].copy(), np.array(check.judged.rows)
        weight[rows] = 1.0
        return self._fitted(self._fixed(rows), weight)

    def _fixed(self, rows: Rows) -> Bools:
        y = self._y.copy()
        y[rows] = self._split.true_labels[rows]
        return y

    def _fitted(self, y: Bools, weight: Reals) -> Reals:
        kept = weight > 0
        model = _logistic().fit(self._split.X[kept], y[kept], sample_weight=weight[kept])
        return self._quality(model)

    def _quality(self, model: Any) -> Reals:
        predicted = np.asarray(model.predict(self._split.X_test)).astype(bool)
        truth = self._split.true_test_labels
        return np.array([(predicted != truth).mean(), f1_score(truth, predicted)])


def reviewed_qualities(problem: Problem, level: tuple[float, float]) -> dict[str, Any]:
    """Return how good models with reviewed rows are, from the cache if possible.

    By number of reviewed rows, with rates estimated again, and with those of the check. The
    estimator is that of the package.
    """

    def compute() -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Models(problem, level, shipped_network()).reviewed()

    return cached(f"judged-models-reviewed-{slug(problem, level)}-{method_key():08x}", compute)


def reviewed_tables() -> Iterator[Table]:
    """Yield error and F1 of the final model with reviewed rows."""
    problems = [problem for problem in PROBLEMS if problem.name in CHOSEN]
    found = {
        level: [reviewed_qualities(problem, level) for problem in problems]
        for level in NOISE_LEVELS
    }
    for number, name in enumerate(("Error", "F1")):
        rows = []
        for level, all_ in found.items():
            nothing = np.mean([one["nothing"][number] for one in all_])
            for place, size in enumerate(SPENT):
                again, kept = (
                    np.array([one[way][place, number] for one in all_]) for way in ("again", "kept")
                )
                means = (f"{value:.3f}" for value in (nothing, again.mean(), kept.mean()))
                rows.append([_level(level), str(size), *means, _signed(kept - again)])
        yield Table(
            f"{name} of the model of reviewed rows",
            f"Logistic regression on {len(CHOSEN)} problems of the bank. The most suspicious "
            "labels are reviewed, and a committee scores all rows again. The rates of the other "
            "rows are estimated again, or those of the check without the wrong labels that were "
            "settled. Differences have two standard errors.",
            (
                "rho1, pi1",
                "reviewed rows",
                "nothing reviewed",
                "rates again",
                "rates of the check",
                "difference",
            ),
            rows,
        )


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=1000)


def tables() -> Iterator[Table]:
    """Yield error and F1 of the final model by what judged rows are spent on."""
    networks = Networks()
    problems = [problem for problem in PROBLEMS if problem.name in CHOSEN]
    found = {
        level: [
            qualities(problem, level, networks.without_family(problem.family))
            for problem in problems
        ]
        for level in NOISE_LEVELS
    }
    for number, name in enumerate(("Error", "F1")):
        yield _quality_table(name, number, found)
    rows = [
        [_level(level), *(f"{share:.0%}" for share in np.mean([one.acted for one in all_], axis=0))]
        for level, all_ in found.items()
    ]
    yield Table(
        "How often the verdict is that there is noise",
        "Only then are rows pruned.",
        ("rho1, pi1", "0 judged rows", *(f"{size} audited" for size in SPENT)),
        rows,
    )


def _quality_table(
    name: str, number: int, found: dict[tuple[float, float], list[Qualities]]
) -> Table:
    rows = []
    for level, all_ in found.items():
        for place, size in enumerate(SPENT):
            again, kept, audited = (
                np.array([getattr(one, way)[place, number] for one in all_])
                for way in ("again", "kept", "audited")
            )
            rows.append(
                [
                    _level(level),
                    str(size),
                    f"{np.mean([one.clean[number] for one in all_]):.3f}",
                    f"{np.mean([one.nothing[number] for one in all_]):.3f}",
                    *(f"{values.mean():.3f}" for values in (again, kept, audited)),
                    _signed(audited - kept),
                ]
            )
    return Table(
        f"{name} of the final model",
        f"Logistic regression on {len(CHOSEN)} problems of the bank, committee as scorer, families "
        "left out. The same number of rows goes to fixing the most suspicious labels (with rates "
        "estimated again from the other rows, or with those of the check), or to an audit, which "
        "fixes the rows that it judges, too. Differences have two standard errors.",
        (
            "rho1, pi1",
            "judged rows",
            "true labels",
            "nothing judged",
            "fixed, rates again",
            "fixed",
            "audited",
            "audited - fixed",
        ),
        rows,
    )


def _level(level: tuple[float, float]) -> str:
    return f"{level[0]:g}, {level[1]:g}"


def _signed(values: Reals) -> str:
    return f"{values.mean():+.3f}±{2 * values.std(ddof=1) / math.sqrt(len(values)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="forget all cached results first")
    parser.add_argument("--reviewed", action="store_true", help="print models of reviewed rows")
    asked = parser.parse_args()
    if asked.fresh:
        forget("judged-models-")
    for table in reviewed_tables() if asked.reviewed else tables():
        print(table, flush=True)


if __name__ == "__main__":
    main()
