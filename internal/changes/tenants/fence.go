package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
	"github.com/toolstream/toolstream/pkg/events"
)

// KeyPrefix begins the keys of fences in the bucket of weights; the tenant follows.
const KeyPrefix = "erased."

// fenceFile is where a process keeps the fences that its data folder obeys.
const fenceFile = "erased.json"

// Fence says what of a tenant is erased.
type Fence struct {
	Tenant   string    `json:"tenant"`
	At       time.Time `json:"at"`                 // when it was asked for
	Erasing  bool      `json:"erasing,omitempty"`  // everything lies behind the fence
	Revision uint64    `json:"revision,omitempty"` // documents up to this revision do

	// Ends are the offsets, by topic and partition, up to which records lie behind the fence.
	Ends map[events.Topic]map[int]uint64 `json:"ends,omitempty"`

	// Stored is the revision of the fence in its bucket. Values with lower ones lie behind it.
	Stored uint64 `json:"-"`
}

// Forget drops what one part of a process holds of a tenant behind a fence: all of it, while
// the fence is erasing. Calling it again is harmless.
type Forget func(ctx context.Context, f Fence) error

// Fences are the fences that a process knows. The methods may be called concurrently.
type Fences struct {
	file string
	log  *slog.Logger

	taking sync.Mutex // held while a fence is obeyed

	mu      sync.Mutex // guards what follows
	known   map[string]Fence
	obeyed  map[string]Fence // by tenant, those that the parts of the process have obeyed
	forgets []Forget
	begun   map[int]chan struct{} // of batches under way, closed at their end
	next    int
}

// OpenFences returns the fences that a data folder knows.
func OpenFences(folder string, log *slog.Logger) (*Fences, error) {
	f := &Fences{
		file: filepath.Join(folder, fenceFile), log: log,
		known: map[string]Fence{}, obeyed: map[string]Fence{}, begun: map[int]chan struct{}{},
	}
	raw, err := os.ReadFile(f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &f.obeyed)
	}
	if err != nil {
		return nil, fmt.Errorf("tenants: %s: %w", f.file, err)
	}
	f.known = maps.Clone(f.obeyed)
	return f, nil
}

// OnErase adds a part of the process that holds something of tenants. It is to be called
// before Run.
func (f *Fences) OnErase(forget Forget) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgets = append(f.forgets, forget)
}

// Run follows the fences of a store until ctx ends.
func (f *Fences) Run(ctx context.Context, store stream.Watcher) error {
	stream.WatchAgain(ctx, store, KeyPrefix, func(e stream.Entry) error {
		if fence, ok := parse(e); ok {
			return f.Take(ctx, fence)
		}
		return nil
	}, func(err error) {
		if err != nil {
			f.log.Warn("tenants: a tenant is not erased from this process yet", "error", err)
		}
	})
	return nil
}

// Read reads the fences of a store for the first time: the bus obeys them from then on. The
// parts of the process follow with Run.
func (f *Fences) Read(ctx context.Context, store Values) error {
	keys, err := store.Keys(ctx, KeyPrefix)
	for _, key := range keys {
		e, failed := store.Get(ctx, key)
		fence, ok := parse(e)
		if failed != nil || !ok {
			err = errors.Join(err, failed)
			continue
		}
		f.mu.Lock()
		if !f.known[fence.Tenant].At.After(fence.At) {
			f.known[fence.Tenant] = fence
		}
		f.mu.Unlock()
	}
	return err
}

// parse returns the fence in an entry of a store.
func parse(e stream.Entry) (f Fence, ok bool) {
	ok = len(e.Value) > 0 && json.Unmarshal(e.Value, &f) == nil && f.Tenant == strings.TrimPrefix(e.Key, KeyPrefix)
	f.Stored = e.Revision
	return f, ok
}

