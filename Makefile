# make demo   the whole product on the sample, or on REPO=<url or path>
# make test   checks and tests, as CI runs them
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
REPO ?=

.PHONY: demo test check setup soak bench clean
.DEFAULT_GOAL := demo

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "patchdeck needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)"; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
		{ echo "no virtual environment could be made: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@echo "installing patchdeck and what it needs into $(VENV) (torch is large: a minute or two)"
	$(BIN)/pip install -q --progress-bar on -e '.[visual,model,dev]'
	@touch $@

setup: $(VENV)/installed
	$(BIN)/patchdeck setup

demo: setup
	$(BIN)/patchdeck demo $(REPO)

check: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check -q .
	$(BIN)/lint-imports
	$(BIN)/mypy

test: setup check
	$(BIN)/pytest -m "not soak"

soak: setup
	$(BIN)/pytest -m soak -s

bench: setup
	@for benchmark in benchmarks/*.py; do echo "== $$benchmark"; $(BIN)/python $$benchmark || exit 1; done

clean:
	rm -rf $(VENV) demo runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
