// Package indexmgr manages the index versions of a process: each is an index of one
// embedding model. A plan that all processes share says which versions are kept up to date
// and which of them searches are to use. The manager opens what is in the plan, lets
// searches change to the target once it is complete, and removes what the plan gave up.
package indexmgr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/embedding"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/trainer"
)

// Bus is what index versions need of the bus.
type Bus interface {
	stream.Publisher
	stream.Groups
	stream.Follower
	stream.Topics
	// Committed returns how far a group has come in each partition.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
}

// DeadLetters are the dead letters of all stages.
type DeadLetters interface {
	// OpenOf returns the open dead letters of stages, of all tenants.
	OpenOf(ctx context.Context, stages ...string) ([]deadletter.Letter, error)
	// Of returns the dead letters of a key.
	Of(key string) []deadletter.Letter
}

// Config says what the process does with index versions, and by what means.
type Config struct {
	Settings config.Config
	Embeds   bool // it embeds documents and queries
	Searches bool // it has indexes
	Shared   bool // other processes write to the bus, too

	Bus     Bus
	Plans   Bucket
	File    string           // in the data folder, for the plan; empty: it is not kept on disk
	Vectors *weaviate.Client // nil: there is no Weaviate
	Logger  *slog.Logger
	Metrics *prometheus.Registry // of the process
	Traces  trace.TracerProvider
}

// Manager reconciles the index versions of this process with the plan.
type Manager struct {
	Config
	Plan        *PlanStore
	Query       *query.Service                  // nil where nothing is searched
	DeadLetters DeadLetters                     // nil where nothing is searched
	Replicas    func(context.Context) []Replica // nil: this process is the only one

	attempts map[string]*attempt // work that failed, by its name
	swept    []Version           // the versions of the plan after which everything retired is gone
	aliased  int                 // the version that Weaviate's alias names

	mu        sync.Mutex // guards what follows
	instances map[int]*Instance
	live      *Instance      // that is searched; where nothing is searched, that queries are embedded for
	problems  map[int]string // of versions that are not at work
	progress  map[int]progress
}

// New returns a manager with the plan that this process knows.
func New(c Config) *Manager {
	if c.File != "" {
		c.File = filepath.Join(c.Settings.Data, c.File)
	}
	first := First(Version{Setting: embedding.Setting(c.Settings.Embedder)})
	return &Manager{
		Config: c, Plan: NewPlanStore(c.Plans, first, c.File, c.Logger), attempts: map[string]*attempt{},
		instances: map[int]*Instance{}, problems: map[int]string{}, progress: map[int]progress{},
	}
}

// How long a process waits for the plan at its start: a process that knows an earlier plan,
// so that it does not begin with a version that was retired meanwhile, and one that knows
// none.
const (
	knownTimeout = 2 * time.Second
	firstTimeout = 5 * time.Second
)

