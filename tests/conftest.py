"""Shared settings: Hypothesis is reproducible, and small enough to run on every change."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rankprune",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("rankprune")
