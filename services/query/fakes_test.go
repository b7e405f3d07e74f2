package query

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/search"
)

type Config = search.Config

// refOf names an entity of the test's tenant.
func refOf(tenant string, kind schema.Kind, id string) schema.Ref {
	return catalogue.RefOf(tenant, kind, id)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testTenant = "default"

// testCaller may do everything there.
var testCaller = identity.Caller{Tenant: testTenant, Role: identity.Admin}

// fakeIndex answers every lookup with the same candidates, of the kinds asked
// for, one for nothing but Also with those that it does not find otherwise, and one of
// some providers with all that they have.
type fakeIndex struct {
	found     []index.Candidate
	hidden    []index.Candidate
	suppliers map[string][]index.Supplier
	spellings map[string]string   // read as
	flags     map[string][]string // by tool
	held      []string            // in quarantine
	err       error
	partial   error // beside the candidates
	mute      error // of suppliers alone
	takes     time.Duration

	mu      sync.Mutex
	lookups []index.Lookup
}

func (f *fakeIndex) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookups = append(f.lookups, l)
	all := f.found
	if l.N == 0 {
		all = slices.DeleteFunc(slices.Clone(f.hidden), func(c index.Candidate) bool { return !slices.Contains(l.Also, c.ID) })
	}
	if len(l.Filters.Providers) > 0 && !l.Withheld {
		all = slices.DeleteFunc(slices.Concat(f.found, f.hidden), func(c index.Candidate) bool { return !slices.Contains(l.Filters.Providers, c.Provider) })
	}
	var out []index.Candidate
	for _, c := range all {
		excluded := slices.ContainsFunc(f.flags[c.ID], func(flag string) bool { return slices.Contains(l.Exclude, flag) })
		for _, flag := range f.flags[c.ID] {
			if slices.Contains(l.Behind, flag) {
				c.HeldBack = flag
			}
		}
		filtered := len(l.Filters.Providers) > 0 && !slices.Contains(l.Filters.Providers, c.Provider)
		uncallable := l.Calls != nil && !l.Calls.Of(index.Origin{Provider: c.Provider})
		if slices.Contains(l.Kinds, c.Kind) && (excluded || filtered || uncallable || slices.Contains(f.held, c.ID)) == l.Withheld {
			out = append(out, c)
		}
	}
	return out, cmp.Or(f.err, f.partial)
}

// Read reads the words that a test names.
func (f *fakeIndex) Read(_ context.Context, _ string, _ *policy.Scope, query string, known func(string) bool) (string, []schema.Correction, error) {
	var out []schema.Correction
	for from, to := range f.spellings {
		if !known(from) && strings.Contains(query, from) {
			query, out = strings.ReplaceAll(query, from, to), append(out, schema.Correction{From: from, To: to})
		}
	}
	return query, out, f.err
}

// Suppliers returns those that a test names.
func (f *fakeIndex) Suppliers(_ context.Context, _ string, tools []string) ([][]index.Supplier, error) {
	out := make([][]index.Supplier, len(tools))
	for i, id := range tools {
		out[i] = f.suppliers[id]
	}
	return out, cmp.Or(f.err, f.mute)
}

// last returns the last lookup of what an answer may hold.
func (f *fakeIndex) last() index.Lookup {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.DeleteFunc(slices.Clone(f.lookups), func(l index.Lookup) bool { return l.Withheld })
	return all[len(all)-1]
}

// fakeCatalogue holds entities; those in deleted are tombstones.
type fakeCatalogue struct {
	entities map[schema.Ref]schema.Entity
	deleted  map[schema.Ref]schema.Version
	raw      map[schema.Ref]json.RawMessage // {"of": id} where there is none
	err      error
}

func (f *fakeCatalogue) Get(_ context.Context, ref schema.Ref, scope *policy.Scope) (schema.Entity, json.RawMessage, bool, error) {
	e, ok := f.entities[ref]
	ok = ok && inScope(e, scope)
	raw, there := f.raw[ref]
	if !there {
		raw = json.RawMessage(`{"of":"` + ref.ID + `"}`)
	}
	return e, raw, ok && f.err == nil, f.err
}

