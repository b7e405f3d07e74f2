package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/adapter/weaviate"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/deadletter"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/embedder"
)

// Writers of the live index are held up for settlePatience at most, when no more
// than settleFew is outstanding, or what seems to be done in that time. If that was
// in vain it is tried again once there is half as much, or after settleAgain.
const (
	settlePatience = time.Second
	settleFew      = 256
	settleAgain    = 15 * time.Second
)

// follow brings searches to the target of the plan, and reports whether they are
// there.
func (f *fleet) follow(ctx context.Context, plan generations.Plan) bool {
	f.mu.Lock()
	live := f.live
	target := f.at[f.next(plan)]
	f.mu.Unlock()
	switch {
	case target == nil:
		return false
	case target == live:
		return f.arrived(ctx, plan)
	}
	if f.round.check == nil || f.round.target != target.Number {
		f.round.check = generations.NewCheck(live.index, target.index, f.fate(target.Number))
		f.round.target, f.round.wanted, f.round.later = target.Number, nil, time.Time{}
		live.gate.Watch(f.round.check)
	}
	begin := time.Now()
	out, err := f.round.check.Look(ctx)
	f.round.took = time.Since(begin)
	if err != nil {
		return false
	}
	f.lacking(target.Number, out)
	if out.Dead > 0 && target.Number != plan.Target {
		f.round.passed = target.Number
	}
	if !f.worthSettling(out) || !f.proposed(ctx, target) {
		return false
	}
	var switched error
	out, err = generations.Settle(ctx, live.gate, target.gate, f.round.check, settlePatience, func() { switched = f.switchTo(target) })
	f.lacking(target.Number, out)
	if err = errors.Join(err, switched); err != nil || !out.None() {
		f.round.later, f.round.left = time.Now().Add(settleAgain), out.Entities+out.Deletes
		return false
	}
	live.gate.Watch(nil)
	f.round.check = nil
	return target.Number == plan.Target && f.arrived(ctx, plan)
}

// next is the generation that searches go to: the target, but where the plan has what is
// searched here not any more, first the one that others search, which is complete long
// before the target is. One that can not be opened, or lacks what is in the dead letters,
// is passed over. The caller holds mu.
func (f *fleet) next(plan generations.Plan) int {
	if between := plan.Live; !plan.Has(f.live.Number) && f.at[between] != nil && f.round.passed != between {
		return between
	}
	return plan.Target
}

// worthSettling reports whether writers may be held up.
func (f *fleet) worthSettling(out generations.Outstanding) bool {
	r, left, now := &f.round, out.Entities+out.Deletes, time.Now()
	speed := float64(r.seen-left) / max(now.Sub(r.seenAt).Seconds(), 1e-3)
	r.seen, r.seenAt = left, now
	if out.Dead > 0 || now.Before(r.later) && 2*left > r.left {
		return false
	}
	return left <= settleFew || float64(left) < speed*settlePatience.Seconds()
}

func (f *fleet) lacking(number int, out generations.Outstanding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lacks[number] = &out
}

// switchTo lets searches use a generation that is complete.
func (f *fleet) switchTo(target *generation) error {
	wait, err := f.query.Switch(target.view)
	if err != nil {
		return err
	}
	f.mu.Lock()
	before := f.live
	before.leave(wait)
	f.live = target
	delete(f.lacks, target.Number)
	f.mu.Unlock()
	f.planner.Serve(target.Number)
	f.log.Info("searches use another generation now", "generation", target.Number, "setting", target.Setting, "model", target.Model, "before", before.Number)
	return nil
}

// arrived tells the others that the target is searched.
func (f *fleet) arrived(ctx context.Context, plan generations.Plan) bool {
	f.alias(ctx, plan)
	if plan.Live == plan.Target {
		return true
	}
	_, err := f.planner.Change(ctx, func(p generations.Plan) (generations.Plan, error) { return p.Switched(plan.Target), nil })
	if err != nil {
		f.tell("switched", "the plan does not say yet what is searched", err)
	}
	return err == nil
}

// alias lets the alias in Weaviate stand for what is searched. Nothing here goes by
// it, so that waits where Weaviate is away.
func (f *fleet) alias(ctx context.Context, plan generations.Plan) {
	if f.vectors == nil || plan.Last == 1 || f.round.aliased == plan.Target || time.Now().Before(f.round.realias) {
		return
	}
	if err := f.vectors.Switch(ctx, f.vectors.ClassOf(classOf(f.Live().Generation))); err != nil {
		f.round.realias = time.Now().Add(retryMost)
		f.tell("alias", "the alias in Weaviate does not stand for what is searched yet", err)
		return
	}
	f.round.aliased = plan.Target
}

// proposed reports whether Weaviate has what the generation's index had when this
// was asked first.
func (f *fleet) proposed(ctx context.Context, g *generation) bool {
	if f.vectors == nil || f.cfg.Vectors() != config.VectorsWeaviate {
		return true
	}
	if f.round.wanted == nil {
		f.round.wanted = g.index.Positions()
	}
	at, err := f.bus.Committed(ctx, events.Embedded(g.Number), proposalsName)
	if err != nil {
		f.tell("proposals", "how much Weaviate has is not known", err)
		return false
	}
	for partition, wanted := range f.round.wanted {
		if at[partition] < wanted {
			return false
		}
	}
	return true
}

// stagesOf are the names of the stages that work for one generation alone.
func stagesOf(number int) []string {
	return []string{events.Numbered(embedder.StageName, number), events.Numbered(embedder.WriterName, number)}
}

