package reindex

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/server/embedding"
)

// Reindex changes the plan. A model that cannot be loaded here is refused before anything
// changes. Errors wrap the errors of Plan, ErrModel or ErrAway, or come from the bucket.
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
		if change, err = m.cfg.targeting(ctx, next); err != nil {
			return Report{}, err
		}
	}
	plan, err := m.Plan.Change(ctx, change)
	if err != nil {
		return Report{}, err
	}
	m.cfg.Logger.Info("the plan of index versions was changed", "target", plan.Target, "versions", len(plan.Versions))
	return m.Report(ctx), nil
}

// targeting returns the change that makes a model the target.
func (c Config) targeting(ctx context.Context, next Version) (func(Plan) (Plan, error), error) {
	topics, err := c.Bus.Versions(ctx)
	if err != nil {
		return nil, err
	}
	dirs, err := folders(c.Settings.Data)
	if err != nil {
		return nil, err
	}
	// The new version's number exceeds every number with a topic or a folder: the plan
	// that created those may have been lost.
	highest := slices.Max(append(append(topics, dirs...), 1))
	return func(p Plan) (Plan, error) {
		p.Last = max(p.Last, highest)
		return p.Next(next)
	}, nil
}

// followSetting makes embedder.model the target if it has changed since the plan last followed
// it. With peers, whose settings may differ for a while, only a request changes the target.
func (m *Manager) followSetting(ctx context.Context) error {
	own := embedding.Setting(m.cfg.Settings.Embedder)
	if plan, _ := m.Plan.Plan(); !m.cfg.alone() || plan.Setting == own {
		return nil
	}
	next, err := load(ctx, m.cfg.Settings, own)
	if isTemporary(err) {
		m.cfg.Logger.Error("searches stay with the model from before until the next start", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	change, err := m.cfg.targeting(ctx, next)
	if err != nil {
		return err
	}
	_, err = m.Plan.Change(ctx, func(p Plan) (Plan, error) {
		changed, err := change(p)
		if errors.Is(err, ErrSame) {
			changed, err = p, nil
		}
		changed.Setting = own
		return changed, err
	})
	return err
}

// isTemporary reports whether a model may load later.
func isTemporary(err error) bool {
	var may interface{ Temporary() bool }
	return errors.As(err, &may) && may.Temporary() || errors.Is(err, context.DeadlineExceeded)
}

// loadRequested loads a model that a caller names. Only the log gives the reason if a file cannot
// be loaded: the answer must not reveal which files exist.
func (m *Manager) loadRequested(ctx context.Context, setting string) (Version, error) {
	name, file := strings.CutPrefix(setting, config.StaticPrefix)
	if setting == embedding.Setting(m.cfg.Settings.Embedder) {
		file = false // the operator's own setting may be a path
	}
	var v Version
	err := fmt.Errorf("%s is not the name of a file in models.dir", name)
	if !file || filepath.Base(name) == name && m.cfg.Settings.StaticFile(name) != name {
		v, err = load(ctx, m.cfg.Settings, setting)
	}
	switch {
	case err == nil:
		return v, nil
	case isTemporary(err):
		return v, fmt.Errorf("%w: %w", ErrAway, err)
	case file || strings.HasPrefix(setting, config.ONNXPrefix):
		m.cfg.Logger.Warn("a requested embedding model cannot be loaded", "setting", setting, "error", err)
		return v, fmt.Errorf("%w: static:NAME needs a model file and onnx:NAME a folder of that name in models.dir; the server's log says more", ErrModel)
	}
	return v, fmt.Errorf("%w: %w", ErrModel, err)
}

// load loads a model to learn its name and dimensions.
func load(ctx context.Context, settings config.Config, setting string) (Version, error) {
	cfg, err := embedding.With(settings, setting, 0)
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

// Report describes the versions in this process, and other processes.
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
	return m.instances.report(plan)
}
