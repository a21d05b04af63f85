# `make` lists the targets. Each one makes .venv and installs what it needs, the first time it needs it.

PYTHON ?= python3
# Arguments of train.py, for `make train`; areas, for `make mutants`.
ARGS ?=
# For `make gpu`: the index with the torch for this GPU. Empty: what pip finds, which from PyPI has CUDA.
TORCH_INDEX ?=
# Processes that run tests: auto is one per core, at most four.
TEST_WORKERS ?= auto

SHELL := /bin/sh
VENV := .venv
# The exact versions that are installed there.
CONSTRAINTS := constraints.txt
BIN := $(VENV)/bin
DEMO := runs/demo
SAMPLE := data/sample/test

# Tests start hundreds of processes, each of which would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two targets that install into .venv at the same time would spoil it.
.NOTPARALLEL:

.PHONY: help
help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: $(VENV)/runtime.stamp  ## train a small model on the bundled corpus, score it, translate a file with it
	@# Other runs of this experiment lie in it, each in a folder of its time.
	@mkdir -p $(DEMO) && find $(DEMO) -mindepth 1 -maxdepth 1 ! -name "20*" -exec rm -rf {} +
	$(BIN)/python train.py experiment=demo trainer.devices=1 run_dir=$(DEMO)
	@head -n 20 $(SAMPLE).fr > $(DEMO)/source.fr
	@head -n 20 $(SAMPLE).en > $(DEMO)/reference.en
	$(BIN)/python translate.py --model $(DEMO) --input $(DEMO)/source.fr \
		--output $(DEMO)/translated.en --reference $(DEMO)/reference.en
	@paste $(DEMO)/source.fr $(DEMO)/translated.en $(DEMO)/reference.en | head -n 5 | \
		awk -F '\t' '{ printf "\n  source       %s\n  translation  %s\n  reference    %s\n", $$1, $$2, $$3 }'
	@printf '\nSee where it looks while it translates a sentence of yours:\n%s\n' \
		'  $(BIN)/python -m seq2seq attention --model $(DEMO) --src "Le chat dort dans la cuisine." --output page.html'
	@printf '\nThe report of the run:\n%s\n' '  $(CURDIR)/$(DEMO)/report.html'

.PHONY: learn
learn: $(VENV)/dev.stamp  ## run the course of docs/learn: all code, exercises and figures, from runs/demo: five minutes
	@test -f $(DEMO)/summary.txt || $(MAKE) demo
	$(BIN)/python docs/learn/figures.py $(DEMO)
	$(BIN)/python docs/learn/build.py --all

.PHONY: train
train: $(VENV)/runtime.stamp  ## train a model: make train ARGS="experiment=multi30k data.dir=PATH"
	$(BIN)/python train.py $(ARGS)

PYTEST := $(BIN)/python -m pytest -n $(TEST_WORKERS) --maxprocesses 4 --dist worksteal

.PHONY: test
test: $(VENV)/dev.stamp  ## run all tests: seven to eight minutes on two cores
	$(PYTEST)

.PHONY: test-fast
test-fast: $(VENV)/dev.stamp  ## run the tests that write no file: in half a minute, after each save
	$(PYTEST) -m 'not slow'

# On the oldest Python that is supported: the lowest versions of some packages know no newer one.
.PHONY: lowest
lowest: constraints-lowest.txt  ## run all tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	$(MAKE) VENV=.venv-lowest CONSTRAINTS=$< test

constraints-lowest.txt: pyproject.toml
	@grep -oE '"[A-Za-z0-9._-]+>=[0-9.]+' $< | tr -d '"' | sed 's/>=/==/' | sort -u > $@

# What the tests below draw from, which they print: the same seed draws the same.
SEED ?= $(shell date +%s)
# Files that anybody could have written or damaged; hypothesis chooses how.
FUZZ := tests/faults/test_damaged_files.py $(sort $(wildcard tests/faults/test_hostile_*.py))

.PHONY: faults
faults: $(VENV)/dev.stamp  ## kill runs and workers, send signals and fill disks for long, drawn from SEED
	NIGHTLY=$(SEED) $(PYTEST) $(filter-out $(FUZZ),$(wildcard tests/faults/test_*.py))

.PHONY: cluster
cluster: $(VENV)/dev.stamp  ## run under torchrun and a real SLURM on this machine, as root: a quarter of an hour
	NIGHTLY=1 $(PYTEST) -n0 tests/cluster tests/training/test_sharded.py

.PHONY: fuzz
fuzz: $(VENV)/dev.stamp  ## give every reader damaged and hostile files, words and options for long, drawn from SEED
	NIGHTLY=$(SEED) $(PYTEST) $(FUZZ)

.PHONY: nightly
nightly: $(VENV)/dev.stamp  ## all tests with many draws from SEED, all mutants, clusters, the lowest versions
	$(BIN)/python -m tests.nightly $(SEED)

