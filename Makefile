# The targets that CI runs, one by one or all with `make ci`.
TOOL = go tool -modfile=scripts/tools/$(1)/go.mod

.PHONY: ci tidy fmt vet lint generate generated test race demo fuzz bench build kubernetes

ci: tidy fmt generated vet lint test race demo

build:
	go build -trimpath -o bin/karasu ./cmd/karasu

# go.mod and go.sum hold exactly what is needed.
tidy:
	go mod tidy -diff

fmt:
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "not gofmt-ed:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...

lint:
	$(call TOOL,lint) golangci-lint run ./...

generate:
	$(call TOOL,proto) buf lint
	$(call TOOL,proto) buf generate

# The generated code is what the schema says.
generated: generate
	@git diff --exit-code --stat -- proto || { echo "generated code is out of date: run make generate and commit"; exit 1; }

test:
	go test ./...

# The controller against a real API server and etcd, which are built once.
kubernetes:
	scripts/kubernetes/build
	KARASU_REQUIRE_KUBERNETES=1 go test ./node/kubernetes

# Everything once more under the race detector, but for long replays of one goroutine each.
race:
	go test -race -short ./...

demo:
	go run ./cmd/karasu demo

# Every decoder of bytes from outside, FUZZTIME each.
FUZZTIME ?= 30s
fuzz:
	scripts/fuzz $(FUZZTIME)

bench:
	go test -run '^$$' -bench . -benchmem ./...
