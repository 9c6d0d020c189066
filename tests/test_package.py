"""The package itself: lazy names, a version, types, and a command line that starts at once."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

import rankprune
from rankprune.cli._group import cli

ROOT = Path(__file__).parents[1]


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_public_names_load_on_first_use():
    for name in rankprune.__all__:
        assert getattr(rankprune, name).__name__ == name
        assert name in dir(rankprune)
    with pytest.raises(AttributeError, match="module 'rankprune' has no attribute 'nonsense'"):
        _ = rankprune.nonsense


def test_importing_the_package_and_asking_for_help_load_nothing_heavy():
    heavy = "[m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules]"
    assert run(f"import sys, rankprune; assert not {heavy}").returncode == 0
    code = f"""
import sys
from click.testing import CliRunner
from rankprune.cli._group import cli
assert CliRunner().invoke(cli, ["--help"]).exit_code == 0
assert not {heavy}, {heavy}
"""
    result = run(code)
    assert result.returncode == 0, result.stderr


def test_an_empty_folder_that_git_does_not_see_changes_no_order_of_imports(tmp_path):
    pytest.importorskip("ruff", reason="an installed package is not linted")
    package = Path("src", "rankprune", "torch")
    shutil.copytree(ROOT / package, tmp_path / package)
    for path in (Path("pyproject.toml"), package.parent / "__init__.py"):
        shutil.copy(ROOT / path, tmp_path / path)
    for path in ("src", "tests"):
        (tmp_path / path / "torch").mkdir(parents=True)
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "I", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout


def test_the_core_needs_no_scikit_learn():
    code = "import sys; sys.modules['sklearn'] = None; from rankprune import estimate_noise_rates"
    assert run(code).returncode == 0


def test_a_missing_extra_is_named():
    code = "import sys; sys.modules['click'] = None; from rankprune.__main__ import main; main()"
    result = run(code)
    assert result.returncode == 1
    assert result.stderr.strip().endswith("pip install 'rankprune[cli]'")


def test_another_missing_module_is_not_hidden():
    code = "import sys; sys.modules['rankprune.cli'] = None; from rankprune.__main__ import main"
    assert "ModuleNotFoundError" in run(code + "; main()").stderr


def test_versions_agree():
    assert version("rankprune") == rankprune.__version__
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert cited == rankprune.__version__
    result = CliRunner().invoke(cli, ["--version"])
    assert result.output == f"rankprune, version {rankprune.__version__}\n"


def test_the_package_is_typed():
    assert Path(rankprune.__file__).with_name("py.typed").exists()


def test_the_demo_prints_what_it_found_and_ends_with_a_report(tmp_path):
    result = CliRunner().invoke(cli, ["demo", "-q", "-o", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    assert "1257 rows, 315 labels flipped on purpose" in result.output
    assert re.search(r"odd, labeled even +40\.0% +3\d\.\d%", result.output)
    noisy, pruned, clean = map(float, re.findall(r"0\.\d{3}", result.output)[-3:])
    assert noisy < pruned <= clean
    report = Path(result.output.rsplit("Report: ", 1)[1].strip())
    assert "of your labels are wrong" in report.read_text()
    assert (tmp_path / "demo" / "new.csv").exists()


def test_it_runs_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "rankprune", "--help"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("Usage: rankprune")
