"""Call the public library with hostile arguments; it must answer, or refuse in its own words.

    python tools/fuzz.py --calls 20000 --seed 0
    python tools/fuzz.py --seed 0 --only 1234   # repeat one call, with its traceback

Every call is drawn from its seed and number alone. A call may return, or raise a ``ValueError`` or
``TypeError`` that a ``raise`` statement of rankprune wrote, or that scikit-learn raised while it
checked or fitted something. All else is a failure: other exceptions, errors of NumPy, SciPy or
Python that nobody translated, warnings that are not rankprune's own, intervals that leave out their
estimate, rates outside [0, 1], and numbers that are not finite.
"""

from __future__ import annotations

import argparse
import array
import ast
import collections
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import rankprune
from rankprune import audit, core, diagnostics, methods, metrics, sql, stream
from rankprune.exceptions import RankPruneWarning

try:
    import pandas as pd
    import polars as pl
except ImportError:  # the fuzzer then leaves frames out
    pd = pl = None

# Estimators check their features by scikit-learn, and n_jobs by joblib.
OURS, *OTHERS = (str(Path(package.__file__).parent) for package in (rankprune, sklearn, joblib))
# What may be refused: every other type is a bug, even if it is an honest one.
REFUSALS = (ValueError, TypeError, FileNotFoundError)

Rng = np.random.Generator
Maker = Callable[[Rng, int], Any]


def chosen(rng: Rng, options: Any) -> Any:
    """Return one of the options as it is, without turning it into an array."""
    return options[int(rng.integers(len(options)))]


# --- Values ---------------------------------------------------------------------------------------

SCALARS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        2,
        3,
        -1,
        7,
        0.5,
        1.0,
        -0.5,
        1 - 1e-16,
        1e-320,
        1e-300,
        1e308,
        5e-17,
    ),
    *(float("nan"), float("inf"), float("-inf"), 10**400, -(10**400), 2**63, 2**64, 1j, 0.3 + 0j),
    *(
        "",
        "x",
        "0.5",
        "curve",
        "auto",
        b"x",
        (),
        [],
        [0.5],
        (0.2, 0.3),
        {},
        {0.5},
        {"a": 1},
        object(),
    ),
    *(
        np.float16(0.3),
        np.float32(0.3),
        np.longdouble(0.3),
        np.int8(1),
        np.uint64(3),
        np.bool_(True),
    ),
    *(np.array(0.3), np.array([0.3, 0.2]), np.array([]), np.datetime64("2020-01-01"), np.str_("x")),
    *(
        np.float64("nan"),
        np.timedelta64(3, "D"),
        np.ma.masked,
        Fraction(1, 3),
        Decimal("0.3"),
        len,
        int,
    ),
    *(Decimal("nan"), range(3), slice(3), Ellipsis, NotImplemented),
    *(() if pd is None else (pd.NA, pd.NaT, pd.Timestamp("2020-01-01"))),
)
FLOATS = ["f2", "f4", "f8", "g", ">f4", ">f8"]
NUMBERS = (["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2"]) + FLOATS
ODD = (
    0.0,
    -0.0,
    1.0,
    0.5,
    5e-324,
    1e-320,
    1e-300,
    1e-17,
    1e-9,
    1 - 1e-16,
    1 + 1e-9,
    -1e-300,
    1e300,
)
BEYOND = (float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 2.0, -1.0, 1e40)


class Unsized:
    """Has a length, and nothing else of an array."""

    def __len__(self) -> int:
        return 3


class Reluctant:
    """Refuses to be compared."""

    def __eq__(self, other: object) -> bool:
        raise TypeError("cannot be compared")

    __hash__ = None  # type: ignore[assignment]


def good_numbers(rng: Rng, n: int) -> Any:
    """Return probabilities as an array of a sensible dtype."""
    values = rng.random(n)
    kind = rng.integers(6)
    if kind == 1:
        values = np.round(values * 4) / 4
    elif kind == 2:
        values = np.asarray([chosen(rng, ODD[:10]) for _ in range(n)])
    elif kind == 3:
        values = np.full(n, chosen(rng, (0.0, 0.5, 1.0, 5e-324)))
    return values.astype(chosen(rng, ("f8", "f8", "f8", "f4", "f2", "g", ">f8")))


def good_labels(rng: Rng, n: int) -> Any:
    """Return two label values as an array or a list."""
    is_positive = rng.random(n) < chosen(rng, (0.5, 0.5, 0.1))
    is_positive[:2] = (True, False)[: len(is_positive)]
    kind = rng.integers(8)
    if kind < 3:
        return is_positive.astype(chosen(rng, NUMBERS))
    if kind == 3:
        return np.where(is_positive, *chosen(rng, (("yes", "no"), ("", " "), ("\x00", "é"))))
    if kind == 4:
        return np.where(is_positive, *chosen(rng, ((7, 3), (-1, 1), (2**62, -(2**62)), (0.5, 1.5))))
    if kind == 5:
        return is_positive.astype(object)
    return is_positive.astype(int).tolist()


# Numbers of classes of labels, scores and matrices, which mostly agree.
MANY = (3, 3, 3, 3, 3, 5)


def class_labels(rng: Rng, n: int) -> Any:
    """Return label values of a few classes as an array or a list."""
    codes = rng.permutation(np.arange(n) % chosen(rng, MANY))
    kind = rng.integers(5)
    if kind == 0:
        return np.array(["ant", "", "cow", "é", "\x00", " ", "x" * 99])[codes]
    if kind == 1:
        return (codes - 3).astype(chosen(rng, ("i1", "i8", "f4", "f8", "O")))
    if kind == 2:
        return (codes * 2**60).tolist()
    return codes if kind == 3 else codes.tolist()


def class_scores(rng: Rng, n: int) -> Any:
    """Return a probability of each of a few classes, in rows that sum to 1."""
    k = chosen(rng, MANY)
    scores = rng.dirichlet(np.full(k, chosen(rng, (0.01, 0.3, 3.0))), n)
    kind = rng.integers(6)
    if kind == 0:
        scores = np.eye(k)[rng.integers(0, k, n)]
    elif kind == 1:
        scores = np.full((n, k), 1 / k)
    scores = np.asarray(scores, dtype=chosen(rng, ("f8", "f8", "f4", "g")))
    return scores.tolist() if kind == 2 else np.asfortranarray(scores) if kind == 3 else scores


def good_weights(rng: Rng, n: int) -> Any:
    """Return weights: counts, shares, or many orders of magnitude."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.integers(0, 4, n)
    if kind == 1:
        return 10.0 ** rng.uniform(-100, 100, n)
    if kind == 2:
        return 10.0 ** rng.uniform(-12, 12, n)
    if kind == 3:
        return rng.integers(0, 2**62, n)
    return rng.random(n)


def laid_out(rng: Rng, values: Any) -> Any:
    """Return an array of the same values in another layout, or in another container."""
    kind = rng.integers(10)
    if kind == 0:
        return np.repeat(values, 2)[::2]
    if kind == 1:
        return values[::-1]
    if kind == 2:
        values = np.array(values)
        values.flags.writeable = False
    elif kind == 3:
        return np.ma.array(values, mask=rng.random(len(values)) < chosen(rng, (0.0, 0.2)))
    elif kind == 4:
        return values.tolist()
    elif kind == 5:
        return tuple(values.tolist())
    elif kind in (6, 7) and pd is not None:
        container = chosen(rng, (pd.Series, pd.Index, pd.array, pl.Series))
        try:
            return container(values.astype(values.dtype.newbyteorder("=")))
        except Exception:  # not every container takes every dtype
            return values
    elif kind == 8:
        return values.astype(object)
    return values


def any_numbers(rng: Rng, n: int) -> Any:
    """Return numbers of any dtype and size, some of them impossible."""
    values = np.asarray([chosen(rng, ODD + BEYOND) for _ in range(n)])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return laid_out(rng, values.astype(chosen(rng, (*NUMBERS, "c16", "O", "U8", "S8"))))


def odd_shape(rng: Rng, n: int) -> Any:
    """Return an array that is not one-dimensional, or empty."""
    shapes = ((), (0,), (n, 1), (1, n), (n, 2), (2, n), (0, 3), (n, 0), (n, 1, 1), (2, n, 2))
    return rng.integers(0, 2, chosen(rng, shapes)).astype(chosen(rng, NUMBERS))


def odd_objects(rng: Rng, n: int) -> Any:
    """Return objects of several types."""
    values = np.empty(n, dtype=object)
    # NumPy itself warns when it turns a masked value among objects into NaN.
    scalars = [value for value in SCALARS if value is not np.ma.masked]
    pool: Any = scalars if rng.random() < 0.5 else [chosen(rng, scalars) for _ in range(2)]
    for row in range(n):
        values[row] = chosen(rng, pool)
    return values if rng.random() < 0.7 else values.tolist()


def odd_container(rng: Rng, n: int) -> Any:
    """Return what is no array, but might be taken for one."""
    bits = rng.integers(0, 2, n)
    return chosen(
        rng,
        (
            lambda: (bit for bit in bits),
            lambda: iter(bits.tolist()),
            lambda: range(n),
            lambda: dict.fromkeys(range(n), 1),
            lambda: set(bits.tolist()),
            lambda: array.array("d", bits.tolist()),
            lambda: memoryview(bits),
            lambda: bytes(bits.tolist()),
            lambda: "01" * n,
            lambda: [[1]] * (n // 2) + [[1, 2]] * (n - n // 2),
            lambda: [[bit] for bit in bits],
            lambda: sparse.csr_matrix(bits),
            lambda: sparse.coo_array(bits.reshape(-1, 1)),
            lambda: sparse.csr_array(bits[:, None] * np.ones((1, 2))),
            lambda: np.asmatrix(bits),
            lambda: bits.astype([("a", "i4")]),
            lambda: np.array(["2020-01-01"] * n, dtype="M8[D]") + bits,
            lambda: bits.astype("m8[s]"),
            lambda: np.array(["a", "b"] * n)[:n],
            lambda: np.array(["a", "b"] * n)[:n].astype("S"),
            lambda: Unsized(),
            lambda: [Reluctant() for _ in range(n)],
            lambda: [10**400] * n,
            lambda: [Fraction(1, 3), Decimal("0.2")] * (n // 2),
            lambda: list(bits) + [None],
        ),
    )()


def frame(rng: Rng, n: int) -> Any:
    """Return a column or a table of pandas or polars, with missing values in some."""
    if pd is None:
        return None
    bits, some = rng.integers(0, 2, n).tolist(), (rng.random(n) < 0.9).tolist()
    holes = [bit if there else None for bit, there in zip(bits, some, strict=True)]
    return chosen(
        rng,
        (
            lambda: pd.Series(bits, index=rng.integers(0, 3, n)),
            lambda: pd.Series(holes, dtype="Int64"),
            lambda: pd.Series(bits, dtype="boolean"),
            lambda: pd.Series(holes, dtype="Float32"),
            lambda: pd.Series([str(bit) for bit in bits], dtype="category"),
            lambda: pd.Series([str(bit) for bit in bits], dtype="string"),
            lambda: pd.Series(pd.to_datetime(bits)),
            lambda: pd.arrays.SparseArray(bits),
            lambda: pd.DataFrame({"a": bits}),
            lambda: pd.DataFrame({"a": bits, "b": holes}),
            lambda: pl.Series(holes),
            lambda: pl.Series([str(bit) for bit in bits], dtype=pl.Categorical),
            lambda: pl.DataFrame({"a": bits, "b": bits}),
            lambda: pl.LazyFrame({"a": bits}),
            lambda: pl.Series([[bit] for bit in bits]),
        ),
    )()


HOSTILE: tuple[Maker, ...] = (
    *(any_numbers, any_numbers, odd_shape, odd_objects, odd_container, frame),
    lambda rng, _: chosen(rng, SCALARS),
)


@dataclass
class Draw:
    """Draws the arguments of one call; a few of them are hostile."""

    rng: Rng
    n: int
    hostility: float

    def is_hostile(self) -> bool:
        return bool(self.rng.random() < self.hostility)

    def array(self, good: Maker) -> Any:
        if self.is_hostile():
            n = self.n if self.rng.random() < 0.8 else int(self.rng.integers(0, 5))
            return chosen(self.rng, HOSTILE)(self.rng, n)
        values = good(self.rng, self.n)
        is_column = isinstance(values, np.ndarray) and values.ndim == 1
        return laid_out(self.rng, values) if is_column else values

    def labels(self) -> Any:
        return self.array(good_labels)

    def numbers(self) -> Any:
        return self.array(good_numbers)

    def mask(self) -> Any:
        return self.array(lambda rng, n: rng.random(n) < 0.3)

    def features(self) -> Any:
        return self.array(lambda rng, n: rng.normal(size=(n, 2)))

    def weights(self) -> Any:
        return None if self.rng.random() < 0.5 else self.array(good_weights)

    def value(self, *good: Any) -> Any:
        return chosen(self.rng, SCALARS) if self.is_hostile() else chosen(self.rng, good)

    def rate(self) -> Any:
        return self.value(
            0, 0.0, 0.1, 0.3, 0.5, 0.9, 1e-12, 1e-300, 1 - 1e-12, float(self.rng.random())
        )

    def count(self, *good: Any) -> Any:
        """Return a count; huge ones are left out, because they ask for that much work."""
        value = self.value(*good)
        is_huge = isinstance(value, int | float | np.number) and abs(value) > 100
        return good[0] if is_huge else value

    def method(self) -> Any:
        """Return a noise estimator, or what is none; a callable's own errors are its own."""
        value = self.value(*core.NOISE_ESTIMATORS)
        return "tight" if callable(value) else value

    def n_jobs(self) -> Any:
        """Return a number of jobs; more than one would start processes."""
        value = self.value(None, 1)
        return None if isinstance(value, int | np.integer) and abs(value) > 1 else value

    def cheap_method(self) -> Any:
        value = self.value("confident-counts", "tight", "elkan-noto", "min-probability")
        return "tight" if callable(value) else value

    def level(self) -> Any:
        return self.value(0.95, 0.5, 1e-9, 1 - 1e-12)

    def seed(self) -> Any:
        return self.value(0, 1, 2**32)

    def pos_label(self) -> Any:
        return None if self.rng.random() < 0.8 else self.value(1, 0, "yes", True)

    def rates(self) -> Any:
        if self.is_hostile():
            return chosen(self.rng, SCALARS)
        shares = self.rng.random(2) * 0.49
        positive, negative = chosen(self.rng, (shares, np.zeros(2), shares * 1e-12))
        observed = negative + (1 - positive - negative) * chosen(self.rng, (0.5, 0.01, 1e-9, 0.999))
        rates = core.NoiseRates.from_noise_rates(positive, negative, max(observed, 1e-12))
        if self.rng.random() < 0.2:
            rates = replace(rates, reliable=False)
        if self.rng.random() < 0.2:
            # Possible one by one, but not together.
            odd = dict.fromkeys(("positive_label_error_rate", "negative_label_error_rate"), 1.0)
            rates = replace(rates, **odd)
        return rates

    def class_labels(self) -> Any:
        return self.array(class_labels)

    def class_scores(self) -> Any:
        return self.array(class_scores)

    def matrix(self) -> Any:
        """Return a noise matrix of a few classes, named by numbers."""
        if self.is_hostile():
            return chosen(self.rng, SCALARS)
        k = chosen(self.rng, MANY)
        joint = self.rng.random((k, k)) * (self.rng.random((k, k)) < 0.5) + np.eye(k)
        some = chosen(self.rng, (1.0, 0.0, 1e-12))
        joint = np.where(np.eye(k, dtype=bool), joint, some * joint)
        reliable = bool(self.rng.random() < 0.8)
        return core.NoiseMatrix(joint / joint.sum(), range(k), reliable=reliable)

    def weighted(self) -> dict[str, Any]:
        return {"sample_weight": self.weights(), "pos_label": self.pos_label()}

    def base(self) -> Any:
        models = (GaussianNB(), DecisionTreeClassifier(max_depth=2), DummyClassifier(), None)
        wrong = (LinearRegression(), GaussianNB, "nb", *SCALARS)
        return chosen(self.rng, wrong) if self.is_hostile() else chosen(self.rng, models)


