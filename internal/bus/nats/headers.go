package nats

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/pkg/schema"
)

// HeaderTimeout gives the caller's timeout in milliseconds, from when the service receives the
// request.
const HeaderTimeout = "toolstream-timeout-ms"

// headers are the headers of a request by their names in lower case, because a gateway from
// HTTP capitalises them.
type headers micro.Headers

func headersOf(h micro.Headers) headers {
	out := headers{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		small := strings.ToLower(name)
		out[small] = append(out[small], h[name]...)
	}
	return out
}

var _ propagation.TextMapCarrier = headers(nil)

// Get returns the first value of a header, empty if it is missing.
func (h headers) Get(name string) string { return micro.Headers(h).Get(name) }

// Set replaces a header.
func (h headers) Set(name, value string) { h[name] = []string{value} }

// Keys returns the names, sorted.
func (h headers) Keys() []string { return slices.Sorted(maps.Keys(h)) }

// timeout returns how long the caller waits, most by default.
func (h headers) timeout(most time.Duration) (time.Duration, error) {
	value := h.Get(HeaderTimeout)
	if value == "" {
		return most, nil
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, &schema.Invalid{Path: "/" + HeaderTimeout, Value: schema.Quote(value), Reason: "must be whole milliseconds"}
	}
	return time.Duration(min(max(ms, 0), most.Milliseconds())) * time.Millisecond, nil
}
