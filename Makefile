# The two commands of the README: `make demo` and `make test`, in any order. The first sets up .venv with the package
# alone, the second adds what tests and linters need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off

PART ?= all

.PHONY: demo test test-cells lint package docs reproduce bench bench-search bench-rivals bench-images bench-scale bench-default bench-which bench-noise bench-panel bench-times attack clean

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) with the package and what it needs (once; pip says what it fetches):"
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	@echo "Adding what the tests need to $(VENV) (once):"
	$(PIP) --editable '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/python -m fisherem.demo

# Each worker begins with its own half of the files, so that a table or a fit that the tests of a file share is made once;
# whoever is done first takes over what the other has left. --durations lists the slowest twenty tests.
test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=20

# What needs anndata and scanpy: these do not support pandas 3 yet, so that they have an environment of their own.
CELLS := .venv-cells
$(CELLS)/installed: pyproject.toml
	$(PYTHON) -m venv $(CELLS)
	$(CELLS)/bin/python -m pip install --disable-pip-version-check --progress-bar off --editable '.[test-cells]'
	touch $@

test-cells: $(CELLS)/installed
	$(CELLS)/bin/python -m pytest tests/single_cells tests/tables/test_anndata_objects.py tests/tables/test_single_cells.py

# Some 10,000 hostile cases from a fresh seed, and the table of what became of them; `make attack CASES=100` for fewer.
# CASES are those of each of the generators in tests/attack (fewer where a case takes seconds). FISHEREM_ATTACK_SEED=n repeats a run.
CASES ?= 300
attack: $(VENV)/installed-dev
	FISHEREM_ATTACK=$(CASES) $(BIN)/python -m pytest -q tests/attack

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Wheel and sdist into dist/; the tests then check those two files and run the demo from the wheel in a clean environment.
package: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	FISHEREM_DIST=$(CURDIR)/dist $(BIN)/python -m pytest tests/test_package.py

$(VENV)/installed-docs: $(VENV)/installed-dev
	$(PIP) --editable '.[docs]'
	touch $@

# Warnings are errors. The generated pages go first: those of a name that has gone would be stale.
docs: $(VENV)/installed-docs
	rm -rf docs/api docs/auto_examples
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

# The paper's experiments beside its numbers, their CSV files into the docs; goes on where it stopped. `make reproduce PART=table2` for one.
reproduce: $(VENV)/installed
	$(BIN)/fisherem reproduce $(PART) -o out/reproduced
	cp out/reproduced/*.csv docs/results/
	$(BIN)/python docs/tables.py

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/whole_calls.py

# The default calls beside sparse k-means and k-means on eight tables, for docs/benchmarks.md.
bench-default: $(VENV)/installed-dev
	$(BIN)/python benchmarks/default_call.py

# The default calls beside other methods on the panel of tables and on simulations, for the README; goes on where it stopped.
bench-panel: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/panel.py --publish

# The default calls as ratios to k-means in CPU time, for docs/benchmarks.md.
bench-times: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/times.py --publish

# Fisher-EM beside k-means, mixtures, HDBSCAN and sparse k-means; goes on where it stopped.
bench-which: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/which_method.py

bench-search: $(VENV)/installed-dev
	$(BIN)/python benchmarks/search.py

bench-rivals: $(VENV)/installed-dev
	$(BIN)/python benchmarks/rivals.py

bench-images: $(VENV)/installed-dev
	$(BIN)/python benchmarks/images.py

bench-scale: $(VENV)/installed-dev
	$(BIN)/python benchmarks/scale.py

# Noise variables and correlated noise, into out/; goes on where it stopped.
bench-noise: $(VENV)/installed-dev
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/factors.py

clean:
	rm -rf $(VENV) $(CELLS) out build dist docs/_build docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache
