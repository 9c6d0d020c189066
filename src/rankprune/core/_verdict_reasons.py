"""The reasons behind a verdict, and names of rates and intervals; sentences are in run/."""

from __future__ import annotations

OVER_ROWS = (
    "the random choice of rows, with their probabilities as they are; not the error of the model "
    "behind them"
)
OVER_REFITS = (
    "the random choice of rows and the folds and models fitted to them; not the limits of the kind "
    "of model"
)

NOT_RELIABLE = "not reliable: the probabilities do not tell the labels apart"
AUC_REASON = "the lower 95% bound of their AUC is not above 1/2"
SAME_BIN_REASON = (
    "too many of them are equal to within 1%, so their AUC is not surely above 1/2; spread them "
    "out, such as by their ranks"
)

WHAT_WOULD_SETTLE_IT = (
    "A better model would settle it, or a person who checks a random sample of rows."
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
    return f"{level:.0%} intervals, covering {covers}"


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
    rows = "1 row" if int(n_rows) == 1 else f"{int(n_rows)} rows"
    return f"There are too few rows to tell: {rows}, and a verdict needs at least {needed}."


def affects_little(affected: float, limit: float) -> str:
    """Return the sentence that the noise is low enough for the labels to count as clean."""
    return (
        f"By the lowest of the models' estimates, {affected:.1%} of the smaller class are "
        f"affected (wrongly in it, or wrongly left out); up to {limit:.0%} counts as clean."
    )


def affects_much(affected: float) -> str:
    """Return the sentence with the share of the smaller class that noise seems to affect."""
    return (
        f"Even by the lowest of the models' estimates, {affected:.1%} of the smaller class are "
        "affected: wrongly in it, or wrongly left out."
    )


def hard_problem(noisy_auc: float, clean_auc: float) -> str:
    """Return the sentence with the reason why noise and overlap cannot be told apart."""
    return (
        f"But the scores separate the classes poorly (AUC {noisy_auc:.2f}), and would do so even "
        f"without that noise (AUC {clean_auc:.2f}): a clean but hard problem looks the same."
    )


def wrong_labels(positive: float, negative: float) -> str:
    """Return the sentence with the label error rates of both classes."""
    return (
        f"An estimated {positive:.1%} of the positive labels and {negative:.1%} of the negative "
        "labels are wrong."
    )


def separate_classes(noisy_auc: float, clean_auc: float) -> str:
    """Return the sentence with the reason why the estimate is noise and not overlap."""
    return (
        f"With correct labels the scores would separate the classes well (AUC {clean_auc:.2f}; "
        f"{noisy_auc:.2f} with the given labels), so overlap does not explain it."
    )
