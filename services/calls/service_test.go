package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/fairqueue"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/lab/simulation"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// What becomes of a call is told to the caller, and reported on the search that showed the
// tool: what the tool has answered teaches, anything else does not.
func TestOutcomesAreReported(t *testing.T) {
	answered, answer := context.WithCancel(t.Context())
	defer answer()
	for _, tc := range []struct {
		name string
		do   func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
		args string
		want string
		told []schema.FeedbackEvent
	}{
		{"an answer", saying("yes"), `{}`,
			"ok", []schema.FeedbackEvent{schema.Called, schema.Succeeded}},
		{"a failure", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r := said("no")
			r.IsError = true
			return r, nil
		}, `{}`, "tool_error", []schema.FeedbackEvent{schema.Called, schema.Failed}},
		{"an error", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("broken")
		}, `{}`,
			"protocol_error 502", []schema.FeedbackEvent{schema.ProtocolError}},
		{"silence", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-ctx.Done():
			case <-answered.Done(): // on a slow machine the cancellation may come before its call
			}
			return nil, ctx.Err()
		}, `{}`, "timeout 504", []schema.FeedbackEvent{schema.Timeout}},
		{"arguments that are none", nil, `[]`, "invalid_arguments 422", []schema.FeedbackEvent{schema.InvalidArguments}},
	} {
		cfg := Config{}
		if tc.name == "silence" {
			cfg.Timeout = 100 * time.Millisecond
		}
		b := newBench(t, cfg)
		b.sell(t, readOnly, tc.do)
		r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{Arguments: json.RawMessage(tc.args), SearchID: "s1"}})
		if got := outcome(r, err); got != tc.want {
			t.Errorf("%s: %s, want %s (%v)", tc.name, got, tc.want, err)
		}
		if tc.name == "silence" { // the end of the connection would wait for the tool
			answer()
		}
		if got := b.events(); !slices.Equal(got, tc.told) {
			t.Errorf("%s: reported %q, want %q", tc.name, got, tc.told)
		}
	}
}

// A call that names no search is feedback on the newest search that showed the tool to the same
// caller in the same session.
func TestTheSearchOfACallIsFound(t *testing.T) {
	now := simulation.NewBus(time.Now())
	b := newBench(t, Config{}, func(d *Deps) { d.Now = now.Now })
	b.sell(t, readOnly, saying("yes"))
	b.Shown(ada, "", "first", []string{"shop/sell", "x"})
	b.Shown(ada, "", "second", []string{"shop/sell"})
	b.Shown(ada, "", "other tools", []string{"x"})
	b.Shown(ada, "a session", "of the session", []string{"shop/sell"})
	b.Shown(bob, "", "bob's", []string{"shop/sell"})
	for _, tc := range []struct {
		caller        identity.Caller
		session, want string
	}{
		{ada, "", "second"}, {ada, "a session", "of the session"}, {ada, "another", ""}, {bob, "", "bob's"}, {bob, "a session", ""},
	} {
		r, err := b.Call(t.Context(), tc.caller, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{Session: tc.session}})
		if err != nil || r.SearchID != tc.want {
			t.Errorf("%s in %q: of the search %q, want %q (%v)", tc.caller, tc.session, r.SearchID, tc.want, err)
		}
	}
	for named, want := range map[string]string{"made up": "second", "named": "named"} {
		r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{SearchID: named}})
		if err != nil || r.SearchID != want {
			t.Errorf("with the id %q: of the search %q, want %q (%v)", named, r.SearchID, want, err)
		}
	}
	now.Pass(recent + time.Second)
	if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); err != nil || r.SearchID != "" {
		t.Errorf("after %s: of the search %q (%v)", recent, r.SearchID, err)
	}
}

