"""Turn the columns of a table into numeric features.

Labels are never used here, so features are computed once for all folds; new tables are encoded in
the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rankprune.exceptions import TableError
from rankprune.learners._progress import log_stage
from rankprune.storage._sql import sql_text
from rankprune.table._column_kinds import Plan, plan_columns
from rankprune.table._column_sql import MAX_LEVELS, date_sql, number_sql, portions
from rankprune.table._labels import Labels
from rankprune.table._table import Table

# Categories with up to this many levels are counted many columns at a time, in one query.
_FEW_LEVELS = 1000
# With more features than this, most of them from categories, the matrix is sparse.
_WIDE = 1000
_DATE_PARTS = {
    "days": "epoch({}) / 86400",
    "month": "month({})",
    "weekday": "isodow({})",
    "hour": "hour({})",
}
_MAX_WORDS = 20_000


@dataclass(frozen=True)
class Number:
    """One standardized number: a column of numbers, or one part of a column of dates."""

    column: str
    part: str
    form: str
    shift: float
    scale: float
    fill: float
    flagged: bool


@dataclass(frozen=True)
class Category:
    """The values of a column that become features, one each; of two values, only the first."""

    column: str
    levels: tuple[str, ...]

    @property
    def width(self) -> int:
        """Return the number of features."""
        return 1 if len(self.levels) == 2 else len(self.levels)


@dataclass(frozen=True)
class Encoder:
    """The encoding of a table as features, fitted once and reused for later tables.

    Attributes
    ----------
    numbers : tuple of Number
    categories : tuple of Category
    words : dict of str to TfidfVectorizer
        Vectorizer of each text column, by the name of the column.
    n_embedded : int
        Number of columns of the embeddings; 0 if there are none.
    """

    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]
    words: dict[str, Any]
    n_embedded: int = 0

    @property
    def columns(self) -> list[str]:
        """Return the columns that a table must have, without repeats."""
        named = [number.column for number in self.numbers]
        named += [category.column for category in self.categories]
        return list(dict.fromkeys([*named, *self.words]))

    @property
    def width(self) -> int:
        """Return the number of features, not counting those from texts and embeddings."""
        flags = sum(number.flagged for number in self.numbers)
        return len(self.numbers) + flags + sum(part.width for part in self.categories)

    @property
    def sources(self) -> list[str]:
        """Return the source column of each of these features, in order."""
        found = []
        for number in self.numbers:
            found += [number.column] * (2 if number.flagged else 1)
        for category in self.categories:
            found += [category.column] * category.width
        return found

    def transform(self, table: Table, embeddings: NDArray[Any] | None = None) -> Any:
        """Return the features of a table: an array, sparse if it has texts or many categories."""
        for column in self.columns:
            table.column(column, "Each feature of the model")
        asked = [_number_sql(table, number) for number in self.numbers]
        numbers = (
            _encoded_number(number, _known(values))
            for number, values in zip(self.numbers, table.fetch(asked), strict=True)
        )
        return _assembled(table, numbers, self, embeddings)


def fit_encoder(
    table: Table, plan: Plan, embeddings: NDArray[Any] | None = None
) -> tuple[Encoder, Any]:
    """Return the fitted encoder of a table, and the features of its rows."""
    commas = dict.fromkeys(plan.decimal_comma, "decimal")
    commas |= dict.fromkeys(plan.thousands_comma, "thousands")
    parts = [(name, commas.get(name, "value")) for name in plan.numbers]
    for name in plan.dates:
        wanted = [part for part in _DATE_PARTS if part != "hour" or name in plan.with_hours]
        parts += [(name, part) for part in wanted]
    gaps = set(plan.gaps)
    numbers = []
    for name, part in parts:
        # Only the first part of a date gets a missing-value flag. Shift, scale and fill are fitted
        # below.
        form = plan.date_forms.get(name, "")
        numbers.append(Number(name, part, form, 0.0, 1.0, 0.0, name in gaps))
        gaps.discard(name)
    encoder = Encoder(
        tuple(numbers),
        tuple(_categories(table, plan.categories)),
        {name: _fitted_words(table, name) for name in plan.texts},
        0 if embeddings is None else embeddings.shape[1],
    )
    fitted: list[Number] = []

    def fit_numbers() -> Iterator[Any]:
        asked = [_number_sql(table, number) for number in numbers]
        for number, values in zip(numbers, table.fetch(asked), strict=True):
            known = _known(values)
            fitted.append(_fitted_number(number, known))
            yield _encoded_number(fitted[-1], known)

    X = _assembled(table, fit_numbers(), encoder, embeddings)
    return replace(encoder, numbers=tuple(fitted)), X


def _assembled(
    table: Table, numbers: Iterator[Any], encoder: Encoder, embeddings: NDArray[Any] | None
) -> Any:
    """Return the feature matrix, filled column by column to save memory."""
    blocks = chain(
        numbers,
        _category_blocks(table, encoder.categories),
        (words.transform(_texts(table, name)) for name, words in encoder.words.items()),
        () if embeddings is None else (embeddings,),
    )
    width = encoder.width + encoder.n_embedded
    one_hot = sum(category.width for category in encoder.categories)
    if encoder.words or (width > _WIDE and one_hot > width / 2):
        return sparse.hstack(
            [sparse.csr_matrix(block) for block in blocks], format="csr", dtype=np.float64
        )
    X = np.empty((table.n_rows, width))
    position = 0
    for block in blocks:
        X[:, position : position + block.shape[1]] = (
            block.toarray() if sparse.issparse(block) else block
        )
        position += block.shape[1]
    return X


def _encoded_number(number: Number, known: NDArray[np.float64]) -> NDArray[np.float64]:
    gaps = np.isnan(known)
    known[gaps] = number.fill
    scaled = (known - number.shift) / number.scale
    return np.column_stack([scaled, gaps]) if number.flagged else scaled[:, None]


def _category_blocks(table: Table, categories: Sequence[Category]) -> Iterator[Any]:
    asked = [_level_sql(table, category) for category in categories]
    for category, codes in zip(categories, table.fetch(asked), strict=True):
        level = np.asarray(codes, dtype=np.intp)
        rows = np.flatnonzero((level > 0) & (level <= category.width))
        shape = (table.n_rows, category.width)
        yield sparse.csr_matrix((np.ones(len(rows)), (rows, level[rows] - 1)), shape=shape)


def _fitted_number(number: Number, values: NDArray[np.float64]) -> Number:
    """Return the number with its mean, standard deviation and fill value for gaps."""
    known = values[~np.isnan(values)]
    if not len(known):
        return number
    # Rescale first: the square of a huge number would overflow.
    size = float(np.abs(known).max()) or 1.0
    scaled = known / size
    spread = float(scaled.std())
    return replace(
        number,
        shift=float(scaled.mean()) * size,
        scale=spread * size if spread > 1e-12 else 1.0,
        fill=float(np.median(known)),
    )


def _categories(table: Table, names: Sequence[str]) -> Iterator[Category]:
    cells = {name: f"coalesce(CAST(c{table.position(name)} AS VARCHAR), '')" for name in names}
    for portion in portions(table, names):
        counts = ", ".join(f"approx_count_distinct({cells[name]})" for name in portion)
        sizes = dict(zip(portion, table.query(counts)[0], strict=True))
        few = [name for name in portion if sizes[name] <= _FEW_LEVELS]
        maps = table.query(", ".join(f"histogram({cells[name]})" for name in few))[0] if few else ()
        counted = dict(zip(few, maps, strict=True))
        for name in portion:
            if name not in counted:
                counted[name] = dict(
                    table.query(
                        f"{cells[name]} AS level, count(*) AS n",
                        f"GROUP BY level ORDER BY n DESC, level LIMIT {MAX_LEVELS}",
                    )
                )
            ordered = sorted(counted[name].items(), key=lambda item: (-item[1], item[0]))
            levels = [level for level, count in ordered if count > 1][:MAX_LEVELS]
            if levels:
                yield Category(name, tuple(levels))


def _fitted_words(table: Table, name: str) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = _texts(table, name)
    rare = 1 if len(texts) < 100 else 2
    try:
        return TfidfVectorizer(
            min_df=rare, max_features=_MAX_WORDS, ngram_range=(1, 2), sublinear_tf=True
        ).fit(texts)
    except ValueError as error:
        often = "" if rare == 1 else f" that occurs in at least {rare} rows"
        raise TableError(
            f"text must name a column with words; {name!r} has no word{often}. Leave it out."
        ) from error


def _texts(table: Table, name: str) -> list[str]:
    cell = f"c{table.column(name, 'text')}"
    values = next(table.fetch([f"coalesce(CAST({cell} AS VARCHAR), '')"]))
    return [str(value) for value in values]


def _known(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return a fetched column as a new array of numbers, with NaN for missing values."""
    found = np.array(np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan))
    found[~np.isfinite(found)] = np.nan
    return found


