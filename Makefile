# What a newcomer types is `make demo` and `make test`; `make help` lists the rest.

SHELL := /bin/bash
BIN := $(CURDIR)/bin
TOOLS := $(BIN)/tools
# Empty: the default folder of kruise-sandbox, so that `bin/kruise-sandbox kubeconfig` finds the demo's cluster.
STATE ?=
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Empty: `kubectl kruise install` asks for --image.
AGENT_IMAGE ?=
LDFLAGS := -s -w -X main.version=$(VERSION)
PACKAGES := ./cmd/... ./e2e/... ./internal/... ./pkg/...
SANDBOX := $(BIN)/kruise-sandbox
NODES ?= 2
FAKE_NODES ?= 0
# What `make image` calls the image, and where `make image-push` pushes it to.
IMAGE ?= kubectl-kruise/kruise-agent:dev
ARCH ?= $(shell go env GOARCH)
AGENT := $(BIN)/kruise-agent
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## bin/kubectl-kruise and bin/kruise-sandbox
	go build -trimpath -ldflags '$(LDFLAGS) -X main.agentImage=$(AGENT_IMAGE)' -o $(BIN)/kubectl-kruise ./cmd/kubectl-kruise
	go build -C sandbox -trimpath -ldflags '-s -w' -o $(SANDBOX) .

.PHONY: agent-%
agent-%:
	GOOS=linux GOARCH=$* CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o $(AGENT)-$* ./cmd/kruise-agent

.PHONY: image
image: agent-$(ARCH) ## dist/kruise-agent.tar, for `kruise-sandbox load`, docker load and ctr images import
	mkdir -p dist
	go run -C internal/image . save $(CURDIR)/dist/kruise-agent.tar $(IMAGE) linux/$(ARCH)=$(AGENT)-$(ARCH)

.PHONY: image-push
image-push: agent-amd64 agent-arm64 ## push IMAGE for linux/amd64 and linux/arm64
	go run -C internal/image . push $(IMAGE) linux/amd64=$(AGENT)-amd64 linux/arm64=$(AGENT)-arm64

.PHONY: chart
chart: ## dist/kubectl-kruise and its .tgz: a Helm chart that installs IMAGE
	mkdir -p dist
	go run ./internal/chart dist $(VERSION) $(IMAGE)
	tar -C dist -czf dist/kubectl-kruise-chart.tgz kubectl-kruise

$(TOOLS)/%: tools/go.mod tools/go.sum
	go build -C tools -o $(TOOLS)/ tool

.PHONY: generate
generate: $(TOOLS)/controller-gen ## deepcopy functions, CRDs, the command reference
	hack/generate.sh $(TOOLS)
	go run ./internal/reference docs/commands

.PHONY: verify
verify: verify-format verify-lint verify-generated ## format, vet, staticcheck, import rule, generated files
	go test -count=1 ./internal/imports ./internal/reference

.PHONY: verify-format
verify-format:
	@files=$$(gofmt -l cmd e2e internal pkg sandbox); if [ -n "$$files" ]; then echo "not formatted; run: gofmt -w" $$files; exit 1; fi

.PHONY: verify-lint
verify-lint: $(TOOLS)/staticcheck
	go vet $(PACKAGES)
	go vet -C sandbox ./...
	go vet -C internal/image .
	$(TOOLS)/staticcheck $(PACKAGES)
	cd sandbox && $(TOOLS)/staticcheck ./...
	cd internal/image && $(TOOLS)/staticcheck .

# The generators write into a copy of the tree, so that a check never changes the work tree.
.PHONY: verify-generated
verify-generated: $(TOOLS)/controller-gen
	@hack/verify-generated.sh $(TOOLS)

.PHONY: test
test: test-unit test-integration test-e2e ## all tests

.PHONY: test-unit
test-unit: ## tests that need no cluster, the simulated histories among them
	hack/test-unit.sh

.PHONY: test-integration
test-integration: build ## tests against a real API server with fake nodes
	hack/test-cluster.sh integration

.PHONY: test-e2e
test-e2e: build image ## tests with a real kubelet and containers (root and containerd)
	hack/test-cluster.sh e2e

.PHONY: soak
soak: build ## the long forms of the same tests
	KRUISE_TEST_LONG=1 hack/test-unit.sh
	KRUISE_TEST_LONG=1 hack/test-cluster.sh integration
	KRUISE_TEST_LONG=1 hack/test-cluster.sh e2e

# The specification is not part of the repository, so nothing else asks for this.
.PHONY: spec-coverage
spec-coverage: ## scenarios of the specification in SPEC that no test shows; RESULTS adds recorded test runs
	@KRUISE_HISTORIES=$${KRUISE_HISTORIES:-2000} RAPID_SEED=$${RAPID_SEED:-1} go run ./internal/speccoverage -spec "$(SPEC)" $(RESULTS)

.PHONY: bench
bench: build agent-$(ARCH) ## planner, start-up time, latencies and scale, as tables
	hack/bench.sh

.PHONY: demo
demo: build ## a cluster, a CloneSet, and a rollout in two batches
	STATE="$(STATE)" hack/demo.sh

.PHONY: sandbox-up
sandbox-up: build ## a local cluster of NODES real and FAKE_NODES fake nodes
	hack/sandbox-deps.sh
	$(SANDBOX) up --nodes $(NODES) --fake-nodes $(FAKE_NODES) --state "$(STATE)"

.PHONY: sandbox-down
sandbox-down: build ## stop that cluster and remove what it left
	$(SANDBOX) down --state "$(STATE)"

.PHONY: clean
clean: ## remove bin/ (caches of the sandbox stay)
	rm -rf $(BIN)
