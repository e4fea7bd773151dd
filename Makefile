# Everything that one does with this repository. `make` alone lists it.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
.DEFAULT_GOAL := help
.PHONY: help run test test-all test-unit test-cluster test-faults test-container fuzz image install deploy undeploy verify generate fmt clean

INSTALLED := node_modules/.package-lock.json
SOURCES := src test tools bench

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(INSTALLED) ## Start a real control plane with the operator and samples, to look at; Ctrl-C ends it.
	@node tools/run.ts

test: $(INSTALLED) ## Run what a change may break, in minutes: units, the real control plane, faults, the image.
	@node tools/test.ts

test-all: $(INSTALLED) ## Run every test there is: floods, long lives, other projects' programs.
	@node tools/test.ts --all

test-unit: $(INSTALLED) ## Run the tests that need no control plane.
	@node tools/test.ts --all unit

test-cluster: $(INSTALLED) ## Run every test against a real control plane.
	@node tools/test.ts --all cluster private direct

test-faults: $(INSTALLED) ## Run ten rounds of the tests that break things.
	@FAULT_ROUNDS=10 node tools/test.ts --all faults

test-container: $(INSTALLED) ## Run the tests of the container image; Docker, or root and apt.
	@node tools/test.ts --all container

fuzz: $(INSTALLED) ## Compare what the gateway decides on with what the API server audits; FUZZ_REQUESTS, or a million.
	@node tools/fuzz.ts

# DOCKER_BUILD_FLAGS are added as they are, such as --network host or --build-arg NODE_IMAGE=... .
IMG ?= management-operator:dev
DOCKER ?= docker
image: ## Build the container image IMG.
	@DOCKER_BUILDKIT=1 $(DOCKER) build $(DOCKER_BUILD_FLAGS) --tag $(IMG) \
	  --build-arg VERSION="$$(awk -F '"' '$$2 == "version" { print $$4; exit }' package.json)" \
	  --build-arg REVISION="$$(git rev-parse HEAD 2>/dev/null || echo unknown)" .

install: $(INSTALLED) ## Put CRDs, RBAC and policies into the cluster of your kubeconfig.
	@node tools/install.ts install

# TIMEOUT bounds the wait for each Deployment, such as 10m.
deploy: $(INSTALLED) ## Put everything there with image IMG, and wait until it runs.
	@node tools/install.ts deploy --image '$(IMG)' $(if $(TIMEOUT),--timeout '$(TIMEOUT)')

undeploy: $(INSTALLED) ## Take everything out again: keys and tokens first, then the operator.
	@node tools/install.ts undeploy

verify: $(INSTALLED) ## Check generated files, lock file, format, lint and types.
	@node tools/generate.ts --check
	@node tools/generate-docs.ts --check
	@node tools/complete-lock.ts --check
	@biome format .
	@oxlint --type-aware --deny-warnings $(SOURCES)
	@tsc

generate: $(INSTALLED) ## Write what is generated: types from crds/, tables of docs/, the lock file.
	@node tools/complete-lock.ts
	@node tools/generate.ts
	@node tools/generate-docs.ts

fmt: $(INSTALLED) ## Format the sources.
	@biome format --write .

clean: ## Remove what the targets above left behind, the data of make run included.
	rm -rf node_modules .run .test coverage

# npm writes this file at the end of an install.
$(INSTALLED): package.json package-lock.json
	@echo 'installing npm packages (once, about a minute)'
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@
