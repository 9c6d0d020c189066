"""Read records of the first release, which kept intervals over rows and listed suspects only."""

from __future__ import annotations

from typing import Any

from rankprune.core._interval_records import ROWS

FIRST_SCHEMA = 2


def as_now(result: dict[str, Any]) -> dict[str, Any]:
    """Return a record as this version would write it, if the first release wrote it.

    Its intervals stay what they were, over the choice of rows; the total follows from the two label
    error rates.
    """
    if result["schema"] != FIRST_SCHEMA:
        return result
    rates = result["noise_rates"]
    intervals = {name: _renamed(part) for name, part in result["intervals"].items()}
    shares = rates["observed_prevalence"], 1 - rates["observed_prevalence"]
    parts = intervals["positive_label_error_rate"], intervals["negative_label_error_rate"]
    total = {
        end: sum(share * part[end] for share, part in zip(shares, parts, strict=True))
        for end in ("estimate", "low", "high")
    }
    wrong = {**total, "covers": ROWS}
    intervals = {"wrong_share": wrong, **intervals}
    n_suspects = result["tally"]["n_positive_suspects"] + result["tally"]["n_negative_suspects"]
    return {
        **result,
        "wrong_share_low": total["low"],
        "wrong_share_high": total["high"],
        "noise_rates": {**rates, "intervals": intervals},
        "estimated_rates": {**result["estimated_rates"], "intervals": intervals},
        "verdict": {**result["verdict"], "wrong_share": wrong},
        "candidates": result["suspects"],
        "n_candidates": n_suspects,
    }


def _renamed(part: Any) -> Any:
    return {**part, "covers": ROWS} if isinstance(part, dict) else part
