package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/adapter/flat"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
)

// endpointModel is embedder.model for a model behind an endpoint. In a plan the name
// that the endpoint is asked for follows, because that is what tells two apart.
const (
	endpointModel  = "http"
	endpointPrefix = endpointModel + ":"
)

// settingOf is what a plan says of the model that is configured.
func settingOf(c config.Embedder) string {
	if c.Model == endpointModel {
		return endpointPrefix + c.Name
	}
	return c.Model
}

// withModel returns the settings with the model of a generation.
func withModel(cfg config.Config, g generations.Generation) (config.Config, error) {
	cfg.Embedder.Model = g.Setting
	name, behind := strings.CutPrefix(g.Setting, endpointPrefix)
	if behind {
		if name != cfg.Embedder.Name {
			cfg.Embedder.Dimensions = 0
		}
		cfg.Embedder.Model, cfg.Embedder.Name = endpointModel, name
	}
	if cfg.Embedder.Dimensions == 0 {
		cfg.Embedder.Dimensions = g.Dimensions // a restart needs nothing from an endpoint
	}
	return cfg, cfg.Validate()
}

// Reindex implements generations.Desk. A model that can not be loaded here is
// refused before anything changes.
func (f *fleet) Reindex(ctx context.Context, o generations.Order) (generations.Report, error) {
	change := generations.Plan.Back
	switch {
	case o.Finish:
		change = generations.Plan.Finish
	case o.Model != "":
		next, err := f.probe(ctx, o.Model)
		if err != nil {
			return generations.Report{}, fmt.Errorf("%w: %w", notLoaded(err), err)
		}
		if change, err = f.toNext(ctx, next); err != nil {
			return generations.Report{}, err
		}
	}
	plan, err := f.planner.Change(ctx, change)
	if err != nil {
		return generations.Report{}, err
	}
	f.log.Info("the plan of embedding models was changed", "target", plan.Target, "generations", len(plan.Generations))
	return f.Report(ctx), nil
}

// notLoaded tells a model that may be had later from one that never will.
func notLoaded(err error) error {
	var may interface{ Temporary() bool }
	if errors.As(err, &may) && may.Temporary() || errors.Is(err, context.DeadlineExceeded) {
		return generations.ErrAway
	}
	return generations.ErrModel
}

// toNext makes a generation the next one. Its number is above every one of which
// anything is left: the plan that gave those may have been lost with the store.
func (f *fleet) toNext(ctx context.Context, next generations.Generation) (func(generations.Plan) (generations.Plan, error), error) {
	topics, err := f.bus.Generations(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := f.folders()
	if err != nil {
		return nil, err
	}
	highest := slices.Max(append(append(topics, folders...), 1))
	return func(p generations.Plan) (generations.Plan, error) {
		if p.Last < highest {
			p.Last = highest
		}
		return p.Next(next)
	}, nil
}

// probe loads a model to see what it is.
func (f *fleet) probe(ctx context.Context, setting string) (generations.Generation, error) {
	g := generations.Generation{Setting: setting}
	if setting == endpointModel {
		g.Setting = endpointPrefix + f.cfg.Embedder.Name
	}
	cfg, err := withModel(f.cfg, g)
	if err != nil {
		return g, err
	}
	model, closer, err := NewModel(ctx, cfg)
	if err != nil {
		return g, err
	}
	g.Model, g.Dimensions = model.Name(), model.Dimensions()
	return g, closer.Close()
}

// Report implements generations.Desk.
func (f *fleet) Report(ctx context.Context) generations.Report {
	r := f.report()
	if f.others != nil {
		r.Replicas = f.others(ctx)
	}
	return r
}

// report is what this process knows by itself.
func (f *fleet) report() generations.Report {
	plan, _ := f.planner.Plan()
	f.mu.Lock()
	defer f.mu.Unlock()
	r := generations.Report{Live: f.live.Number, Target: plan.Target}
	entities := entitiesOf(f.live.index)
	if !plan.Has(f.live.Number) { // retired, and searched until the target is complete
		r.Generations = append(r.Generations, f.state(f.live.Generation, plan, entities))
	}
	for _, g := range plan.Generations {
		r.Generations = append(r.Generations, f.state(g, plan, entities))
	}
	return r
}

// state says how a generation is doing. The caller holds mu.
func (f *fleet) state(g generations.Generation, plan generations.Plan, entities int) generations.State {
	s := generations.State{
		Generation: g, Entities: entities, Stage: events.Numbered(embedder.StageName, g.Number), Problem: f.problems[g.Number],
	}
	lacks, at := f.lacks[g.Number], f.at[g.Number]
	switch {
	case g.Number == f.live.Number:
		s.State, s.There = generations.StateLive, entities
	case g.Number != plan.Target:
		s.State = generations.StatePrevious
		if at != nil {
			s.There = min(entitiesOf(at.index), entities)
		}
	case lacks == nil:
		s.State = generations.StateBuilding
	default:
		s.State, s.There = generations.StateBuilding, max(0, entities-lacks.Entities)
		s.Outstanding, s.Dead = lacks.Examples, lacks.Dead
		if lacks.None() {
			s.State = generations.StateReady
		}
	}
	return s
}

// entitiesOf counts what an index shows.
func entitiesOf(index *flat.Index) int {
	if index == nil {
		return 0
	}
	n := 0
	for _, s := range index.Stats() {
		n += s.Tools + s.Agents
	}
	return n
}