# --- Calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A call that was drawn but not made yet."""

    function: Any
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None

    def __call__(self) -> Any:
        return self.function(*self.args, **(self.keywords or {}))

    def __str__(self) -> str:
        shown = [shortened(arg) for arg in self.args]
        shown += [f"{name}={shortened(value)}" for name, value in (self.keywords or {}).items()]
        return f"{getattr(self.function, '__qualname__', self.function)}({', '.join(shown)})"


def shortened(value: Any) -> str:
    """Return a short description of a value on one line."""
    kind = type(value).__name__
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # a value may refuse to be shown
        text = f"no repr: {type(error).__name__}"
    dtype = f" {value.dtype}" if hasattr(value, "dtype") else ""
    return f"<{kind}{dtype} {text[:150]}{'...' if len(text) > 150 else ''}>"


def state_passes(d: Draw) -> Call:
    batches = [(d.labels(), d.numbers()) for _ in range(d.rng.integers(1, 4))]
    keywords = {"noise_rates": None if d.rng.random() < 0.7 else d.rates()}
    method = d.method() if d.rng.random() < 0.3 else "confident-counts"

    def run_state(batches: Any, method: Any, keywords: Any) -> Any:
        state = core.ConfidentState(method, **keywords)
        while not state.is_done:
            other = state.empty()
            for labels, numbers in batches:
                other.update(labels, numbers)
            state = state.merge(other).after_pass()
        cutoffs = state.cutoffs()
        return state.rates(), cutoffs, core.Marker(cutoffs).mark_batch(*batches[0])

    return Call(run_state, (batches, method, keywords))


