# Everything a contributor runs. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GORELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1
HELM ?= go run helm.sh/helm/v3/cmd/helm@v3.22.0
GOLICENSES := github.com/google/go-licenses@v1.6.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME ?= 5s
BENCH ?= .
BENCHTIME ?= 1s

# One compile graph: tests, linters and releases share what Go has compiled. The race
# detector wants cgo.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)
race: export CGO_ENABLED := 1

# Real documents for the tests that want them; they skip where the folder is
# absent. Only tests see it: to the program the variable names its own folder.
DOCUMENTS := $(or $(TOOLSTREAM_DATA),$(wildcard $(CURDIR)/../shared/data))
test race integration campaign bench cover fuzz: export TOOLSTREAM_DATA := $(DOCUMENTS)

# Real models for the tests that want them, outside of the checkout, so that they are
# fetched once: `make models`. The tests skip where the folder is absent.
MODELS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/toolstream/models
test bench cover: export TOOLSTREAM_MODELS := $(or $(TOOLSTREAM_MODELS),$(wildcard $(MODELS)))

.PHONY: help build run models servers provision static-model test race integration campaign lint generated tidy fuzz bench cover tune

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

# Without this tag, gRPC links html/template, with which the linker keeps every exported method:
# 7 MB more.
SMALL := grpcnotrace
# Static on Linux, and without the models that run in the process.
STATIC := noonnx
build: ## build bin/toolstream and bin/toolstream-lab
	go build -tags $(SMALL) -ldflags="-s -w" -o bin/ ./cmd/toolstream ./cmd/toolstream-lab

run: ## start toolstream on the sample registry and show a search
	go run ./cmd/toolstream up --import examples/registry/tools --try "will it rain in Lisbon tomorrow?"

# WEAVIATE=false leaves Weaviate out, which takes minutes to compile the first time.
WEAVIATE ?= true
up-distributed: provision-trial build ## start Kafka, NATS, Weaviate and the five services, and show a search (made once: wants mvn, Java 17)
	@exec bin/servers kafka nats $(if $(filter true,$(WEAVIATE)),weaviate) -- internal/testing/trial.sh

models: build ## download the ONNX Runtime and the models that tests want (330 MB, once)
	for name in minilm minilm-q bge-small bge-small-q; do bin/toolstream models add $$name --dir "$(MODELS)"; done

# Kafka, NATS and Weaviate, outside of the checkout too. The program itself is
# started, not `go run`, which would not tell it of every signal.
servers: ## start Kafka, NATS and Weaviate on loopback until ctrl-C (made once: wants mvn, Java 17)
	@go build -o bin/servers ./internal/testing/cmd/servers && exec bin/servers $(SERVERS)

.PHONY: up-distributed provision-trial
provision-trial:
	@go build -o bin/servers ./internal/testing/cmd/servers && exec bin/servers -provision kafka nats $(if $(filter true,$(WEAVIATE)),weaviate)

provision: ## make Kafka, NATS, Weaviate, helm, an identity provider, servers to look at, clients and what drives a browser for tests, once; compiling takes minutes
	@go build -o bin/servers ./internal/testing/cmd/servers && exec bin/servers -provision kafka nats weaviate helm mcp agents clients console registry identity

# An embedding model to build in: docs/models.md. It takes an hour of
# two processors the first time, a few minutes when the teacher's vectors are in
# the cache.
WORDNET ?= /usr/share/wordnet
static-model: ## learn an embedding model to build in (wants `make models`, documents, wordnet-base)
	TOOLSTREAM_MODELS_DIR="$(MODELS)" go run ./cmd/toolstream-lab distill \
	  --texts "$(DOCUMENTS)/mcp/tools.jsonl.gz" --texts "$(DOCUMENTS)/openapi/operations.jsonl.gz" \
	  --wordnet "$(WORDNET)" --per-vendor 250 --language en --min-vendors 2 \
	  --teacher onnx:minilm --name en-3 --out internal/models/static/builtin.static \
	  --licence "all-MiniLM-L6-v2: Apache-2.0" --licence "WordNet 3.0: WordNet License" \
	  --licence "Toucan MCP tools: MIT" --licence "OpenAPI directory: MIT"

# Three levels of tests: internal/testing/level says how a test chooses its own. Go does
# not see the program that tests/ builds, so their results are not cached. RACE=true runs
# the packages in which goroutines share state with the race detector.
GOTEST := go test -vet=off
test: ## every test that needs nothing but Go
	$(GOTEST) -timeout 10m $$(go list ./... | grep -v /tests/ $(if $(RACE),| grep -vxF "$$(go list $(CONCURRENT))"))
	$(GOTEST) -count=1 -timeout 10m -p 4 -parallel 8 ./tests/...
	$(if $(RACE),$(MAKE) --no-print-directory race)

