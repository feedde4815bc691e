# Python 3.11 or newer and make are all that is needed; the rest goes into $(VENV).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# What is compiled when the package is installed.
SOURCES := hatch_build.py $(shell find autograph_cli -name "*.pyx" -o -name "*.px[di]")
DEMO ?= demo
INSTALLED := $(VENV)/.installed
# PyTorch is large, and only the comparison needs it: it has an environment of its own.
COMPARE ?= .venv-conformance
COMPARED := build/conformance.json
# How many items at once: `make conformance JOBS=8`, or on a cluster `make conformance MPIEXEC="mpiexec -n 33"`.
JOBS ?= 2
# Which CuPy: that for a driver of CUDA 12, or cuda13.
CUDA ?= cuda12
MPIEXEC ?=
VERSIONS := 3.11 3.12 3.13 3.14
# `make sanitize` runs each so-many-th case of its sweep; 1 is all of them.
LAYOUTS ?= 5

.DEFAULT_GOAL := help
SITE_ENV ?= build/venv-docs

.PHONY: docs notebooks course man package release help venv demo pictures gallery snapshots operations test sanitize test-pure test-gpu test-pythons test-torches lint bench bench-gpu bench-findings bench-guard conformance conformance-update clean

help:  ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do printf '  make %-18s %s\n' "$$name" "$$text"; done

venv: $(INSTALLED)  ## create the environment and install autograph into it

$(INSTALLED): pyproject.toml $(SOURCES)
	@echo "Installing autograph with the tools of tests and linters into $(VENV) (about 1 GB, once)"
	@echo "and compiling $(words $(filter %.pyx,$(SOURCES))) modules, once, about a minute."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo:  ## run a sample and draw its three graphs
	@echo "Installing autograph, without its compiled modules, and the packages that it runs on into $(DEMO)/venv."
	@test -x $(DEMO)/venv/bin/autograph || { $(PYTHON) -m venv $(DEMO)/venv && AUTOGRAPH_PURE=1 $(DEMO)/venv/bin/python -m pip install --quiet --disable-pip-version-check --editable .; }
	@echo "Running samples/first.py and drawing its forward, backward and double-backward graph."
	@$(DEMO)/venv/bin/autograph render samples/first.py --forward --backward --double-backward -o $(DEMO)/
	@echo "Next:"
	@echo "  $(DEMO)/venv/bin/autograph show samples/first.py --double-backward"
	@echo "  $(DEMO)/venv/bin/autograph open samples/penalty.py"
	@echo "  $(DEMO)/venv/bin/autograph explain samples/penalty.py"

pictures: venv  ## draw the pictures of the docs anew
	$(BIN)/python docs/make_pictures.py pictures

gallery: venv  ## draw the gallery of the docs anew
	$(BIN)/python docs/make_pictures.py gallery

