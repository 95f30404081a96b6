# Headwater: `make demo` and `make test` do everything a fresh machine needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
export PYTHONPATH := src
# Compiled modules are kept: most of the time of a short command is the loading of code.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test tests test-fast test-long test-cluster lint format types layers coverage goldens docs picture bench bench-all bench-docs bench-gate lock clean java

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

$(STAMP): requirements.lock pyproject.toml scripts/setup.sh
	@bash scripts/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $@

java: $(STAMP)
	@bash scripts/java.sh

demo: $(STAMP) java ## Start a hub, make stream tables, change data, refresh, show what happened.
	@$(BIN)/python -m headwater.cli.main demo

test: $(STAMP) java lint ## Everything CI runs: lint, types, layers, all tests, coverage.
	@$(MAKE) --no-print-directory -j 3 types layers tests
	@$(BIN)/python scripts/coverage.py

tests:
	@$(BIN)/python -m pytest -q -m "not long and not timed" -n 3 --no-loadscope-reorder --cov --cov-report= $(PYTEST_ARGS)
	@$(BIN)/python -m pytest -q -m "timed and not long" $(PYTEST_ARGS) $(if $(PYTEST_ARGS),|| [ $$? -eq 5 ])

test-fast: $(STAMP) ## Tests that need no JVM and no database server, under a minute.
	@$(BIN)/python -m pytest -q -m "not spark and not postgres and not long" $(PYTEST_ARGS)

test-long: $(STAMP) java ## Repetitions and long runs: crash rounds, random queries, full workloads.
	@$(BIN)/python -m pytest -q -m "long" --timeout 7200 $(PYTEST_ARGS)

test-cluster: $(STAMP) java ## The scheduler's tests on a Spark master with two workers on this host.
	@$(BIN)/python scripts/on_cluster.py $(PYTEST_ARGS)

lint: $(STAMP) ## Lint, format check, file sizes.
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/python scripts/check_sources.py

format: $(STAMP) ## Format the sources.
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

types: $(STAMP) ## mypy strict.
	@$(BIN)/python -m mypy --no-error-summary

layers: $(STAMP) ## Check that imports only point down.
	@mkdir -p build
	@$(BIN)/lint-imports --no-cache > build/layers.txt 2>&1 || (cat build/layers.txt; exit 1)

goldens: $(STAMP) ## Rewrite the golden SQL files; review the diff.
	@HW_WRITE_GOLDENS=1 $(BIN)/python -m pytest -q tests/delta -k golden

docs: $(STAMP) ## Write the generated pages under docs/.
	@$(BIN)/python scripts/docs.py

picture: $(STAMP) java ## Run the demo and make docs/demo.svg of what it shows.
	@$(BIN)/python scripts/demo_picture.py

bench: $(STAMP) java ## Run the benchmarks; results go to bench/results/.
	@$(BIN)/python -m bench.refresh_floor
	@$(BIN)/python -m bench.idle_tick
	@$(BIN)/python -m bench.parallel

bench-gate: $(STAMP) java ## Fail when refreshes have become slower than the accepted ratios in bench/.
	@$(BIN)/python -m bench.gate

BENCHMARKS := cache profile refresh_floor idle_tick parallel width growth big_target maintenance \
  batching routing choice pipeline tpch peers pipelines_peer

bench-all: $(STAMP) java ## All benchmarks, TPC-H at scale 1 among them, then the page; takes hours.
	@missed=; for name in $(BENCHMARKS); do echo "== $$name"; \
	  $(BIN)/python -m bench.$$name || missed="$$missed $$name"; done; \
	$(BIN)/python scripts/bench_docs.py; \
	if [ -n "$$missed" ]; then echo "failed or missed their marks:$$missed"; exit 1; fi

bench-docs: $(STAMP) ## Write the results of the benchmarks into docs/performance.md.
	@$(BIN)/python scripts/bench_docs.py

lock: $(STAMP) ## Resolve the dependencies again.
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --all-extras -o requirements.lock pyproject.toml

clean: ## Remove the environment and all caches.
	@rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache
