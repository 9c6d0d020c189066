"""Render formulas as MathML, which browsers display without any script."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def inline(translator: Any, node: nodes.Element) -> None:
    """Write a formula within a sentence."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.Element) -> None:
    """Write a formula on its own line, which scrolls if it is too wide."""
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register MathML as the renderer of all formulas."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True}
