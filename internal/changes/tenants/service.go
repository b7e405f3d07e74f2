package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Store holds the fences.
type Store interface {
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
}

// Bucket is a bucket of small values, some of them of tenants.
type Bucket struct {
	Name     string
	Values   Values
	TenantOf func(key string) (tenant string, known bool) // no tenant: the value is of the deployment
	Cache    bool                                         // the values can be made again
}

// Has returns a function that reports whether a key is of a tenant.
func (b *Bucket) Has(tenant string) func(key string) bool {
	return func(key string) bool { of, _ := b.TenantOf(key); return of == tenant }
}

// Values are the values of a bucket.
type Values interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	// Keys returns the keys that begin with prefix.
	Keys(ctx context.Context, prefix string) ([]string, error)
	// Erase deletes the keys that match and returns how many they were.
	Erase(ctx context.Context, match func(key string) bool) (n int, err error)
	// ForgetErased removes the tombstones of matching keys.
	ForgetErased(ctx context.Context, match func(key string) bool) error
}

// Log keeps records of tools.raw. The keys of a tenant begin with its name and a dot.
type Log interface {
	// All calls fn with the values of the keys that begin with prefix.
	All(ctx context.Context, prefix string, fn func(key string, value []byte) error) error
	// Erase removes the keys that begin with prefix and returns how many they were.
	Erase(ctx context.Context, prefix string) (n int, err error)
}

// Deps are the dependencies of the service.
type Deps struct {
	Server   Server // without fences
	Fences   *Fences
	Store    Store
	Buckets  []Bucket
	Revision func(ctx context.Context) (uint64, error)         // higher than the revision of every document so far
	Newest   func(key string, revision uint64) bool            // whether a record of tools.raw is the newest of its key
	Entities func(ctx context.Context) (map[string]int, error) // counts the tools and providers of tenants
	Declared func(tenant string) []string                      // sources of a tenant in the settings
	Vectors  func(ctx context.Context, tenant string) error    // removes the vectors in Weaviate; nil: no Weaviate
	Log      Log                                               // of the last changes of each tool and provider

	// Waiting names the other processes that do not obey a fence yet; nil: no other processes.
	Waiting func(ctx context.Context, f Fence) ([]string, error)

	Logger *slog.Logger
}

// Service exports and erases tenants. Its methods may be called concurrently.
type Service struct {
	deps Deps
	busy chan struct{} // held by the erasure under way
}

// New returns a service.
func New(d Deps) *Service { return &Service{deps: d, busy: make(chan struct{}, 1)} }

// How often Run looks for interrupted erasures, and how long it leaves a fence to the process
// that set it.
const (
	resumeEvery = 30 * time.Second
	ownTime     = 2 * time.Minute
)