.PHONY: gpu
gpu: $(VENV)/dev.stamp  ## run and measure all that needs a GPU, and write a table of it: an hour or two; TORCH_INDEX=URL has torch for it
	$(if $(TORCH_INDEX),$(torch_with_cuda))
	$(BIN)/python benchmarks/gpu.py $(ARGS)

.PHONY: mutants
mutants: $(VENV)/dev.stamp  ## put deliberate faults into the code, one at a time, and see that tests fail: a quarter of an hour
	$(BIN)/python -m tests.mutants $(ARGS)

.PHONY: lint
lint: $(VENV)/dev.stamp  ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.PHONY: docs
docs: $(VENV)/dev.stamp  ## build the site into site/; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

.PHONY: pictures
pictures: $(VENV)/dev.stamp  ## draw docs/images with Chromium: make pictures RUN=RUN_DIR BACK=RUN_DIR; runs of Multi30k, to English and back
	PYTHONPATH=. $(BIN)/python docs/draw_pictures.py $(RUN) $(BACK)

.PHONY: check
check: lint test  ## check style and types, then run all tests, of the site too: what a change has to pass

.PHONY: format
format: $(VENV)/dev.stamp  ## rewrite the code to the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: install
install: $(VENV)/dev.stamp  ## make .venv with everything a developer needs

.PHONY: clean
clean:  ## remove caches and builds; keep runs/ and .venv
	rm -rf build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage htmlcov \
		constraints-lowest.txt
	find . -name __pycache__ -not -path './.venv*' -not -path './runs/*' -prune -exec rm -rf {} +

.PHONY: distclean
distclean: clean  ## also remove .venv; keep runs/
	rm -rf $(VENV) .venv-lowest

# The environment. A stamp appears only after pip has finished. While something is being installed, the file
# .venv/unfinished holds the process id of the make that does it; where that make is gone, its install was cut
# off and .venv is made anew. The same if that number is our own: in a container, each make may have it.

$(VENV)/runtime.stamp: pyproject.toml $(CONSTRAINTS) $(BIN)/python
	$(call install,.[train],what training and translating need)

$(VENV)/dev.stamp: pyproject.toml $(CONSTRAINTS) $(BIN)/python
	$(call install,.[dev],what the tests and checks need)
	@touch $(VENV)/runtime.stamp

# The variables reach the environment in which pip builds packages; the option -c would not.
define install
@echo "Installing $(2) into $(VENV): one to five minutes, mostly for the download of torch."
@(set -C; echo $$PPID > $(VENV)/unfinished) 2>/dev/null || { \
	echo "Another make is installing into $(VENV): wait until it is done, then try again." >&2; exit 1; }
@test -e $(BIN)/pip || $(BIN)/python -m ensurepip >/dev/null 2>&1 || { \
	rm $(VENV)/unfinished; echo "$(VENV) has no pip: remove it, then try again." >&2; exit 1; }
@PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS) PIP_DISABLE_PIP_VERSION_CHECK=1 \
	$(BIN)/python -m pip install -qq --no-input -e '$(1)'; status=$$?; rm $(VENV)/unfinished; exit $$status
@touch $@
endef

# The same version of torch from TORCH_INDEX, unless there is one with CUDA; then what else that build needs.
define torch_with_cuda
@torch=$$(grep '^torch==' $(CONSTRAINTS)); export PIP_DISABLE_PIP_VERSION_CHECK=1; \
	$(BIN)/python -c 'import sys, torch; sys.exit(not torch.version.cuda)' || { \
	$(BIN)/python -m pip install -q --no-input --force-reinstall --no-deps --index-url $(TORCH_INDEX) "$$torch" && \
	PIP_CONSTRAINT=$(CONSTRAINTS) $(BIN)/python -m pip install -q --no-input --extra-index-url $(TORCH_INDEX) "$$torch"; }
endef

ifneq ($(wildcard $(VENV)/unfinished),)
.PHONY: $(BIN)/python
endif
$(BIN)/python:
	@other=$$(cat $(VENV)/unfinished 2>/dev/null); \
	test "$$other" = $$PPID || ! kill -0 "$$other" 2>/dev/null || { \
		echo "Another make is installing into $(VENV): wait until it is done, then try again." >&2; exit 1; }
	@$(PYTHON) -c '' >/dev/null 2>&1 || { \
		echo "No working '$(PYTHON)' here: install Python 3.10 or newer, or name one with 'make PYTHON=/path/to/python3'." >&2; \
		exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "'$(PYTHON)' is too old: install Python 3.10 or newer, or name one with 'make PYTHON=python3.12'." >&2; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' lacks the modules venv and ensurepip: install them (Debian, Ubuntu: apt install python3-venv)." >&2; \
		exit 1; }
	@rm -rf $(VENV)
	@mkdir $(VENV)
	@echo $$PPID > $(VENV)/unfinished
	@$(PYTHON) -m venv $(VENV)
	@rm $(VENV)/unfinished
