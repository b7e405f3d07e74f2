package calls

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// large is an answer of 1 MB.
var large = strings.Repeat("x", 1<<20)

// within returns the context of a request of a tenant.
func within(ctx context.Context, b *inflight.Budget, tenant string) (context.Context, *inflight.Hold) {
	h := b.Open(tenant)
	return inflight.With(ctx, h), h
}

// An answer counts until the request that asked for it ends, whoever serves the tool.
func TestAnAnswerTakesMemoryUntilItsRequestEnds(t *testing.T) {
	b := newBench(t, Config{MaxResult: 2 << 20})
	b.serve(t, "json", "sell", readOnly, handler(answering(saying(large)), &mcp.StreamableHTTPOptions{JSONResponse: true}))
	b.serve(t, "events", "sell", readOnly, handler(answering(saying(large))))
	b.serve(t, "older", "sell", readOnly, mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return answering(saying(large)) }, nil))
	b.api(t, "api", http.MethodGet, "/book", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(large)) }))
	memory := inflight.New(inflight.Config{Bytes: 1 << 30}, prometheus.NewRegistry())
	for _, tool := range []string{"json/sell", "events/sell", "older/sell", "api//book"} {
		for _, key := range []string{"", "once"} {
			ctx, hold := within(t.Context(), memory, identity.DefaultTenant)
			r, err := b.Call(ctx, ada, Request{Tool: tool, CallRequest: schema.CallRequest{IdempotencyKey: key}})
			if err != nil {
				t.Fatalf("%s: %v", tool, err)
			}
			if used := memory.Used(); len(textOf(r)) != len(large) || used < inflight.PerByte<<20 || used > 2*inflight.PerByte<<20 {
				t.Errorf("%s, key %q: %d bytes are reserved for an answer of %d", tool, key, used, len(textOf(r)))
			}
			hold.Close()
			process(t, func() bool { return memory.Used() == 0 }) // a call with a key may end after its request
		}
	}
}

// An answer that the budget never allows is as one over calls.max_result.
func TestAnAnswerLargerThanTheBudgetIsRefused(t *testing.T) {
	b := newBench(t, Config{MaxResult: 2 << 20})
	made := 0
	b.sell(t, readOnly, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		made++
		return said(large), nil
	})
	ctx, hold := within(t.Context(), inflight.New(inflight.Config{Bytes: 4 << 20}, prometheus.NewRegistry()), identity.DefaultTenant)
	defer hold.Close()
	if r, err := b.Call(ctx, ada, Request{Tool: "shop/sell"}); outcome(r, err) != "protocol_error 502" || !strings.Contains(err.Error(), "too large") || made != 1 {
		t.Errorf("%s (%v), after %d calls", outcome(r, err), err, made)
	}
}

// Calls without memory are refused with a time: before they are made, or with word that they were. They
// are not repeated, and tell nothing of the source. Those of other tenants go on.
func TestACallWithoutMemoryIsRefusedWithATime(t *testing.T) {
	b := newBench(t, Config{MaxResult: 2 << 20})
	made := 0
	b.sell(t, readOnly, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		made++
		return said(large), nil
	})
	const budget, small = 32 << 20, 64 << 10
	memory := inflight.New(inflight.Config{Bytes: budget, MaxWait: time.Millisecond}, prometheus.NewRegistry())
	of := func(tenant string) (string, error) {
		ctx, hold := within(t.Context(), memory, tenant)
		defer hold.Close()
		r, err := b.Call(ctx, ada, Request{Tool: "shop/sell"})
		return outcome(r, err), err
	}
	hold := func(bytes int64) *inflight.Hold {
		ctx, h := within(t.Context(), memory, identity.DefaultTenant)
		check.OK(t, h.Grow(ctx, bytes))
		return h
	}
	refused := func(what, says string, calls int) {
		t.Helper()
		made = 0
		got, err := of(identity.DefaultTenant)
		var e *Error
		if !errors.As(err, &e) || got != "refused 503" || e.RetryAfter <= 0 || !strings.Contains(err.Error(), says) || made != calls {
			t.Errorf("%s: %s (%v), after %d calls", what, got, err, made)
		}
	}
	most := hold(budget/2 - 1<<20)
	first := hold(1 << 20)
	check.OK(t, first.Grow(t.Context(), 1<<20)) // with a share of its own, which no other gets
	for range failuresInRow + 1 {
		refused("an answer", "the tool has run", 1)
	}
	rest := hold(2 * small)
	refused("a call", "more calls of this tenant", 0)
	if got, err := of("other"); got != "ok" {
		t.Errorf("of another tenant: %s (%v)", got, err)
	}
	for _, h := range []*inflight.Hold{most, first, rest} {
		h.Close()
	}
	if got, err := of(identity.DefaultTenant); got != "ok" {
		t.Errorf("once there is memory: %s (%v)", got, err)
	}
}
