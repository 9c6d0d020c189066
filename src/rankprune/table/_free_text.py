"""Whether the cells of a column are free text, whose words are features."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from rankprune.table._table import Table

# Cells looked at, spread evenly over the table.
_SAMPLE = 1000
# A cell reads like text with this many words, of which so many are not capitalized.
_WORDS, _PLAIN_WORDS = 5, 3
# A cell with a number in it, as an address has, needs more words.
_WORDS_WITH_NUMBERS = 10
# As scikit-learn finds words.
_WORD = re.compile(r"\b\w\w+\b")


def is_free_text(table: Table, name: str) -> bool:
    """Return whether most cells of a column read like text and share words.

    Names, addresses, titles and codes do not: their words are few, capitalized or numbers.
    """
    spread = np.linspace(0, table.n_rows - 1, min(_SAMPLE, table.n_rows)).astype(np.intp)
    found = table.cells(spread, [table.position(name)])
    texts = [text for (text,) in found if text is not None and text.strip()]
    return 2 * sum(map(_reads_like_text, texts)) > len(texts) and _share_words(texts)


def _reads_like_text(cell: str) -> bool:
    words = cell.split()
    # Scripts without capitals have neither upper nor lower case.
    n_plain = sum(word[0].isalpha() and not word[0].isupper() for word in words)
    has_numbers = any(character.isdigit() for character in cell)
    return (
        len(words) >= (_WORDS_WITH_NUMBERS if has_numbers else _WORDS) and n_plain >= _PLAIN_WORDS
    )


def _share_words(texts: Sequence[str]) -> bool:
    """Return whether some word occurs in two cells."""
    cells_with = Counter(word for text in texts for word in set(_WORD.findall(text.lower())))
    return max(cells_with.values(), default=0) > 1