// Who may not call a tool is told what is missing, and the tool is not called.
func TestACallIsRefusedWithItsReason(t *testing.T) {
	grants := func(list ...policy.Grant) func(*Deps) {
		return func(d *Deps) { d.Policy = grantsOf(t, list...) }
	}
	for _, tc := range []struct {
		name   string
		change func(*Deps)
		caller identity.Caller
		hints  string
		set    func(*bench)
		cfg    Config
		want   string
		says   string
	}{
		{name: "nobody asks", caller: ada, hints: readOnly, want: "ok"},
		{name: "it can destroy", caller: ada, hints: changing, want: "refused 403", says: "calls.destructive"},
		{name: "and may", caller: ada, hints: changing, cfg: Config{Destructive: true}, want: "ok"},
		{name: "a reader", caller: identity.Caller{Tenant: ada.Tenant, Role: identity.Reader}, hints: readOnly, want: "refused 403", says: "role caller"},
		{name: "a grant to call", change: grants(grant(policy.Call)), caller: ada, hints: readOnly, want: "ok"},
		{name: "is none to destroy", change: grants(grant(policy.Call)), caller: ada, hints: changing, want: "refused 403", says: "destroy"},
		{name: "as this is", change: grants(grant(policy.Destroy)), caller: ada, hints: changing, want: "ok"},
		{name: "and to find is none to call", change: grants(grant(policy.Find)), caller: ada, hints: readOnly, want: "refused 403", says: "`toolstream grants add allow call \"tool:shop/sell\" \"subject:ada\"`"},
		{name: "a task", caller: ada, hints: readOnly + `,"execution":{"taskSupport":"required"}`, want: "refused 409", says: "task"},
		{name: "another tenant", caller: identity.Caller{Tenant: "acme", Role: identity.Admin}, hints: readOnly, want: "refused 404", says: "no tool"},
		{name: "no source", caller: ada, hints: readOnly, set: func(b *bench) { delete(b.sources, "shop") }, want: "refused 409", says: "not there"},
		{name: "a paused one", caller: ada, hints: readOnly, set: func(b *bench) { s := b.sources["shop"]; s.State = paused; b.sources["shop"] = s }, want: "refused 409", says: "paused: `toolstream sources show shop`"},
	} {
		var called atomic.Int64
		change := tc.change
		if change == nil {
			change = func(*Deps) {}
		}
		b := newBench(t, tc.cfg, change)
		b.sell(t, tc.hints, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			called.Add(1)
			return said("yes"), nil
		})
		if tc.set != nil {
			tc.set(b)
		}
		r, err := b.Call(t.Context(), tc.caller, Request{Tool: "shop/sell"})
		if got := outcome(r, err); got != tc.want || (called.Load() == 1) != (tc.want == "ok") {
			t.Errorf("%s: %s, called %d times, want %s (%v)", tc.name, got, called.Load(), tc.want, err)
		} else if err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q in it", tc.name, err, tc.says)
		}
		e := b.entity("shop/sell")
		if tc.caller.Tenant != ada.Tenant {
			continue
		}
		why := map[string]schema.Reason{"refused 403": schema.ReasonGrants, "refused 409": schema.ReasonNotCallable}[tc.want]
		if tc.name == "a paused one" {
			why = schema.ReasonServerDown
		}
		set, origin, by := b.Callable(tc.caller), index.OriginOf(&e, b.tools["shop/sell"]), policy.ToolOf(e.Ref, e.Provider, e.From, nil)
		scope := set.Call
		if origin.Hints.Destructive {
			scope = set.Destroy
		}
		if can := set.Of(origin) && scope.Allows(&by); can != (tc.want == "ok") {
			t.Errorf("%s: among the callable tools: %v", tc.name, can)
		}
		if c := b.Connections(tc.caller)(&e, b.tools["shop/sell"]); c.Reason != why || c.Connected != (tc.want == "ok") || c.Destructive != (tc.hints == changing) || !c.Connected && !strings.Contains(c.Why, tc.says) {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
}

func grant(a policy.Action) policy.Grant {
	return policy.Grant{Effect: policy.Allow, Action: a, On: "*", To: "*"}
}

