"""Fixtures that judge rows of a run directory."""

from reviewed_run import check, checked, drawn, folder, judged, open_queue, people, run

__all__ = ["check", "checked", "drawn", "folder", "judged", "open_queue", "people", "run"]
