package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
)

// testPlace is where logs are written to.
type testPlace struct {
	t           *testing.T
	bus         *streamtest.Bus
	keys, heads *streamtest.KV
}

func newPlace(t *testing.T) *testPlace {
	return &testPlace{t: t, bus: streamtest.NewBus(), keys: streamtest.NewKV(), heads: streamtest.NewKV()}
}

// start runs a log until stop is called.
func (p *testPlace) start() (l *Log, keys *Keys, stop func()) {
	keys = NewKeys(p.keys, slog.New(slog.DiscardHandler))
	l = New(Deps{Publisher: p.bus, Keys: keys, Heads: p.heads, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	ctx, cancel := context.WithCancel(p.t.Context())
	var work sync.WaitGroup
	work.Go(func() { _ = l.Run(ctx) })
	work.Go(func() { _ = keys.Run(ctx) })
	return l, keys, func() { cancel(); work.Wait() }
}

// verify verifies what was written for a tenant.
func (p *testPlace) verify(tenant string) Report {
	p.t.Helper()
	var lines [][]byte
	for _, m := range p.bus.Messages(events.Audit) {
		if m.Key == tenant {
			lines = append(lines, m.Value)
		}
	}
	heads := check.Value(readAllHeads(p.t.Context(), p.heads, tenant))(p.t)
	v := &Verifier{Known: heads}
	check.OK(p.t, v.Read(bytes.NewReader(bytes.Join(lines, []byte("\n")))))
	return v.Finish(heads...)
}

func valueOf(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	check.OK(t, c.Write(&m))
	return m.GetCounter().GetValue()
}

// entries returns what a reader shows of a tenant.
func (p *testPlace) entries(tenant string, f Filter) []Opened {
	p.t.Helper()
	r := NewReader(p.bus, NewKeys(p.keys, slog.New(slog.DiscardHandler)), p.heads)
	entries, _, _, err := r.page(p.t.Context(), tenant, f, place{}, 10_000)
	check.OK(p.t, err)
	return entries
}

var ada = identity.Caller{Tenant: "acme", Subject: "ada@example.com", Groups: []string{"payments"}, Role: identity.Writer}

func put(n int) Event {
	return Event{Caller: ada, Action: "put-tool", Path: fmt.Sprintf("/v1/tools/t%d", n), Status: 202, Details: Details{Tools: []ToolRef{{ID: fmt.Sprintf("t%d", n), Revision: uint64(n)}}}}
}

func write(t *testing.T, l *Log, e Event) {
	t.Helper()
	check.OK(t, l.Write(t.Context(), e))
}

func TestARecordIsDurableAndSealed(t *testing.T) {
	p := newPlace(t)
	l, keys, stop := p.start()
	defer stop()
	write(t, l, put(1))
	stored := p.bus.Messages(events.Audit)
	if len(stored) != 1 || stored[0].Key != "acme" {
		t.Fatalf("%d records", len(stored))
	}
	for _, private := range []string{`"ada"`, `"payments"`, `"t1"`} {
		if bytes.Contains(stored[0].Value, []byte(private)) {
			t.Errorf("%s stands in the log: %s", private, stored[0].Value)
		}
	}
	e := p.entries("acme", Filter{Who: ada.Subject, Tool: "t1"})
	if len(e) != 1 || e[0].Subject != ada.Subject || !slices.Equal(e[0].Groups, ada.Groups) || e[0].Role != "writer" || e[0].Erased || e[0].Sealed != nil {
		t.Fatalf("%+v", e)
	}
	if other := p.entries("globex", Filter{}); len(other) != 0 {
		t.Errorf("another tenant sees %+v", other)
	}
	check.OK(t, keys.Destroy(t.Context(), "acme"))
	write(t, l, put(2))
	e = p.entries("acme", Filter{})
	if len(e) != 2 || !e[0].Erased || e[0].Subject != "" || e[0].Groups != nil || e[0].Tools != nil || e[1].Erased || e[1].Subject != ada.Subject {
		t.Errorf("after the key was destroyed: %+v", e)
	}
	if r := p.verify("acme"); len(r.Faults) != 0 || r.Records != 2 {
		t.Errorf("after the key was destroyed: %+v", r)
	}
}

// A process whose key another one destroys forgets it.
func TestADestroyedKeySealsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		l, _, stop := p.start()
		defer stop()
		write(t, l, put(1))
		synctest.Wait() // until it watches the keys
		check.OK(t, NewKeys(p.keys, slog.New(slog.DiscardHandler)).Destroy(t.Context(), "acme"))
		synctest.Wait() // until it has heard
		write(t, l, put(2))
		if e := p.entries("acme", Filter{}); !e[0].Erased || e[1].Erased {
			t.Errorf("%+v", e)
		}
	})
}