// Callers share a connection, and one that the server has forgotten is made anew.
func TestConnectionsAreSharedAndComeBack(t *testing.T) {
	b := newBench(t, Config{})
	do := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(r.Session.ID()), nil
	}
	legacy := func() http.Handler {
		h := handler(answering(do))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "server/discover") { // as a server of before 2026-07-28
				http.Error(w, "unsupported", http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			h.ServeHTTP(w, r)
		})
	}
	var now atomic.Pointer[http.Handler]
	first := legacy()
	now.Store(&first)
	b.serve(t, "shop", "sell", readOnly, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) }))
	sessions := map[string]bool{}
	for range 5 {
		r := check.Value(b.Call(t.Context(), ada, Request{Tool: "shop/sell"}))(t)
		sessions[textOf(r)] = true
	}
	if len(sessions) != 1 || sessions[""] {
		t.Errorf("five calls went over the sessions %v", sessions)
	}
	again := legacy() // the server has restarted
	now.Store(&again)
	r, err := b.Call(t.Context(), bob, Request{Tool: "shop/sell"})
	if err != nil || sessions[textOf(r)] {
		t.Errorf("after a restart: %+v, %v", r, err)
	}
}

// A call is repeated where that can do no harm, and not otherwise.
func TestACallThatMayHaveRunIsNotRepeated(t *testing.T) {
	for hints, want := range map[string]int64{readOnly: 2, changing: 1} {
		b := newBench(t, Config{Destructive: true})
		var called atomic.Int64
		h := handler(answering(saying("yes")))
		b.serve(t, "shop", "sell", hints, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"tools/call"`) && called.Add(1) == 1 {
				panic(http.ErrAbortHandler) // it has read the call, and breaks off
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			h.ServeHTTP(w, r)
		}))
		r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"})
		if called.Load() != want || (err == nil) != (want == 2) {
			t.Errorf("with the hints %s it was called %d times, want %d: %s (%v)", hints, called.Load(), want, outcome(r, err), err)
		}
	}
}

// A tool that asks for something gets the answer of the caller, with the state that it gave.
func TestInputIsPassedThrough(t *testing.T) {
	b := newBench(t, Config{})
	modern := &mcp.StreamableHTTPOptions{Stateless: true}
	b.serve(t, "shop", "sell", readOnly, handler(answering(func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"size": &mcp.ElicitParams{Message: "Which size?"}}, RequestState: "state-1"}, nil
		}
		answer := r.Params.InputResponses["size"].(*mcp.ElicitResult)
		return said(fmt.Sprint(answer.Action, answer.Content["size"], r.Params.RequestState)), nil
	}), modern))
	r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"})
	if err != nil || r.Outcome != schema.CallInputRequired || r.RequestState != "state-1" || !strings.Contains(string(r.InputRequests), "Which size?") {
		t.Fatalf("%+v %s, %v", r, r.InputRequests, err)
	}
	r, err = b.Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{RequestState: r.RequestState, InputResponses: json.RawMessage(`{"size":{"action":"accept","content":{"size":42}}}`)}})
	if err != nil || textOf(r) != "accept42state-1" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = b.Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{InputResponses: json.RawMessage(`[]`)}}); err == nil {
		t.Errorf("answers that are none: %+v", r)
	}
}

// A source that hangs takes slots of its own callers alone, and no caller takes all slots.
func TestASourceThatHangsHoldsNobodyElseUp(t *testing.T) {
	b := newBench(t, Config{PerSource: 4, MaxWait: 50 * time.Millisecond, Timeout: time.Hour})
	release := make(chan struct{})
	b.serve(t, "slow", "sell", readOnly, handler(answering(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return said("late"), nil
	})))
	b.serve(t, "good", "sell", readOnly, handler(answering(saying("yes"))))
	var mu sync.Mutex
	ends := map[string]int{}
	call := func(caller identity.Caller, tool string) {
		r, err := b.Call(t.Context(), caller, Request{Tool: tool})
		mu.Lock()
		defer mu.Unlock()
		ends[tool+" "+outcome(r, err)]++
		var e *Error
		if errors.As(err, &e) && e.RetryAfter <= 0 {
			t.Errorf("%v does not say when to come again", err)
		}
	}
	var hang, rest sync.WaitGroup
	for range 2 { // the share of a caller
		hang.Go(func() { call(ada, "slow/sell") })
	}
	process(t, func() bool { return b.inUse("slow") == 2 })
	rest.Go(func() { call(ada, "slow/sell") })
	hang.Go(func() { call(bob, "slow/sell") })
	for i := range 500 {
		who := identity.Caller{Tenant: ada.Tenant, Subject: fmt.Sprint("agent ", i), Role: identity.Calling}
		rest.Go(func() { call(who, "good/sell") })
	}
	rest.Wait()
	close(release)
	hang.Wait()
	good := ends["good/sell ok"] + ends["good/sell refused 503"] + ends["good/sell refused 429"]
	if good != 500 || ends["good/sell ok"] < 4 || ends["slow/sell ok"] != 3 || ends["slow/sell refused 429"] != 1 {
		t.Errorf("calls ended as %v", ends)
	}
	t.Logf("%v", ends)
	if n := b.inUse("good") + b.inUse("slow"); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
}

// Arguments are checked by as many calls at once as there are processors. A call that waits for its
// turn holds nothing else, and ends with its caller.
func TestArgumentsAreCheckedInTurn(t *testing.T) {
	b := newBench(t, Config{})
	b.sell(t, readOnly, saying("yes"))
	whole := b.cfg.Timeout
	b.cfg.Timeout = time.Millisecond
	var all []*fairqueue.Slot
	for {
		slot, ok := b.checks.TryAcquire(fairqueue.Claim{Group: "acme"})
		if !ok {
			break
		}
		all = append(all, slot)
	}
	if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); outcome(r, err) != "refused 503" || b.inUse("shop") > 0 {
		t.Errorf("a call without a turn: %s (%v)", outcome(r, err), err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := b.Call(left, ada, Request{Tool: "shop/sell"}); err != context.Canceled {
		t.Errorf("without a caller: %v", err)
	}
	for _, slot := range all {
		slot.Release()
	}
	b.cfg.Timeout = whole
	if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); err != nil {
		t.Errorf("once it is its turn: %+v, %v", r, err)
	}
}

// A schema that makes arguments expensive to check costs an answer, and tells nothing of the source.
func TestAnExpensiveSchemaCostsAnAnswer(t *testing.T) {
	b := newBench(t, Config{})
	b.sell(t, readOnly, saying("yes"))
	names := make([]string, 20_000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	input := check.Value(json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"items": map[string]any{"required": names}}}}))(t)
	b.tools["shop/sell"] = json.RawMessage(`{"name":"sell","inputSchema":` + string(input) + `,"annotations":` + readOnly + `}`)
	for range failuresInRow + 1 {
		r := Request{Tool: "shop/sell"}
		r.Arguments = json.RawMessage(`{"a":[` + strings.Repeat("{},", 1999) + `{}]}`)
		if r, err := b.Call(t.Context(), ada, r); outcome(r, err) != "invalid_arguments 422" || len(err.Error()) > 8<<10 {
			t.Errorf("%s (%.500v)", outcome(r, err), err)
		}
	}
	if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); err != nil {
		t.Errorf("with other arguments: %+v, %v", r, err)
	}
}

// A schema that arguments cannot be checked against does not prevent the call, which is counted.
func TestCallsWithUncheckedArgumentsAreCounted(t *testing.T) {
	b := newBench(t, Config{})
	b.sell(t, readOnly, saying("yes"))
	counted := func() float64 {
		var m dto.Metric
		check.OK(t, b.metrics.unchecked.Write(&m))
		return m.GetCounter().GetValue()
	}
	for input, want := range map[string]float64{`{"type":"object"}`: 0, `{"type":"object","properties":{"a":{"enum":[` + strings.Repeat("0,", 30_000) + `0]}}}`: 1} {
		before := counted()
		b.tools["shop/sell"] = json.RawMessage(`{"name":"sell","inputSchema":` + input + `,"annotations":` + readOnly + `}`)
		if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); err != nil || counted()-before != want {
			t.Errorf("%.60s: %+v, %v, %v calls are counted", input, r, err, counted()-before)
		}
	}
}

// inUse is how many slots of a source are taken.
func (b *bench) inUse(from string) int {
	b.upstreams.mu.Lock()
	g := b.upstreams.all[sourceKey{identity.DefaultTenant, from}]
	b.upstreams.mu.Unlock()
	if g == nil {
		return 0
	}
	return g.slots.InUse()
}

// process waits until something holds.
func process(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not come to pass")
		}
	}
}

// A source that does not answer is left alone for a while, which is told, and shows beside
// its tools.
func TestASourceThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	b := newBench(t, Config{BreakerPause: time.Hour})
	server := b.sell(t, readOnly, saying("yes"))
	server.Close()
	e := b.entity("shop/sell")
	if b.Unhealthy(&e) {
		t.Error("a tool that was never called is unhealthy")
	}
	for i := range failuresInRow {
		if r, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"}); outcome(r, err) != "protocol_error 502" {
			t.Errorf("call %d: %s (%v)", i, outcome(r, err), err)
		} else if strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("the caller learns the address: %v", err)
		}
	}
	_, err := b.Call(t.Context(), ada, Request{Tool: "shop/sell"})
	var e2 *Error
	if !errors.As(err, &e2) || e2.Status != http.StatusServiceUnavailable || e2.RetryAfter < 59*time.Minute {
		t.Errorf("after %d failures: %v", failuresInRow, err)
	}
	if c := b.Connections(ada)(&e, b.tools["shop/sell"]); c.Connected || c.Health == nil || c.Health.ErrorRate != 1 || !strings.Contains(c.Why, "does not answer") {
		t.Errorf("%+v", c)
	}
	if !b.Unhealthy(&e) {
		t.Error("it is healthy")
	}
}

// Calls with one key run once, whatever replica they come to.
func TestCallsWithOneKeyRunOnce(t *testing.T) {
	var called atomic.Int64
	one, two := newBench(t, Config{}), newBench(t, Config{})
	two.Service.idempotency.store = one.store
	h := handler(answering(func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if strings.Contains(string(r.Params.Arguments), "broken") {
			called.Add(1)
			return nil, errors.New("broken")
		}
		return said(fmt.Sprint("number ", called.Add(1))), nil
	}))
	server := one.serve(t, "shop", "sell", readOnly, h)
	two.sources["shop"], two.tools = Source{Spec: source.Spec{Kind: source.MCP, URL: server.URL}}, one.tools
	var g sync.WaitGroup
	var repeated atomic.Int64
	for i := range 20 {
		g.Go(func() {
			r, err := []*bench{one, two}[i%2].Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{IdempotencyKey: "k", Arguments: json.RawMessage(`{"n":1}`)}})
			if err != nil || textOf(r) != "number 1" {
				t.Errorf("%+v, %v", r, err)
			}
			if r.Repeated {
				repeated.Add(1)
			}
		})
	}
	g.Wait()
	if called.Load() != 1 || repeated.Load() != 19 {
		t.Errorf("called %d times, repeated %d", called.Load(), repeated.Load())
	}
	if r, err := two.Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{IdempotencyKey: "k", Arguments: json.RawMessage(`{"n":2}`)}}); outcome(r, err) != "invalid /idempotency_key" {
		t.Errorf("with other arguments: %s", outcome(r, err))
	}
	if r, err := two.Call(t.Context(), bob, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{IdempotencyKey: "k", Arguments: json.RawMessage(`{"n":2}`)}}); err != nil || textOf(r) != "number 2" {
		t.Errorf("another caller's: %+v, %v", r, err)
	}
	for range 2 { // what has run and failed is not run again
		if r, err := one.Call(t.Context(), ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{IdempotencyKey: "b", Arguments: json.RawMessage(`{"x":"broken"}`)}}); outcome(r, err) != "protocol_error 502" {
			t.Errorf("a failure: %s", outcome(r, err))
		}
	}
	if called.Load() != 3 {
		t.Errorf("called %d times", called.Load())
	}
}

// What panics in a call with a key, which runs by itself, is answered and not run again.
func TestAPanicInACallWithAKeyIsAnswered(t *testing.T) {
	b := newBench(t, Config{})
	runs := 0
	for range 2 {
		r, err := b.Service.idempotency.once(t.Context(), keyed{"default.k", "args"}, time.Minute, func(context.Context) (schema.CallResult, error) {
			runs++
			panic("broken")
		})
		if got := outcome(r, err); got != "protocol_error 500" || runs != 1 {
			t.Errorf("%s (%v) after %d runs", got, err, runs)
		}
	}
}

// The audit log has the tool of a call, and the rest only if it is asked for.
func TestTheAuditLogHasNoArgumentsUnlessAsked(t *testing.T) {
	for _, record := range []bool{false, true} {
		b := newBench(t, Config{Record: record})
		b.sell(t, readOnly, saying("a secret"))
		ctx, notes := audit.WithNotes(t.Context())
		check.Value(b.Call(ctx, ada, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{Arguments: json.RawMessage(`{"to":"whom"}`), SearchID: "s"}}))(t)
		got := notes.Take()
		if len(got.Tools) != 1 || got.Tools[0].ID != "shop/sell" || got.Search != "s" {
			t.Errorf("recorded is %+v", got)
		}
		if whole := got.Call != nil && strings.Contains(got.Call.Result, "a secret") && got.Call.Arguments == `{"to":"whom"}`; whole != record || got.Call != nil && !record {
			t.Errorf("with calls.record %v: %+v", record, got.Call)
		}
	}
}

// Whose call was left behind by a replica is told that nobody knows what became of it, and
// the key is free once it has expired.
func TestACallThatWasLeftBehindIsNotRepeated(t *testing.T) {
	now := simulation.NewBus(time.Now())
	r := &idempotency{store: simulation.NewBus(time.Time{}), keep: time.Hour, now: now.Now, log: slog.New(slog.DiscardHandler), kept: newLedger(1<<20, newMetrics(prometheus.NewRegistry()).dropped)}
	of := keyed{"default.x", "digest"}
	if _, err := r.claim(t.Context(), of, time.Minute); err != nil { // and it dies
		t.Fatal(err)
	}
	run := func(context.Context) (schema.CallResult, error) {
		return schema.CallResult{Outcome: schema.CallOK}, nil
	}
	now.Pass(2 * time.Minute)
	if got, err := r.once(t.Context(), of, time.Minute, run); outcome(got, err) != "refused 409" {
		t.Errorf("after its time: %s", outcome(got, err))
	}
	now.Pass(time.Hour)
	if got, err := r.once(t.Context(), of, time.Minute, run); outcome(got, err) != "ok" || got.Repeated {
		t.Errorf("once the key has expired: %s, %v", outcome(got, err), got.Repeated)
	}
}

// The results of calls with keys have a bound in bytes, for all and for each tenant. The oldest go
// first, and a call whose result is gone is not made again.
func TestKeptResultsHaveABound(t *testing.T) {
	const most = 1 << 20
	store, made := simulation.NewBus(time.Time{}), map[string]int{}
	r := &idempotency{store: store, keep: time.Hour, now: time.Now, log: slog.New(slog.DiscardHandler), kept: newLedger(most, newMetrics(prometheus.NewRegistry()).dropped)}
	call := func(tenant string, n int) (schema.CallResult, error) {
		key := fmt.Sprintf("%s.%03d", tenant, n)
		return r.once(t.Context(), keyed{key, "digest"}, time.Minute, func(context.Context) (schema.CallResult, error) {
			made[key]++
			return schema.CallResult{Outcome: schema.CallOK, SearchID: strings.Repeat("x", 32<<10)}, nil
		})
	}
	bytes := func(prefix string) (n int) {
		for _, key := range check.Value(store.Keys(t.Context(), prefix))(t) {
			n += len(check.Value(store.Get(t.Context(), key))(t).Value)
		}
		return n
	}
	const calls, marks = 60, 60 << 10 // what remains of calls whose results are gone
	for n := range calls {
		for _, tenant := range []string{"one", "two", "three"} {
			if n > 0 && tenant == "two" {
				continue // one call, before most others
			}
			check.Value(call(tenant, n))(t)
		}
	}
	if one, all := bytes("one."), bytes(""); one > most/2+marks || all > most+2*marks || all < most/2 {
		t.Errorf("%d bytes of one tenant are kept, %d of all", one, all)
	}
	if result, err := call("one", calls-1); err != nil || !result.Repeated {
		t.Errorf("the newest: %v, %v", result.Repeated, err)
	}
	if result, err := call("one", 0); outcome(result, err) != "refused 409" || made["one.000"] != 1 {
		t.Errorf("the oldest: %s, and was made %d times", outcome(result, err), made["one.000"])
	}
	r.kept.erase("one")
	r.kept.mu.Lock()
	defer r.kept.mu.Unlock()
	if r.kept.expire(time.Now().Add(2 * time.Hour)); r.kept.bytes != 0 || len(r.kept.tenants) != 0 {
		t.Errorf("once they have expired, %d bytes of %d tenants are counted", r.kept.bytes, len(r.kept.tenants))
	}
}

// Callers whose tokens have no name do not get each other's results.
func TestTokensWithoutANameDoNotShareKeys(t *testing.T) {
	b := newBench(t, Config{})
	var called atomic.Int64
	b.serve(t, "shop", "sell", readOnly, handler(answering(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said(fmt.Sprint("number ", called.Add(1))), nil
	})))
	for _, tc := range []struct{ credential, want string }{{"a", "number 1"}, {"b", "number 2"}, {"a", "number 1"}} {
		who := identity.Caller{Tenant: identity.DefaultTenant, Role: identity.Calling, Credential: tc.credential}
		r, err := b.Call(t.Context(), who, Request{Tool: "shop/sell", CallRequest: schema.CallRequest{IdempotencyKey: "k"}})
		if err != nil || textOf(r) != tc.want {
			t.Errorf("token %s: %s, %v, want %s", tc.credential, textOf(r), err, tc.want)
		}
	}
}

// A call that did not come as far as its tool leaves its key free.
func TestARefusedCallLeavesItsKeyFree(t *testing.T) {
	b := newBench(t, Config{})
	server := b.sell(t, readOnly, saying("yes"))
	to := b.sources["shop"]
	gone := httptest.NewServer(nil)
	gone.Close()
	b.sources["shop"] = Source{Spec: source.Spec{Kind: source.MCP, URL: gone.URL}}
	call := Request{Tool: "shop/sell", CallRequest: schema.CallRequest{IdempotencyKey: "k"}}
	if r, err := b.Call(t.Context(), ada, call); outcome(r, err) != "protocol_error 502" {
		t.Errorf("while it is gone: %s", outcome(r, err))
	}
	b.sources["shop"] = to
	if r, err := b.Call(t.Context(), ada, call); err != nil || r.Repeated {
		t.Errorf("%s is back: %+v, %v", server.URL, r, err)
	}
}
