"""Which pairs of noise rates are possible: limits, contradictions, the nearest possible pair."""

from __future__ import annotations

# Rounding may carry a share this far beyond its range; more than that is a contradiction.
ROUNDING = 1e-12
# Rates at the limit of what is possible shrink by this share, so that their sum stays below 1.
EDGE = 1e-6


def possible_noise_rates(
    positive: float, negative: float, observed: float
) -> tuple[float, float, bool]:
    """Return the nearest noise rates that the observed prevalence allows, and whether they moved.

    Estimates are counted, not derived, so they may contradict rho_0 <= p_s1 <= 1 - rho_1.
    """
    # If labels carry no information, both rates reach their limits; both then shrink alike, which
    # leaves the prevalence as observed.
    both = min(positive, 1 - observed) + min(negative, observed)
    shrink = 1 - EDGE if both > 1 - EDGE else 1.0
    positive, positive_moved = drawn_in(positive, (1 - observed) * shrink)
    negative, negative_moved = drawn_in(negative, observed * shrink)
    return positive, negative, positive_moved or negative_moved


def drawn_in(rate: float, limit: float) -> tuple[float, bool]:
    """Return the rate clipped to [0, limit], and whether it moved by more than rounding."""
    return min(max(rate, 0.0), limit), rate > limit + 2 * EDGE or rate < -2 * EDGE


def refuse_impossible(positive: float, negative: float, observed: float) -> None:
    """Refuse noise rates that sum to 1 or more, or imply more wrong labels than there are."""
    if positive + negative >= 1 - ROUNDING:
        raise ValueError(
            "positive_noise_rate + negative_noise_rate must be below 1, got "
            f"{positive:g} + {negative:g} = {positive + negative:g}. Check which class is "
            "positive, or use a stronger classifier."
        )
    if negative > observed + ROUNDING:
        raise ValueError(
            "negative_noise_rate must not exceed the share of positive labels, got "
            f"{negative:g} with {observed:g} of the labels positive. More positive labels would be "
            "wrong than there are: check the rate, or which class is positive."
        )
    if positive > 1 - observed + ROUNDING:
        raise ValueError(
            "positive_noise_rate must not exceed the share of negative labels, got "
            f"{positive:g} with {1 - observed:g} of the labels negative. More negative labels "
            "would be wrong than there are: check the rate, or which class is positive."
        )


def refuse_contradiction(contradicts: bool, first: str, second: str) -> None:
    """Raise an error that names both rates if they contradict the observed prevalence."""
    if contradicts:
        raise ValueError(
            f"{first} and {second} must fit the observed prevalence, but they imply more wrong "
            "labels than there are rows. Check the rates, and which class is positive."
        )


def part_of(mass: float, whole: float) -> float:
    """Return mass / whole, or 0 if one of them is 0, as in a class without rows."""
    return mass / whole if mass > 0 and whole > 0 else 0.0
