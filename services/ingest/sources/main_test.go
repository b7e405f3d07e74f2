package sources

import (
	"context"
	"encoding/json"
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
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const home = "default"

// shop is a source of a test.
type shop struct {
	mu       sync.Mutex
	tools    map[string]string // description by name
	fails    error             // of a list
	closed   error             // of a connection
	private  bool
	fresh    time.Duration
	live     bool
	hang     bool
	connects int
	lists    int
	lost     int // connections that are lost, the first ones
	changed  func()
	extra    []source.Document
	several  bool // each has a provider of its own
	found    []source.Found
}

func newShop(names ...string) *shop {
	s := &shop{tools: map[string]string{}}
	s.set(names...)
	return s
}

// set makes the tools those of the names.
func (s *shop) set(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tools)
	for _, name := range names {
		s.tools[name] = "Does " + name + "."
	}
}

// name makes the sources that the shop names MCP servers of the names.
func (s *shop) name(names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = nil
	for _, name := range names {
		s.found = append(s.found, source.Found{Name: name, Spec: source.Spec{Kind: source.MCP, URL: "https://mcp.example/" + name}})
	}
}

// with changes the shop.
func (s *shop) with(change func(*shop)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// tell says that the tools have changed.
func (s *shop) tell() {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	changed()
}

func (s *shop) Connect(_ context.Context, _ source.Place, changed func()) (source.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connects++
	if s.closed != nil {
		return nil, s.closed
	}
	s.changed = changed
	return &visit{s, s.connects}, nil
}

type visit struct {
	*shop
	number int
}

func (v *visit) List(ctx context.Context, _ bool) (source.Listing, error) {
	v.mu.Lock()
	hang := v.hang
	v.lists++
	v.mu.Unlock()
	if hang {
		<-ctx.Done()
		return source.Listing{}, ctx.Err()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.number <= v.lost {
		return source.Listing{}, errors.New("session not found")
	}
	if v.fails != nil {
		return source.Listing{}, v.fails
	}
	l := source.Listing{Private: v.private, Fresh: v.fresh, Owner: []byte(`{"name":"The shop"}`), Documents: slices.Clone(v.extra), Found: slices.Clone(v.found), Several: v.several}
	for _, name := range slices.Sorted(maps.Keys(v.tools)) {
		raw, _ := json.Marshal(map[string]any{"name": name, "description": v.tools[name], "inputSchema": map[string]any{"type": "object"}})
		l.Documents = append(l.Documents, source.Document{Name: name, Format: "mcp", Tool: true, Raw: raw})
	}
	return l, nil
}

func (v *visit) Live() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.live
}

func (v *visit) Close() {}

// fixture is a service on a bus and a store in memory, in virtual time.
type fixture struct {
	t      *testing.T
	bus    *streamtest.Bus
	store  *streamtest.KV
	shops  map[string]*shop // by the kinds under which the service knows them
	index  *ingest.Service
	s      *Service
	stop   func()
	config Config

	connect func(*Deps) // may be nil
}

// run calls test with a service that runs, in virtual time. The kinds of its sources are
// the names of shops.
func run(t *testing.T, config Config, shops map[string]*shop, test func(*fixture)) {
	runAt(t, ingest.Config{}, config, shops, test)
}

func runAt(t *testing.T, accepting ingest.Config, config Config, shops map[string]*shop, test func(*fixture)) {
	synctest.Test(t, func(t *testing.T) {
		p := &fixture{t: t, bus: streamtest.NewBus(), store: streamtest.NewKV(), shops: shops, config: config}
		index := ingest.New(accepting, ingest.Deps{
			Publisher: p.bus, Follower: p.bus, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		})
		p.index = index
		stop := check.Run(t, index.Run)
		p.start(nil)
		test(p)
		p.stop()
		stop()
	})
}

// start runs another process's service.
func (p *fixture) start(shares *Shares) {
	p.s, p.stop = p.service(shares)
}

func (p *fixture) service(shares *Shares) (*Service, func()) {
	connectors := map[string]source.Connector{}
	for kind, shop := range p.shops {
		connectors[kind] = shop
	}
	deps := Deps{
		Index: p.index, Store: p.store, Connectors: connectors, Transports: outbound.NewTransports(outbound.Policy{}), Shares: shares,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}
	if p.connect != nil {
		p.connect(&deps)
	}
	s := New(p.config, deps)
	return s, check.Run(p.t, s.Run)
}

func (p *fixture) put(name, kind string, change ...func(*source.Spec)) {
	p.t.Helper()
	spec := source.Spec{Kind: kind, URL: "https://" + kind + ".example/mcp"}
	for _, c := range change {
		c(&spec)
	}
	check.Value(p.s.put(p.t.Context(), id{home, name}, spec))(p.t)
	p.pass(time.Second)
}

// ok ends the test if a call has failed.
func (p *fixture) ok(_ Source, err error) {
	p.t.Helper()
	check.OK(p.t, err)
}

// pass lets time pass.
func (p *fixture) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// want checks how a source is.
func (p *fixture) want(name string, state State, tools int) Source {
	p.t.Helper()
	src := check.Value(p.s.dir.get(p.t.Context(), id{home, name}))(p.t)
	if src.State != state || src.Tools != tools {
		p.t.Errorf("%s is %s with %d tools, want %s with %d: %s %v", name, src.State, src.Tools, state, tools, src.LastError, src.Problems)
	}
	return src
}

// changes returns the changes of tools among the records that were published after so many.
func (p *fixture) changes(after int) (out []events.Change) {
	p.t.Helper()
	for _, m := range p.bus.Published(events.ToolsRaw)[after:] {
		var c events.Change
		check.OK(p.t, json.Unmarshal(m.Value, &c))
		if c.Kind == schema.KindTool {
			out = append(out, c)
		}
	}
	return out
}

// indexed returns the ids of the tools that the index has.
func (p *fixture) indexed() string {
	p.t.Helper()
	there := map[string]bool{}
	for _, c := range p.changes(0) {
		if there[c.ID] = true; c.Op == events.OpDelete {
			delete(there, c.ID)
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(there)), " ")
}

func (p *fixture) wantIndexed(ids string) {
	p.t.Helper()
	if got := p.indexed(); got != ids {
		p.t.Errorf("the index has %q, want %q", got, ids)
	}
}

func (p *fixture) published() int { return len(p.bus.Published(events.ToolsRaw)) }

func toolNames(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	return names
}

// wantDeleted wants no tool to have been deleted but those that were given up.
func (p *fixture) wantDeleted(givenUp map[string]bool) {
	p.t.Helper()
	for _, c := range p.changes(0) {
		if c.Op == events.OpDelete && !givenUp[c.ID] {
			p.t.Errorf("%s was deleted, and its source had not given it up", c.ID)
		}
	}
}