// ReadPlan reads the plan. Later changes come with the watch.
func (m *Manager) ReadPlan(ctx context.Context) {
	timeout := firstTimeout
	if m.Plan.Known() {
		timeout = knownTimeout
	}
	deadline := time.Now().Add(timeout)
	for {
		err := m.Plan.Read(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Now().After(deadline) {
			m.Logger.Warn("the plan of index versions cannot be read: the known one holds until it can", "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Open opens the version to begin with: the one that was searched last.
func (m *Manager) Open(ctx context.Context) error {
	plan, _ := m.Plan.Plan()
	number := m.Plan.Serving()
	if !plan.Has(number) {
		number = plan.Live
	}
	v, _ := plan.Find(number)
	target, _ := plan.Find(plan.Target)
	if own := embedding.Setting(m.Settings.Embedder); own != v.Setting && own != target.Setting {
		m.Logger.Warn(fmt.Sprintf("embedder.model is %s, but searches use %s: change it with `toolstream reindex --model %s`", own, v.Setting, own),
			"version", v.Number, "model", v.Model)
	}
	opened, err := m.openInstance(ctx, v, true)
	if other := (*otherModelError)(nil); errors.As(err, &other) {
		m.Logger.Error("searches go by words alone, and new documents wait", "error", other)
		m.problems[number] = other.Error()
		opened, err = m.openInstance(ctx, other.version, false)
	}
	if err != nil {
		return fmt.Errorf("embedding model %s: %w", v.Setting, err)
	}
	m.instances[number], m.live = opened, opened
	m.writeFirst(ctx)
	return nil
}

// writeFirst writes the plan where the bucket has none, with the first model as it turned
// out to be. It reports whether the bucket has the plan.
func (m *Manager) writeFirst(ctx context.Context) bool {
	return m.try("first plan", "the plan of index versions cannot be written yet", func() error {
		plan, _ := m.Plan.Plan()
		v := m.Live().Version
		ctx, cancel := context.WithTimeout(ctx, firstTimeout)
		defer cancel()
		return m.Plan.Begin(ctx, plan.Learned(v.Number, v.Model, v.Dimensions))
	})
}

// Ready returns nil if the index that is searched is kept up to date, and has caught up
// with the bus as it was when the process started.
func (m *Manager) Ready() error {
	live := m.Live()
	if plan, _ := m.Plan.Plan(); !plan.Has(live.Number) {
		return fmt.Errorf("index version %d was retired before this process left it: it is not kept up to date", live.Number)
	}
	return live.writer.CaughtUp()
}

// Live returns the instance that is searched, nil in a process that neither searches nor
// embeds.
func (m *Manager) Live() *Instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live
}

// Described returns the tools with which a query is shown to a language model.
func (m *Manager) Described(ctx context.Context, tenant, words string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error) {
	return m.Live().Index.Described(ctx, tenant, words, scope, filters, n)
}

// Handle answers an embed request with the model that is searched by.
func (m *Manager) Handle(ctx context.Context, body []byte) ([]byte, error) {
	live := m.Live()
	if live.stage == nil {
		return nil, fmt.Errorf("the model of index version %d is not there", live.Number)
	}
	return live.stage.Handle(ctx, body)
}

// Gather implements prometheus.Gatherer for the process and its index versions.
func (m *Manager) Gather() ([]*dto.MetricFamily, error) {
	m.mu.Lock()
	all := prometheus.Gatherers{m.Metrics}
	for _, in := range m.instances {
		all = append(all, in.metrics)
	}
	m.mu.Unlock()
	return all.Gather()
}

// How often the manager reconciles, and how long it waits at most before it tries again what
// failed.
const (
	busyPace  = 100 * time.Millisecond // while something is to be done
	quietPace = 30 * time.Second
	maxRetry  = 30 * time.Second
)

// Run follows the plan until ctx ends, or the live instance fails.
func (m *Manager) Run(ctx context.Context) error {
	defer m.halt()
	m.start(m.Live())
	for {
		changed := m.Plan.Changed()
		pace := quietPace
		if !m.reconcile(ctx) {
			pace = busyPace
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-m.Live().broken:
			return err
		case <-changed:
		case <-time.After(pace):
		}
	}
}

// halt ends the work of all instances. A service that ends may still ask for the live
// instance, so it is waited for without the lock.
func (m *Manager) halt() {
	m.mu.Lock()
	all := slices.Collect(maps.Values(m.instances))
	m.mu.Unlock()
	for _, in := range all {
		in.halt()
	}
}

// Close closes all instances. Nothing may search any more.
func (m *Manager) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, in := range m.instances {
		in.drained = nil
		errs = append(errs, in.close())
	}
	m.instances = map[int]*Instance{}
	return errors.Join(errs...)
}

// reconcile brings the process closer to the plan, and reports whether it is there.
func (m *Manager) reconcile(ctx context.Context) (done bool) {
	_, read := m.Plan.Plan()
	done = read || m.writeFirst(ctx)
	plan, read := m.Plan.Plan()
	for _, v := range plan.Versions {
		done = m.ensure(ctx, v) && done
	}
	retired := m.retire(plan)
	if m.Searches {
		done = m.approach(ctx, plan) && done
	} else {
		m.embedFor(plan)
	}
	if read && retired {
		done = m.sweep(ctx, plan) && done
	}
	return done && retired
}

// attempt is work that failed.
type attempt struct {
	pace   *backoff.ExponentialBackOff
	next   time.Time
	logged string // the last error in the log
}

// try does work unless it failed a moment ago, and reports whether it is done. After long
// work in vain it leaves twice the time to others. An error goes to the log unless it is the
// last one again.
func (m *Manager) try(name, failed string, work func() error) bool {
	a := m.attempts[name]
	begin := time.Now()
	if a != nil && begin.Before(a.next) {
		return false
	}
	err := work()
	if err == nil {
		delete(m.attempts, name)
		return true
	}
	if a == nil {
		a = &attempt{pace: backoff.NewExponentialBackOff(backoff.WithMaxInterval(maxRetry), backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0))}
		m.attempts[name] = a
	}
	a.next = time.Now().Add(max(a.pace.NextBackOff(), 2*time.Since(begin)))
	if a.logged != err.Error() {
		a.logged = err.Error()
		m.Logger.Error(failed, "about", name, "error", err)
	}
	return false
}

// ensure has a version of the plan at work, and reports whether it is. A version beside the
// live one whose services failed is closed and opened again later.
func (m *Manager) ensure(ctx context.Context, v Version) bool {
	return m.try(fmt.Sprint("version ", v.Number), "an index version is not at work; searches go on with the live one", func() error {
		m.mu.Lock()
		in, live := m.instances[v.Number], m.live
		m.mu.Unlock()
		var err error
		switch {
		case in == nil:
			err = m.openBeside(ctx, v)
		case in != live:
			select {
			case err = <-in.broken:
				m.forget(in)
				err = errors.Join(err, in.close())
			default:
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if err != nil {
			m.problems[v.Number] = err.Error()
		} else if in == nil {
			delete(m.problems, v.Number)
		}
		return err
	})
}

// openBeside opens and starts a version beside the live one.
func (m *Manager) openBeside(ctx context.Context, v Version) error {
	opened, err := m.openInstance(ctx, v, true)
	if err != nil {
		return fmt.Errorf("embedding model %s: %w", v.Setting, err)
	}
	m.Logger.Info("an index version is kept up to date", "version", v.Number, "setting", v.Setting, "model", opened.Model, "dimensions", opened.Dimensions)
	m.mu.Lock()
	m.instances[v.Number] = opened
	m.mu.Unlock()
	m.swept = nil
	m.start(opened)
	return nil
}

// Use returns what searches of an index version see that is at work in this process, whether
// it is searched or not, and keeps it open until release is called.
func (m *Manager) Use(number int) (s query.Snapshot, release func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := m.instances[number]
	if in == nil || in.Index == nil || !in.users.TryRLock() {
		return query.Snapshot{}, nil, false
	}
	return in.Snapshot, in.users.RUnlock, true
}

func (m *Manager) forget(in *Instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.instances, in.Number)
	delete(m.progress, in.Number)
}

// embedFor lets queries of other processes be embedded for the live version.
func (m *Manager) embedFor(plan Plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in := m.instances[plan.Live]; in != nil {
		m.live = in
	}
}

// SearchedModel returns the name of the model that searches use, which the plan knows once
// any process has loaded it.
func (m *Manager) SearchedModel(ctx context.Context) (string, error) {
	plan, _ := m.Plan.Plan()
	v, _ := plan.Find(plan.Live)
	if v.Model != "" {
		return v.Model, nil
	}
	loaded, err := m.load(ctx, v.Setting)
	return loaded.Model, err
}

// Tell tells the trainer of the model that searches use until ctx ends.
func (m *Manager) Tell(ctx context.Context, t *trainer.Service) error {
	for {
		changed := m.Plan.Changed()
		plan, _ := m.Plan.Plan()
		if v, _ := plan.Find(plan.Live); v.Model != "" {
			t.Serve(v.Model)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
