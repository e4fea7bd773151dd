# Every task of this repository; `make` alone lists them.
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
.DEFAULT_GOAL := help
.PHONY: help run dev test test-all test-one test-unit test-cluster test-faults test-container fuzz bench bench-full soak image release release-sign release-push install deploy undeploy verify generate fmt clean

INSTALLED := node_modules/.package-lock.json
SOURCES := src test tools bench

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(INSTALLED) ## Start a real control plane with operator, gateway and samples; Ctrl-C stops it.
	@node tools/run.ts

dev: $(INSTALLED) ## The same, and restart the programs when a file of src/ changes.
	@node tools/run.ts --watch

test: $(INSTALLED) ## Run the tests for every change: units, real control planes, some faults, the image.
	@node tools/test.ts

test-all: $(INSTALLED) ## Run all tests, also floods, long runs and other projects' programs.
	@node tools/test.ts --all

# A part of a title, and of the path of its file: both may be left out, not both.
test-one: $(INSTALLED) ## Run tests by a part of their title: NAME='a key ends at its ttl', FILE=test/unit/domain.
	@node tools/test-one.ts $(if $(NAME),--name '$(subst ','\'',$(NAME))') $(FILE)

test-unit: $(INSTALLED) ## Run the tests that need no control plane.
	@node tools/test.ts --all unit

test-cluster: $(INSTALLED) ## Run all tests of the projects docs, cluster, private and direct.
	@node tools/test.ts --all docs cluster private direct

test-faults: $(INSTALLED) ## Run the fault tests, ten rounds of each.
	@FAULT_ROUNDS=10 node tools/test.ts --all faults

test-container: $(INSTALLED) ## Run the tests of the container image; needs Docker, or root and apt.
	@node tools/test.ts --all container

fuzz: $(INSTALLED) ## Run a parser on changed inputs: TARGET=path (or all) SECONDS=60; without one, compare the gateway with the audit log.
	@node tools/fuzz.ts $(if $(TARGET),--target '$(TARGET)') $(if $(SECONDS),--seconds '$(SECONDS)') $(if $(SEED),--seed '$(SEED)')

bench: $(INSTALLED) ## Measure operator and gateway beside their peers, with a verdict on each goal; a quarter of an hour, Linux.
	@node bench/main.ts

bench-full: $(INSTALLED) ## The same with 100,000 keys and bursts of thousands; an hour and a half.
	@node bench/main.ts --full

soak: $(INSTALLED) ## Run operator and gateway under load for 30 minutes while connections break; MINUTES=30 PER_MINUTE=4000.
	@node bench/soak.ts --minutes='$(or $(MINUTES),30)' --per-minute='$(or $(PER_MINUTE),4000)'

# DOCKER_BUILD_FLAGS are added as they are, such as --network host or --build-arg NODE_IMAGE=... .
# REPOSITORY is the URL where the commit can be read: labels name it. PLATFORMS=linux/amd64,linux/arm64 builds for each and pushes
# the image, because a daemon keeps images of its own platform only.
IMG ?= management-operator:dev
DOCKER ?= docker
REVISION = $$(git rev-parse HEAD 2>/dev/null || echo unknown)
image: ## Build the container image IMG; with PLATFORMS=linux/amd64,linux/arm64 for each of them, and push it.
	@$(if $(PLATFORMS),$(DOCKER) buildx version > /dev/null 2>&1 || \
	  { echo 'PLATFORMS needs the plugin buildx of docker: install it. Without PLATFORMS the image is for this machine.' >&2; exit 1; })
	@DOCKER_BUILDKIT=1 $(DOCKER) $(if $(PLATFORMS),buildx build --platform '$(PLATFORMS)' --push,build) $(DOCKER_BUILD_FLAGS) --tag $(IMG) \
	  --build-arg VERSION="$$(awk -F '"' '$$2 == "version" { print $$4; exit }' package.json)" \
	  --build-arg REVISION="$(REVISION)" \
	  $(if $(REPOSITORY),--label org.opencontainers.image.url='$(REPOSITORY)' --label org.opencontainers.image.source='$(REPOSITORY)' \
	    --label org.opencontainers.image.documentation="$(REPOSITORY)/tree/$(REVISION)/docs") .

# IMAGE is the pushed image by digest, REPOSITORY the URL where the commit can be read.
release: $(INSTALLED) ## Write charts, manifests, SBOM, sums and provenance of a version into dist/: IMAGE=...@sha256:... REPOSITORY=https://...
	@IMAGE='$(IMAGE)' REPOSITORY='$(REPOSITORY)' node tools/release.ts

# DRY_RUN=1 prints the commands and runs none.
release-sign: $(INSTALLED) ## Sign dist/SHA256SUMS and the image by cosign: IMAGE=...@sha256:... KEY=cosign.key (keyless without).
	@IMAGE='$(IMAGE)' KEY='$(KEY)' DRY_RUN='$(DRY_RUN)' $(if $(COSIGN),COSIGN='$(COSIGN)') node tools/release-publish.ts sign

release-push: $(INSTALLED) ## Push the charts of dist/: CHARTS=oci://registry.example.com/charts.
	@CHARTS='$(CHARTS)' DRY_RUN='$(DRY_RUN)' node tools/release-publish.ts push

install: $(INSTALLED) ## Apply CRDs, RBAC and policies to the cluster of your kubeconfig.
	@node tools/install.ts install

# TIMEOUT bounds the wait for each Deployment, such as 10m; 5m without it.
deploy: $(INSTALLED) ## Apply these and the Deployments with image IMG, and wait until they run.
	@node tools/install.ts deploy --image '$(IMG)' $(if $(TIMEOUT),--timeout '$(TIMEOUT)')

undeploy: $(INSTALLED) ## Remove it all: keys and tokens first, then the operator.
	@node tools/install.ts undeploy

verify: $(INSTALLED) ## Check generated files, lock file, format, lint, types, structure and words.
	@node tools/generate.ts --check
	@node tools/generate-docs.ts --check
	@node bench/report/write-page.ts --check
	@node tools/complete-lock.ts --check
	@biome format .
	@if ! command -v gofmt > /dev/null; then echo 'skipped: the format of Go, as gofmt is not on PATH'; \
	  elif [ -n "$$(gofmt -l tools bench)" ]; then gofmt -d tools bench; exit 1; fi
	@oxlint --type-aware --deny-warnings $(SOURCES)
	@tsc
	@node tools/structure.ts
	@node tools/words.ts

generate: $(INSTALLED) ## Write the generated files: types from crds/, tables of docs/, the lock file, test/golden, charts.
	@node tools/complete-lock.ts
	@node tools/generate.ts
	@node tools/generate-docs.ts
	@node bench/report/write-page.ts
	@node tools/golden.ts
	@node tools/charts.ts

fmt: $(INSTALLED) ## Format the sources.
	@biome format --write .
	@if command -v gofmt > /dev/null; then gofmt -w tools bench; fi

clean: ## Remove npm packages, the data of make run, and what tests left; the built control plane stays cached.
	rm -rf node_modules .run .test coverage

# npm writes this file at the end of an install.
$(INSTALLED): package.json package-lock.json
	@echo 'installing npm packages (once, one to two minutes)'
	@npm ci --no-audit --no-fund --loglevel=error & npm=$$!; seconds=0; \
	  while sleep 1; kill -0 $$npm 2> /dev/null; do seconds=$$((seconds + 1)); \
	    if [ $$((seconds % 15)) = 0 ]; then echo "installing npm packages ... $$seconds s"; fi; done; \
	  wait $$npm
	@touch $@