// Two processes write at once, end in the middle, and are followed by others.
func TestWritersHaveChainsOfTheirOwn(t *testing.T) {
	p := newPlace(t)
	const each = 100
	for range 3 {
		a, _, stopA := p.start()
		b, _, stopB := p.start()
		var callers sync.WaitGroup
		for n := range each {
			for _, l := range []*Log{a, b} {
				callers.Go(func() {
					if err := l.Write(t.Context(), put(n)); err != nil {
						t.Error(err)
					}
				})
			}
		}
		callers.Wait()
		stopA()
		stopB()
	}
	r := p.verify("acme")
	if len(r.Faults) != 0 || r.Records != 6*each || len(r.Heads) != 6 {
		t.Fatalf("%d records, %d chains, %+v", r.Records, len(r.Heads), r.Faults)
	}
	heads, err := readAllHeads(t.Context(), p.heads, "acme")
	if err != nil || len(heads) != 6 || heads[0].Sequence != each {
		t.Errorf("%+v, %v", heads, err)
	}
	// The store knows where the chains ended, so that a cut end is found.
	first := p.bus.Messages(events.Audit)
	for n := len(first) - 1; ; n-- {
		last, _ := parse(first[n].Value)
		if last.Chain == r.Heads[5].Chain && last.Sequence == each {
			var v Verifier
			for at, m := range first {
				if at != n {
					v.add(m.Value)
				}
			}
			if cut := v.Finish(heads...); len(cut.Faults) != 1 || !strings.Contains(cut.Faults[0].Reason, "end of the chain") {
				t.Errorf("%+v", cut.Faults)
			}
			return
		}
	}
}

// While nothing can be written changes are refused, and what waits is written afterwards, in
// its chain.
func TestAnOutageRefusesChangesAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		l, _, stop := p.start()
		write(t, l, put(1))
		away := errors.New("away")
		p.bus.Fail(func(c streamtest.Call) error { return away })
		if err := l.Write(t.Context(), put(2)); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("%v", err)
		}
		if err := l.Admit(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a change is admitted: %v", err)
		}
		if err := l.Write(t.Context(), put(3)); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
		p.bus.Fail(nil)
		time.Sleep(time.Minute)
		if err := l.Admit(); err != nil {
			t.Errorf("after the outage: %v", err)
		}
		stop()
		if r := p.verify("acme"); len(r.Faults) != 0 || r.Records != 3 {
			t.Errorf("%+v", r)
		}
		if failed := valueOf(t, l.metrics.failures); failed == 0 {
			t.Error("no failure is counted")
		}
	})
}

// What changes nothing is not waited for, and none of it is left out.
func TestReadsAreRecordedInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		l, _, stop := p.start()
		synctest.Wait()
		stuck := make(chan struct{})
		p.bus.Fail(func(streamtest.Call) error { <-stuck; return nil })
		for n := range 5 {
			e := put(n)
			e.ReadOnly = true
			write(t, l, e)
		}
		close(stuck)
		p.bus.Fail(nil)
		for n := range 2 * maxSamples {
			e := put(n)
			e.ReadOnly = true
			write(t, l, e)
		}
		stop()
		if r := p.verify("acme"); len(r.Faults) != 0 || r.Records != 5+2*maxSamples {
			t.Errorf("%+v", r)
		}
	})
}

func TestSamplesGiveWayAndRefusalsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		l, _, stop := p.start()
		synctest.Wait()
		refused := Event{Action: "GET /v1/tools", Address: "192.0.2.7", Status: 401, Details: Details{Reason: "a valid bearer token is required"}}
		for range 1000 {
			l.Refuse(refused)
		}
		for n := range 2 * maxRefusals {
			other := refused
			other.Address = fmt.Sprintf("198.51.100.%d", n)
			l.Refuse(other)
		}
		synctest.Wait()
		for range 50 {
			l.Refuse(refused)
		}
		for range 2 * maxSamples {
			l.Sample(Event{Caller: ada, Action: "search", Status: 200})
		}
		stop()
		total, first := 0, 0
		for _, e := range p.entries(identity.DefaultTenant, Filter{Decision: string(Denied)}) {
			total += max(e.Count, 1)
			if e.Address == refused.Address {
				first += max(e.Count, 1)
			}
		}
		if total != 1050+2*maxRefusals || first != 1050 {
			t.Errorf("%d refusals stand in the log, %d of the first", total, first)
		}
		if n := len(p.bus.Messages(events.Audit)); n > maxRefusals+3+2*maxSamples {
			t.Errorf("%d records", n)
		}
		stored, dropped := len(p.entries("acme", Filter{Action: "search"})), int(valueOf(t, l.metrics.dropped))
		if stored+dropped != 2*maxSamples || stored < maxSamples {
			t.Errorf("%d samples are stored and %d dropped", stored, dropped)
		}
	})
}

func TestARecordOfManyToolsIsDivided(t *testing.T) {
	p := newPlace(t)
	l, _, stop := p.start()
	defer stop()
	e := put(0)
	e.Tools = make([]ToolRef, 2*maxTools+1)
	write(t, l, e)
	var sizes []int
	for _, e := range p.entries("acme", Filter{}) {
		sizes = append(sizes, len(e.Tools))
	}
	if !slices.Equal(sizes, []int{maxTools, maxTools, 1}) {
		t.Errorf("%v", sizes)
	}
}

// A change of all grants is as large as two lists of them, which no message of the bus has to
// hold: what cannot be published would hold up the records of all tenants.
func TestARecordOfLargeGrantsIsDivided(t *testing.T) {
	p := newPlace(t)
	l, _, stop := p.start()
	defer stop()
	e := put(0)
	for n := range 3000 {
		e.Changed = append(e.Changed, fmt.Sprintf("+ %d %s", n, strings.Repeat("<", 2<<10)))
	}
	e.Tools = []ToolRef{{ID: strings.Repeat("x", maxNames)}, {ID: "last"}}
	write(t, l, e)
	for _, m := range p.bus.Messages(events.Audit) {
		if len(m.Value) > 1<<20 {
			t.Errorf("a record of %d bytes", len(m.Value))
		}
	}
	var changed []string
	var tools []ToolRef
	for _, r := range p.entries("acme", Filter{}) {
		changed, tools = append(changed, r.Changed...), append(tools, r.Tools...)
	}
	if !slices.Equal(changed, e.Changed) || !slices.Equal(tools, e.Tools) {
		t.Errorf("%d grants and %d tools of %d and %d", len(changed), len(tools), len(e.Changed), len(e.Tools))
	}
}

func TestTheLogIsReadByPages(t *testing.T) {
	p := newPlace(t)
	l, keys, stop := p.start()
	defer stop()
	for n := range 30 {
		write(t, l, put(n))
		write(t, l, Event{Caller: identity.Anybody, Action: "reindex"})
	}
	r := NewReader(p.bus, keys, p.heads)
	last, at, err := r.last(t.Context(), "acme", Filter{}, 5)
	if err != nil || len(last) != 5 || last[4].Tools[0].ID != "t29" {
		t.Fatalf("%+v, %v", last, err)
	}
	if again, err := parsePlace(at.String()); err != nil || !maps.Equal(again, at) {
		t.Errorf("%v is read as %v, %v", at, again, err)
	}
	if more, _, end, err := r.page(t.Context(), "acme", Filter{}, at, 5); err != nil || len(more) != 0 || !end {
		t.Errorf("behind the last: %+v, %v", more, err)
	}
	var ids []string
	from, err := r.since(t.Context(), time.Now().Add(-time.Hour))
	for end := false; err == nil && !end; {
		var page []Opened
		page, from, end, err = r.page(t.Context(), "acme", Filter{}, from, 7)
		for _, e := range page {
			ids = append(ids, e.Tools[0].ID)
		}
	}
	if err != nil || len(ids) != 30 || ids[29] != "t29" {
		t.Errorf("%v, %v", ids, err)
	}
	if whole, err := r.whole(t.Context()); err != nil || !whole {
		t.Errorf("whole: %v, %v", whole, err)
	}
	for _, bad := range []string{"", "x", "0", "0.x", "-1.2", "0.1-"} {
		if _, err := parsePlace(bad); err == nil {
			t.Errorf("%q is a place", bad)
		}
	}
}