func (f *fakeCatalogue) Named(_ context.Context, tenant, name string, scope *policy.Scope) ([]string, error) {
	var ids []string
	for ref, e := range f.entities {
		if ref.Tenant == tenant && e.CallableName == name && inScope(e, scope) {
			ids = append(ids, ref.ID)
		}
	}
	slices.Sort(ids)
	return ids, f.err
}

func (f *fakeCatalogue) List(_ context.Context, tenant string, l index.Listing) ([]schema.Entity, string, error) {
	if f.err != nil {
		return nil, "", f.err
	}
	refs := slices.SortedFunc(maps.Keys(f.entities), func(a, b schema.Ref) int { return cmp.Compare(a.ID, b.ID) })
	var out []schema.Entity
	for _, ref := range refs {
		e := f.entities[ref]
		if ref.Tenant != tenant || ref.Kind != l.Kind || (l.Provider != "" && e.Provider != l.Provider) || ref.ID <= l.Cursor || l.Quarantined && !e.Document.Quarantined || !inScope(e, l.Scope) {
			continue
		}
		if len(out) == l.Limit {
			return out, out[l.Limit-1].ID, nil
		}
		out = append(out, e)
	}
	return out, "", nil
}

func (f *fakeCatalogue) Tools(tenant string) iter.Seq[policy.Tool] {
	return func(yield func(policy.Tool) bool) {
		for _, e := range f.entities {
			if e.Tenant == tenant && !yield(toolOf(e)) {
				return
			}
		}
	}
}

func toolOf(e schema.Entity) policy.Tool {
	return policy.ToolOf(e.Ref, e.Provider, e.From, e.Document.Tags)
}

func inScope(e schema.Entity, scope *policy.Scope) bool {
	of := toolOf(e)
	return scope.Allows(&of)
}

func (f *fakeCatalogue) Version(ref schema.Ref) (schema.Version, bool, bool) {
	if v, ok := f.deleted[ref]; ok {
		return v, true, true
	}
	e, ok := f.entities[ref]
	return e.Version, false, ok
}

// fakeEmbedder gives every text a vector of its own. The texts that a scale is measured by
// are counted apart: each meaning has an axis.
type fakeEmbedder struct {
	scaleTakes time.Duration
	scaleErr   error
	scales     int // guarded by mu

	err   error
	short bool          // answers one vector too few
	takes time.Duration // for each text

	mu    sync.Mutex
	calls [][]string
}

func (f *fakeEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if n := len(texts) / 2; n == 8 && texts[0] == "book a table for two tonight" {
		f.mu.Lock()
		f.scales++
		f.mu.Unlock()
		<-time.After(f.scaleTakes)
		if f.scaleErr != nil {
			return nil, f.scaleErr
		}
		out := make([][]float32, 2*n)
		for i := range out {
			out[i] = make([]float32, n)
			out[i][i%n] = 1
		}
		return out, nil
	}
	f.mu.Lock()
	f.calls = append(f.calls, texts)
	f.mu.Unlock()
	select {
	case <-time.After(time.Duration(len(texts)) * f.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.err != nil {
		return nil, f.err
	}
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{float32(len(t)), float32(i)}
	}
	if f.short {
		out = out[1:]
	}
	return out, nil
}

// fakeWatcher hands out what a test puts, and fails when told.
type fakeWatcher struct {
	mu      sync.Mutex
	watches map[string]func(stream.Entry) error
	fails   chan error
	started chan string // receives the prefix of every watch
}

func newFakeWatcher() *fakeWatcher {
	return &fakeWatcher{watches: map[string]func(stream.Entry) error{}, fails: make(chan error), started: make(chan string, 16)}
}

func (f *fakeWatcher) Watch(ctx context.Context, prefix string, fn func(stream.Entry) error) error {
	f.mu.Lock()
	f.watches[prefix] = fn
	f.mu.Unlock()
	f.started <- prefix
	select {
	case <-ctx.Done():
		return nil
	case err := <-f.fails:
		return err
	}
}

func (f *fakeWatcher) put(t *testing.T, key string, value any) {
	t.Helper()
	raw, isRaw := value.([]byte)
	if value != nil && !isRaw {
		raw = mustJSON(value)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for prefix, fn := range f.watches {
		if strings.HasPrefix(key, prefix) {
			check.OK(t, fn(stream.Entry{Key: key, Value: raw}))
		}
	}
}

// fakeVersions holds values by their keys.
type fakeVersions map[string]any

func (f fakeVersions) Get(_ context.Context, key string) (stream.Entry, error) {
	value, there := f[key]
	if err, failed := value.(error); failed {
		return stream.Entry{}, err
	}
	if !there {
		return stream.Entry{}, stream.ErrNotFound
	}
	raw, err := json.Marshal(value)
	return stream.Entry{Key: key, Value: raw}, err
}

// dead is a set of changes that ended in the dead letters.
type dead map[string]uint64

func (d dead) Dead(key string, revision uint64) bool { return d[key] == revision }

// bench is a service among fakes.
type bench struct {
	*Service
	model     string       // of the snapshot
	ix        search.Index // in place of index
	policy    *policy.Store
	revisions catalogue.Revisions
	makes     func(context.Context, *events.Change) error // documents
	waiting   int                                         // impressions
	running   bool
	index     *fakeIndex
	catalogue *fakeCatalogue
	embedder  *fakeEmbedder
	elsewhere bool // where the embedder works
	bus       *streamtest.Bus
	watcher   *fakeWatcher
	stale     func() bool
	versions  fakeVersions
	other     func(int) (search.Snapshot, func(), bool)
	rewriter  *fakeRewriter
	scorer    search.Scorer
	names     search.Names
	reg       *prometheus.Registry
	dead      dead
}

func newBench(t testing.TB, candidates ...index.Candidate) *bench {
	t.Helper()
	b := &bench{
		index:     &fakeIndex{found: candidates},
		catalogue: &fakeCatalogue{entities: map[schema.Ref]schema.Entity{}, deleted: map[schema.Ref]schema.Version{}},
		embedder:  &fakeEmbedder{}, bus: streamtest.NewBus(), watcher: newFakeWatcher(),
		reg: prometheus.NewRegistry(), dead: dead{},
	}
	for i, c := range candidates {
		b.catalogue.entities[c.Ref] = schema.Entity{
			Ref: c.Ref, Provider: c.Provider, Version: schema.Version{Revision: uint64(i + 1)},
			Document: schema.Document{Name: "name of " + c.ID, Description: "does " + c.ID},
		}
	}
	b.build(t, Config{})
	return b
}

// add makes tools known that only a lookup of their provider finds.
func (b *bench) add(tools ...index.Candidate) {
	for _, c := range tools {
		b.index.hidden = append(b.index.hidden, c)
		b.catalogue.entities[c.Ref] = schema.Entity{Ref: c.Ref, Provider: c.Provider, Document: schema.Document{Name: "name of " + c.ID}}
	}
}

// edit changes the document of an entity.
func (b *bench) edit(ref schema.Ref, change func(*schema.Document)) {
	e := b.catalogue.entities[ref]
	change(&e.Document)
	b.catalogue.entities[ref] = e
}

// grants gives the service these grants for its tenant, one a line of YAML.
func (b *bench) grants(t *testing.T, lines ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "policy.yaml")
	check.OK(t, os.WriteFile(file, []byte("default:\n  - "+strings.Join(lines, "\n  - ")), 0o600))
	b.policy = must(policy.OpenFile(file, slog.New(slog.DiscardHandler)))
	return file
}

// build makes the service anew, after a change of the fakes or limits.
func (b *bench) build(t testing.TB, cfg Config) {
	t.Helper()
	b.reg = prometheus.NewRegistry()
	deps := Deps{
		Snapshot:  search.Snapshot{Model: b.model, Index: b.index, Catalogue: b.catalogue, EmbedsElsewhere: b.elsewhere},
		Publisher: b.bus, DeadLetters: b.dead,
		Watcher: b.watcher, Stale: b.stale, Versions: b.versions, Other: b.other, Logger: slog.New(slog.DiscardHandler), Registerer: b.reg,
	}
	deps.Policy, deps.Revisions, deps.Standardize, deps.Impressions = b.policy, b.revisions, b.makes, b.waiting
	if b.ix != nil {
		deps.Index = b.ix
	}
	if b.embedder != nil {
		deps.Embedder = b.embedder
	}
	if b.rewriter != nil {
		deps.Rewriter = b.rewriter
	}
	if b.names != nil {
		deps.Names = b.names
	}
	if b.scorer != nil {
		deps.Scorer = b.scorer
	}
	b.Service = must(New(cfg, deps))
}

// start runs the service until the test ends, or stop is called.
func (b *bench) start(t *testing.T) (stop func()) {
	t.Helper()
	b.running = true
	end := check.Run(t, b.Run)
	for range 2 {
		<-b.watcher.started
	}
	return func() { b.running = false; end() }
}

// learn puts a value into the watched store; the service runs for that long at least.
func (b *bench) learn(t *testing.T, key string, value any) {
	t.Helper()
	if !b.running {
		defer b.start(t)()
	}
	b.watcher.put(t, key, value)
}

// weigh puts weights of the model into the watched store.
func (b *bench) weigh(t *testing.T, epoch uint64, change func(*schema.Weights)) {
	t.Helper()
	b.learn(t, "weights.live."+schema.ModelOwner(testTenant, b.model), sealed(epoch, change))
}

// learning starts the service with a model of its own, and weights that usage counts in.
func (b *bench) learning(t *testing.T) (stop func()) {
	t.Helper()
	b.model = "m"
	b.build(t, Config{})
	stop = b.start(t)
	b.weigh(t, 1, bySimilar)
	return stop
}

func (b *bench) search(t testing.TB, req schema.SearchRequest) schema.SearchResponse {
	t.Helper()
	if req.Query == "" && len(req.Needs) == 0 && len(req.Steps) == 0 {
		req.Query = "send a message"
	}
	return check.Value(b.Search(context.Background(), testCaller, req))(t)
}

func (b *bench) impressions(t *testing.T) []schema.Impression {
	t.Helper()
	var out []schema.Impression
	for _, m := range b.bus.Published(events.Searches) {
		i := must(events.Decode[schema.Impression](m.Value))
		out = append(out, i)
	}
	return out
}

// metric sums the counters of a name, all of them or those with a label of that value.
func (b *bench) metric(t *testing.T, name string, label ...string) (sum float64) {
	t.Helper()
	for _, f := range must(b.reg.Gather()) {
		for _, m := range f.GetMetric() {
			counts := len(label) == 0 || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label[0] })
			if f.GetName() == name && counts {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

func ids(resp schema.SearchResponse) []string {
	var out []string
	for _, r := range resp.Results {
		out = append(out, r.ID)
	}
	return out
}

// tool is a candidate whose built-in score rises with words.
func tool(id, provider string, words float64) index.Candidate {
	c := index.Candidate{Ref: schema.Ref{Tenant: testTenant, Kind: schema.KindTool, ID: id}, Provider: provider, Similarity: words / 100}
	c.Features[fusion.QueryLexicalFlat] = words
	return c
}

func provider(id string, words float64) index.Candidate {
	c := tool(id, "", words)
	c.Kind = schema.KindProvider
	return c
}

// sealed returns built-in weights as version with the given changes.
func sealed(epoch uint64, change func(*schema.Weights)) schema.Weights {
	w := fusion.Builtin()
	w.Epoch, w.Version = epoch, "w"+string(rune('0'+epoch))
	if change != nil {
		change(&w)
	}
	return must(fusion.Seal(w))
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

var errDown = errors.New("connection refused")

func upsert(kind schema.Kind, id, provider string, doc schema.Document) events.Change {
	return events.Change{Ref: schema.Ref{Kind: kind, ID: id}, Op: events.OpUpsert, Provider: provider, Raw: []byte(`{}`), Document: &doc}
}

// must returns the value of a call that does not fail here.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
