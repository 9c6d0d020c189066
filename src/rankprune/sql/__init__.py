"""Rates and masks of tables that stay in their database: queries for the sketch and the rows."""

from rankprune.sql._prune_query import prune_query
from rankprune.sql._sketch_query import sketch_query

__all__ = ["prune_query", "sketch_query"]
