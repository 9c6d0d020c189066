"""The README's example runs as printed, and does what the README says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(capsys):
    code = "\n".join(
        re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    )
    scope = {}
    exec(compile(code, str(README), "exec"), scope)
    printed = capsys.readouterr().out
    assert printed.startswith("NoiseRates(positive_noise_rate=")
    wrong = scope["y"] != scope["truth"]
    suspects = scope["rank_suspects"](
        scope["y"], scope["model"].probabilities_, scope["model"].noise_rates_
    ).rows
    assert wrong[suspects[:10]].mean() >= 0.8
    assert wrong[suspects].mean() > 3 * wrong.mean()
    X, y, truth = scope["X"], scope["y"], scope["truth"]
    # The trees of the committee differ a little between versions of scikit-learn.
    assert scope["model"].score(X, truth) == pytest.approx(0.97, abs=0.01)
    assert round(scope["model"].estimator.fit(X, y).score(X, truth), 2) == 0.92


def test_the_table_names_functions_that_exist():
    import rankprune

    for name in re.findall(r"\| `(\w+)[.(]", README.read_text(encoding="utf-8")):
        assert name in dir(rankprune)