// Run completes interrupted erasures until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	own := time.Duration(0) // what this process has begun before it started, it has left
	if s.deps.Waiting != nil {
		own = ownTime
	}
	tick := time.NewTicker(resumeEvery)
	defer tick.Stop()
	for {
		for tenant, f := range s.deps.Fences.All() {
			if !f.Erasing || time.Since(f.At) < own {
				continue
			}
			if _, err := s.Erase(ctx, tenant); err != nil && ctx.Err() == nil {
				s.deps.Logger.Error("tenants: a tenant is not erased whole yet, trying again", "tenant", tenant, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// errDeclared means that the settings declare sources of the tenant: the next start would
// bring its tools back.
var errDeclared = errors.New("the settings declare sources of the tenant: take them out first")

// errWaiting means that other processes do not obey the fence yet.
var errWaiting = errors.New("processes are yet to erase the tenant")

// Erased is the result of an erasure.
type Erased struct {
	Tenant  string         `json:"tenant"`
	At      time.Time      `json:"at" doc:"When that was."`
	Values  map[string]int `json:"values" doc:"Values deleted, by bucket."`
	Remains []string       `json:"remains" nullable:"false" doc:"Data that stays, and how long."`
}

// Erase erases a tenant everywhere. When it returns, nothing of the tenant can be searched,
// shown or read any more, and the tenant may be used again. After an error the next call, or
// Run, completes the erasure.
func (s *Service) Erase(ctx context.Context, tenant string) (Erased, error) {
	if names := s.deps.Declared(tenant); len(names) > 0 {
		return Erased{}, fmt.Errorf("%w: %q", errDeclared, names)
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return Erased{}, ctx.Err()
	}
	f := Fence{Tenant: tenant, At: time.Now().UTC(), Erasing: true}
	if before := s.deps.Fences.All()[tenant]; !f.At.After(before.At) { // the clock of another process is ahead
		f.At = before.At.Add(time.Microsecond)
	}
	if err := s.set(ctx, f); err != nil {
		return Erased{}, err
	}
	out := Erased{Tenant: tenant, At: f.At, Values: map[string]int{}, Remains: slices.Clone(alwaysRemains)}
	if err := s.remove(ctx, &f, &out); err != nil {
		return Erased{}, fmt.Errorf("tenants: erase %s: %w", tenant, err)
	}
	f.Erasing = false
	if err := s.set(ctx, f); err != nil {
		return Erased{}, err
	}
	s.deps.Logger.Info("tenants: a tenant was erased", "tenant", tenant)
	return out, nil
}

// alwaysRemains lists the data that is not erased.
var alwaysRemains = []string{
	"the name of the tenant and the time, in the record that keeps it erased",
	"what files of the operator say of the tenant, such as tokens, grants and settings",
	"lines of logs and traces that were written, with ids of the tenant",
	"bytes of deleted records and values, in files of Kafka and NATS (bus in the data folder of one process), until they are compacted",
	"the records of the audit log, of which nobody can read any more who did what to which tool",
}

// obeyTime bounds how long processes may take to obey a fence: one of them may have a full disk.
const obeyTime = 2 * time.Minute

// set stores a fence, and waits until all processes obey it.
func (s *Service) set(ctx context.Context, f Fence) error {
	ctx, cancel := context.WithTimeout(ctx, obeyTime)
	defer cancel()
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if f.Stored, err = s.deps.Store.Put(ctx, KeyPrefix+f.Tenant, raw); err != nil {
		return fmt.Errorf("tenants: %w", err)
	}
	if err := s.deps.Fences.Take(ctx, f); err != nil || s.deps.Waiting == nil {
		return err
	}
	for {
		waiting, err := s.deps.Waiting(ctx, f)
		if err == nil && len(waiting) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("tenants: %w: %q: %w", errWaiting, waiting, ctx.Err())
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// remove removes the data of a tenant from the servers, and sets the ends of the fence.
func (s *Service) remove(ctx context.Context, f *Fence, out *Erased) error {
	revision, err := s.deps.Revision(ctx)
	if err != nil {
		return err
	}
	f.Revision = revision
	topics := slices.DeleteFunc(events.Topics(), func(t events.Topic) bool { return !erased(t) })
	versions, err := s.deps.Server.Versions(ctx)
	if err != nil {
		return err
	}
	for _, n := range versions {
		topics = append(topics, events.Embedded(n))
	}
	f.Ends = map[events.Topic]map[int]uint64{}
	for _, topic := range topics {
		left, err := s.deps.Server.Erase(ctx, lastOf(topic, f.Tenant, f.Revision), func(m stream.Message) bool {
			tenant, _ := subjectOf(m)
			return tenant == f.Tenant
		})
		if err != nil {
			return err
		}
		if left > 0 {
			out.Remains = append(out.Remains, remains(topic, left))
		}
		if f.Ends[topic], err = s.deps.Server.End(ctx, topic); err != nil {
			return err
		}
	}
	if s.deps.Vectors != nil {
		if err := s.deps.Vectors(ctx, f.Tenant); err != nil {
			return err
		}
	}
	return s.removeValues(ctx, f.Tenant, out)
}

// removeValues removes the values of a tenant from the buckets.
func (s *Service) removeValues(ctx context.Context, tenant string, out *Erased) error {
	for _, b := range s.deps.Buckets {
		n, err := b.Values.Erase(ctx, b.Has(tenant))
		if err != nil {
			return err
		}
		if n > 0 {
			out.Values[b.Name] = n
		}
	}
	for _, b := range s.deps.Buckets {
		if err := b.Values.ForgetErased(ctx, b.Has(tenant)); err != nil {
			return err
		}
	}
	n, err := s.deps.Log.Erase(ctx, tenant+".")
	if err != nil {
		return err
	}
	if n > 0 {
		out.Values["revisions"] = n
	}
	return nil
}

// remains describes the records of a topic that stay on disk.
func remains(topic events.Topic, left int) string {
	until := "until Kafka compacts the topic"
	if !topic.Compacted() {
		until = "until they are as old as the topic keeps records"
	}
	return fmt.Sprintf("%d records of %s lie on the disks of Kafka %s; no process of this deployment reads them", left, topic, until)
}

// Tenant is a tenant as a list shows it.
type Tenant struct {
	Name   string     `json:"name"`
	Values int        `json:"values" doc:"Sources, weights and other small values of it."`
	Tools  int        `json:"tools" doc:"Tools and providers."`
	Erased *time.Time `json:"erased,omitempty" doc:"When it was last erased."`
	State  string     `json:"state" enum:"active,erasing,erased"`
}

// list returns all tenants by name, including erased ones.
func (s *Service) list(ctx context.Context) ([]Tenant, error) {
	entities, err := s.deps.Entities(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]*Tenant{}
	of := func(name string) *Tenant {
		if all[name] == nil {
			all[name] = &Tenant{Name: name, State: "active"}
		}
		return all[name]
	}
	for name, n := range entities {
		of(name).Tools = n
	}
	for _, b := range s.deps.Buckets {
		keys, err := b.Values.Keys(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if name, _ := b.TenantOf(key); name != "" {
				of(name).Values++
			}
		}
	}
	for name, f := range s.deps.Fences.All() {
		t := of(name)
		t.Erased = &f.At
		switch {
		case f.Erasing:
			t.State = "erasing"
		case t.Tools+t.Values == 0:
			t.State = "erased"
		}
	}
	out := []Tenant{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out, nil
}