CONCURRENT := ./internal/access/oidc ./internal/access/spiffe ./internal/bus/... ./internal/changes/deadletter ./internal/connect/... ./internal/engine/flat ./internal/engine/lexical ./internal/engine/weaviate ./internal/models/... ./internal/server/mcpserver ./services/calls ./services/embedder ./services/ingest ./services/ingest/sources/... ./services/query/... ./services/trainer
race: ## the packages with concurrency, with the race detector (wants a C compiler)
	$(GOTEST) -race -timeout 15m $(CONCURRENT)

# Integration runs the tests that want servers, the slowest packages first. Of packages
# with many others it names them; the names of go test -run apply to all packages of a call.
SERVED := ./tests/console ./tests/agents ./internal/bus/kafka ./internal/bus/nats ./internal/engine/weaviate ./tests/chart ./tests/clients ./tests/identity ./tests/sources
SERVED_TESTS := TestCaddy|TestConformance
DEPLOYED := TestDeployment.*|TestNothingHiddenIsShown|TestNoSecretIsShown|TestTheAuditLogHolds|TestATenantIsErasedEverywhere|TestEachUserOfNATS.*
integration: provision ## tests with one Kafka, NATS and Weaviate for all of them, and with helm (made once: wants mvn, Java 17)
	bin/servers kafka nats weaviate -- $(SHELL) -c '$(GOTEST) -count=1 -timeout 15m -p 3 $(SERVED) && \
	  $(GOTEST) -count=1 -timeout 15m -p 4 -parallel 8 -run "^($(SERVED_TESTS))$$|^($(DEPLOYED))/distributed" ./tests/e2e ./internal/connect/gateway ./internal/connect/mcp'

# A full disk is a small one of its own, where mounting is permitted. The metrics are
# compared with trec_eval's own code, in a Python environment outside of the checkout.
TREC := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/toolstream/trec-0.5.11
campaign: ## crashes, damage, attacks, full disks, the chart on a control plane, a language model, ONNX models, fuzzing, all documents: an hour
	@go build -o bin/servers ./internal/testing/cmd/servers && bin/servers -provision kafka nats weaviate helm mcp agents clients console registry identity keycloak kubernetes promtool llama
	@"$(TREC)/bin/python" -c 'import pytrec_eval' 2>/dev/null || { python3 -m venv --clear "$(TREC)" && \
	  "$(TREC)/bin/pip" install --quiet pytrec-eval-terrier==0.5.11 numpy==2.4.6 scipy==1.17.1; }
	$(MAKE) --no-print-directory models
	small=$$(mktemp -d); if mount -t tmpfs -o size=96m tmpfs "$$small"; then export TOOLSTREAM_SMALL_DISK="$$small"; trap 'umount "$$small"' EXIT; fi; \
	  TOOLSTREAM_MODELS="$(MODELS)" TOOLSTREAM_PYTHON="$(TREC)/bin/python" TOOLSTREAM_CAMPAIGN=1 TOOLSTREAM_ALL=1 go test -count=1 -p 1 -timeout 60m ./...
	$(MAKE) --no-print-directory fuzz FUZZTIME=1m

lint: ## formatting, vet, staticcheck, phrases to avoid
	@test -z "$$(gofmt -l .)" || { echo "not formatted:"; gofmt -l .; exit 1; }
	go vet ./...
	go vet -tags $(STATIC) ./internal/models/onnx
	go run $(STATICCHECK) ./...
	go run ./internal/testing/cmd/prose

# VULNDB is the database or a mirror of it, also a folder (file:///…).
VULNDB ?= https://vuln.go.dev
.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities in what is called (wants vuln.go.dev; says so and passes where it is away)
	@out=$$(go run $(GOVULNCHECK) -db $(VULNDB) ./... 2>&1) || { \
	  if grep -qE "fetching vulnerabilities: Get|no such host" <<<"$$out"; then echo "NOT CHECKED: the database of vulnerabilities at $(VULNDB) cannot be reached"; exit 0; fi; \
	  echo "$$out"; exit 1; }; \
	echo "$$out"

generated: ## make generated files anew and fail if they were out of step
	go generate ./...
	git diff --exit-code -- . || { echo "generated files are out of step: commit what go generate made"; exit 1; }

# Made anew by programs outside of the checkout; make integration compares what is committed.
.PHONY: clients openapi-lint
clients: ## make the types of the TypeScript client from api/openapi.json (wants npm)
	go generate ./internal/server
	go test -count=1 -timeout 15m -run TestTheGeneratedPartIsOfTheDocument ./tests/clients -update