def streamed(d: Draw) -> Call:
    pair, rest = (d.labels(), d.numbers()), (d.labels(), d.numbers())
    batches = chosen(
        d.rng,
        (
            pair,
            [pair],
            [pair, rest],
            [],
            iter([pair, rest]),
            lambda: iter([pair]),
            d.array(good_labels),
            [pair[:1]],
        ),
    )
    keywords = {"pos_label": d.pos_label(), "n_jobs": d.count(1)}
    keywords["method"] = d.method() if d.rng.random() < 0.2 else "confident-counts"
    if d.rng.random() < 0.5:
        return Call(stream.estimate_noise_rates, (batches,), keywords)

    def prune_and_mark(batches: Any, rates: Any, **keywords: Any) -> Any:
        pruning = stream.prune_labels(batches, rates, **keywords)
        return pruning, pruning.mask(), list(pruning.masks())

    return Call(prune_and_mark, (batches, d.value(None, d.rates())), keywords)


def queried(d: Draw) -> Call:
    names = (d.value("scores", "risk.scores", ("risk", "a.b")), d.value("s"), d.value("g"))
    keywords: dict[str, Any] = {"dialect": d.value("duckdb", "spark", "postgresql")}
    pair = chosen(d.rng, ((1, 0), ("yes", "it's"), (True, False), (0.5, 1.5)))
    keywords |= {"pos_label": d.value(pair[0]), "neg_label": d.value(pair[1])}
    if d.rng.random() < 0.5:
        return Call(sql.sketch_query, names, keywords)

    def prune(labels: Any, numbers: Any, rates: Any, key: Any, **keywords: Any) -> Any:
        sketch = core.ScoreSketch.from_rows(labels, numbers)
        return sql.prune_query(*names, key, sketch, noise_rates=rates, **keywords)

    arguments = (d.labels(), d.numbers(), d.value(None, d.rates()), d.value("id", ["a", "b"]))
    return Call(prune, arguments, keywords)


def counted(d: Draw) -> Call:
    cells = (1, 1984, 10, 5 * 2**30, 0.5, 0.5)
    rows = [[d.value(cell) for cell in cells] for _ in range(int(d.rng.integers(4)))]
    return Call(core.ScoreSketch.from_counts, (d.value(rows, rows, tuple(rows)),))


def known_rates(d: Draw) -> Call:
    names = (
        "from_noise_rates",
        "from_positive_rates",
        "from_negative_rates",
        "from_label_error_rates",
    )
    return Call(getattr(core.NoiseRates, chosen(d.rng, names)), (d.rate(), d.rate(), d.rate()))