$(SITE_ENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(SITE_ENV)
	$(SITE_ENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

docs: notebooks  ## make the site in build/site, with the course as notebooks in build/notebooks
	$(SITE_ENV)/bin/python -m sphinx -W --keep-going -q docs build/site

notebooks: $(SITE_ENV)/.installed
	$(SITE_ENV)/bin/python -m jupytext --quiet --to ipynb docs/course/*.md
	@mkdir -p build/notebooks && mv docs/course/*.ipynb build/notebooks/ && cp -r docs/course/pictures build/notebooks/

course: notebooks  ## open the course in Jupyter, in the browser
	$(SITE_ENV)/bin/python -m pip install --quiet --disable-pip-version-check jupyterlab
	$(SITE_ENV)/bin/jupyter lab build/notebooks

man: $(SITE_ENV)/.installed  ## write the man pages in build/man
	@mkdir -p build/man
	$(SITE_ENV)/bin/python packaging/man.py build/man

package: $(SITE_ENV)/.installed  ## build the source archive, a compiled wheel for each Python from 3.11 to 3.14 that is here, and one for any platform, and try two
	rm -rf dist build/empty build/empty-pure
	$(SITE_ENV)/bin/python -m build --sdist --outdir dist .
	AUTOGRAPH_PURE=1 $(SITE_ENV)/bin/python -m build --wheel --outdir dist .
	@for version in $(VERSIONS); do \
	  if ! python$$version -c '' 2>/dev/null; then echo "Python $$version is not here: no wheel"; continue; fi; \
	  echo "A wheel for Python $$version"; \
	  python$$version -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist . || exit 1; \
	done
	if [ -x $(SITE_ENV)/bin/auditwheel ]; then PATH="$(SITE_ENV)/bin:$$PATH" auditwheel repair -w dist dist/*-linux_*.whl && rm dist/*-linux_*.whl; fi
	for kind in $$($(PYTHON) -c 'import sys; print("cp%d%d" % sys.version_info[:2])'):empty py3:empty-pure; do \
	  $(PYTHON) -m venv build/$${kind#*:}; \
	  build/$${kind#*:}/bin/python -m pip install --quiet --disable-pip-version-check dist/*-$${kind%:*}*.whl || exit 1; \
	  (cd build && $${kind#*:}/bin/autograph info && $${kind#*:}/bin/autograph render ../samples/first.py --double-backward -o $${kind#*:}/first.svg) || exit 1; \
	done

release: package  ## tag the version of autograph_cli/__init__.py, with its notes from CHANGELOG.md; DRY=1 shows the notes and tags nothing
	$(PYTHON) packaging/notes.py $(if $(DRY),--unreleased) > build/notes.md
	$(if $(DRY),cat build/notes.md,git tag --annotate --file build/notes.md --cleanup=verbatim "v$$($(PYTHON) packaging/notes.py --version)")

# Tests start hundreds of processes: without what Python keeps beside a module, each would compile all of them.
unexport PYTHONDONTWRITEBYTECODE

# Each core has a process of tests: threads of NumPy's library beside it would only wait for each other.
test test-pure conformance: export OMP_NUM_THREADS := 1

test: venv  ## run all tests, on all cores; SEED=7 shuffles them
	AUTOGRAPH_SHUFFLE=$(SEED) $(BIN)/python -m pytest -q -n auto --dist worksteal

test-pure: venv  ## run the tests of what has compiled modules without them: the engine, and the reading of live graphs
	AUTOGRAPH_PURE=1 $(BIN)/python -m pytest -q -n auto --dist worksteal tests/torch --ignore tests/torch/distributed --ignore tests/torch/saving tests/record/test_capture.py

# A copy of the checkout, whose modules are compiled with what finds reads and writes outside of memory, and overflows.
SANITIZED := build/sanitize
sanitize: venv  ## build with the sanitizers of gcc, and run the tests of kernels and layers and a sweep of operations and layouts
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'cython>=3.1' 'setuptools>=77'
	rm -f $(SANITIZED)/.found.*
	@mkdir -p $(SANITIZED)
	git ls-files -z autograph_cli tests hatch_build.py pyproject.toml | xargs -0 cp -pu --parents -t $(SANITIZED)
	cd $(SANITIZED) && AUTOGRAPH_CFLAGS="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined" LDFLAGS="-fsanitize=address,undefined" \
	  $(CURDIR)/$(BIN)/python -c "import hatch_build, pathlib; hatch_build.compiled(pathlib.Path.cwd())"
	cd $(SANITIZED) && export PYTHONPATH="$$PWD" PYTHONMALLOC=malloc AUTOGRAPH_LAYOUTS=$(LAYOUTS) \
	  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path="$$PWD/.found" UBSAN_OPTIONS=print_stacktrace=1:log_path="$$PWD/.found" && \
	  $(CURDIR)/$(BIN)/python -m pytest -q -p no:cacheprovider tests/torch/kernels tests/torch/nn tests/torch/ops/test_layouts.py
	@! grep -E "ERROR|runtime error" $(SANITIZED)/.found.* 2>/dev/null

test-gpu: venv  ## run the tests of the device cuda on a GPU; CUDA=cuda13 for a driver of CUDA 13
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(CUDA)]'
	AUTOGRAPH_GPU=1 $(BIN)/python -m pytest -q -m strict_array tests/strict_array

test-pythons:  ## run all tests on every Python from 3.11 to 3.14 that is here
	@for version in $(VERSIONS); do \
	  if ! python$$version -c '' 2>/dev/null; then echo "Python $$version is not here: skipped"; continue; fi; \
	  echo "Python $$version"; \
	  $(MAKE) --no-print-directory test PYTHON=python$$version VENV=build/venv-$$version || exit 1; \
	done

snapshots: venv  ## write the snapshots of the samples and of the tests' programs anew
	$(BIN)/autograph snapshot --update -j $(JOBS)

operations: venv  ## write the facts of operations that recording PyTorch needs anew, from the engine's records
	$(BIN)/python -m autograph_cli.engines.builtin.operations_file

lint: venv  ## check style, types, the import rules, the budget of lines and the words of the pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python packaging/lines.py
	$(BIN)/python packaging/style.py

bench: $(COMPARE)/.installed  ## time the engine beside PyTorch, and put the table into docs/performance.md
	$(COMPARE)/bin/python benchmarks/bench.py --write
	$(COMPARE)/bin/python benchmarks/bench.py --threads 0 --write
	$(COMPARE)/bin/python benchmarks/graph_work.py --write
	$(COMPARE)/bin/python benchmarks/slow_operations.py --write
	$(COMPARE)/bin/python benchmarks/workloads.py --write

bench-gpu: $(COMPARE)/.installed  ## time the engine beside PyTorch on a GPU, and put the table into benchmarks/README.md
	$(COMPARE)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(CUDA)]'
	$(COMPARE)/bin/python benchmarks/gpu.py --write

bench-findings: $(COMPARE)/.installed  ## what explain finds beside torchfix and PyTorch's warnings, into docs/findings.md
	$(COMPARE)/bin/python benchmarks/findings.py --write

bench-guard: venv  ## count what small steps do; fails where one does 5 % more than the committed figures
	$(BIN)/python benchmarks/guard.py
	AUTOGRAPH_PURE=1 $(BIN)/python benchmarks/guard.py

$(COMPARE)/.installed: pyproject.toml $(SOURCES)
	$(PYTHON) -m venv $(COMPARE)
	$(COMPARE)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[conformance]'
	@touch $@

CONFORM ?= $(COMPARE)/bin/python

$(COMPARED): FORCE
	@mkdir -p build
	$(MPIEXEC) $(CONFORM) conformance/conform.py --candidate autograph_cli.torch --path . --limit 60 --out $@ $(if $(MPIEXEC),--mpi,--jobs $(JOBS))

FORCE:

conformance: $(if $(filter $(COMPARE)/bin/python,$(CONFORM)),$(COMPARE)/.installed) $(COMPARED)  ## compare the engine with PyTorch's own test databases; fails when a level is lost
	$(CONFORM) conformance/score.py check $(COMPARED)
	$(CONFORM) conformance/graphs.py check
	$(CONFORM) -m conformance.calls check
	$(CONFORM) -m pytest -q -p no:cacheprovider -n $(JOBS) --dist worksteal tests/engines tests/test_in_code.py tests/findings -k "pytorch or not findings"

TORCHES ?= 2.5.1 2.9.1 2.13.0 2.14.1 2.15.0

test-torches:  ## run the tests of recording under several versions of PyTorch, each in an environment of its own (several GB); TORCHES="2.9.1 2.15.0"
	@for version in $(TORCHES); do echo "PyTorch $$version"; \
		python=build/torches/$$version/bin/python; \
		test -x $$python || python3 -m venv build/torches/$$version && \
		$$python -m pip install --quiet --disable-pip-version-check torch==$$version --editable '.[test]' && \
		$$python -m pytest -q -p no:cacheprovider tests/engines || exit 1; \
	done

conformance-update: $(if $(filter $(COMPARE)/bin/python,$(CONFORM)),$(COMPARE)/.installed) $(COMPARED)  ## the same, and keep the score and the table of docs/conformance.md
	$(CONFORM) conformance/score.py update $(COMPARED)
	$(CONFORM) conformance/graphs.py update
	$(CONFORM) -m conformance.calls update

clean:  ## remove what was made here
	rm -rf $(VENV) $(COMPARE) $(DEMO) build dist .autograph .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
