package sources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// directory is this process's copy of the store of sources, and the way to change it. Its
// methods may be called concurrently.
type directory struct {
	store    Store
	log      *slog.Logger
	changed  func(id)      // the declaration of a source has changed
	complete func()        // called once the whole store was read
	loaded   chan struct{} // closed after complete

	mu    sync.Mutex // guards what follows
	known map[id]*entry
}

// entry holds the declaration and the status of a source. The revisions are of the store; 0: not
// stored.
type entry struct {
	spec          *record // nil: the source does not exist
	specRevision  uint64
	status        Status // as stored
	stateRevision uint64
	worker        *worker // of this process, whose status is newer than the stored one; nil without one
}

// follow reads the store until ctx ends, and again whenever it was lost.
func (d *directory) follow(ctx context.Context) {
	pace := backoff.NewExponentialBackOff(backoff.WithMaxInterval(30*time.Second), backoff.WithMaxElapsedTime(0))
	once := sync.OnceFunc(func() { d.complete(); close(d.loaded) })
	follow := func() error {
		err := d.store.Follow(ctx, "", func(e stream.Entry) error {
			if i, ok := cutPrefix(e.Key, specPrefix); ok {
				d.readSpec(i, e)
			}
			if i, ok := cutPrefix(e.Key, statePrefix); ok {
				d.readState(i, e)
			}
			return nil
		}, func() { pace.Reset(); once() })
		return stream.OrDone(ctx, cmp.Or(err, errors.New("the watch ended")))
	}
	_ = backoff.RetryNotify(follow, backoff.WithContext(pace, ctx), func(err error, _ time.Duration) {
		d.log.Debug("sources: the store is away, working with the last state of it", "error", err)
	})
}

func cutPrefix(key, prefix string) (id, bool) {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || rest == "" {
		return id{}, false
	}
	// A tenant holds no dot.
	tenant, name, ok := strings.Cut(rest, ".")
	return id{tenant, name}, ok && isName(name)
}

func (d *directory) readSpec(i id, e stream.Entry) {
	var rec *record
	if e.Value != nil {
		rec = new(record)
		if err := decode(e, rec); err != nil {
			d.log.Error("sources: a source cannot be read", "source", i, "error", err)
			return
		}
	}
	d.mu.Lock()
	at := d.entry(i)
	newer := e.Revision > at.specRevision
	if newer {
		at.spec, at.specRevision = rec, e.Revision
	}
	d.mu.Unlock()
	if newer {
		d.changed(i)
	}
}

