# Needs python3 (3.10 to 3.13), make, and a registry of packages that pip can reach.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := spectra sparql dictionary views
export PYTHONHASHSEED := 0

.PHONY: run test test-long bench format clean static types tests doctests

run: $(VENV)/.installed
	@$(BIN)/spectra run samples/queries/reach.rq --input samples/transfers/ --format table

test: static types tests doctests

# Formatting and lint.
static: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

# mypy and import-linter do not follow the mapped folders of an editable install, so they are shown the
# package as it is once installed.
types: $(VENV)/.test
	rm -rf build/typed
	mkdir -p build/typed
	cp -R spectra build/typed/spectra
	for folder in sparql dictionary views; do cp -R $$folder build/typed/spectra/$$folder; done
	find build/typed -name __pycache__ -prune -exec rm -rf {} +
	cd build/typed && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml --cache-dir ../../.mypy_cache -p spectra
	cd build/typed && PYTHONPATH=. ../../$(BIN)/lint-imports --config ../../pyproject.toml --cache-dir ../../.import_linter_cache

# Compiled, then without the compiler what is quick enough that way.
tests: $(VENV)/.test
	$(BIN)/pytest -n 2 --dist loadgroup -m "not long" tests
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -q -m "not long" tests/unit tests/golden tests/test_samples.py

doctests: $(VENV)/.test
	$(BIN)/pytest -q --doctest-modules -p no:cacheprovider $(PACKAGE)
	$(BIN)/pytest -q --doctest-glob='*.md' README.md docs

test-long: $(VENV)/.test
	$(BIN)/pytest -n 2 -m long tests

bench: $(VENV)/.test
	for script in benchmarks/[!_]*.py; do \
	  if grep -q '__main__' $$script; then echo "$$script"; $(BIN)/python $$script || exit 1; fi; done

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# A machine without Java gets one from the registry, into the virtual environment.
JAVA = $(BIN)/python -m spectra.spark.java > /dev/null 2>&1 || $(BIN)/python -m pip install --quiet -e '.[java]'

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	$(JAVA)
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[test]'
	$(JAVA)
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find $(PACKAGE) tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