def replaced_rates(d: Draw) -> Call:
    known = {"positive": d.value(None, d.rate()), "negative": d.value(None, d.rate())}
    rates = d.rates()
    if not isinstance(rates, core.NoiseRates):
        return known_rates(d)
    return Call(rates.with_known, (), known)


def rates_by_hand(d: Draw) -> Call:
    names = [field.name for field in fields(core.NoiseRates)]
    return Call(
        core.NoiseRates, (), {name: d.rate() for name in names[: d.rng.integers(6, len(names))]}
    )


def audited(d: Draw) -> Call:
    labels, suspects = d.labels(), d.mask()
    n, answers, level, seed = d.count(d.n, 3, 1), d.array(good_labels), d.level(), d.seed()

    def draw_and_estimate(
        labels: Any, suspects: Any, n: Any, answers: Any, level: Any, seed: Any
    ) -> Any:
        sample = audit.draw(labels, suspects, n, random_state=seed)
        given = [sample.positive if bit else sample.negative for bit in sample.is_positive]
        found = [audit.estimate(sample, given, level=level)]
        found.append(audit.compare_errors(sample, given, given, given[::-1]))
        return [*found, audit.estimate(sample, answers, level=level)]

    return Call(draw_and_estimate, (labels, suspects, n, answers, level, seed))


def compared(d: Draw) -> Call:
    sample = audit.draw(np.arange(d.n) % 2, np.arange(d.n) % 3 == 0, d.n, random_state=0)
    arguments = (d.value(sample, sample), d.labels(), d.labels(), d.labels())
    return Call(audit.compare_errors, arguments)


def planned(d: Draw) -> Call:
    keywords = {
        "sizes": d.value((1, 3), [2], (d.n,), ()),
        "level": d.level(),
        "pos_label": d.pos_label(),
    }
    return Call(audit.plan, (d.labels(), d.numbers(), d.rates(), d.mask()), keywords)


def simulated(d: Draw) -> Call:
    keywords = {
        name: d.value(None, d.rate())
        for name in ("negative_noise_rate", "positive_label_error_rate")
    }
    keywords |= {"positive_noise_rate": d.rate(), "exact": d.value(True, False)}
    keywords |= {"random_state": d.seed(), "pos_label": d.pos_label()}
    return Call(core.flip_labels, (d.labels(),), keywords)


def gaussians(d: Draw) -> Call:
    keywords = {
        "n_features": d.count(2, 1),
        "separability": d.value(4.0, 0.0),
        "prevalence": d.rate(),
    }
    return Call(core.make_gaussians, (d.count(10, 2),), keywords | {"random_state": d.seed()})


def posterior(d: Draw) -> Call:
    keywords = {"separability": d.value(4.0, 0.0), "prevalence": d.rate()}
    return Call(core.gaussian_posterior, (d.features(),), keywords)


def added(d: Draw) -> Call:
    keywords = {"share": d.count(0.5, 0), "random_state": d.seed()}
    return Call(core.add_uniform_rows, (d.features(), d.labels()), keywords)


def expected(d: Draw) -> Call:
    kind = d.rng.integers(4)
    thresholds = d.value((0.6, 0.3), (0.0, 1.0), [0.5, 0.5])
    if kind == 0:
        return Call(core.ideal_thresholds, (d.rates(),))
    if kind == 1:
        return Call(core.perfect_probabilities, (d.numbers(), d.rates()))
    if kind == 2:
        return Call(core.expected_thresholds, (d.labels(), d.numbers(), d.numbers(), d.rates()))
    function = chosen(d.rng, (core.expected_noise_rates, core.robustness_conditions))
    return Call(function, (d.labels(), d.numbers(), d.rates(), thresholds))


def cleaned(d: Draw) -> Call:
    labels = d.labels()
    predictions = labels if d.rng.random() < 0.5 else d.labels()
    keywords = {"scores": d.value(None, d.numbers()), "level": d.level(), **d.weighted()}
    return Call(metrics.clean_metrics, (labels, predictions, d.rates()), keywords)


def scored(d: Draw) -> Call:
    X, y = d.features(), d.labels()
    metric = d.value("roc_auc", "f1", "error", "precision")

    def score(metric: Any, rates: Any, X: Any, y: Any, pos_label: Any) -> Any:
        scorer = metrics.clean_scorer(metric, rates, pos_label=pos_label)
        model = GaussianNB().fit(np.arange(8.0).reshape(4, 2), [0, 1, 0, 1])
        return scorer(model, X, y)

    return Call(score, (metric, d.rates(), X, y, d.pos_label()))


def displayed(d: Draw) -> Call:
    kinds = (
        (diagnostics.CalibrationDisplay, {"n_bins": d.count(10, 3)}),
        (diagnostics.SeparabilityDisplay, {"level": d.level()}),
        (diagnostics.ProbabilityDisplay, {"method": d.cheap_method()}),
        (diagnostics.NoiseRateDisplay, {"method": d.cheap_method(), "n_resamples": d.count(3)}),
    )
    display, keywords = chosen(d.rng, kinds)
    axes = d.value(None)
    arguments = (display, axes, d.labels(), d.numbers())

    def draw(display: Any, ax: Any, *arguments: Any, **keywords: Any) -> None:
        from matplotlib import pyplot as plt

        try:
            display.from_predictions(*arguments, ax=ax, **keywords)
        finally:
            plt.close("all")

    return Call(draw, arguments, keywords | d.weighted())


def classifier(d: Draw) -> Any:
    shared = {"cv": d.count(2, 3), "random_state": d.seed(), "pos_label": d.pos_label()}
    rate = {"positive_noise_rate": d.value(None, 0.1), "negative_noise_rate": d.value(None, 0.0)}
    by_rate = {
        "noise_estimator": d.method(),
        "scorer": d.value(None, GaussianNB()),
        "n_jobs": d.n_jobs(),
    }
    kind = d.rng.integers(12)
    if kind < 3:
        return rankprune.RankPruningClassifier(
            d.base(), rounds=d.count(1, 2), **shared, **rate, **by_rate
        )
    if kind < 6:
        family = (
            methods.UnbiasedLossClassifier,
            methods.LabelDependentCostClassifier,
            methods.ImportanceReweightingClassifier,
        )
        return chosen(d.rng, family)(d.base(), **shared, **rate, **by_rate)
    if kind == 6:
        weighting = d.value(True, False)
        rate.pop("negative_noise_rate")
        return methods.ElkanNotoClassifier(
            d.base(), weighting=weighting, **shared, **rate, **by_rate
        )
    shared.pop("cv")
    if kind == 7:
        return methods.BaggingPUClassifier(
            d.base(), n_estimators=d.count(2), max_samples=d.count(3), **shared
        )
    if kind == 8:
        return methods.ConsistencyPruningClassifier(
            d.base(), n_estimators=d.count(2), threshold=d.rate(), **shared
        )
    if kind == 11:
        return methods.CoTrainingClassifier(
            d.base(),
            views=d.value(None, ([0], slice(1, None)), (np.asarray, [0])),
            method=d.value("co-training", "co-em"),
            unlabeled=d.value(None, -1),
            n_negative=d.count(None, None, 1),
            pool_size=d.count(None, None, None, 3),
            rounds=d.count(2),
            **shared,
        )
    if kind == 9:
        return methods.RESVMClassifier(
            n_estimators=d.count(2), C=d.rate(), n_positive=d.count(3), **shared
        )
    if d.rng.random() < 0.5:
        shared.pop("random_state")
        return methods.OneClassPUClassifier(d.rate(), gamma=d.value("scale", 0.5), **shared)
    widths = d.value((0.5, 1.0), [1.0])
    return methods.DensityRatioClassifier(
        d.value("ulsif", "kliep"), n_centers=d.count(5), widths=widths, **shared
    )


def fitted(d: Draw) -> Call:
    model, X, y, weights = classifier(d), d.features(), d.labels(), d.weights()
    if type(getattr(model, "unlabeled", None)) is int and type(y) is np.ndarray and y.ndim:
        is_marked = (d.rng.random(len(y)) < 0.5).tolist()
        y = [model.unlabeled if one else label for one, label in zip(is_marked, y, strict=True)]
    more: dict[str, Any] = {}
    if isinstance(model, rankprune.RankPruningClassifier) and d.rng.random() < 0.5:
        more = {"groups": d.value(None, d.labels()), "trusted": d.value(None, d.mask())}
        more["probabilities"] = d.value(None, d.numbers())
    again = X if d.rng.random() < 0.7 else d.features()

    def fit_and_predict(model: Any, X: Any, y: Any, weights: Any, again: Any, **more: Any) -> Any:
        if weights is not None and not isinstance(model, methods.DensityRatioClassifier):
            more["sample_weight"] = weights
        model.fit(X, y, **more)
        return model.predict_proba(again), model.predict(again)

    return Call(fit_and_predict, (model, X, y, weights, again), more)


def many_fitted(d: Draw) -> Call:
    """Draw a fit to the labels of a few classes."""
    model = rankprune.RankPruningClassifier(
        d.base(),
        scorer=d.value(None, GaussianNB()),
        noise_matrix=d.value(None, None, d.matrix()),
        noise_estimator=d.value(None, *core.MATRIX_ESTIMATORS),
        rounds=d.count(1, 2),
        cv=d.count(2, 3),
        rare=d.value("error", "keep", "keep"),
        random_state=d.seed(),
    )
    more = {"groups": d.value(None, d.class_labels()), "trusted": d.value(None, d.mask())}
    more |= {"sample_weight": d.weights(), "probabilities": d.value(None, d.class_scores())}

    def fit_and_predict(model: Any, X: Any, y: Any, **more: Any) -> Any:
        model.fit(X, y, **more)
        return model.predict_proba(X), model.examine(X, y, **more).weights

    return Call(fit_and_predict, (model, d.features(), d.class_labels()), more)


def many_counted(d: Draw) -> Call:
    """Draw a noise matrix, or what is pruned by one."""
    keywords = {"sample_weight": d.weights(), "classes": d.value(None, None, range(3), range(5))}
    arguments = (d.class_labels(), d.class_scores())
    if d.rng.random() < 0.5:
        method = d.value(None, *core.MATRIX_ESTIMATORS)
        return Call(core.estimate_noise_rates, arguments, keywords | {"method": method})
    function = chosen(d.rng, (core.prune_labels, core.rank_suspects))
    return Call(function, (*arguments, d.matrix()), keywords)


