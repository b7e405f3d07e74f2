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

	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const home = "default"

// memory is a store in memory. With ttl its keys vanish.
type memory struct {
	ttl time.Duration

	mu       sync.Mutex
	away     error
	entries  map[string]stream.Entry
	written  map[string]time.Time
	revision uint64
	changed  chan struct{}
}

func newMemory() *memory {
	return &memory{entries: map[string]stream.Entry{}, written: map[string]time.Time{}, changed: make(chan struct{})}
}

func (m *memory) write(key string, value []byte, check func(old stream.Entry, there bool) bool) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return 0, m.away
	}
	old, there := m.entries[key]
	if !check(old, there && old.Value != nil) {
		return 0, stream.ErrConflict
	}
	m.revision++
	m.entries[key] = stream.Entry{Key: key, Value: value, Revision: m.revision}
	m.written[key] = time.Now()
	close(m.changed)
	m.changed = make(chan struct{})
	return m.revision, nil
}

func (m *memory) Put(_ context.Context, key string, value []byte) (uint64, error) {
	return m.write(key, append([]byte{}, value...), func(stream.Entry, bool) bool { return true })
}

func (m *memory) Create(_ context.Context, key string, value []byte) (uint64, error) {
	return m.write(key, append([]byte{}, value...), func(_ stream.Entry, there bool) bool { return !there })
}

func (m *memory) Update(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return m.write(key, append([]byte{}, value...), func(old stream.Entry, _ bool) bool { return old.Revision == revision })
}

func (m *memory) Delete(_ context.Context, key string) error {
	_, err := m.write(key, nil, func(stream.Entry, bool) bool { return true })
	return err
}

func (m *memory) Get(_ context.Context, key string) (stream.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, there := m.entries[key]
	switch {
	case m.away != nil:
		return stream.Entry{}, m.away
	case !there || e.Value == nil:
		return stream.Entry{}, stream.ErrNotFound
	}
	return e, nil
}

func (m *memory) Keys(_ context.Context, prefix string) (keys []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.entries {
		if strings.HasPrefix(key, prefix) && e.Value != nil && (m.ttl == 0 || time.Since(m.written[key]) < m.ttl) {
			keys = append(keys, key)
		}
	}
	return keys, m.away
}

func (m *memory) Follow(ctx context.Context, prefix string, fn func(stream.Entry) error, current func()) error {
	var last uint64
	for first := true; ; first = false {
		m.mu.Lock()
		fresh := slices.SortedFunc(maps.Values(m.entries), func(a, b stream.Entry) int { return int(a.Revision) - int(b.Revision) })
		changed := m.changed
		m.mu.Unlock()
		for _, e := range fresh {
			if e.Revision > last && strings.HasPrefix(e.Key, prefix) {
				last = e.Revision
				if err := fn(e); err != nil {
					return err
				}
			}
		}
		if first {
			current()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

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

// places is a service on a bus and a store in memory, in virtual time.
type places struct {
	t      *testing.T
	bus    *streamtest.Bus
	store  *memory
	shops  map[string]*shop // by the kinds under which the service knows them
	index  *ingest.Service
	s      *Service
	stop   func()
	config Config
}

// run calls test with a service that runs, in virtual time. The kinds of its sources are
// the names of shops.
func run(t *testing.T, config Config, shops map[string]*shop, test func(*places)) {
	runAt(t, ingest.Config{}, config, shops, test)
}

func runAt(t *testing.T, accepting ingest.Config, config Config, shops map[string]*shop, test func(*places)) {
	synctest.Test(t, func(t *testing.T) {
		p := &places{t: t, bus: streamtest.NewBus(), store: newMemory(), shops: shops, config: config}
		index, err := ingest.New(accepting, ingest.Deps{
			Publisher: p.bus, Follower: p.bus, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		p.index = index
		ctx, cancel := context.WithCancel(t.Context())
		var g sync.WaitGroup
		g.Go(func() {
			if err := index.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		p.start(nil)
		test(p)
		p.stop()
		cancel()
		g.Wait()
	})
}

// start runs another process's service.
func (p *places) start(shares *Shares) {
	p.s, p.stop = p.service(shares)
}

func (p *places) service(shares *Shares) (*Service, func()) {
	connectors := map[string]source.Connector{}
	for kind, shop := range p.shops {
		connectors[kind] = shop
	}
	s := New(p.config, Deps{
		Index: p.index, Store: p.store, Connectors: connectors, Transports: outbound.NewTransports(outbound.Policy{}), Shares: shares,
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return s, sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Error(err)
		}
	})
}

func (p *places) put(name, kind string, change ...func(*source.Spec)) {
	p.t.Helper()
	spec := source.Spec{Kind: kind, URL: "https://" + kind + ".example/mcp"}
	for _, c := range change {
		c(&spec)
	}
	if _, err := p.s.put(p.t.Context(), id{home, name}, spec); err != nil {
		p.t.Fatal(err)
	}
	p.pass(time.Second)
}

// pass lets time pass.
func (p *places) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// want checks how a source is.
func (p *places) want(name string, state State, tools int) Source {
	p.t.Helper()
	src, err := p.s.get(p.t.Context(), id{home, name})
	if err != nil {
		p.t.Fatal(err)
	}
	if src.State != state || src.Tools != tools {
		p.t.Errorf("%s is %s with %d tools, want %s with %d: %s %v", name, src.State, src.Tools, state, tools, src.LastError, src.Problems)
	}
	return src
}

// indexed returns the ids of the tools that the index has.
func (p *places) indexed() string {
	p.t.Helper()
	there := map[string]bool{}
	for _, m := range p.bus.Published(events.ToolsRaw) {
		var c events.Change
		if err := json.Unmarshal(m.Value, &c); err != nil {
			p.t.Fatal(err)
		}
		if c.Kind != schema.KindTool {
			continue
		}
		there[c.ID] = c.Op == events.OpUpsert
	}
	var ids []string
	for i, is := range there {
		if is {
			ids = append(ids, i)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (p *places) wantIndexed(ids string) {
	p.t.Helper()
	if got := p.indexed(); got != ids {
		p.t.Errorf("the index has %q, want %q", got, ids)
	}
}

func (p *places) published() int { return len(p.bus.Published(events.ToolsRaw)) }

func many(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("t%02d", i))
	}
	return names
}

// wantDeleted wants no tool to have been deleted but those that were given up.
func (p *places) wantDeleted(givenUp map[string]bool) {
	p.t.Helper()
	for _, m := range p.bus.Published(events.ToolsRaw) {
		var c events.Change
		if err := json.Unmarshal(m.Value, &c); err != nil {
			p.t.Fatal(err)
		}
		if c.Op == events.OpDelete && c.Kind == schema.KindTool && !givenUp[c.ID] {
			p.t.Errorf("%s was deleted, and its source had not given it up", c.ID)
		}
	}
}