// fate tells of a change what the stages of a generation made of it.
func (f *fleet) fate(number int) func(schema.Ref, uint64) generations.Fate {
	stages := stagesOf(number)
	return func(ref schema.Ref, revision uint64) generations.Fate {
		fate := generations.Pending
		for _, l := range f.dead.Of(events.Key(ref)) {
			if l.Revision < revision || !slices.Contains(stages, l.Stage) {
				continue
			}
			switch l.State {
			case events.LetterOpen:
				return generations.Dead
			case events.LetterDropped:
				fate = generations.Dropped
			}
		}
		return fate
	}
}

// Dead reports whether a change ended in the dead letters on its way to what is
// searched. That it did on its way to another generation is no matter here.
func (f *fleet) Dead(key string, revision uint64) bool {
	own := stagesOf(f.Live().Number)
	return slices.ContainsFunc(f.dead.Of(key), func(l deadletter.Letter) bool {
		return l.Revision >= revision && (l.State == events.LetterOpen || l.State == events.LetterDropped) &&
			(slices.Contains(own, l.Stage) || !ofGeneration(l.Stage))
	})
}

// ofGeneration reports whether a stage works for one generation alone.
func ofGeneration(stage string) bool {
	return slices.ContainsFunc([]string{embedder.StageName, embedder.WriterName}, func(name string) bool {
		return stage == name || strings.HasPrefix(stage, name+"-")
	})
}

// retire closes what the plan has not any more, and reports whether that is done.
// What is searched stays open, as it is, until searches have left it.
func (f *fleet) retire(plan generations.Plan) bool {
	f.mu.Lock()
	var gone []*generation
	for number, g := range f.at {
		if !plan.Has(number) {
			gone = append(gone, g)
		}
	}
	live := f.live
	f.mu.Unlock()
	done := true
	for _, g := range gone {
		if g == live {
			g.halt()
			done = false
			continue
		}
		f.forget(g)
		if err := g.close(); err != nil {
			f.log.Warn("a retired generation was not closed in order", "generation", g.Number, "error", err)
		}
		f.log.Info("a generation is retired", "generation", g.Number, "setting", g.Setting)
	}
	return done
}

// sweep removes what is left of generations that the plan has not any more: their
// folders where is searched, their topics and groups where is embedded.
func (f *fleet) sweep(ctx context.Context, plan generations.Plan) bool {
	if f.round.swept != nil && slices.Equal(f.round.swept.Generations, plan.Generations) {
		return true
	}
	var errs []error
	if f.searches {
		errs = append(errs, f.sweepFolders(plan))
	}
	if f.embeds {
		errs = append(errs, f.sweepTopics(ctx, plan))
	}
	if err := errors.Join(errs...); err != nil {
		f.tell("sweep", "what is left of a retired generation can not be removed yet", err)
		return false
	}
	f.round.swept = &plan
	return true
}

// over reports whether a generation was retired: a number that the plan never
// gave is of a plan that this one does not know.
func (f *fleet) over(plan generations.Plan, number int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return number <= plan.Last && !plan.Has(number) && f.at[number] == nil
}

func (f *fleet) sweepFolders(plan generations.Plan) error {
	numbers, err := f.folders()
	errs := []error{err}
	for _, n := range numbers {
		if f.over(plan, n) {
			errs = append(errs, os.RemoveAll(f.folder(n)))
		}
	}
	return errors.Join(errs...)
}

// sweepTopics forgets the groups first: that fails as long as one has members.
func (f *fleet) sweepTopics(ctx context.Context, plan generations.Plan) error {
	numbers, err := f.bus.Generations(ctx)
	if err != nil {
		return err
	}
	if plan.Last > 1 {
		numbers = append(numbers, 1)
	}
	var errs []error
	for _, n := range numbers {
		if f.over(plan, n) {
			errs = append(errs, f.sweepTopic(ctx, plan, n))
		}
	}
	return errors.Join(errs...)
}

// drop removes what Weaviate has of a retired generation. A class is of a model: where
// another generation is of the same one, it is that one's by now.
func (f *fleet) drop(ctx context.Context, plan generations.Plan, number int) error {
	i := slices.IndexFunc(plan.Retired, func(g generations.Generation) bool { return g.Number == number })
	if i < 0 || plan.Retired[i].Model == "" {
		return nil
	}
	model := classOf(plan.Retired[i])
	if f.uses(model) {
		return nil
	}
	return f.vectors.Drop(ctx, f.vectors.ClassOf(model))
}

// uses reports whether a generation that is at work here, or that the plan has, is of a
// model, or may be as long as it was never loaded. The plan is the newest that is known:
// between the one that is swept for and now there may have been another change.
func (f *fleet) uses(model weaviate.Model) bool {
	plan, _ := f.planner.Plan()
	of := func(g generations.Generation) bool {
		return g.Model == "" || g.Model == model.Name && g.Dimensions == model.Dimensions
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(plan.Generations, of) ||
		slices.ContainsFunc(slices.Collect(maps.Values(f.at)), func(g *generation) bool { return of(g.Generation) })
}

func (f *fleet) sweepTopic(ctx context.Context, plan generations.Plan, number int) error {
	topic, group := events.Embedded(number), events.Numbered(embedder.StageName, number)
	if err := f.bus.Forget(ctx, events.ToolsStandardized, group); err != nil {
		return err
	}
	if f.vectors != nil {
		if err := f.bus.Forget(ctx, topic, proposalsName); err != nil {
			return err
		}
		if err := f.drop(ctx, plan, number); err != nil {
			return fmt.Errorf("generation %d: %w", number, err)
		}
	}
	if number == 1 { // it is always there, and empty once it was removed
		ends, err := f.bus.End(ctx, topic)
		if err != nil || slices.Max(append(slices.Collect(maps.Values(ends)), 0)) == 0 {
			return err
		}
	}
	return f.bus.Remove(ctx, topic)
}
