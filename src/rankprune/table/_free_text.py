"""Detect columns of free text, whose words become features."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from rankprune.table._table import Table

# Number of cells to sample, spread evenly over the table.
_SAMPLE = 1000
# A cell reads like text if it has at least this many words, and this many without a capital.
_WORDS, _PLAIN_WORDS = 5, 3
# A cell that contains digits, such as an address, needs more words.
_WORDS_WITH_NUMBERS = 10
# The default token pattern of scikit-learn's vectorizers.
_WORD = re.compile(r"\b\w\w+\b")


def is_free_text(table: Table, name: str) -> bool:
    """Return whether most cells of a column read like text and share words.

    Names, addresses, titles and codes do not: they have few words, capitals or digits.
    """
    spread = np.linspace(0, table.n_rows - 1, min(_SAMPLE, table.n_rows)).astype(np.intp)
    found = table.cells(spread, [table.position(name)])
    texts = [text for (text,) in found if text is not None and text.strip()]
    return 2 * sum(map(_reads_like_text, texts)) > len(texts) and _share_words(texts)


def _reads_like_text(cell: str) -> bool:
    words = cell.split()
    # Letters of scripts without case count as not capitalized.
    n_plain = sum(word[0].isalpha() and not word[0].isupper() for word in words)
    has_numbers = any(character.isdigit() for character in cell)
    return (
        len(words) >= (_WORDS_WITH_NUMBERS if has_numbers else _WORDS) and n_plain >= _PLAIN_WORDS
    )


def _share_words(texts: Sequence[str]) -> bool:
    """Return whether some word occurs in more than one cell."""
    cells_with = Counter(word for text in texts for word in set(_WORD.findall(text.lower())))
    return max(cells_with.values(), default=0) > 1
