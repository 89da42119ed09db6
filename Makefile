# make demo, make test, make docs, make package: each makes its own environment first.
# PYTHON chooses the interpreter, 3.11 or newer.
PYTHON ?= $(firstword $(foreach p,python3.11 python3 python3.12 python3.13,$(if $(shell $(p) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(p))))
VENV ?= .venv
# Tests that need real data are skipped where this folder is absent.
export GRAPHUQ_DATA ?= $(wildcard $(CURDIR)/../shared/data)
# Two processes of tests with two threads of linear algebra each would wait for one another.
test test-slow test-papers: export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-slow test-papers test-lowest lint docs figures package study reproduce other-papers clean

demo: $(VENV)/installed
	$(VENV)/bin/graphuq demo

# everything but what is long and seldom useful: `make test-slow` runs that
test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m "not slow"
	$(VENV)/bin/python -m pytest --nbmake --override-ini addopts= notebooks/quick_start.ipynb

# `make docs` runs all notebooks
test-slow: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m slow

# the quick versions of the studies of the papers
test-papers: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m slow tests/benchmarks/test_paper_studies.py

# a core of the tests on the lowest versions that pyproject.toml declares; old packages announce what
# has changed since
LOWEST_TESTS = tests/posterior/test_arviz.py tests/posterior/test_damaged_files.py tests/utils \
    tests/inference/test_problem.py tests/inference/test_plan.py tests/plots

test-lowest: $(VENV)-lowest/installed
	$(VENV)-lowest/bin/python -m pytest -m "not slow" -W ignore::DeprecationWarning \
	    -W ignore::FutureWarning $(LOWEST_TESTS)

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# the site, into docs/_build/index.html; a warning is an error
docs: $(VENV)/installed-docs
	$(VENV)/bin/python -m sphinx -W --keep-going -q docs docs/_build

# the pictures of README and documentation, and their numbers
figures: $(VENV)/installed-dev
	$(VENV)/bin/python docs/figures/make.py

# The wheel and the source distribution in dist/. The wheel is installed in a fresh environment of each
# Python at hand, where it runs the demo.
PYTHONS ?= $(foreach v,3.11 3.12 3.13 3.14,$(firstword $(wildcard $(HOME)/.pyenv/versions/$(v).*/bin/python) $(shell command -v python$(v))))
TOOLS = $(VENV)-package
FRESH = $(VENV)-fresh

package: $(TOOLS)/installed
	$(TOOLS)/bin/sp-repo-review --show err .
	rm -rf dist
	$(TOOLS)/bin/python -m build --installer uv
	$(TOOLS)/bin/python -m twine check --strict dist/*
	set -e; for python in $(or $(strip $(PYTHONS)),$(PYTHON)); do \
	    rm -rf $(FRESH); $(TOOLS)/bin/uv venv --quiet --python $$python $(FRESH); \
	    $(TOOLS)/bin/uv pip install --quiet --python $(FRESH)/bin/python dist/*.whl; \
	    $(FRESH)/bin/python -I -c 'import sys, graphuq; print("demo of", graphuq.__version__, "in Python", sys.version)'; \
	    (cd $(FRESH) && env -u PYTHONPATH bin/graphuq demo > demo.txt && tail -n 1 demo.txt); \
	done; rm -rf $(FRESH)

$(TOOLS)/installed:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet build twine uv 'sp-repo-review[cli]'
	touch $@

# Every benchmark except those of papers and those that need other packages (samplers.beside_peers,
# samplers.multiclass_beside_peers, trust.side_by_side, trust.annotate_cells: pip install
# graphuq[peers]; mutants: pip install cosmic-ray). Takes an hour or two; each says whether its claims
# hold.
STUDY = samplers.pcn speed.startup speed.node_statistics speed.threads speed.pixels \
    samplers.ginzburg_landau samplers.angle trust.active_labeling trust.active_scikit trust.approximation trust.calibration trust.suspect_labels \
    trust.suspects_beside_cleanlab \
    trust.hyperparameters trust.estimator speed.eigenpairs \
    speed.scale speed.multiclass_scale trust.imbalance trust.overlap \
    trust.few_labels trust.heavy_tails trust.unknown_epsilon trust.heterophily trust.defaults trust.components trust.class_shares speed.cells speed.one_more_label speed.many_labels \
    trust.label_session trust.when_to_stop speed.labeling speed.labeling_in_browser

study: $(VENV)/installed-dev
	failed= && for study in $(STUDY); do \
	    $(VENV)/bin/python -m benchmarks.$$study $(QUICK) || failed="$$failed $$study"; done && \
	    { test -z "$$failed" || { echo "claims fail in:$$failed"; exit 1; }; }

# The UQ paper's figures and tables in the paper's order, and then docs/reproduction/index.md. With
# QUICK=--quick, or without the data of the river, the page and its pictures go to benchmarks/results,
# and docs stay as they are. A claim that fails stops nothing: the page says so.
REPRODUCE = potentials acceptance spectra embeddings hard_and_easy two_moons mnist digit_pairs all_pairs \
    marginals truncation plume timing map

reproduce: $(VENV)/installed-dev
	for study in $(REPRODUCE); do rm -f benchmarks/results/$$study.json; \
	    $(VENV)/bin/python -m benchmarks.papers.uq_paper.$$study $(QUICK) || echo "see above: $$study"; done
	$(VENV)/bin/python -m benchmarks.papers.page index

# The same for the four other papers, and docs/reproduction/other-papers.md. GDPCA is compared with
# networks in time, which takes torch and torch-geometric in the environment: without them the page
# goes to benchmarks/results.
PAPERS = robust_gc ando_zhang kaog gdpca gdpca_figures

other-papers: $(VENV)/installed-dev
	for paper in $(PAPERS); do rm -f benchmarks/results/$$paper*.json; \
	    $(VENV)/bin/python -m benchmarks.papers.$$paper $(QUICK) || echo "see above: $$paper"; done
	$(VENV)/bin/python -m benchmarks.papers.page other-papers

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)-lowest/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet uv
	$(VENV)-lowest/bin/uv pip install --quiet --python $(VENV)-lowest/bin/python \
	    --resolution lowest-direct --editable '.[test]'
	touch $@

$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --editable '.[dev]'
	touch $(VENV)/installed $@

$(VENV)/installed-docs: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --editable '.[docs]'
	touch $(VENV)/installed $@

clean:
	rm -rf $(VENV) $(VENV)-lowest $(TOOLS) $(FRESH) dist graphuq-demo
	rm -rf docs/_build docs/reference docs/gallery docs/jupyter_execute docs/.jupyter_cache
