"""Render a run directory as one self-contained HTML page."""

from rankprune.report._page import render_report, write_report

__all__ = ["render_report", "write_report"]
