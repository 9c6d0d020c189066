"""Fixtures that judge rows of a run directory."""

from reviewed_classes import judge, pet_people, pets, pets_check
from reviewed_run import check, checked, drawn, folder, judged, open_queue, people, run

__all__ = [
    "check",
    "checked",
    "drawn",
    "folder",
    "judge",
    "judged",
    "open_queue",
    "people",
    "pet_people",
    "pets",
    "pets_check",
    "run",
]
