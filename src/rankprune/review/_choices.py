"""Which of many labels a card offers as buttons, and which key chooses each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankprune.run._visible import visible

_DIGITS = "0123456789"
# Without the one that is hard to reach first.
_PLACES = _DIGITS[1:]
# Characters of a label on a page.
_LONGEST = 200


@dataclass(frozen=True)
class Choice:
    """One label to choose: its number, and the key that chooses it; none if keys have run out."""

    label: int
    key: str | None


class LabelKeys:
    """The labels of a run, as reviewers choose them.

    Parameters
    ----------
    names : sequence of str
        In the order of their numbers.

    Attributes
    ----------
    texts : tuple of str
        The labels as they are shown, no two of them alike.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.texts = _told_apart(names)
        # Whoever sees the label 7 presses 7.
        self._own = {code: name for code, name in enumerate(names) if name in tuple(_DIGITS)}
        self._free = [key for key in _PLACES if key not in self._own.values()]

    def choices(self, first: Sequence[int] = ()) -> list[Choice]:
        """Return the labels that get a button, in the order of the buttons.

        A label that is a single digit is chosen by this digit. The other labels get the digits
        that are left, from 1 on: those in ``first`` before the others, which come in the order of
        their numbers.

        Parameters
        ----------
        first : sequence of int
            Labels that always get a button: the given one and the suggested one, if they may be
            shown.
        """
        order = [*first, *(code for code in range(len(self.texts)) if code not in first)]
        free = iter(self._free)
        found = []
        for place, code in enumerate(order):
            key = self._own.get(code) or next(free, None)
            if key is not None or place < len(first):
                found.append(Choice(code, key))
        return found


def _told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as they are shown, with the number of each that looks like an earlier one."""
    texts: list[str] = []
    known: set[str] = set()
    for code, name in enumerate(names, start=1):
        text = visible(name, _LONGEST)
        texts.append(f"{text} (label {code})" if text in known else text)
        known.add(text)
    return tuple(texts)
