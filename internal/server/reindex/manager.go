// Package reindex manages the index versions of a process, each an index of one embedding
// model. A plan that all processes share lists the versions to keep up to date and names the
// target, which searches are to use. The manager opens the versions of the plan, switches
// searches to the target once it is complete, and removes retired versions.
package reindex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/engine/weaviate"
	"github.com/toolstream/toolstream/internal/server/embedding"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query"
	"github.com/toolstream/toolstream/services/query/search"
	"github.com/toolstream/toolstream/services/trainer"
)

// Bus is the part of the bus that index versions use.
type Bus interface {
	stream.Publisher
	stream.Groups
	stream.Follower
	stream.Topics
	// Committed returns the positions that a group has committed.
	Committed(ctx context.Context, topic events.Topic, group string) (map[int]uint64, error)
}

// DeadLetters finds the dead letters of all stages.
type DeadLetters interface {
	// OpenOf returns the open dead letters of stages, of all tenants.
	OpenOf(ctx context.Context, stages ...string) ([]deadletter.Letter, error)
	// Of returns the dead letters of a key.
	Of(key string) []deadletter.Letter
}

// Config configures a Manager: the tasks of the process and its dependencies.
type Config struct {
	Settings config.Config
	Embeds   bool // documents and queries
	Searches bool // so it has indexes

	Bus     Bus
	Plans   Bucket
	File    string           // for the plan, in the data folder; empty: do not save it
	Vectors *weaviate.Client // optional
	Logger  *slog.Logger
	Metrics *prometheus.Registry // of the process
	Traces  trace.TracerProvider

	// Repeat has the newest change of an entity published again; nil: no other process writes to
	// the bus.
	Repeat func(context.Context, schema.Ref) error
}

// searchesWeaviate reports whether searches find vectors in Weaviate, so that the index of
// the process needs none.
func (c Config) searchesWeaviate() bool {
	return c.Settings.Query.Vectors == config.VectorsWeaviate && c.Vectors != nil
}

// alone reports whether no other process shares the plan.
func (c Config) alone() bool { return c.Repeat == nil }

// firstPlan is the plan of a process without data. A model in the process takes minutes to embed
// what the static model embeds in seconds: it follows as the second version.
func (c Config) firstPlan() Plan {
	own := embedding.Setting(c.Settings.Embedder)
	if c.alone() && strings.HasPrefix(own, config.ONNXPrefix) {
		return First(Version{Setting: config.StaticModel})
	}
	first := First(Version{Setting: own})
	first.Setting = own
	return first
}

// Manager reconciles the index versions of this process with the plan.
type Manager struct {
	Plan     *PlanStore
	Replicas func(context.Context) []Replica // optional; other processes

	cfg       Config
	instances *instances
	retries   *retries
	retirer   *retirer
	switcher  *switcher // of a process that searches, set by Search
}

// New returns a manager with the plan that this process knows.
func New(c Config) *Manager {
	if c.File != "" {
		c.File = filepath.Join(c.Settings.Data, c.File)
	}
	m := &Manager{
		Plan: NewPlanStore(c.Plans, c.firstPlan(), c.File, c.Logger),
		cfg:  c, instances: newInstances(), retries: newRetries(c.Logger),
	}
	m.retirer = &retirer{cfg: c, plan: m.Plan, instances: m.instances, retries: m.retries}
	return m
}

// Search makes the searches of a service follow the plan. Call it before Run, in a process
// that searches.
func (m *Manager) Search(service *query.Service, dead DeadLetters) {
	m.switcher = newSwitcher(m.cfg, m.Plan, m.instances, m.retries, service, dead)
}

// How long a process waits for the plan at its start. With a known plan it waits so that it
// does not begin with a version that was retired meanwhile.
const (
	knownTimeout = 2 * time.Second
	firstTimeout = 5 * time.Second
)

