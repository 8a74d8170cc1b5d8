# Every routine task. `make demo` and `make test` need nothing but Python 3.11+, make and a C compiler.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin

.PHONY: demo test lint protos protos-check format clean

demo: $(VENV)/.embedded  ## start the services, ingest the samples, ask three questions, stop
	$(BIN)/radref demo

test: $(VENV)/.dev  ## unit and end-to-end tests
	scripts/debian_packages.sh
	$(BIN)/python -m pytest

lint: $(VENV)/.dev  ## style, types, layering, protos, stale stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	PYTHON=$(BIN)/python scripts/protos.sh --check
	scripts/buf_breaking.sh $(BIN)/buf

protos: $(VENV)/.dev  ## generate radref/api from protos/
	PYTHON=$(BIN)/python scripts/protos.sh

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build *.egg-info

# Marker files: an environment is made once and again when the dependencies change.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.embedded: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[embedded]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.embedded
