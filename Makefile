# Everything that is done with this collection. `make` alone lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

collections := $(CURDIR)/.build/collections
copy := $(collections)/ansible_collections/llmops/sglang
bin := $(CURDIR)/.venv/bin
tooling := $(CURDIR)/tests/tooling

SCENARIO ?= default

export PATH := $(bin):$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(collections)
export ANSIBLE_NOCOWS := 1

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: collection
collection: ## Lay the collection out in .build/collections, and make .venv with Ansible
	@$(tooling)/debian-packages git rsync ca-certificates
	@$(tooling)/controller
	@$(tooling)/lay-out-collection

.PHONY: lint
lint: collection ## All linters, with the sanity tests of ansible-test
	@$(tooling)/debian-packages shellcheck
	@cd $(copy) && $(tooling)/in-turn \
		'yamllint --strict .' \
		'ruff check --quiet --output-format=concise .' \
		'shellcheck $$(git ls-files --others --exclude-standard | xargs grep --files-with-matches "^#!.*sh$$")' \
		'antsibull-changelog lint' \
		'ansible-lint --offline --nocolor -q' \
		$(tooling)/sanity

.PHONY: unit
unit: collection ## The unit tests
	@cd $(copy) && PYTHONPATH=$(collections) python -m pytest --numprocesses auto tests/unit

# The longest tests come first, so that the others fill the cores beside them.
.PHONY: batches
batches: collection ## The rollout's order and brakes, on local hosts with scripted servers
	@cd $(copy) && PYTHONPATH=$(collections) python -m pytest --numprocesses auto tests/batches/test_interruptions.py tests/batches

.PHONY: molecule
molecule: collection ## One scenario on real nodes: make molecule SCENARIO=default
	@MOLECULE_EPHEMERAL_DIRECTORY=$(CURDIR)/.build/molecule/$(SCENARIO) \
		molecule test --no-command-borders --scenario-name $(SCENARIO)

.PHONY: test
test: ## Everything: linters, unit tests, batches, all scenarios
	@$(tooling)/in-turn '$(MAKE) lint' '$(MAKE) unit' '$(MAKE) batches' \
		'$(MAKE) molecule' '$(MAKE) molecule SCENARIO=faults' '$(MAKE) molecule SCENARIO=fleet'
	@echo 'Skipped: the real SGLang server (make test-real, 1.4 GB and about 20 minutes).'

.PHONY: demo
demo: collection ## Three nodes; MTP is turned on and proven on each
	@tests/demo/run

.PHONY: demo-clean
demo-clean: collection ## Remove the nodes of the demo
	@tests/demo/clean

.PHONY: bench
bench: collection ## How fast the evidence is read, how soon readiness is seen, what a host costs the controller
	@$(tooling)/debian-packages systemd-journal-remote
	@python tests/bench/run.py
	@PYTHONPATH=$(collections) python tests/bench/readiness.py
	@python tests/bench/scale.py --load-seconds 10 10

.PHONY: clean
clean: demo-clean ## Remove the demo, and everything that was built here
	@rm -rf .build .venv .cache

-include tests/real_server/targets.mk