def slow_fitted(d: Draw) -> Call:
    kinds = (
        methods.WeightedLogisticPUClassifier(
            C=d.count(None, 1.0), Cs=d.value((0.1, 1.0)), cv=d.count(2), pos_label=d.pos_label()
        ),
        methods.BiasedSVMClassifier(
            d.count(None, 1.0), d.count(None, 1.0), negative_costs=d.value((1.0,)), cv=d.count(2)
        ),
    )
    # With extreme weights, ten million iterations of an SVM take many seconds.
    weights = d.array(lambda rng, n: rng.random(n)) if d.rng.random() < 0.5 else None
    return Call(chosen(d.rng, kinds).fit, (d.features(), d.labels(), weights))


def checked(d: Draw) -> Call:
    keywords = {
        "probabilities": d.numbers(),
        "trusted": d.value(None, None, d.mask()),
        "groups": d.value(None, None, d.labels()),
        "noise_estimator": d.cheap_method(),
        "rounds": d.count(1),
        "cv": d.value(3),
        "random_state": d.seed(),
        "pos_label": d.pos_label(),
    }
    X = d.value(None, None, d.features())
    return Call(
        rankprune.check_labels, (X, d.labels(), d.base()), keywords | {"scorer": d.value(None)}
    )


def out_of_fold(d: Draw) -> Call:
    keywords = {"cv": d.count(2, 3), "groups": d.value(None, d.labels()), "random_state": d.seed()}
    labels = d.labels() if d.rng.random() < 0.7 else d.class_labels()
    arguments = (d.base(), d.features(), labels)
    return Call(rankprune.out_of_fold_probabilities, arguments, keywords | d.weighted())


def read(d: Draw) -> Call:
    path = d.value("missing.parquet", "missing.arrow", "", "\x00", Path("missing"))
    return Call(stream.read_scores, (path, d.value("s"), d.value("g")))


def scored_rows(function: Any, *names: str) -> Callable[[Draw], Call]:
    """Return the maker of calls with labels, probabilities, weights and some options."""

    def make(d: Draw) -> Call:
        options: dict[str, Callable[[], Any]] = {
            "method": d.method,
            "level": d.level,
            "n_bins": lambda: d.value(10, 3, 10**9),
            "n_points": lambda: d.value(200, 3),
            "n_resamples": lambda: d.count(3, 2),
            "random_state": d.seed,
        }
        keywords = {name: options[name]() for name in names} | d.weighted()
        probabilities = d.numbers()
        if function in (core.judge_labels, diagnostics.diagnose) and d.rng.random() < 0.2:
            probabilities = d.array(lambda rng, n: rng.random((n, 3)))
        return Call(function, (d.labels(), probabilities), keywords)

    return make


def with_rates(function: Any) -> Callable[[Draw], Call]:
    """Return the maker of calls with labels, probabilities and rates."""
    return lambda d: Call(function, (d.labels(), d.numbers(), d.rates()), d.weighted())


def by_label(function: Any) -> Callable[[Draw], Call]:
    """Return the maker of calls with labels and rates."""
    return lambda d: Call(function, (d.labels(), d.rates()), {"pos_label": d.pos_label()})


# In which proportion calls are drawn, and how: those that fit models are few.
CALLS: tuple[tuple[float, Callable[[Draw], Call]], ...] = (
    (90, scored_rows(core.estimate_noise_rates, "method")),
    (12, scored_rows(core.noise_rate_intervals, "method", "level", "n_resamples", "random_state")),
    (20, scored_rows(core.judge_labels, "method")),
    (10, scored_rows(diagnostics.diagnose, "method")),
    (60, scored_rows(diagnostics.calibration, "n_bins", "level")),
    (60, scored_rows(diagnostics.separability_curve, "n_points", "level")),
    (90, with_rates(core.prune_labels)),
    (40, with_rates(core.rank_suspects)),
    (50, by_label(core.correction_weights)),
    (30, by_label(core.label_dependent_weights)),
    (30, by_label(core.unbiased_loss_weights)),
    (40, lambda d: Call(core.importance_weights, (d.labels(), d.numbers(), d.rates()))),
    (30, lambda d: Call(core.unlabeled_weights, (d.numbers(), d.rate()))),
    (60, lambda d: Call(core.NoiseRates.from_true_labels, (d.labels(), d.labels()))),
    (60, known_rates),
    (30, replaced_rates),
    (20, rates_by_hand),
    (40, simulated),
    (20, gaussians),
    (20, posterior),
    (20, added),
    (40, expected),
    (60, cleaned),
    (10, scored),
    (30, state_passes),
    (30, streamed),
    (30, queried),
    (20, counted),
    (8, audited),
    (10, compared),
    (4, planned),
    (5, read),
    (2, displayed),
    (30, fitted),
    (15, many_fitted),
    (60, many_counted),
    (4, slow_fitted),
    (3, checked),
    (12, out_of_fold),
)
_SHARES = np.cumsum([share for share, _ in CALLS]) / sum(share for share, _ in CALLS)


