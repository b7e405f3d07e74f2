package reindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
	"github.com/toolstream/toolstream/services/query"
)

// Searches switch to a version that has consumed every record that existed at the request,
// and that lacks no document because of a dead letter. Meanwhile the live index is not
// written, so that no tool goes back to an earlier version. That takes at most
// switchTimeout, and begins once the version keeps up: it has embedded the records that
// existed keepTime ago, and its index lacks at most switchLag of them.
const (
	switchTimeout = 2 * time.Second
	switchLag     = 1000
	switchPace    = 10 * time.Millisecond
	keepTime      = time.Second
)

// progress is how far a target version is.
type progress struct {
	lag      uint64         // records that it has yet to embed or to index, at most
	dead     int            // dead letters of its stages whose documents it lacks
	weaviate map[int]uint64 // the positions that Weaviate must reach: the positions of the index when it was first near completion
}

// switcher switches searches between index versions.
type switcher struct {
	cfg         Config
	plan        *PlanStore
	instances   *instances
	retries     *retries
	service     *query.Service
	deadLetters DeadLetters
	aliased     int          // the version that Weaviate's alias names
	paces       map[int]pace // by version
}

// pace tells whether a version keeps up.
type pace struct {
	at    time.Time
	ends  map[int]uint64 // of tools.standardized at that time
	keeps bool
}

func newSwitcher(cfg Config, plan *PlanStore, all *instances, r *retries, service *query.Service, dead DeadLetters) *switcher {
	return &switcher{cfg: cfg, plan: plan, instances: all, retries: r, service: service, deadLetters: dead, paces: map[int]pace{}}
}

// fallback returns the version, if any, that searches use while the target does not keep up:
// what arrives is searchable at once though the model of the target is slow. With peers, replicas
// would rank by different models for long.
func (s *switcher) fallback() *Instance {
	plan, _ := s.plan.Plan()
	other, _ := plan.other()
	if in, _ := s.instances.get(other.Number); s.cfg.alone() {
		return in
	}
	return nil
}

// approach brings searches to the target of the plan, and reports whether they use it. If
// the plan gave up the live version they first switch to the version that other processes
// search: the target may take hours, and the live version is not written any more.
func (s *switcher) approach(ctx context.Context, plan Plan) bool {
	next, live := s.instances.get(plan.Target)
	between, _ := s.instances.get(plan.Live)
	if !plan.Has(live.Number) && between != nil && between != next && s.change(ctx, live, between) {
		return false
	}
	if next == nil || !next.created.Load() || next != live && !s.change(ctx, live, next) {
		return false
	}
	if other := s.fallback(); other != nil && s.late(ctx, next) && s.tryTo(ctx, next, other, s.embedded) {
		s.show(ctx, plan.Target, other)
		return false
	}
	s.setAlias(ctx, plan, next)
	return plan.Live == plan.Target || s.show(ctx, plan.Target, next)
}

// show makes the plan show which version searches use, unless the target has changed: a restart
// begins with that version.
func (s *switcher) show(ctx context.Context, target int, live *Instance) bool {
	return s.retries.try("switched", "the plan does not show yet which index version searches use", func() error {
		_, err := s.plan.Change(ctx, func(p Plan) (Plan, error) { return p.Switched(target, live.Number), nil })
		return err
	})
}

// change switches searches to another version if it is complete, and reports whether it did.
func (s *switcher) change(ctx context.Context, live, next *Instance) bool {
	near := false
	asked := s.retries.try("progress", "cannot determine how far an index version is", func() (err error) {
		near, err = s.near(ctx, next)
		return err
	})
	return asked && near && s.tryTo(ctx, live, next, s.standardized)
}

func (s *switcher) tryTo(ctx context.Context, live, next *Instance, wanted records) bool {
	return s.retries.try(fmt.Sprint("switch to ", next.Number), "searches cannot switch to another index version yet", func() error {
		return s.switchWhenComplete(ctx, live, next, wanted)
	})
}

// records returns the ends of the records in tools.standardized that a version has to have
// before searches switch to it from the live version.
type records func(ctx context.Context, live *Instance) (map[int]uint64, error)

func (s *switcher) standardized(ctx context.Context, _ *Instance) (map[int]uint64, error) {
	return s.cfg.Bus.End(ctx, events.ToolsStandardized)
}

// embedded are the records that the live index may show: the stage commits a batch after the
// index may have it.
func (s *switcher) embedded(ctx context.Context, live *Instance) (map[int]uint64, error) {
	ends, err := s.standardized(ctx, live)
	if err != nil {
		return nil, err
	}
	at, err := s.cfg.Bus.Committed(ctx, events.ToolsStandardized, stageOf(live.Number))
	for partition, end := range ends {
		ends[partition] = min(end, at[partition]+stream.DefaultBatch)
	}
	return ends, err
}

// late reports whether the live version does not keep up.
func (s *switcher) late(ctx context.Context, live *Instance) (late bool) {
	s.retries.try("progress", "cannot determine how far an index version is", func() error {
		ctx, cancel := context.WithTimeout(ctx, switchTimeout)
		defer cancel()
		_, keeps, err := s.lag(ctx, live)
		late = err == nil && !keeps
		return err
	})
	return late
}

// lag returns the number of records that a version has yet to embed, and whether it keeps up.
func (s *switcher) lag(ctx context.Context, in *Instance) (lag uint64, keeps bool, err error) {
	ends, err := s.cfg.Bus.End(ctx, events.ToolsStandardized)
	if err != nil {
		return 0, false, err
	}
	at, err := s.cfg.Bus.Committed(ctx, events.ToolsStandardized, stageOf(in.Number))
	if err != nil {
		return 0, false, err
	}
	p, now := s.paces[in.Number], time.Now()
	if now.Sub(p.at) >= keepTime {
		p = pace{now, ends, !p.at.IsZero() && stream.Behind(at, p.ends) == 0}
	}
	lag = stream.Behind(at, ends)
	p.keeps = p.keeps || lag == 0
	s.paces[in.Number] = p
	return lag, p.keeps, nil
}

// near reports whether a version is near completion, and records its progress.
func (s *switcher) near(ctx context.Context, in *Instance) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	lag, keeps, err := s.lag(ctx, in)
	if err != nil {
		return false, err
	}
	written, err := s.cfg.Bus.End(ctx, events.Embedded(in.Number))
	if err != nil {
		return false, err
	}
	unwritten := stream.Behind(in.Index.Positions(), written)
	p := progress{lag: lag + unwritten}
	if p.dead, err = s.dead(ctx, in); err != nil {
		return false, err
	}
	near := p.dead == 0 && keeps && unwritten <= switchLag
	p = s.instances.setProgress(in.Number, p, near, in.Index.Positions())
	if !near || !s.cfg.searchesWeaviate() {
		return near, nil
	}
	at, err := s.cfg.Bus.Committed(ctx, events.Embedded(in.Number), WeaviateGroup)
	return stream.Behind(at, p.weaviate) == 0, err
}

// dead counts the open dead letters of a version's stages whose documents its index lacks,
// in that revision and in newer ones.
func (s *switcher) dead(ctx context.Context, in *Instance) (n int, err error) {
	letters, err := s.deadLetters.OpenOf(ctx, stagesOf(in.Number)...)
	for _, l := range letters {
		ref, err := events.ParseKey(l.Key)
		newest, _, known := in.Index.Version(ref)
		if err != nil || !known || l.Revision == 0 || newest.Revision < l.Revision {
			n++
		}
	}
	return n, err
}

// switchWhenComplete pauses the writes of the live index until the next version has caught
// up with the wanted records, and switches searches to it.
func (s *switcher) switchWhenComplete(ctx context.Context, live, next *Instance, wanted records) error {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	live.writes.mu.Lock()
	defer live.writes.mu.Unlock()
	// Everything in the live index was standardized before now. Later records may reach the next
	// version first. Its stage publishes and dead-letters before it commits.
	ends, err := wanted(ctx, live)
	if err != nil {
		return err
	}
	if err := reach(ctx, ends, func() (map[int]uint64, error) {
		return s.cfg.Bus.Committed(ctx, events.ToolsStandardized, stageOf(next.Number))
	}); err != nil {
		return err
	}
	written, err := s.cfg.Bus.End(ctx, events.Embedded(next.Number))
	if err != nil {
		return err
	}
	if err := reach(ctx, written, func() (map[int]uint64, error) { return next.Index.Positions(), nil }); err != nil {
		return err
	}
	dead, err := s.dead(ctx, next)
	if err == nil && dead > 0 {
		err = errDead
	}
	if err != nil {
		return err
	}
	next.writes.mu.Lock() // a write under way may be noted before searches see it
	defer next.writes.mu.Unlock()
	return s.switchTo(next)
}

var (
	errBehind = errors.New("it falls behind while the live index is not written")
	errDead   = errors.New("a document of it went to the dead letters")
)

// reach waits until positions have come to ends.
func reach(ctx context.Context, ends map[int]uint64, positions func() (map[int]uint64, error)) error {
	for {
		at, err := positions()
		if err != nil || stream.Behind(at, ends) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errBehind
		case <-time.After(switchPace):
		}
	}
}

// switchTo switches searches to a version.
func (s *switcher) switchTo(next *Instance) error {
	wait, err := s.service.Switch(next.Snapshot)
	if err != nil {
		return err
	}
	before := s.instances.setLive(next)
	before.leave(wait)
	s.plan.Serve(next.Number)
	s.cfg.Logger.Info("searches use another index version", "version", next.Number, "setting", next.Setting, "model", next.Model, "before", before.Number)
	return nil
}

// setAlias makes the alias in Weaviate name the live version. Nothing here reads it, so an
// error delays nothing else.
func (s *switcher) setAlias(ctx context.Context, plan Plan, live *Instance) {
	if s.cfg.Vectors == nil || plan.Last == 1 || s.aliased == plan.Target {
		return
	}
	s.retries.try("alias", "the alias in Weaviate does not name the live index version yet", func() error {
		err := s.cfg.Vectors.Switch(ctx, s.cfg.Vectors.ClassOf(classOf(live.Version)))
		if err == nil {
			s.aliased = plan.Target
		}
		return err
	})
}

// stageOf names the stage that embeds for a version.
func stageOf(number int) string { return events.Numbered(embedder.StageName, number) }

// stagesOf names the stages that work for a single version.
func stagesOf(number int) []string {
	return []string{stageOf(number), events.Numbered(embedder.WriterName, number)}
}

// isDead reports whether a change ended in the dead letters on its way to the index of the
// live version. Letters of stages that serve other versions alone do not count.
func (s *switcher) isDead(live int, key string, revision uint64) bool {
	own := stagesOf(live)
	otherVersion := func(stage string) bool {
		return !slices.Contains(own, stage) && slices.ContainsFunc([]string{embedder.StageName, embedder.WriterName}, func(name string) bool {
			return stage == name || strings.HasPrefix(stage, name+"-")
		})
	}
	return slices.ContainsFunc(s.deadLetters.Of(key), func(l deadletter.Letter) bool {
		return l.Revision >= revision && (l.State == events.DeadLetterOpen || l.State == events.DeadLetterDropped) && !otherVersion(l.Stage)
	})
}
