"""The snippets of the guide run as printed, and give the output shown below them.

They need the packages that other pages compare with, so they run with the build of the site.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if "```python" in path.read_text(encoding="utf-8") and "_build" not in path.parts
)
# Snippets that need files or Spark have their own test.
ELSEWHERE = {"scale.md"}
NEED_TORCH = {"networks.md"}
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.fixture
def names():
    """Names that the snippets of some pages assume to exist."""
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    from rankprune import RankPruningClassifier, audit, flip_labels

    X, truth = make_classification(800, class_sep=2, random_state=0)
    y = flip_labels(truth, positive_noise_rate=0.2, negative_noise_rate=0.1, random_state=0)
    estimator = LogisticRegression()
    model = RankPruningClassifier(estimator, random_state=0).fit(X[:600], y[:600])
    suspects = np.arange(800) % 7 == 0
    drawn = audit.draw(y, suspects, 200, random_state=0)
    return {
        "X": X,
        "y": y,
        "truth": truth,
        "estimator": estimator,
        "model": model,
        "X_test": X[600:],
        "noisy_test_labels": y[600:],
        "labels": y,
        "suspects": suspects,
        "probabilities": np.where(y == 1, 0.8, 0.2),
        "rates": model.noise_rates_,
        "answers": truth[drawn.rows],
    }


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_the_snippets_of_a_page_print_what_it_says(page, names, capsys):
    if page in NEED_TORCH:
        pytest.importorskip("torch")
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    for number, (kind, text) in enumerate(blocks):
        if kind == "text":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # other packages may warn
            exec(compile(text, f"{page}, snippet {number}", "exec"), names)
        printed = capsys.readouterr().out
        if number + 1 < len(blocks) and blocks[number + 1][0] == "text":
            assert_alike(printed, blocks[number + 1][1])


def assert_alike(printed, expected):
    """Assert that two texts have the same words and nearly the same numbers."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", expected).split(), printed
    found, told = ([float(one) for one in NUMBER.findall(text)] for text in (printed, expected))
    scale = np.where(np.abs(told) > 1, np.abs(told), 1)
    assert np.all(np.abs(np.subtract(found, told)) <= 0.02 * scale), printed