def drawn_call(seed: int, number: int) -> Call:
    """Return a call, which depends on the seed and the number only."""
    rng = np.random.default_rng([seed, number])
    make = CALLS[int(np.searchsorted(_SHARES, rng.random()))][1]
    n = int(chosen(rng, (4, 6, 10, 20, 40)))
    # Half of the calls are nearly right, so that they are not refused at the door.
    hostility = chosen(rng, (0.0, 0.02, 0.1, 0.1, 0.3, 0.6))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return make(Draw(rng, n, hostility))


# --- Outcomes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """A call that broke the promise."""

    number: int
    call: str
    reason: str
    place: str


def outcome(number: int, call: Call) -> str | Failure:
    """Make a call; return "answered" or "refused", or the failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RankPruneWarning)
        warnings.simplefilter("ignore", DataConversionWarning)  # by scikit-learn's conventions
        # What scikit-learn says about the data of a fit, in its own words.
        warnings.filterwarnings(
            "ignore", module=r"sklearn|scipy\.(optimize|linalg|sparse)|joblib|pandas|polars"
        )
        warnings.filterwarnings("ignore", module="matplotlib")
        try:
            found = call()
        except Exception as error:
            if is_refusal(error):
                return "refused"
            name, place = type(error).__name__, innermost(error)
            return Failure(number, str(call), f"{name}: {str(error)[:300]}", place)
    wrong = next(broken(found), None)
    return "answered" if wrong is None else Failure(number, str(call), wrong, "result")


def is_refusal(error: Exception) -> bool:
    """Return whether rankprune or scikit-learn refused the call in words of its own."""
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    path, line = frames[-1]
    if path.startswith(OURS):
        return isinstance(error, REFUSALS) and line in raising_lines(path)
    # scikit-learn lets NumPy refuse integers beyond the range of floats.
    is_plain = isinstance(error, (*REFUSALS, OverflowError))
    passed = [part for frame, _ in frames for part in (OURS, *OTHERS) if frame.startswith(part)]
    return is_plain and bool(passed) and passed[-1] != OURS


@cache
def raising_lines(path: str) -> frozenset[int]:
    """Return the lines of a file that belong to a statement that raises."""
    tree = ast.parse(Path(path).read_text())
    raising = [
        node for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None
    ]
    return frozenset(
        line for node in raising for line in range(node.lineno, (node.end_lineno or 0) + 1)
    )


def innermost(error: Exception) -> str:
    """Return the last line of rankprune that an exception passed."""
    place = "outside"
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if path.startswith(OURS):
            place = f"{Path(path).relative_to(OURS)}:{line}"
    return place


def broken(found: Any, name: str = "") -> Iterator[str]:
    """Yield what is wrong with a result."""
    if is_dataclass(found) and not isinstance(found, type):
        middle = getattr(found, "estimate", getattr(found, "value", None))
        has_interval = hasattr(found, "low") and isinstance(middle, float)
        if has_interval and not found.low <= middle <= found.high:
            yield f"{found.low!r} <= {middle!r} <= {found.high!r} does not hold"
        for field in fields(found):
            if not field.name.startswith("_"):
                yield from broken(getattr(found, field.name), field.name)
    elif isinstance(found, dict):
        for key, value in found.items():
            yield from broken(value, str(key))
    elif isinstance(found, list | tuple):
        for value in found:
            yield from broken(value, name)
    elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
        # Of classes without labels, or of which nothing is pruned.
        if name not in ("thresholds", "cutoffs") and not np.isfinite(found).all():
            yield f"{name} holds values that are not finite"
    elif isinstance(found, float | np.floating):
        is_share = name.endswith(("_rate", "_share", "prevalence"))
        low, high = (0.0, 1.0) if is_share else (-sys.float_info.max, sys.float_info.max)
        if not low <= float(found) <= high:
            yield f"{name} is {found!r}"


def fuzz(seed: int, n_calls: int) -> tuple[collections.Counter[str], list[Failure]]:
    """Make calls; return how many were answered, refused or failed, and the failures."""
    counts: collections.Counter[str] = collections.Counter()
    failures = []
    for number in range(n_calls):
        ended = outcome(number, drawn_call(seed, number))
        if isinstance(ended, Failure):
            failures.append(ended)
        counts[ended if isinstance(ended, str) else "failed"] += 1
    return counts, failures


def main() -> None:
    """Print the outcomes; exit with 1 if a call failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of a call to repeat")
    asked = parser.parse_args()
    if asked.only is not None:
        call = drawn_call(asked.seed, asked.only)
        print(call)
        print(call())
        return
    counts, failures = fuzz(asked.seed, asked.calls)
    print(f"{asked.calls} calls, seed {asked.seed}: {dict(counts)}")
    alike = collections.defaultdict(list)
    for one in failures:
        alike[one.place, one.reason.split(":")[0]].append(one)
    for (place, kind), group in sorted(alike.items(), key=lambda item: -len(item[1])):
        print(f"{len(group):6} {kind} at {place}")
        for one in group[:2]:
            print(f"       --only {one.number}: {one.reason}\n           {one.call[:700]}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
