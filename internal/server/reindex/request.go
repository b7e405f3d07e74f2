package indexmgr

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/embedding"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/embedder"
)

// Reindex changes the plan. A model that cannot be loaded here is refused before anything
// changes. Errors wrap those of Plan, ErrModel and ErrAway; others come from the bucket.
func (m *Manager) Reindex(ctx context.Context, r Request) (Report, error) {
	change := Plan.Back
	switch {
	case r.Finish:
		change = Plan.Finish
	case r.Model != "":
		next, err := m.loadRequested(ctx, r.Model)
		if err != nil {
			return Report{}, err
		}
		if change, err = m.toNext(ctx, next); err != nil {
			return Report{}, err
		}
	}
	plan, err := m.Plan.Change(ctx, change)
	if err != nil {
		return Report{}, err
	}
	m.Logger.Info("the plan of index versions was changed", "target", plan.Target, "versions", len(plan.Versions))
	return m.Report(ctx), nil
}

// loadRequested loads a model that a caller names. Why a file cannot be loaded is for the
// log alone: the answer must not tell which files there are.
func (m *Manager) loadRequested(ctx context.Context, setting string) (Version, error) {
	name, file := strings.CutPrefix(setting, config.StaticPrefix)
	if setting == embedding.Setting(m.Settings.Embedder) {
		file = false // the operator's own setting may be a path
	}
	var v Version
	err := fmt.Errorf("%s is not the name of a file in models.dir", name)
	if !file || filepath.Base(name) == name && m.Settings.StaticFile(name) != name {
		v, err = m.load(ctx, setting)
	}
	var may interface{ Temporary() bool }
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &may) && may.Temporary() || errors.Is(err, context.DeadlineExceeded):
		return v, fmt.Errorf("%w: %w", ErrAway, err)
	case file || strings.HasPrefix(setting, config.ONNXPrefix):
		m.Logger.Warn("a requested embedding model cannot be loaded", "setting", setting, "error", err)
		return v, fmt.Errorf("%w: static:NAME needs a model file and onnx:NAME a folder of that name in models.dir; the server's log says more", ErrModel)
	}
	return v, fmt.Errorf("%w: %w", ErrModel, err)
}

// load loads a model to learn its name and dimensions.
func (m *Manager) load(ctx context.Context, setting string) (Version, error) {
	cfg, err := embedding.With(m.Settings, setting, 0)
	if err != nil {
		return Version{}, err
	}
	v := Version{Setting: embedding.Setting(cfg.Embedder)}
	model, closer, err := embedding.Open(ctx, cfg)
	if err != nil {
		return v, err
	}
	v.Model, v.Dimensions = model.Name(), model.Dimensions()
	return v, closer.Close()
}

// toNext returns the change that makes a version the target. Its number is above every
// number that has a topic or a folder: the plan that gave those may have been lost.
func (m *Manager) toNext(ctx context.Context, next Version) (func(Plan) (Plan, error), error) {
	topics, err := m.Bus.Versions(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := m.folders()
	if err != nil {
		return nil, err
	}
	highest := slices.Max(append(append(topics, folders...), 1))
	return func(p Plan) (Plan, error) {
		p.Last = max(p.Last, highest)
		return p.Next(next)
	}, nil
}

// Report says how the versions are doing in this process, and which other processes there
// are.
func (m *Manager) Report(ctx context.Context) Report {
	r := m.Local()
	if m.Replicas != nil {
		r.Replicas = m.Replicas(ctx)
	}
	return r
}

// Local is the report of this process alone.
func (m *Manager) Local() Report {
	plan, _ := m.Plan.Plan()
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Report{Target: plan.Target, Versions: []State{}}
	versions := plan.Versions
	entities := m.live.entities()
	if m.live != nil {
		r.Live = m.live.Number
		if !plan.Has(m.live.Number) { // retired, and searched until the target is complete
			versions = append([]Version{m.live.Version}, versions...)
		}
	}
	for _, v := range versions {
		r.Versions = append(r.Versions, m.state(v, plan, entities))
	}
	return r
}

// state says how a version is doing. The caller holds mu.
func (m *Manager) state(v Version, plan Plan, entities int) State {
	s := State{
		Version: v, State: StatePrevious, Entities: entities, There: min(m.instances[v.Number].entities(), entities),
		Stage: events.Numbered(embedder.StageName, v.Number), Problem: m.problems[v.Number],
	}
	switch {
	case m.live != nil && v.Number == m.live.Number:
		s.State = StateLive
	case v.Number == plan.Target:
		p := m.progress[v.Number]
		s.State, s.Lag, s.Dead = StateBuilding, p.lag, p.dead
	}
	return s
}
