# Python 3.10 or newer and make are all that is needed; the rest goes into $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= demo
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help venv demo pictures snapshots test lint clean

help:  ## say what can be made
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done

venv: $(INSTALLED)  ## create the environment and install autograph into it

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: venv  ## run a sample and draw its three graphs
	@mkdir -p $(DEMO)
	$(BIN)/autograph run -o $(DEMO)/first.json samples/first.py
	$(BIN)/autograph render $(DEMO)/first.json --forward --backward --double-backward -o $(DEMO)

pictures: venv  ## draw the pictures of the docs anew
	$(BIN)/python docs/make_pictures.py

test: venv  ## run all tests
	$(BIN)/python -m pytest -q

snapshots: venv  ## write the snapshots of the samples and of the tests' programs anew
	$(BIN)/autograph snapshot --update -j 2

lint: venv  ## check style, types and the import rules
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:  ## remove what was made here
	rm -rf $(VENV) $(DEMO) build dist .autograph .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
