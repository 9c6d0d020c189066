"""The reasons behind a verdict, and names of rates and intervals; sentences are in run/."""

from __future__ import annotations

# What each word of `Interval.covers` means.
COVERAGE = {
    "truth": (
        "the true value, the error of the model included, for noise like that the estimator was "
        "trained on"
    ),
    "rows": (
        "the random choice of rows, with their probabilities as they are; not the error of the "
        "model behind them"
    ),
    "refits": (
        "the random choice of rows and the folds and models fitted to them; not the limits of the "
        "kind of model"
    ),
    "judged rows": (
        "the true value, by what the model and the judged rows say together; not mistakes in the "
        "answers"
    ),
}

NOT_RELIABLE = "not reliable: the probabilities do not tell the labels apart"
AUC_REASON = "the lower 95% bound of their AUC is not above 1/2"
AGREEMENT_REASON = "predictions agree with labels no more often than by chance"
SAME_BIN_REASON = (
    "too many of them are equal to within 1%, so their AUC is not surely above 1/2; spread them "
    "out, such as by their ranks"
)

WHAT_WOULD_SETTLE_IT = (
    "A person who judges 25 rows drawn at random would narrow it down; so may a better model."
)
MORE_ROWS_WOULD_SETTLE_IT = (
    "More rows would settle it, or a person who checks a random sample of them."
)
PRUNING_WOULD_HARM = "Pruning would do more harm than good: fit the plain classifier."
ONE_MODEL = (
    "Only one model was used, and its weaknesses look like noise. Use several, such as the "
    "committee."
)

# What each rate of `NoiseRates` is a share of.
RATE_NAMES = {
    "wrong_share": "labels that are wrong",
    "positive_noise_rate": "true positives labeled negative",
    "negative_noise_rate": "true negatives labeled positive",
    "positive_label_error_rate": "positive labels that are wrong",
    "negative_label_error_rate": "negative labels that are wrong",
    "observed_prevalence": "positive labels among all",
    "estimated_prevalence": "true positives among all",
}


def rates_title(reliable: bool) -> str:
    """Return the title of a table of rates."""
    return "Noise rates" if reliable else "Noise rates (not reliable)"


def interval_text(estimate: float, low: float, high: float) -> str:
    """Return an estimate with its interval, in percent."""
    return f"{estimate:.1%} ({low:.1%} to {high:.1%})"


def coverage_line(level: float, covers: str) -> str:
    """Return the line below a list of intervals."""
    return f"{level:.0%} intervals, covering {COVERAGE.get(covers, covers)}"


def thresholds_reason(positive: float, negative: float) -> str:
    """Return why the mean scores show that the probabilities do not tell the labels apart."""
    return (
        "positive labels score no higher on average than negative ones "
        f"({positive:.3g} against {negative:.3g})"
    )


def not_told_apart(reason: str) -> str:
    """Return the sentence that the scores are uninformative, with the reason."""
    return f"The probabilities do not tell the labels apart: {reason}."


def too_few_rows(n_rows: float, needed: int) -> str:
    """Return the sentence that there are too few rows for a verdict."""
    rows = _whole_rows(n_rows)
    return f"There are too few rows to tell: {rows}, and a verdict needs at least {needed}."


def too_few_of_a_label(name: str, n_rows: float, needed: int) -> str:
    """Return the sentence that too few rows have the positive or the negative label."""
    return (
        f"There are too few {name} labels to tell: {_whole_rows(n_rows)}, and a verdict needs at "
        f"least {needed} with each label."
    )


def _whole_rows(n_rows: float) -> str:
    return "1 row" if int(n_rows) == 1 else f"{int(n_rows)} rows"


def few_wrong(high: float, limit: float) -> str:
    """Return the sentence that so few labels are wrong that all count as clean."""
    return (
        f"At most {high:.1%} of the labels are wrong, by the upper end of the 95% range; up to "
        f"{limit:.0%} counts as clean."
    )


def many_wrong(low: float, high: float) -> str:
    """Return the sentence with the range of the share of wrong labels, where noise was found."""
    return f"Between {low:.1%} and {high:.1%} of the labels are wrong (95% range)."


def wide_range(low: float, high: float) -> str:
    """Return the sentence why a range that begins near zero leaves the verdict open."""
    between = f"up to {high:.1%}" if low == 0 else f"between {low:.1%} and {high:.1%}"
    return (
        f"Anything {between} of the labels may be wrong (95% range): wrong labels and classes that "
        "overlap look alike to these scores."
    )


def judged_rows(n_judged: int) -> str:
    """Return the sentence that people judged rows."""
    rows = "1 row was" if n_judged == 1 else f"{n_judged} rows were"
    return f"{rows} judged by people who did not see the labels."


def wrong_labels(positive: float, negative: float) -> str:
    """Return the sentence with the label error rates of both classes."""
    return (
        f"An estimated {positive:.1%} of the positive labels and {negative:.1%} of the negative "
        "labels are wrong."
    )
