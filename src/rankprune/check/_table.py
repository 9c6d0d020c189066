"""From rows and labels to an answer: how many labels are wrong, which, and how sure that is."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankprune._answer import N_BINS, curves_of, intervals_of, said_once, versions
from rankprune._before_after import judge_on_trusted
from rankprune._duplicates import Hashes, count_duplicates, hash_rows
from rankprune._label_check import BeforeAfter, Confident, Histogram, LabelCheck, Source
from rankprune._models import find_model, model_name
from rankprune._run_scores import Scores, Tally
from rankprune._scored_table import check_scored, refuse_unused
from rankprune._table_findings import MAX_COLUMNS, MAX_SHOWN, leaks, shown_rows, subgroups
from rankprune._table_rows import (
    Features,
    Labels,
    array_sha256,
    feature_options,
    named_columns,
    read_embeddings,
    read_features,
    read_flags,
    read_labels,
    read_probabilities,
    read_texts,
)
from rankprune.audit import AuditSample, compare_errors
from rankprune.classifier import Examined, RankPruningClassifier
from rankprune.core import prune_labels, rank_suspects
from rankprune.core._confident_counts import confident_counts
from rankprune.core._inputs import Inputs, validate_labels
from rankprune.core._intervals import coarser
from rankprune.core._registry import DEFAULT_ESTIMATOR
from rankprune.core._verdict import judge
from rankprune.exceptions import TableError
from rankprune.probabilities import Folds, make_splits
from rankprune.table_model import chosen_model, open_checked
from rankprune.tables import Table, open_table

_log = logging.getLogger("rankprune")

# With more rows than these, given probabilities are gone over a batch at a time: slower by the row,
# in memory that does not grow.
_MANY_ROWS = 20_000_000


@dataclass(frozen=True)
class How:
    """What is done with rows and labels, whatever they were read from."""

    estimator: Any = None
    scorer: Any = "committee"
    noise_estimator: Any = DEFAULT_ESTIMATOR
    rounds: int = 1
    cv: Any = 3
    n_jobs: int | None = None
    random_state: int = 0

    def classifier(self) -> RankPruningClassifier:
        """Return the classifier whose steps are taken."""
        return RankPruningClassifier(
            self.estimator,
            scorer=self.scorer,
            noise_estimator=self.noise_estimator,
            rounds=self.rounds,
            cv=self.cv,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )


def check_labels(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    scorer: Any = "committee",
    pos_label: Any = None,
    groups: ArrayLike | None = None,
    probabilities: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    noise_estimator: Any = DEFAULT_ESTIMATOR,
    rounds: int = 1,
    cv: Any = 3,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> LabelCheck:
    """Return how many labels are wrong in each class, which ones, and how sure that is.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or list of shape (n_rows, ...)
        Anything the estimator takes; None where probabilities are given.
    y : array-like of shape (n_rows,)
        Given labels, of any two values.
    estimator : classifier, default=None
        Logistic regression by default.
    scorer : classifier, "committee" or None, default="committee"
        Who scores the rows: the committee (estimator, forest and boosting) costs three times the
        fits of the folds, and takes overlap for noise far less often. None is the estimator alone.
    pos_label : default=None
        The positive label; the larger of the two values by default.
    groups, probabilities, trusted
        As in `RankPruningClassifier.fit`. Where rows are trusted, the plain fit and Rank Pruning
        are compared on them.
    noise_estimator, rounds, cv, n_jobs, random_state
        As in `RankPruningClassifier`.

    Returns
    -------
    LabelCheck

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rankprune import check_labels, flip_labels
    >>> X, truth = make_classification(1000, class_sep=3, random_state=0)
    >>> y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    >>> check = check_labels(X, y, scorer=None)
    >>> check.verdict.level, round(check.wrong_share, 2)
    ('noise found', 0.12)
    >>> bool((y != truth)[check.suspect_rows()[:100]].mean() > 0.95)
    True
    """
    labels = validate_labels(y, pos_label=pos_label, name="y")
    how = How(estimator, scorer, noise_estimator, rounds, cv, n_jobs, random_state)
    n_rows = len(labels.is_positive)
    if X is None and (probabilities is None or rounds > 1):
        raise ValueError(
            "X must hold the features, got None. Pass it, or probabilities and rounds=1."
        )
    other = labels.classes[labels.classes != labels.pos_label][0]
    shape: tuple[int, ...] = getattr(X, "shape", ())
    n_columns = int(shape[1]) if len(shape) > 1 else 1
    check = _check(
        np.zeros((n_rows, 0)) if X is None else X,
        labels.is_positive,
        (str(labels.pos_label), str(other)),
        how,
        groups=groups,
        probabilities=probabilities,
        trusted=trusted,
        hashes=None if X is None else hash_rows(X),
        source=Source("arrays", None, None, n_rows, n_columns),
    )
    return replace(check, suspects=shown_rows(check, [()] * min(check.n_suspects, MAX_SHOWN)))


def check_table(
    table: Any,
    label: str,
    *,
    positive: Any = None,
    negative: Any = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    text: Sequence[str] = (),
    group: str | None = None,
    probabilities: str | None = None,
    trusted: str | None = None,
    embeddings: Any = None,
    model: Any = "logistic",
    scorer: Any = "committee",
    noise_estimator: Any = DEFAULT_ESTIMATOR,
    rounds: int = 1,
    folds: int = 3,
    n_jobs: int | None = None,
    random_state: int = 0,
    drop_unlabeled: bool = False,
    redact: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
) -> LabelCheck:
    """Return what is wrong with the labels of a table: a file, standard input or a data frame.

    Parameters
    ----------
    table : path, "-" or data frame
        CSV, TSV, JSON lines or Parquet, also compressed by gzip.
    label : str
        The column of labels, with two values.
    positive : default=None
        The value that is the positive label. By default the one that is so by common use (1, yes,
        true, spam, ...), else the larger one in sorted order, which the notes say.
    negative : default=None
        The other value; needed only where it looks like a missing one (none, NA, ...).
    id : str, default=None
        The column that names the rows.
    drop, keep, text : sequence of str
        Columns to leave out, to use whatever they look like, and to use by their words.
    group : str, default=None
        Rows with the same value here are never split between folds.
    probabilities : str, default=None
        A column of out-of-fold probabilities of the positive label; then nothing is fitted.
    trusted : str, default=None
        A column that is 1 or true where a person settled the label.
    embeddings : path or array of shape (n_rows, n_features), default=None
        Numbers to use beside the columns, in the order of the rows; a path is that of an npy file.
    model : {"logistic", "boosting"}, "module:object" or classifier, default="logistic"
    scorer : "committee", classifier or None, default="committee"
        As in `check_labels`.
    noise_estimator, rounds, n_jobs, random_state
        As in `RankPruningClassifier`.
    folds : int, default=3
    drop_unlabeled : bool, default=False
        Leave out rows without a label, which are an error otherwise.
    redact : sequence of str
        Columns whose cells are neither kept nor reported.
    encoding, delimiter : str, default=None
        Of a text file.

    Returns
    -------
    LabelCheck

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rankprune import check_table
    >>> lines = ["size,kind"] + [f"{i % 10},{'big' if i % 10 > 4 else 'small'}" for i in range(200)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "things.csv"
    ...     _ = path.write_text("\\n".join(lines))
    ...     check = check_table(path, "kind", positive="big", scorer=None)
    >>> check.verdict.level, check.n_rows, check.n_suspects
    ('clean', 200, 0)
    """
    settings = {
        "label": str(label),
        "positive": _text(positive),
        "negative": _text(negative),
        "id": _text(id),
        "drop": [str(name) for name in drop],
        "keep": [str(name) for name in keep],
        "text": [str(name) for name in text],
        "group": _text(group),
        "probabilities": _text(probabilities),
        "trusted": _text(trusted),
        "embeddings": _embeddings_name(embeddings),
        "model": model_name(model),
        "scorer": model_name(scorer),
        "noise_estimator": model_name(noise_estimator),
        "rounds": rounds,
        "folds": folds,
        "random_state": random_state,
        "drop_unlabeled": drop_unlabeled,
        "redact": [str(name) for name in redact],
        "encoding": encoding,
        "delimiter": delimiter,
    }
    how = How(find_model(model), scorer, noise_estimator, rounds, folds, n_jobs, random_state)
    with open_table(table, encoding=encoding, delimiter=delimiter) as opened:
        return _check_opened(opened, settings, how, embeddings)


@dataclass(frozen=True)
class _Rows:
    """What is taken from a table: the rows with a label, and what is known of them."""

    labels: Labels
    features: Features | None
    hashes: Hashes | None
    probabilities: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    trusted: NDArray[np.bool_] | None
    ids: NDArray[Any] | None
    embeddings: str | None
    notes: tuple[str, ...]


def _check_opened(table: Table, settings: dict[str, Any], how: How, embeddings: Any) -> LabelCheck:
    source = Source(
        table.name,
        None if table.path is None else str(table.path.resolve()),
        table.sha256,
        table.n_rows,
        len(table.names),
    )
    is_scored = settings["probabilities"] is not None and settings["trusted"] is None
    if is_scored and table.n_rows > _MANY_ROWS:
        return check_scored(table, settings, source, how.noise_estimator, how.random_state)
    rows = _read(table, settings, embeddings)
    check = _check(
        np.zeros((len(rows.labels.rows), 0)) if rows.features is None else rows.features.X,
        rows.labels.is_positive,
        (rows.labels.positive, rows.labels.negative),
        how,
        groups=rows.groups,
        probabilities=rows.probabilities,
        trusted=rows.trusted,
        hashes=rows.hashes,
        source=source,
    )
    return _shown_in_table(check, table, rows, settings)


def _read(table: Table, settings: dict[str, Any], embeddings: Any) -> _Rows:
    labels = read_labels(
        table,
        settings["label"],
        settings["positive"],
        settings["drop_unlabeled"],
        negative=settings["negative"],
    )
    named = named_columns(table, settings)
    notes = list(labels.notes)
    probabilities = hashes = features = known_by = None
    if "probabilities" in named:
        probabilities = read_probabilities(table, named["probabilities"], labels.rows)
        notes += refuse_unused(settings)
    else:
        vectors = read_embeddings(embeddings, table.n_rows)
        features = read_features(table, labels, **feature_options(settings), embeddings=vectors)
        notes += features.plan.notes
        hashes = table.row_hashes(features.plan.columns)[labels.rows]
        if vectors is not None:
            hashes ^= hash_rows(vectors)[labels.rows]
            known_by = array_sha256(vectors)
    groups, ids = (
        read_texts(table, named[option], f"--{option}", labels.rows) if option in named else None
        for option in ("group", "id")
    )
    trusted = None
    if "trusted" in named:
        trusted = read_flags(table, named["trusted"], "--trusted", labels.rows)
    return _Rows(
        labels, features, hashes, probabilities, groups, trusted, ids, known_by, tuple(notes)
    )


def _shown_in_table(
    check: LabelCheck, table: Table, rows: _Rows, settings: dict[str, Any]
) -> LabelCheck:
    """Return the check with what only its table can show: names, cells and subgroups."""
    hidden = {settings["label"], *settings["redact"]}
    shown = [name for name in table.names if name not in hidden][:MAX_COLUMNS]
    categories = () if rows.features is None else rows.features.encoder.categories
    assert isinstance(check.scores, Scores)  # they were found here, and are in memory
    check = replace(
        check,
        scores=replace(check.scores, rows=rows.labels.rows, ids=rows.ids),
        columns=tuple(shown),
        subgroups=tuple(subgroups(table, categories, check, rows.labels.rows, hidden)),
        notes=rows.notes,
        warnings=(*leaks(rows.features, rows.labels.is_positive), *check.warnings),
        settings={
            **settings,
            "positive": rows.labels.positive,
            "negative": rows.labels.negative,
            "embeddings_sha256": rows.embeddings,
        },
    )
    top = check.suspect_rows()[:MAX_SHOWN]
    cells = table.cells(top, [table.position(name) for name in shown])
    return replace(check, suspects=shown_rows(check, cells))


def judge_on_audit(
    run: LabelCheck,
    sample: AuditSample,
    answers: Sequence[Any],
    table: Any = None,
    *,
    model: Any = None,
    n_jobs: int | None = None,
) -> BeforeAfter:
    """Return the errors of the plain model and of the one without suspects, on audited rows.

    Both are fitted to the other folds, as the labels were given: nobody is judged on rows that it
    was fitted to, and no answer of the audit teaches anybody.

    Parameters
    ----------
    run : LabelCheck
    sample, answers
        As in `rankprune.audit.estimate`; rows are positions in the table.
    table : path, default=None
        Where the checked table lies now; where it lay by default. A changed one is refused.
    model : default=None
        As in `check_table`; by default the model of the check, unless it is one's own.
    n_jobs : int, default=None
        Folds fitted at the same time.
    """
    asked = run.settings
    if not run.out_of_fold:
        raise TableError("Nothing was fitted: the probabilities were given with the table.")
    with open_checked(run, table) as opened:
        rows = _read(opened, asked, asked["embeddings"])
    assert rows.features is not None  # only where probabilities are given there are none
    labels = validate_labels(rows.labels.is_positive, pos_label=True)
    X, seed = rows.features.X, asked["random_state"]
    splits = make_splits(asked["folds"], X, labels, rows.groups, None, seed)
    folds = Folds((chosen_model(run, model),), X, labels, splits, n_jobs, seed)
    keep = ~run.scores.suspect
    if not folds.keep_both_classes(keep):
        raise TableError("Without suspects a fold has rows of one label alone.")
    place = np.searchsorted(run.scores.rows, sample.rows)
    before, after = (
        (scores[place] > 0.5).tolist()
        for scores in (folds.score(None), folds.score(run.scores.weight, keep))
    )
    judged = sum(answer is not None for answer in answers)
    return BeforeAfter(judged, *compare_errors(sample, answers, before, after))


def _text(value: Any) -> str | None:
    """Return a name as text: columns of a frame may be called by numbers."""
    return None if value is None else str(value)


def _embeddings_name(embeddings: Any) -> str | None:
    if embeddings is None:
        return None
    # In full, so that it is found from anywhere.
    return str(Path(embeddings).resolve()) if isinstance(embeddings, str | Path) else "(an array)"


def _check(
    X: Any,
    is_positive: NDArray[np.bool_],
    names: tuple[str, str],
    how: How,
    *,
    groups: Any,
    probabilities: Any,
    trusted: Any,
    hashes: Hashes | None,
    source: Source,
) -> LabelCheck:
    """Return the check of rows and labels, without what only a table can show."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = how.classifier()._examine(X, is_positive, None, groups, probabilities, trusted)
        doubt, scored = found.table.doubt, found.scored
        inputs = doubt.inputs(scored.scores)
        few = coarser(inputs)
        verdict = scored.verdict or judge(few, [few.probabilities], how.noise_estimator)
        if verdict.level == "clean":
            found = _without_suspects(found)
            scored = found.scored
        intervals = intervals_of(few, scored.estimated, how.noise_estimator, how.random_state)
        before_after = judge_on_trusted(found) if trusted is not None else None
        scores, cutoffs = _suspects(found)
        confident = confident_counts(
            inputs.is_positive.view(np.int8), inputs.probabilities, sample_weight=None
        )
    said = said_once(caught)
    splits = scored.folds.splits
    return LabelCheck(
        positive=names[0],
        negative=names[1],
        verdict=verdict,
        noise_rates=scored.rates,
        estimated_rates=scored.estimated,
        intervals=intervals,
        **curves_of(few),
        # Of the ranking that the cut-offs belong to.
        histogram=_histogram(doubt.inputs(found.ranking)),
        confident=Confident.of(confident),
        positive_cutoff=cutoffs[0],
        negative_cutoff=cutoffs[1],
        out_of_fold=probabilities is None,
        n_groups=None if groups is None else len(set(np.asarray(groups).tolist())),
        duplicates=None if hashes is None else count_duplicates(hashes, is_positive, splits),
        subgroups=(),
        suspects=(),
        columns=(),
        before_after=before_after,
        notes=(),
        warnings=said,
        source=source,
        settings={},
        versions=versions(),
        tally=Tally.of(scores),
        scores=scores,
    )


def _without_suspects(found: Examined) -> Examined:
    """Return what was found where the verdict is that the labels are clean: every row is kept."""
    scored = found.scored
    rates = scored.rates.with_known(positive=0.0, negative=0.0)
    return replace(
        found,
        scored=replace(scored, rates=rates),
        mask=np.zeros(len(found.mask), dtype=bool),
        weights=None,
    )


def _suspects(found: Examined) -> tuple[Scores, tuple[float | None, float | None]]:
    """Return the rows with their ranks and weights, and the probabilities where suspects begin."""
    doubt, rates = found.table.doubt, found.scored.rates
    inputs = doubt.inputs(found.ranking)
    pruning = prune_labels(inputs.is_positive, inputs.probabilities, rates)
    ranked = rank_suspects(inputs.is_positive, inputs.probabilities, rates).rows
    n_rows = len(found.mask)
    rank = np.zeros(n_rows, dtype=np.int64)
    rank[np.flatnonzero(doubt.doubted)[ranked]] = np.arange(1, len(ranked) + 1)
    weight = np.ones(n_rows) if found.weights is None else found.weights.copy()
    weight[found.mask] = 0.0
    scores = Scores(
        np.arange(n_rows),
        found.table.labels.is_positive.copy(),
        np.asarray(found.ranking, dtype=np.float64),
        found.mask,
        rank,
        weight,
    )
    return scores, (pruning.positive_cutoff, pruning.negative_cutoff)


def _histogram(inputs: Inputs) -> Histogram:
    positive, negative = (
        np.histogram(inputs.probabilities[rows], N_BINS, (0, 1))[0].astype(np.float64)
        for rows in (inputs.is_positive, ~inputs.is_positive)
    )
    return Histogram(positive, negative)