def _number_sql(table: Table, number: Number) -> str:
    position = table.position(number.column)
    cell, kind = f"c{position}", table.types[position]
    if number.part in _DATE_PARTS:
        date = date_sql(cell, kind, number.form)
        text = "CAST(NULL AS DOUBLE)" if date is None else _DATE_PARTS[number.part].format(date)
        return f"CAST({text} AS DOUBLE)"
    return number_sql(cell, kind, None if number.part == "value" else number.part)


def _level_sql(table: Table, category: Category) -> str:
    cell = f"coalesce(CAST(c{table.position(category.column)} AS VARCHAR), '')"
    levels = ", ".join(sql_text(level) for level in category.levels)
    return f"coalesce(list_position([{levels}], {cell}), 0)"


@dataclass(frozen=True)
class Features:
    """The features of the labeled rows, with the encoder and plan that produced them."""

    X: Any
    encoder: Encoder
    plan: Plan


def read_features(
    table: Table,
    labels: Labels,
    *,
    special: Sequence[str],
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    embeddings: NDArray[np.float64] | None = None,
) -> Features:
    """Return the features of the labeled rows.

    Parameters
    ----------
    table : Table
    labels : Labels
    special, drop, keep, text
        As in `plan_columns`.
    embeddings : ndarray of shape (n_rows, n_features), default=None
        Numbers to use as additional features.
    """
    plan = plan_columns(table, labels.sql, special=special, drop=drop, keep=keep, text=text)
    if not plan.columns and embeddings is None:
        raise TableError(
            f"{table.name} must have columns to learn from besides the label; none is left. "
            + " ".join(plan.notes)
        )
    log_stage(f"making features of {len(plan.columns)} columns")
    encoder, X = fit_encoder(table, plan, embeddings)
    if not X.shape[1]:
        raise TableError(
            f"{table.name} must have columns to learn from besides the label; in the others no "
            "value occurs twice. If a column holds free text, name it, such as text='review'."
        )
    return Features(X if len(labels.rows) == table.n_rows else X[labels.rows], encoder, plan)
