# `make demo` and `make test` need Python >= 3.11 with venv; everything else goes into .venv.
# On a machine with several Pythons: make PYTHON=python3.12 test

PYTHON ?= python3
# Processes that run tests side by side, one more than two cores as they wait for others, and the threads of a kernel in each.
TEST_PROCESSES ?= 3
TEST_THREADS ?= 2

# How long make fuzz goes on, in how many processes, and with START= from which program on.
SECONDS ?= 600
START ?=
FUZZ_PROCESSES ?= $(shell nproc 2>/dev/null || echo 2)

# How long make report tunes each kernel.
REPORT_SECONDS ?= 5

VENV := .venv
RUN := $(VENV)/bin/python
POLYTUNE := $(RUN) -m polytune
INSTALLED := $(VENV)/.installed

.PHONY: demo docs report bytecode test quick coverage fuzz lint format package clean help

help:
	@echo "make demo        tune PolyBench gemm and compare it with NumPy and Numba"
	@echo "make docs        build the site to build/site; a link that leads nowhere fails"
	@echo "make report      write the pages of gemm, jacobi-2d and nussinov, tuned for REPORT_SECONDS=5 each, to build/reports"
	@echo "make test        run the tests"
	@echo "make quick       run a slice of the tests of every folder, with each of the frontend, of spaces and of the architecture in some cases"
	@echo "make coverage    run the tests and print what share of the lines they run"
	@echo "make fuzz        try random programs for SECONDS=600, from number START= on"
	@echo "make lint        check style and types"
	@echo "make package     build wheel and sdist into dist, check them, and try them in an environment of their own"
	@echo "make format      rewrite the sources in the project's style"
	@echo "make clean       remove .venv and the tools' caches"

demo: $(INSTALLED)
	@cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && POLYTUNE_CACHE_DIR=$$cache $(RUN) examples/demo.py

# The first lines of warnings are of the theme's authors, about versions of MkDocs to come.
docs: $(INSTALLED)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@rm -rf build/site
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet

report: $(INSTALLED)
	@mkdir -p build/reports
	$(POLYTUNE) report polybench/kernels/gemm.py --size ni=400 --size nj=400 --size nk=400 --seconds $(REPORT_SECONDS) -o build/reports/gemm.html
	$(POLYTUNE) report polybench/kernels/jacobi_2d.py --size tsteps=20 --size n=500 --seconds $(REPORT_SECONDS) -o build/reports/jacobi-2d.html
	$(POLYTUNE) report polybench/kernels/nussinov.py --size n=300 --seconds $(REPORT_SECONDS) -o build/reports/nussinov.html

# Tests start hundreds of processes, each of which would compile these, where the surroundings have Python write nothing.
bytecode: $(INSTALLED)
	@$(RUN) -m compileall -q polytune polybench gallery benchmarks

test: $(INSTALLED) bytecode
	NUMBA_NUM_THREADS=$(TEST_THREADS) $(RUN) -m pytest -n $(TEST_PROCESSES) --dist loadgroup

quick: $(INSTALLED) bytecode
	NUMBA_NUM_THREADS=$(TEST_THREADS) $(RUN) -m pytest -n $(TEST_PROCESSES) --dist loadgroup -m quick

# Python 3.12 and later count lines without a call for each of them; what Numba compiles is not counted anywhere.
coverage: $(INSTALLED) bytecode
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[coverage]'
	COVERAGE_CORE=$$($(RUN) -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")') \
	  NUMBA_NUM_THREADS=$(TEST_THREADS) $(RUN) -m pytest -n $(TEST_PROCESSES) --dist loadgroup --cov --cov-report=term:skip-covered

fuzz: $(INSTALLED)
	$(RUN) -m tests.fuzz --seconds $(SECONDS) --processes $(FUZZ_PROCESSES) $(if $(START),--start $(START))

lint: $(INSTALLED)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

format: $(INSTALLED)
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

# The wheel is tried from another folder, where only what is installed can be imported.
package: $(INSTALLED)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[package]'
	rm -rf dist
	$(RUN) -m build --outdir dist .
	$(RUN) -m twine check --strict dist/*
	$(RUN) -m check_wheel_contents dist/*.whl
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(PYTHON) -m venv "$$folder/venv" && \
	  "$$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check dist/*.whl && cp .ci/smoke.py "$$folder" && \
	  cd "$$folder" && POLYTUNE_CACHE_DIR="$$folder/cache" venv/bin/python smoke.py

clean:
	rm -rf $(VENV) dist .hypothesis .mypy_cache .pytest_cache .ruff_cache .coverage

# The stamp is written last, so that an installation that was interrupted is done again.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "polytune needs Python 3.11 or newer, and $(PYTHON) is not: install one, then make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(RUN) || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make virtual environments: on Debian or Ubuntu, sudo apt-get install python3-venv" >&2; exit 1; }
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@