openapi-lint: ## lint api/openapi.json (wants npm, Python)
	TOOLSTREAM_SERVERS=$${TOOLSTREAM_SERVERS:-none} go test -count=1 -timeout 15m -run TestTheDocumentPassesItsLinter ./tests/clients

# The build of the console is committed and compiled in: only who changes web/ needs npm.
.PHONY: web web-check
web: ## build the console, web/dist, from its sources (wants npm)
	web/npm.sh run build

web-check: ## check types and markup of the console's sources, and that web/dist is what they make (wants npm)
	web/npm.sh run check
	@built=$$(mktemp -d); trap 'rm -rf "$$built"' EXIT; \
	  web/npm.sh run build -- --outDir "$$built" --emptyOutDir --logLevel warn && \
	  diff -r web/dist "$$built" || { echo "web/dist is out of step with its sources: commit what make web makes"; exit 1; }

tidy: ## fail if go.mod or go.sum is out of step
	go mod tidy -diff
	cd internal/testing/bleve && go mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME each
	@grep -rn --include='*_test.go' '^func Fuzz' . | sed -E 's|/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]*).*| \1|' | sort -u | \
	xargs -P "$$(nproc)" -L 1 internal/testing/archtest/fuzz.sh $(FUZZTIME)

bench: ## benchmarks (BENCH=regexp, BENCHTIME=1s)
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...
	cd internal/testing/bleve && go test -bench '$(BENCH)' -benchtime $(BENCHTIME)

# The whole release of the commit into dist/: a snapshot, or with RELEASE=--skip=publish that of
# the commit's tag. The tools are compiled the first time, which takes minutes.
RELEASE ?= --snapshot
VERSION ?= $(shell git describe --tags --always --dirty)
.PHONY: release release-check package-files image-files image chart
release package-files image chart: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

release: ## archives, deb, rpm, formula, SBOM, licences, image, chart and checksums for all platforms into dist/ (wants buildah, jq)
	go run $(GORELEASER) release --clean $(RELEASE)
	for arch in amd64 arm64; do install -D dist/toolstream-static_linux_$$arch*/toolstream-static "bin/image/$$arch/toolstream"; done
	version=$$(jq -r .version dist/metadata.json); cp bin/package/licences.csv dist/; \
	  $(MAKE) --no-print-directory image chart VERSION="v$$version"; \
	  cd dist && sha256sum "toolstream_$${version}_image.tar" toolstream-*.tgz >>checksums.txt

release-check: ## the configuration of the release, and its programs for this platform
	go run $(GORELEASER) build --snapshot --clean --single-target --skip=before

package-files: ## what packages and the image hold beside the program: manual, completions, licences, certificates
	rm -rf bin/package bin/image
	go run ./deploy/packagefiles bin/package
	gzip -9nk bin/package/man/*.1
	GOBIN="$(CURDIR)/bin" go install $(GOLICENSES)
	deploy/packages/licences.sh bin/go-licenses bin/package
	mkdir -p bin/image/owned && install -d -m 0700 bin/image/owned/data
	go run ./deploy/certificates >bin/package/ca-certificates.crt
	install -m 0644 LICENSE NOTICE bin/package/THIRD_PARTY_LICENSES.txt bin/package/ca-certificates.crt bin/image/

# The image is deploy/Dockerfile with what lies in bin/image.
image-files: package-files ## what the image holds, into bin/image, for: docker build -f deploy/Dockerfile bin/image
	for arch in amd64 arm64; do GOOS=linux GOARCH=$$arch \
	  go build -tags $(SMALL),$(STATIC) -buildvcs=false -ldflags="-s -w -X github.com/toolstream/toolstream/internal/cli/program.release=$(VERSION)" -o "bin/image/$$arch/toolstream" ./cmd/toolstream; done

image: ## the image of bin/image for amd64 and arm64, an OCI archive, into dist/ (wants buildah)
	deploy/image.sh "$(VERSION)" "dist/toolstream_$(VERSION:v%=%)_image.tar"

chart: ## the Helm chart, whose default is the image of this version, into dist/
	HELM="$(HELM)" deploy/helm/package.sh "$(VERSION)" dist

cover: ## test coverage by function, into cover.out
	go test -coverprofile cover.out ./... && go tool cover -func cover.out | tail -1

# Takes minutes for each model; the figures of every set are printed, those of
# weights that were searched for without it too.
TUNE ?= static
tune: ## search for the built-in weights of an embedding model (TUNE=minilm, TUNEMODEL=onnx:…)
	go run ./cmd/toolstream-lab tune $(DOCUMENTS)/apibank $(DOCUMENTS)/toolink $(DOCUMENTS)/toolbench \
	  --model $(or $(TUNEMODEL),$(TUNE)) --out pkg/fusion/presets/$(TUNE).json
