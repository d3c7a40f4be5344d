# Every target sets up what it needs: Python 3.11 to 3.14, make and a package registry are enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := $(VENV)/.extras-installed
READER := $(VENV)/.reader-built

DEMO_WAREHOUSE = build/demo.duckdb
DEMO_PAGE = build/fleet.html
MUTATIONS = 300000

# Prefect and what it brings report home unless told not to, and its server may start slowly on a busy machine.
export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS := 60

# Commands and tests start hundreds of processes; without bytecode each would compile a thousand modules anew.
unexport PYTHONDONTWRITEBYTECODE

# A registry may stand behind a certificate that only the system knows.
export UV_SYSTEM_CERTS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install extras demo docs test quick check golden corpus fuzz attack soak bench protos lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP) $(READER) ## Install bufferhouse into .venv (PYTHON=... chooses the interpreter)

extras: $(EXTRAS) $(READER) ## Install what lakes, Dask, packing, agents and notebooks need, too

demo: $(READER) ## Ingest examples/fleet and show what its memory did
	@mkdir -p build
	$(BIN)/python -m flows.ingest examples/fleet --warehouse $(DEMO_WAREHOUSE)
	$(BIN)/bufferhouse report fleet --warehouse $(DEMO_WAREHOUSE)
	$(BIN)/bufferhouse report fleet --warehouse $(DEMO_WAREHOUSE) --html $(DEMO_PAGE)

docs: $(READER) ## Draw the house and take the pictures of the documents anew, in headless Chromium; look before committing
	$(BIN)/python -m docs.house
	$(BIN)/python -m docs.pictures

test: $(EXTRAS) $(READER) ## Run all tests, a process more than there are cores (PYTEST_FLAGS=... adds options)
	$(BIN)/python -m pytest -q --numprocesses auto --dist loadfile --no-loadscope-reorder $(PYTEST_FLAGS)

quick: $(READER) ## Run the tests of reading, tabulating and SQL, in less than a minute
	$(BIN)/python -m pytest -q --numprocesses auto -m 'not soak and not slow and not browser' \
		tests/dump tests/tabulate tests/schemas tests/engine tests/config tests/compare tests/system/test_floors.py

check: $(STAMP) ## Lint, check the format, and check that no lock file names a registry
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 bufferhouse flows schemas # a locale is no encoding of our files
	$(BIN)/ruff format --check .
	@! grep -n '://' requirements.lock extras.lock docker/requirements.lock

golden: $(EXTRAS) $(READER) ## Write the expected outputs of the tests anew; read the diff before committing it
	$(BIN)/python -m pytest -q --golden-update tests

corpus: $(READER) ## Read the whole corpus, a line per build: byte for byte, and against the compiler's own truth
	$(BIN)/python -m tests.corpus

fuzz: $(READER) ## Feed both readers 300,000 damaged dumps (MUTATIONS=... for fewer), the native one with sanitizers
	$(BIN)/python -m tests.fuzz --mutations $(MUTATIONS)
	$(BIN)/python -m tests.dump.fuzz_native --mutations $(MUTATIONS)

attack: $(EXTRAS) $(READER) ## Attack every door: hostile SQL, archives, dumps, names, kills; nothing may be let through
	$(BIN)/python -m tests.attack

soak: $(EXTRAS) $(READER) ## Run the tests that take minutes, and further inputs of those that take seconds
	$(BIN)/python -m pytest -q -m soak

bench: $(EXTRAS) $(READER) ## Run the benchmarks
	$(BIN)/python -m benchmarks

protos: $(STAMP) ## Write the reader of protos anew, after a change of bufferhouse/proto/hlo.proto
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. bufferhouse/proto/hlo.proto

lock: $(BIN)/uv ## Write the lock files anew from pyproject.toml (LOCK_FLAGS=--upgrade takes newer versions)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes \
		--custom-compile-command 'make lock' --extra dev $(LOCK_FLAGS) pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes \
		--custom-compile-command 'make lock' --extra image --constraint requirements.lock --no-annotate \
		pyproject.toml -o docker/requirements.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-emit-index-url --generate-hashes \
		--custom-compile-command 'make lock' --extra lake --extra dask --extra packing --extra mcp --extra notebook --constraint requirements.lock \
		--no-annotate pyproject.toml -o extras.lock

clean: ## Remove everything that make made
	rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis bufferhouse/dump/native/*.so
	find . -name __pycache__ -prune -exec rm -rf {} +

# uv reads none of pip's configuration: where only pip knows the way to the registry, pip installs.
$(STAMP): pyproject.toml requirements.lock | $(BIN)/uv
	@echo 'Installing the packages of requirements.lock into $(VENV)'
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock || { \
		echo 'uv cannot install these packages; trying pip, which takes longer' >&2; \
		$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock; }
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --offline --editable .
	@$(BIN)/python -m bufferhouse.report.html.vega >/dev/null
	@touch $@

# Without a compiler the reader in Python reads everything, and the next make looks again.
$(READER): bufferhouse/dump/native/scan.c bufferhouse/dump/native/library.py | $(STAMP)
	@$(BIN)/python -m bufferhouse.dump.native && touch $@ || true

$(EXTRAS): extras.lock | $(STAMP)
	@echo 'Installing the packages of extras.lock into $(VENV)'
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r extras.lock || { \
		echo 'uv cannot install these packages; trying pip, which takes longer' >&2; \
		$(BIN)/python -m pip install --quiet --require-hashes -r extras.lock; }
	@touch $@

$(BIN)/uv: | $(BIN)/python
	$(BIN)/python -m pip install --quiet \
		"$$(grep -o '^uv==[^ ]*' requirements.lock || echo uv)"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
		echo 'bufferhouse needs Python 3.11 to 3.14, and "$(PYTHON)" is another: try make PYTHON=/path/to/python3.14' >&2; \
		exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
