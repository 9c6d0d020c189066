"""The paper's figures and tables, measured again and shown beside the published ones."""

from rankprune.experiments.paper._pages import render
from rankprune.experiments.paper._run import Choice, run_experiment
from rankprune.experiments.paper._verify import verify_experiment

__all__ = ["Choice", "render", "run_experiment", "verify_experiment"]
