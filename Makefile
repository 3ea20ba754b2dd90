# Everything a newcomer, a developer or CI runs. Each target sets up what it needs.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-done

# A Java that setup found or fetched for us is linked here; one that Spark finds by itself needs no help.
WITH_JAVA = if [ -x $(VENV)/jdk/current/bin/java ]; then export JAVA_HOME="$(CURDIR)/$(VENV)/jdk/current"; fi;

.DEFAULT_GOAL := help
.PHONY: help setup demo all quick test lab soak survival partitions check laws fuzz bench peers docs lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

setup: $(STAMP) ## create .venv with the locked packages, and find or fetch Java 17
	@:

$(STAMP): requirements.lock pyproject.toml tools/ensure-venv tools/ensure-java
	@tools/ensure-venv $(VENV)
	@tools/ensure-java $(VENV)
	@touch $@

demo: setup ## watch a sliding-window query over a disordered auction stream
	@$(WITH_JAVA) $(BIN)/python -m millstream.demo

quick: setup ## while you work: unit tests, laws with few examples, transcripts on the local host
	@MILLSTREAM_HYPOTHESIS=quick $(BIN)/python -m pytest -q -n 2 -m "not spark and not slow and not soak and not survival" \
		tests/unit tests/laws tests/transcripts

test: setup ## what must pass before a commit: unit, laws, transcripts, plans, docs, doctests, Spark
	@$(WITH_JAVA) tools/run-tests $(BIN)/python

lab: setup ## the experiments of the laboratory, small
	@$(WITH_JAVA) $(BIN)/python -m pytest -m lab

soak: setup ## long runs, to see that state stays bounded
	@$(BIN)/python -m pytest -m soak

survival: setup ## kill and restart runs: two hundred kills in this process, twenty on Spark
	@$(WITH_JAVA) MILLSTREAM_KILLS=20 MILLSTREAM_LOCAL_KILLS=100 $(BIN)/python -m pytest -m survival

partitions: setup ## play the transcripts on Spark in one and in five partitions, too
	@$(WITH_JAVA) for n in 1 5; do MILLSTREAM_PARTITIONS=$$n $(BIN)/python -m pytest -m spark tests/transcripts || exit 1; done

check: setup ## lint, format, types and import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports

laws: setup ## property tests with ten times the examples
	@MILLSTREAM_HYPOTHESIS=deep $(BIN)/python -m pytest tests/laws

fuzz: setup ## ten thousand random queries over random streams, against the definition and between hosts; half an hour
	@PYTHONPATH=src:tests $(BIN)/python -m fuzz --cases $(or $(CASES),10000) --seed $(or $(SEED),random)
	@PYTHONPATH=src:tests $(BIN)/python -m fuzz.feedback --cases $(or $(CASES),10000) --seed $(or $(SEED),random)

all: check test laws lab soak survival partitions fuzz ## everything that can be tested: two hours

bench: setup ## measure; run it alone on a quiet machine
	@$(WITH_JAVA) $(BIN)/python bench/sliding.py

peers: setup ## measure beside Spark, Flink, Bytewax, DuckDB and Polars; alone on a quiet machine, an hour
	@$(WITH_JAVA) $(BIN)/python bench/peers/run.py $(PEERS)

docs: setup ## run what the documents show: code blocks, links, words
	@$(WITH_JAVA) $(BIN)/python -m pytest tests/docs

lock: ## choose versions anew and write requirements.lock
	@test -x $(BIN)/uv || { echo "lock: $(BIN)/uv is missing; run make setup first" >&2; exit 1; }
	@$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header --upgrade --quiet \
		--output-file requirements.lock

clean: ## remove everything that setup and runs have made
	@rm -rf $(VENV) .peers .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist spark-warehouse
	@find src tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