// Take learns of a fence, and returns once the process obeys it: nothing of what lies
// behind it is under way, and the parts of the process have forgotten it.
func (f *Fences) Take(ctx context.Context, fence Fence) error {
	f.taking.Lock()
	defer f.taking.Unlock()
	f.mu.Lock()
	if known, ok := f.known[fence.Tenant]; ok && (known.At.After(fence.At) || known.At.Equal(fence.At) && fence.Erasing && !known.Erasing) {
		f.mu.Unlock()
		return nil // an earlier word
	}
	f.known[fence.Tenant] = fence
	under := slices.Collect(maps.Values(f.begun))
	forgets := slices.Clone(f.forgets)
	done := same(f.obeyed[fence.Tenant], fence)
	f.mu.Unlock()
	if done {
		return nil
	}
	for _, ended := range under {
		select {
		case <-ended:
		case <-ctx.Done():
			return fmt.Errorf("tenants: wait for what is under way: %w", ctx.Err())
		}
	}
	for _, forget := range forgets {
		if err := forget(ctx, fence); err != nil {
			return fmt.Errorf("tenants: erase %s: %w", fence.Tenant, err)
		}
	}
	return f.note(fence)
}

// same reports whether two fences are one, at the same step.
func same(a, b Fence) bool {
	return a.Tenant == b.Tenant && a.At.Equal(b.At) && a.Erasing == b.Erasing
}

// note remembers that a fence is obeyed, on the disk as well.
func (f *Fences) note(fence Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.obeyed[fence.Tenant] = fence
	raw, err := json.Marshal(f.obeyed)
	if err != nil {
		return err
	}
	return wholefile.Write(f.file, raw, 0o600)
}

// Obeys reports whether this process obeys a fence, or a later one.
func (f *Fences) Obeys(fence Fence) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.obeyed[fence.Tenant]
	return ok && (o.At.After(fence.At) || o.At.Equal(fence.At) && (fence.Erasing || !o.Erasing))
}

// Erasing reports whether a tenant is being erased at the moment.
func (f *Fences) Erasing(tenant string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[tenant].Erasing
}

// Since reports whether a tenant was erased since a time, or is being erased.
func (f *Fences) Since(tenant string, at time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fence, ok := f.known[tenant]
	return ok && (fence.Erasing || fence.At.After(at))
}

// Through returns up to which revision the documents of a tenant are erased.
func (f *Fences) Through(tenant string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fence := f.known[tenant]; !fence.Erasing {
		return fence.Revision
	}
	return events.MaxRevision
}

// All returns the fences by tenant.
func (f *Fences) All() map[string]Fence {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.known)
}

// Unfinished reports why a tenant is not erased from this process yet, nil where all are.
func (f *Fences) Unfinished() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for tenant, fence := range f.known {
		if !same(f.obeyed[tenant], fence) {
			return fmt.Errorf("the tenant %s is still to be erased here", tenant)
		}
	}
	return nil
}

// begin notes a batch under way, and returns what ends it and the fences that it obeys.
func (f *Fences) begin() (fences map[string]Fence, end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ended := f.next, make(chan struct{})
	f.next++
	f.begun[n] = ended
	return maps.Clone(f.known), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.begun[n] != nil {
			delete(f.begun, n)
			close(ended)
		}
	}
}

// behind reports whether a message lies behind a fence of its tenant. The place of one that
// is to be published is not known.
func behind(fences map[string]Fence, m stream.Message, published bool) bool {
	if m.Headers[events.HeaderErased] != "" {
		return true
	}
	if len(fences) == 0 || !erased(m.Topic) {
		return false
	}
	tenant, revision := subjectOf(m)
	fence, ok := fences[tenant]
	switch {
	case !ok:
		return false
	case fence.Erasing, revision > 0 && revision <= fence.Revision:
		return true
	}
	return !published && m.Offset <= fence.Ends[m.Topic][m.Partition]
}

// erased reports whether what a topic holds of a tenant is erased with it.
func erased(topic events.Topic) bool {
	switch topic {
	case events.ToolsRaw, events.ToolsStandardized, events.Searches, events.FeedbackTopic, events.DLQ:
		return true
	}
	return topic.IndexVersion() > 0
}

// subjectOf returns the tenant that a message is of, empty for one that names none, and the
// revision of the document that it is about, 0 if it is about none.
func subjectOf(m stream.Message) (tenant string, revision uint64) {
	key, headers := m.Key, m.Headers
	if m.Topic == events.DLQ {
		letter, err := events.Decode[events.DeadLetter](m.Value)
		if err != nil {
			return "", 0
		}
		key, headers = letter.Key, letter.Headers
	}
	revision, _ = strconv.ParseUint(headers[events.HeaderRevision], 10, 64)
	return events.TenantOf(key), revision
}
