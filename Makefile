# make demo, make test, make docs: each makes its own environment first.
# PYTHON chooses the interpreter, 3.11 or newer.
PYTHON ?= $(firstword $(foreach p,python3.11 python3 python3.12 python3.13,$(if $(shell $(p) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(p))))
VENV ?= .venv
# Tests that need real data are skipped where this folder is absent.
export GRAPHUQ_DATA ?= $(wildcard $(CURDIR)/../shared/data)

.PHONY: demo test lint docs study reproduce clean

demo: $(VENV)/installed
	$(VENV)/bin/graphuq demo

test: $(VENV)/installed-dev
	$(VENV)/bin/python -m pytest -n 2 --dist loadfile
	$(VENV)/bin/python -m pytest --nbmake --override-ini addopts= notebooks

lint: $(VENV)/installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# the site, into docs/_build/index.html; a warning is an error
docs: $(VENV)/installed-docs
	$(VENV)/bin/python -m sphinx -W --keep-going -q docs docs/_build

# every benchmark and study but those that need other packages (samplers.py, multiclass_samplers.py,
# multiclass_accuracy.py: pip install graphuq[peers]) and the UQ paper's, an hour or two; each says
# whether its claims hold
study: $(VENV)/installed-dev
	cd benchmarks && failed= && for b in pcn startup node_statistics threads pixels ginzburg_landau tempering \
	    robust_gc ando_zhang kaog gdpca active_labelling approximation \
	    calibration suspect_labels conformal evidence hyperparameters estimator eigenpairs scale \
	    multiclass_scale multiclass_pairs; do \
	    ../$(VENV)/bin/python $$b.py || failed="$$failed $$b"; done && \
	    { test -z "$$failed" || { echo "claims fail in:$$failed"; exit 1; }; }

# the UQ paper's figures and tables, in its order, and then the page docs/reproduction.md, which says
# how long each took. With QUICK=--quick the page and its pictures go to benchmarks/results instead,
# and docs stay as they are. A claim that fails stops nothing: the page says so.
REPRODUCE = spectra embeddings hard_and_easy two_moons mnist digit_pairs marginals truncation plume \
    timing map

reproduce: $(VENV)/installed-dev
	for study in $(REPRODUCE); do rm -f benchmarks/results/$$study.json; \
	    $(VENV)/bin/python -m benchmarks.uq_paper.$$study $(QUICK) || echo "see above: $$study"; done
	$(VENV)/bin/python -m benchmarks.uq_paper.page $(REPRODUCE)

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

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
	rm -rf $(VENV) graphuq-demo docs/_build docs/reference
