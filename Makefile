# Every target sets up the environment it needs: Python >= 3.11 and a C++ compiler are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BOTH_INSTALLED := $(VENV)/.installed-both
BENCH_VENV := .venv-bench

.PHONY: demo reproduce test test-all sanitize compare fuzz lint bench docs docs-pages wheel test-floors test-latest warnings coverage clean

$(INSTALLED): pyproject.toml CMakeLists.txt $(wildcard src/_kernels/*)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ravine needs Python 3.11 or newer; try make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the library and its tools in $(VENV), and compiling the kernels: a minute or two"
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[plot,app,dask,dev]'
	touch $@

# The library and the reproduction of the paper, a package of its own.
$(BOTH_INSTALLED): $(INSTALLED) reproduction/pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ./reproduction
	touch $@

demo: $(INSTALLED)
	$(BIN)/ravine demo --force --out out/demo

# Small forms of all studies of the paper, in a few minutes; reproduction/README.md has the commands of the full ones.
reproduce: $(BOTH_INSTALLED)
	$(BIN)/ravine-paper alpha --out out/reproduce/alpha
	$(BIN)/ravine-paper evolution --out out/reproduce/evolution
	$(BIN)/ravine-paper margin --out out/reproduce/margin
	$(BIN)/ravine-paper s1 --starts 10 --out out/reproduce/s1
	$(BIN)/ravine-paper optimisers --sets seeds,wine --starts 2 --out out/reproduce/optimisers
	$(BIN)/ravine-paper table2 --sets seeds,voting,wine --seeds 2 --out out/reproduce/table2
	$(BIN)/ravine-paper semisupervised --quick --out out/reproduce/semisupervised

# Two processes with one thread of linear algebra each: more threads than cores would wait for each other. Each file
# stays in one process, because its tests share fits. Bytecode is kept for the processes that tests start.
PYTEST = PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile

test: $(BOTH_INSTALLED)
	$(PYTEST) -m "not slow"

test-all: $(BOTH_INSTALLED)
	$(PYTEST)
	$(BIN)/python tests/support/sanitize.py

# The quick tests with the oldest and with the newest packages that pyproject.toml allows; options of pytest in PYTEST_OPTIONS.
test-floors test-latest: test-%: $(INSTALLED)
	$(BIN)/python tests/support/floors.py $* $(PYTEST_OPTIONS)

# The kernels with the address, undefined-behaviour and thread sanitizers of gcc, in folders of their own.
sanitize: $(INSTALLED)
	$(BIN)/python tests/support/sanitize.py

# The kernels by g++ and clang++ without warnings (-Wall -Wextra), with vector extensions and in standard C++, which is tested.
warnings: $(INSTALLED)
	$(BIN)/python tests/support/compilers.py

# Branch coverage of the package by the quick tests, then line coverage of the kernels by gcov.
coverage: $(BOTH_INSTALLED)
	$(BIN)/python -m pip install --quiet 'coverage>=7.10' 'pytest-cov>=7' 'gcovr>=8'
	$(PYTEST) -m "not slow" --cov --cov-report=term-missing:skip-covered
	$(BIN)/python tests/support/kernel_coverage.py

# Fits of 20 data sets with AVX2 and without, by g++ and by clang++ (docs/fuzzing.md).
compare: $(INSTALLED)
	$(BIN)/python tests/support/instruction_sets.py

# Generated inputs in processes with limits; options in FUZZ, for example FUZZ="--inputs 1000 --seed 3" (docs/fuzzing.md).
fuzz: $(BOTH_INSTALLED)
	$(BIN)/python -m fuzz $(FUZZ)

lint: $(BOTH_INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --no-progress --quiet .github

# The documentation site in docs/_build/html; `make docs-pages` leaves out the pictures of the gallery.
DOCS_INSTALLED := $(VENV)/.installed-docs
SPHINX = OMP_NUM_THREADS=2 $(BIN)/sphinx-build -b html -j 2 -d docs/_build/doctrees --fail-on-warning --keep-going

$(DOCS_INSTALLED): $(BOTH_INSTALLED)
	@echo "Installing the tools of the documentation in $(VENV)"
	$(BIN)/python -m pip install --quiet --editable '.[plot,app,dask,dev,docs]'
	touch $@

docs: $(DOCS_INSTALLED)
	@echo "Building the site with the gallery, which runs every example: several minutes"
	rm -rf docs/_build docs/api docs/gallery
	$(SPHINX) docs docs/_build/html
	$(BIN)/python docs/_ext/check_site.py docs/_build/html

docs-pages: $(DOCS_INSTALLED)
	rm -rf docs/_build docs/api docs/gallery
	$(SPHINX) -D plot_gallery=0 -t without_pictures docs docs/_build/html
	$(BIN)/python docs/_ext/check_site.py docs/_build/html

# Source distribution and wheels of both packages in dist/, tried with every Python that is installed; options in WHEEL.
wheel: $(INSTALLED)
	$(BIN)/python tests/support/wheels.py $(WHEEL)

# HiPart, the one other package with these hyperplanes, gets an environment of its own.
$(BENCH_VENV)/.installed:
	$(PYTHON) -m venv $(BENCH_VENV)
	-$(BENCH_VENV)/bin/python -m pip install --quiet HiPart==1.1.0
	touch $@

# More options in BENCH, for example BENCH="--only small" (see docs/performance.md).
bench: $(BOTH_INSTALLED) $(BENCH_VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/run.py --hipart $(BENCH_VENV)/bin/python $(BENCH)

clean:
	rm -rf $(VENV) $(BENCH_VENV) .venv-floors .venv-latest build dist out docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