// ReadPlan reads the plan. Later changes arrive through Plan.Run.
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
			m.cfg.Logger.Warn("cannot read the plan of index versions: the known plan holds until it can be read", "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Open opens the version that searches used last.
func (m *Manager) Open(ctx context.Context) error {
	plan, _ := m.Plan.Plan()
	number := m.Plan.Serving()
	if !plan.Has(number) {
		number = plan.Live
	}
	v, _ := plan.Find(number)
	opened, err := openInstance(ctx, m.cfg, v, true, m.isLive)
	if other := (*otherModelError)(nil); errors.As(err, &other) {
		m.cfg.Logger.Error("searches go by words alone, and new documents wait", "error", other)
		m.instances.setProblem(number, other)
		opened, err = openInstance(ctx, m.cfg, other.version, false, m.isLive)
	}
	if err != nil {
		return fmt.Errorf("embedding model %s: %w", v.Setting, err)
	}
	m.instances.add(opened)
	m.instances.setLive(opened)
	m.writeFirst(ctx)
	if err := m.followSetting(ctx); err != nil {
		return err
	}
	plan, _ = m.Plan.Plan()
	target, _ := plan.Find(plan.Target)
	if own := embedding.Setting(m.cfg.Settings.Embedder); own != v.Setting && own != target.Setting {
		m.cfg.Logger.Warn(fmt.Sprintf("embedder.model is %s, but searches use %s: change it with `toolstream reindex --model %s`", own, v.Setting, own),
			"version", v.Number, "model", v.Model)
	}
	return nil
}

func (m *Manager) isLive(in *Instance) bool { return m.Live() == in }

// writeFirst writes the plan if the bucket has none, with the first model as it was loaded.
// It reports whether the bucket has a plan.
func (m *Manager) writeFirst(ctx context.Context) bool {
	return m.retries.try("first plan", "cannot write the plan of index versions yet", func() error {
		plan, _ := m.Plan.Plan()
		v := m.Live().Version
		ctx, cancel := context.WithTimeout(ctx, firstTimeout)
		defer cancel()
		return m.Plan.Begin(ctx, plan.Learned(v.Number, v.Model, v.Dimensions))
	})
}

// How often the manager reconciles.
const (
	busyPace  = 100 * time.Millisecond // while the process differs from the plan
	watchPace = 500 * time.Millisecond // while searches can go back to another version
	quietPace = 30 * time.Second
)

// Run follows the plan until ctx ends, or the live instance fails.
func (m *Manager) Run(ctx context.Context) error {
	defer m.instances.halt()
	m.Live().start(m.cfg)
	for {
		changed := m.Plan.Changed()
		pace := quietPace
		if !m.reconcile(ctx) {
			pace = busyPace
		} else if m.switcher != nil && m.switcher.fallback() != nil {
			pace = watchPace
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

// reconcile brings the process closer to the plan, and reports whether it matches.
func (m *Manager) reconcile(ctx context.Context) (done bool) {
	_, read := m.Plan.Plan()
	done = read || m.writeFirst(ctx)
	plan, read := m.Plan.Plan()
	for _, v := range plan.Versions {
		done = m.ensure(ctx, v) && done
	}
	retired := m.retirer.closeInstances(plan)
	if m.switcher != nil {
		done = m.switcher.approach(ctx, plan) && done
	} else if in, _ := m.instances.get(plan.Live); in != nil { // queries of other processes are embedded for it
		m.instances.setLive(in)
	}
	if read && retired {
		done = m.retirer.sweep(ctx, plan) && done
	}
	return done && retired
}

// ensure starts a version of the plan if it is not running, and reports whether it is. A version
// that is not live and whose services failed is closed and opened again later.
func (m *Manager) ensure(ctx context.Context, v Version) bool {
	return m.retries.try(fmt.Sprint("version ", v.Number), "an index version is not at work; searches go on with the live one", func() error {
		in, live := m.instances.get(v.Number)
		if in == live && in != nil {
			return nil // it was opened at the start, and any problem is recorded
		}
		if in != nil {
			select {
			case err := <-in.broken:
				m.instances.remove(in)
				err = errors.Join(err, in.close())
				m.instances.setProblem(v.Number, err)
				return err
			default:
				return nil
			}
		}
		opened, err := openInstance(ctx, m.cfg, v, true, m.isLive)
		if err != nil {
			err = fmt.Errorf("embedding model %s: %w", v.Setting, err)
			m.instances.setProblem(v.Number, err)
			return err
		}
		m.cfg.Logger.Info("an index version is kept up to date", "version", v.Number, "setting", v.Setting, "model", opened.Model, "dimensions", opened.Dimensions)
		m.instances.add(opened)
		m.instances.setProblem(v.Number, nil)
		m.retirer.swept = nil
		opened.start(m.cfg)
		return nil
	})
}

// Close closes all instances. Searches must have ended.
func (m *Manager) Close() error {
	list, _ := m.instances.all()
	var errs []error
	for _, in := range list {
		m.instances.remove(in)
		in.drained = nil
		errs = append(errs, in.close())
	}
	return errors.Join(errs...)
}

// Live returns the instance that searches use, nil in a process that neither searches nor
// embeds.
func (m *Manager) Live() *Instance {
	_, live := m.instances.all()
	return live
}

// SearchesWeaviate reports whether searches find vectors in Weaviate.
func (m *Manager) SearchesWeaviate() bool { return m.cfg.searchesWeaviate() }

// Ready returns nil if the live index is kept up to date and has consumed everything that
// was on the bus when the process started.
func (m *Manager) Ready() error {
	live := m.Live()
	if plan, _ := m.Plan.Plan(); !plan.Has(live.Number) {
		return fmt.Errorf("index version %d was retired before this process left it: it is not kept up to date", live.Number)
	}
	return live.writer.CaughtUp()
}

// Use returns the snapshot of an index version at work in this process, live or not, and
// keeps it open until release is called.
func (m *Manager) Use(number int) (s search.Snapshot, release func(), ok bool) {
	return m.instances.use(number)
}

// Described returns the tools that describe the registry to a language model for a query.
func (m *Manager) Described(ctx context.Context, tenant, words string, scope *policy.Scope, filters schema.Filters, n int) ([]schema.Entity, error) {
	return m.Live().Index.Described(ctx, tenant, words, scope, filters, n)
}

// Handle answers an embed request with the model that searches use.
func (m *Manager) Handle(ctx context.Context, body []byte) ([]byte, error) {
	live := m.Live()
	if live.stage == nil {
		return nil, fmt.Errorf("the model of index version %d is not there", live.Number)
	}
	return live.stage.Handle(ctx, body)
}

// Gather implements prometheus.Gatherer for the process and its index versions.
func (m *Manager) Gather() ([]*dto.MetricFamily, error) {
	all := prometheus.Gatherers{m.cfg.Metrics}
	list, _ := m.instances.all()
	for _, in := range list {
		all = append(all, in.metrics)
	}
	return all.Gather()
}

// Dead reports whether a change ended in the dead letters on its way to the live index.
func (m *Manager) Dead(key string, revision uint64) bool {
	return m.switcher.isDead(m.Live().Number, key, revision)
}

// SearchedModel returns the name of the model that searches use. The plan knows it once any
// process has loaded the model.
func (m *Manager) SearchedModel(ctx context.Context) (string, error) {
	plan, _ := m.Plan.Plan()
	v, _ := plan.Find(plan.Live)
	if v.Model != "" {
		return v.Model, nil
	}
	loaded, err := load(ctx, m.cfg.Settings, v.Setting)
	return loaded.Model, err
}

// Tell keeps the trainer informed of the model that searches use, until ctx ends.
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

// Erase forgets the data of a tenant up to a revision in the index versions of this process. The
// folder of an index that could not be opened is removed: the bus fills it again.
func (m *Manager) Erase(ctx context.Context, tenant string, through uint64) error {
	list, _ := m.instances.all()
	var errs []error
	open := map[int]bool{}
	for _, in := range list {
		open[in.Number] = true
		if in.Index != nil {
			errs = append(errs, in.Index.Erase(ctx, tenant, through))
		}
		if in.sink != nil {
			in.sink.forget(tenant)
		}
	}
	found, err := folders(m.cfg.Settings.Data)
	errs = append(errs, err)
	for _, number := range found {
		if !open[number] && m.instances.hasProblem(number) {
			errs = append(errs, os.RemoveAll(folder(m.cfg.Settings.Data, number)))
		}
	}
	return errors.Join(errs...)
}
