# Everything that one does with this repository. `make` lists it.

COMMIT := $(shell git rev-parse --short=12 HEAD 2>/dev/null)$(shell git diff --quiet HEAD 2>/dev/null || echo +changes)
LDFLAGS := -s -w -X github.com/gatemark/gatemark/internal/build.commit=$(COMMIT)
GO ?= go
# gatemark is one static binary; and with one setting for all, nothing is
# compiled twice, in the tests neither.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath
# Arguments of `gatemark run`, as in: make run ARGS='--profile standard'
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-implementations build node packages test-packages unit lint race bench bench-load test-instrument test-capacity conformance golden down clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: packages build node ## make a cluster, measure a gateway, write runs/latest/report.html
	bin/gatemark run $(ARGS)

# Packages that ask for clusters or for a machine of their own are tested one
# after another, the others side by side.
ALONE = $(shell grep -rlE 'GATEMARK_E2E|localtest|kubetest' --include='*_test.go' . | xargs -n1 dirname | sort -u)

test: test-packages build node lint ## run every test, those on real clusters too
	GATEMARK_E2E=1 $(GO) test -timeout 20m $$($(GO) list ./... | grep -vxF "$$($(GO) list $(ALONE))")
	GATEMARK_E2E=1 $(GO) test -p 1 -timeout 20m $(ALONE)

# IMPLEMENTATIONS are built from source, which takes minutes for each.
IMPLEMENTATIONS ?= envoy-gateway,istio,traefik,contour

test-implementations: test-packages build node ## measure other implementations on a real cluster too
	GATEMARK_E2E=1 GATEMARK_IMPLEMENTATIONS=$(IMPLEMENTATIONS) \
		$(GO) test -count=1 -timeout 60m -p 1 -run '^TestImplementations' -v ./internal/e2e ./implementation/install

build: ## build bin/gatemark
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/gatemark ./cmd/gatemark

node: build ## build the local cluster's programs into bin/node
	bin/gatemark up --build-only

packages:
	@hack/install-packages run

test-packages:
	@hack/install-packages test

unit: ## run the tests that need neither root nor a cluster
	$(GO) test ./...

lint: ## check formatting, vet both modules
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	cd cluster/node && $(GO) vet .

race: ## run the hermetic tests with the race detector
	CGO_ENABLED=1 $(GO) test -race ./...

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

# FULL=1 is the long form; BENCH_ARGS goes to the program, as in:
# make bench-load BENCH_ARGS='--table truth --markdown'
BENCH_DIR ?= $(HOME)/.cache/gatemark/bench
BENCH_ARGS ?=

bench-load: build ## compare the load engine with wrk, h2load, oha, fortio and hey
	@hack/install-bench-packages $(BENCH_DIR)
	cd load/loadbench/peers && $(GO) build -o $(BENCH_DIR)/bin/ ./fortio github.com/rakyll/hey
	$(GO) build -o bin/loadbench ./load/loadbench
	bin/loadbench --gatemark bin/gatemark --folder $(BENCH_DIR) $(if $(FULL),--full) $(BENCH_ARGS)

test-instrument: test-packages build node ## measure a gateway with known faults: is each one found?
	GATEMARK_E2E=1 GATEMARK_INSTRUMENT=whole $(GO) test -count=1 -timeout 60m -parallel 4 -v ./truth/detection
	GATEMARK_E2E=1 GATEMARK_INSTRUMENT=whole $(GO) test -count=1 -timeout 30m -v -run '^TestInstrumentInPods$$' ./internal/e2e

test-capacity: test-packages build node ## search gateways of known capacity, 10 times each, for some 30 minutes
	GATEMARK_E2E=1 GATEMARK_INSTRUMENT=capacity $(GO) test -count=1 -timeout 90m -v -run '^TestKnownCapacity$$' ./truth/detection

# CONFORMANCE_TEST is one test of the suite, as in:
# make conformance CONFORMANCE_TEST=HTTPRouteCORS
CONFORMANCE_TEST ?=

conformance: test-packages build node ## run the Gateway API's conformance suite on truth, the gateway of our own tests
	GATEMARK_E2E=1 GATEMARK_CONFORMANCE=1 GATEMARK_CONFORMANCE_TEST=$(CONFORMANCE_TEST) \
		GATEMARK_CONFORMANCE_REPORT=$(if $(CONFORMANCE_TEST),,$(CURDIR)/truth/conformance/report.yaml) \
		$(GO) test -ldflags '$(LDFLAGS)' -count=1 -timeout 30m -run '^TestConformance$$' -v ./truth/conformance

golden: ## rewrite the reports' golden files
	$(GO) test ./report/... -update

down: ## remove the local cluster
	bin/gatemark down

clean: ## remove what was built (not runs)
	rm -rf bin