func (d *directory) readState(i id, e stream.Entry) {
	var status Status
	if e.Value != nil && decode(e, &status) != nil {
		return // the next look writes a new one
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.entry(i); at.worker == nil && e.Revision > at.stateRevision {
		at.status, at.stateRevision = status, e.Revision
	}
}

// entry returns the entry of a source, an empty one if nothing is known. It is called with mu
// held.
func (d *directory) entry(i id) *entry {
	at := d.known[i]
	if at == nil {
		at = &entry{}
		d.known[i] = at
	}
	return at
}

// loadWait is how long a call waits for the store to be read.
const loadWait = 5 * time.Second

func (d *directory) awaitLoaded(ctx context.Context) error {
	select {
	case <-d.loaded:
		return nil
	default:
	}
	timer := time.NewTimer(loadWait)
	defer timer.Stop()
	select {
	case <-d.loaded:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w: it is still being read", errStore)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// all returns the sources of a tenant by name, each followed by the sources that it names.
func (d *directory) all(ctx context.Context, tenant string) ([]Source, error) {
	if err := d.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []Source{}
	for i, e := range d.known {
		if i.tenant == tenant && e.spec != nil {
			all = append(all, e.shown(i))
		}
	}
	slices.SortFunc(all, func(a, b Source) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Parent, a.Name), cmp.Or(b.Parent, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// get returns one source.
func (d *directory) get(ctx context.Context, i id) (Source, error) {
	if err := d.awaitLoaded(ctx); err != nil {
		return Source{}, err
	}
	if found, there := d.find(i); there {
		return found, nil
	}
	return Source{}, errNotFound
}

// find returns one source, if it is known already.
func (d *directory) find(i id) (Source, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[i]; e != nil && e.spec != nil {
		return e.shown(i), true
	}
	return Source{}, false
}

// stored returns the record and the stored status of a source; the record is nil for an unknown source.
func (d *directory) stored(i id) (*record, Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[i]; e != nil {
		return e.spec, e.status
	}
	return nil, Status{}
}

// matching returns the records of the sources that match.
func (d *directory) matching(match func(id, *record) bool) map[id]*record {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[id]*record{}
	for i, e := range d.known {
		if e.spec != nil && match(i, e.spec) {
			out[i] = e.spec
		}
	}
	return out
}

// states counts the sources that this process looks at, by state.
func (d *directory) states() map[State]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[State]int{}
	for i, e := range d.known {
		if e.worker != nil && e.spec != nil {
			out[e.shown(i).State]++
		}
	}
	return out
}

// shown returns a source as callers see it.
func (h *entry) shown(i id) Source {
	status := h.status
	if h.worker != nil {
		status = h.worker.status()
	}
	// The store does not tell that a source has become stale.
	overdue := !status.StaleAt.IsZero() && time.Now().After(status.StaleAt)
	if overdue && slices.Contains([]State{Live, Polling, Held}, status.State) {
		status.State, status.Since = Stale, status.LastSuccess
	}
	switch {
	case h.spec.Removed:
		status.State, status.Next = Removing, time.Time{}
	case h.spec.Paused:
		status.State, status.Next = Paused, time.Time{}
	case status.State == "" || status.State == Paused:
		status.State = Polling // it will be
	}
	out := Source{Name: i.name, Spec: h.spec.Spec, Declared: h.spec.Declared, Parent: h.spec.Parent, Called: h.spec.Called, Status: status}
	if h.spec.Hook != nil {
		out.LastEvent = h.spec.Told
	}
	return out
}

// children returns the sources that a parent has named, by the parent's name for them, without
// sources being removed, and the providers of all, with sources being removed.
func (d *directory) children(parent id) (byCalled map[string]child, providers []string) {
	byCalled = map[string]child{}
	for i, rec := range d.matching(func(i id, rec *record) bool { return i.tenant == parent.tenant && rec.Parent == parent.name }) {
		providers = append(providers, rec.Root(i.name))
		if !rec.Removed {
			byCalled[rec.Called] = child{i, rec}
		}
	}
	return byCalled, providers
}

// available returns how many sources a tenant may still add. Sources of the settings are the
// operator's: they count, and are taken whatever the limit is.
func (d *directory) available(tenant string, limit int) int {
	if limit == 0 {
		return math.MaxInt
	}
	return max(0, limit-len(d.matching(func(i id, _ *record) bool { return i.tenant == tenant })))
}

// slugForm is what the name of a found source does not hold.
var slugForm = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// maxSlug bounds the part of a name that is made of the parent's name for the source.
const maxSlug = 48

// freeName returns the name of a source that another one calls so: PARENT.NAME with - for
// dots and _ for slashes, and a hash if that loses information or is taken.
func (d *directory) freeName(parent id, called string) id {
	slug := strings.NewReplacer(".", "-", "/", "_").Replace(called)
	short := strings.Trim(slugForm.ReplaceAllString(slug, "-"), "-_")
	short = strings.TrimRight(short[:min(len(short), maxSlug)], "-_")
	plain := id{parent.tenant, parent.name + "." + short}
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.known[plain]; short == slug && (h == nil || h.spec == nil || h.spec.Called == called) {
		return plain
	}
	return id{parent.tenant, parent.name + "." + strings.TrimLeft(short+"-", "-") + mark(called)}
}

// setWorker sets the worker whose status counts; nil: none.
func (d *directory) setWorker(i id, w *worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entry(i).worker = w
}

// setStatus remembers a status that was stored.
func (d *directory) setStatus(i id, status Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entry(i).status = status
}

// forget forgets the sources of a tenant that no worker looks at.
func (d *directory) forget(tenant string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, e := range d.known {
		if i.tenant == tenant && e.worker == nil {
			delete(d.known, i)
		}
	}
}

// maxTries bounds how often a write is tried again after a conflict.
const maxTries = 10

// modify changes a source in the store; with create, it adds a missing one.
func (d *directory) modify(ctx context.Context, i id, create bool, change func(*record) error) (Source, error) {
	if !isName(i.name) {
		return Source{}, errNotFound
	}
	var err error
	for range maxTries {
		var shown Source
		if shown, err = d.modifyOnce(ctx, i, create, change); !errors.Is(err, stream.ErrConflict) {
			return shown, err
		}
	}
	return Source{}, fmt.Errorf("%w: %w", errStore, err)
}

func (d *directory) modifyOnce(ctx context.Context, i id, create bool, change func(*record) error) (Source, error) {
	e, err := d.store.Get(ctx, specKey(i))
	rec := &record{}
	switch {
	case errors.Is(err, stream.ErrNotFound) && !create:
		return Source{}, errNotFound
	case errors.Is(err, stream.ErrNotFound):
	case err != nil:
		return Source{}, fmt.Errorf("%w: %w", errStore, err)
	default:
		if err := decode(e, rec); err != nil {
			return Source{}, err
		}
	}
	before, _ := json.Marshal(rec) // texts, numbers and times always encode
	if err := change(rec); err != nil {
		return Source{}, err
	}
	value, _ := json.Marshal(rec)
	switch {
	case e.Revision == 0:
		e.Revision, err = d.store.Create(ctx, specKey(i), value)
	case string(before) != string(value):
		e.Revision, err = d.store.Update(ctx, specKey(i), value, e.Revision)
	}
	if err != nil && !errors.Is(err, stream.ErrConflict) {
		err = fmt.Errorf("%w: %w", errStore, err)
	}
	if err != nil {
		return Source{}, err
	}
	d.readSpec(i, stream.Entry{Key: specKey(i), Value: value, Revision: e.Revision})
	d.mu.Lock()
	defer d.mu.Unlock()
	changed := *d.entry(i)
	changed.spec = rec
	return changed.shown(i), nil
}

// edit changes a source that is there.
func (d *directory) edit(ctx context.Context, i id, change func(*record) error) (Source, error) {
	return d.modify(ctx, i, false, func(rec *record) error {
		if rec.Removed {
			return errRemoving
		}
		return change(rec)
	})
}

func decode(e stream.Entry, into any) error {
	if err := json.Unmarshal(e.Value, into); err != nil {
		return fmt.Errorf("%s: %w", e.Key, err)
	}
	return nil
}
