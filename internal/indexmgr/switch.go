package indexmgr

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
)

// Searches change to a version that has consumed every record that existed when it was
// asked, and lacks no document for a dead letter. While it is asked the live index is not
// written, so that no tool goes back to an earlier version with the change. That takes
// switchTimeout at most, when the version lacks no more than switchLag records.
const (
	switchTimeout = 2 * time.Second
	switchLag     = 1000
	switchPace    = 10 * time.Millisecond
)

// progress is how far a version has come that searches are to use.
type progress struct {
	lag      uint64         // records that it has yet to embed or to index, at most
	dead     int            // dead letters of its stages whose documents it lacks
	weaviate map[int]uint64 // what Weaviate has to have: what the index had when it was close to complete first
}

// approach brings searches to the target of the plan, and reports whether they are there.
// If the plan gave up the live version they go first to the version that other processes
// search: the target may take hours, and the live version is not written any more.
func (m *Manager) approach(ctx context.Context, plan Plan) bool {
	m.mu.Lock()
	live, between, next := m.live, m.instances[plan.Live], m.instances[plan.Target]
	m.mu.Unlock()
	if !plan.Has(live.Number) && between != nil && between != next && m.change(ctx, live, between) {
		return false
	}
	if next == nil || next != live && !m.change(ctx, live, next) {
		return false
	}
	m.setAlias(ctx, plan)
	return plan.Live == plan.Target || m.try("switched", "the plan does not say yet which index version is searched", func() error {
		_, err := m.Plan.Change(ctx, func(p Plan) (Plan, error) { return p.Switched(plan.Target), nil })
		return err
	})
}

// change lets searches use another version as soon as it is complete, and reports whether
// they do.
func (m *Manager) change(ctx context.Context, live, next *Instance) bool {
	near := false
	asked := m.try("progress", "how far an index version is cannot be asked", func() (err error) {
		near, err = m.near(ctx, next)
		return err
	})
	return asked && near && m.try("switch", "searches cannot change to another index version yet", func() error { return m.switchWhenComplete(ctx, live, next) })
}

// near reports whether a version is close to complete, and notes for the report how far it
// has come.
func (m *Manager) near(ctx context.Context, in *Instance) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	ends, err := m.Bus.End(ctx, events.ToolsStandardized)
	if err != nil {
		return false, err
	}
	embedded, err := m.Bus.Committed(ctx, events.ToolsStandardized, events.Numbered(embedder.StageName, in.Number))
	if err != nil {
		return false, err
	}
	written, err := m.Bus.End(ctx, events.Embedded(in.Number))
	if err != nil {
		return false, err
	}
	p := progress{lag: behind(embedded, ends) + behind(in.Index.Positions(), written)}
	if p.dead, err = m.dead(ctx, in); err != nil {
		return false, err
	}
	near := p.dead == 0 && p.lag <= switchLag
	m.mu.Lock()
	p.weaviate = m.progress[in.Number].weaviate
	if near && p.weaviate == nil {
		p.weaviate = in.Index.Positions()
	}
	m.progress[in.Number] = p
	m.mu.Unlock()
	if !near || !m.SearchesWeaviate() {
		return near, nil
	}
	at, err := m.Bus.Committed(ctx, events.Embedded(in.Number), WeaviateGroup)
	return behind(at, p.weaviate) == 0, err
}

// dead counts the open dead letters of a version's stages whose documents its index has
// neither as they were meant to be nor newer.
func (m *Manager) dead(ctx context.Context, in *Instance) (n int, err error) {
	letters, err := m.DeadLetters.OpenOf(ctx, stagesOf(in.Number)...)
	for _, l := range letters {
		ref, err := events.ParseKey(l.Key)
		newest, _, known := in.Index.Version(ref)
		if err != nil || !known || l.Revision == 0 || newest.Revision < l.Revision {
			n++
		}
	}
	return n, err
}

// behind returns how many records lie between positions and ends.
func behind(at, ends map[int]uint64) (records uint64) {
	for partition, end := range ends {
		if end > at[partition] {
			records += end - at[partition]
		}
	}
	return records
}

// switchWhenComplete holds up the writes of the live index until the next version has
// everything, and changes searches to it.
func (m *Manager) switchWhenComplete(ctx context.Context, live, next *Instance) error {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	live.writes.mu.Lock()
	defer live.writes.mu.Unlock()
	// What the live index shows was standardized before now. What comes later may come to
	// the next version first. Its stage publishes and dead-letters before it commits.
	wanted, err := m.Bus.End(ctx, events.ToolsStandardized)
	if err != nil {
		return err
	}
	if err := reach(ctx, wanted, func() (map[int]uint64, error) {
		return m.Bus.Committed(ctx, events.ToolsStandardized, events.Numbered(embedder.StageName, next.Number))
	}); err != nil {
		return err
	}
	written, err := m.Bus.End(ctx, events.Embedded(next.Number))
	if err != nil {
		return err
	}
	if err := reach(ctx, written, func() (map[int]uint64, error) { return next.Index.Positions(), nil }); err != nil {
		return err
	}
	dead, err := m.dead(ctx, next)
	if err == nil && dead > 0 {
		err = errDead
	}
	if err != nil {
		return err
	}
	next.writes.mu.Lock() // a write under way may be noted before searches see it
	defer next.writes.mu.Unlock()
	return m.switchTo(next)
}

var (
	errBehind = errors.New("it falls behind while the live index is not written")
	errDead   = errors.New("a document of it went to the dead letters")
)

// reach waits until positions have come to ends.
func reach(ctx context.Context, ends map[int]uint64, positions func() (map[int]uint64, error)) error {
	for {
		at, err := positions()
		if err != nil || behind(at, ends) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return errBehind
		case <-time.After(switchPace):
		}
	}
}

// switchTo lets searches use a version.
func (m *Manager) switchTo(next *Instance) error {
	wait, err := m.Query.Switch(next.Snapshot)
	if err != nil {
		return err
	}
	m.mu.Lock()
	before := m.live
	before.leave(wait)
	m.live = next
	delete(m.progress, next.Number)
	m.mu.Unlock()
	m.Plan.Serve(next.Number)
	m.Logger.Info("searches use another index version", "version", next.Number, "setting", next.Setting, "model", next.Model, "before", before.Number)
	return nil
}

// stagesOf are the names of the stages that work for one version alone.
func stagesOf(number int) []string {
	return []string{events.Numbered(embedder.StageName, number), events.Numbered(embedder.WriterName, number)}
}

// Dead reports whether a change ended in the dead letters on its way to the index that is
// searched.
func (m *Manager) Dead(key string, revision uint64) bool {
	own := stagesOf(m.Live().Number)
	return slices.ContainsFunc(m.DeadLetters.Of(key), func(l deadletter.Letter) bool {
		return l.Revision >= revision && (l.State == events.DeadLetterOpen || l.State == events.DeadLetterDropped) &&
			(slices.Contains(own, l.Stage) || !ofVersion(l.Stage))
	})
}

// ofVersion reports whether a stage works for one version alone.
func ofVersion(stage string) bool {
	return slices.ContainsFunc([]string{embedder.StageName, embedder.WriterName}, func(name string) bool {
		return stage == name || strings.HasPrefix(stage, name+"-")
	})
}
