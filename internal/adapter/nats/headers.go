package nats

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/pkg/schema"
)

// HeaderTenant names the caller's tenant. It is for the gateway in front to
// set: whoever may publish on the subject is trusted with it.
const HeaderTenant = "toolstream-tenant"

// HeaderTimeout says how many milliseconds the caller waits for the answer. It
// is a span and not a time of day, so that clocks need not agree; it counts
// from when the service receives the request.
const HeaderTimeout = "toolstream-timeout-ms"

// headers are those of a message. Their names are in capitals or not, as the
// language of the one who sent them likes it, and NATS tells these apart.
type headers map[string][]string

var _ propagation.TextMapCarrier = headers(nil)

// Get returns the first value of a header, empty where there is none.
func (h headers) Get(name string) string {
	if all := h.all(name); len(all) > 0 {
		return all[0]
	}
	return ""
}

// Set replaces a header.
func (h headers) Set(name, value string) { h[name] = []string{value} }

// Keys returns the names, sorted.
func (h headers) Keys() []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (h headers) all(name string) []string {
	var out []string
	for _, key := range h.Keys() {
		if strings.EqualFold(key, name) {
			out = append(out, h[key]...)
		}
	}
	return out
}

// tenant returns whom a request is for. One that names two is refused: which
// of them a gateway has checked is not to be known.
func (h headers) tenant() (string, error) {
	names := h.all(HeaderTenant)
	if len(names) == 0 || len(names) == 1 && names[0] == "" {
		return "default", nil
	}
	if len(names) > 1 {
		return "", &schema.Invalid{Path: "/" + HeaderTenant, Reason: "must stand once in the headers"}
	}
	return names[0], schema.ValidateTenant(names[0])
}

// timeout returns how long the caller waits, most where it does not say.
func (h headers) timeout(most time.Duration) (time.Duration, error) {
	value := h.Get(HeaderTimeout)
	if value == "" {
		return most, nil
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, &schema.Invalid{Path: "/" + HeaderTimeout, Value: schema.Quote(value), Reason: "must be whole milliseconds"}
	}
	if ms > most.Milliseconds() {
		return most, nil
	}
	return max(time.Duration(ms)*time.Millisecond, 0), nil
}

// setTimeout passes on how long is left of ctx, at least a millisecond.
func (h headers) setTimeout(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok {
		h.Set(HeaderTimeout, strconv.FormatInt(max(time.Until(deadline).Milliseconds(), 1), 10))
	}
}
