package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The errors of asking for a version.
var (
	// ErrUnknownVersion says that no such version is kept.
	ErrUnknownVersion = errors.New("no such version of the weights")
	// ErrNoParent says that nothing served before the live weights.
	ErrNoParent = errors.New("the live weights have no version before them")
)

// Live returns the weights that a tenant's searches rank by.
func (s *Service) Live(tenant string) (schema.Weights, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return schema.Weights{}, err
	}
	model := s.Model()
	if t := m.tenants[tenant]; t != nil {
		if l := t.find(model); l != nil && l.record.Live != nil {
			return *l.record.Live, nil
		}
	}
	return fusion.BuiltinFor(model), nil
}

// Version returns one version: a kept one, or a preset by its name. The error
// wraps ErrUnknownVersion where there is none.
func (s *Service) Version(ctx context.Context, tenant, version string) (schema.Weights, error) {
	if version == fusion.BuiltinName {
		return fusion.BuiltinFor(s.Model()), nil
	}
	if w, err := fusion.Preset(version); err == nil {
		return w, nil
	}
	if w, err := s.Live(tenant); err != nil || w.Version == version {
		return w, err
	}
	if epochOf(version) == 0 {
		return schema.Weights{}, fmt.Errorf("%w: %s", ErrUnknownVersion, schema.Quote(version))
	}
	w, _, err := s.stored(ctx, versionKey+tenant+"."+version)
	if err != nil {
		return schema.Weights{}, fmt.Errorf("%s: %w", schema.Quote(version), err)
	}
	return *w, nil
}

// Versions returns a tenant's kept versions, newest first, and the built-in
// weights last.
func (s *Service) Versions(ctx context.Context, tenant string) ([]schema.Weights, error) {
	names, err := s.versions(ctx, tenant)
	if err != nil {
		return nil, err
	}
	slices.Reverse(names)
	var out []schema.Weights
	for _, name := range names {
		w, err := s.Version(ctx, tenant, name)
		if errors.Is(err, ErrUnknownVersion) {
			continue // pruned meanwhile, or damaged
		}
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return append(out, fusion.BuiltinFor(s.Model())), nil
}

// Promote makes the content of a version live under a new epoch. Learning goes
// on from there, and as many pairs as for the first version have to come in
// before it publishes again.
func (s *Service) Promote(ctx context.Context, tenant, version string) (schema.Weights, error) {
	return s.succeed(ctx, tenant, func(live schema.Weights) (schema.Weights, error) {
		w, err := s.Version(ctx, tenant, version)
		if err != nil {
			return schema.Weights{}, err
		}
		return s.republish(ctx, tenant, w, live.Version, "promoted "+version)
	})
}

// Take makes weights that were made elsewhere live under a new epoch, as
// Promote does with a version. The error is a *schema.Invalid where they could
// not rank.
func (s *Service) Take(ctx context.Context, tenant string, w schema.Weights) (schema.Weights, error) {
	if _, err := fusion.ModelOf(w); err != nil {
		return schema.Weights{}, err
	}
	return s.succeed(ctx, tenant, func(live schema.Weights) (schema.Weights, error) {
		return s.republish(ctx, tenant, w, live.Version, "given: "+schema.Quote(w.Version)+", "+schema.Quote(w.Source))
	})
}

// Rollback makes the content of the version before the live one live again,
// under a new epoch. Called again it goes one further back. The error is
// ErrNoParent where there is nothing before.
func (s *Service) Rollback(ctx context.Context, tenant string) (schema.Weights, error) {
	return s.succeed(ctx, tenant, func(live schema.Weights) (schema.Weights, error) {
		if live.Parent == "" {
			return schema.Weights{}, ErrNoParent
		}
		w, err := s.Version(ctx, tenant, live.Parent)
		if err != nil {
			return schema.Weights{}, err
		}
		return s.republish(ctx, tenant, w, w.Parent, "rolled back to "+live.Parent)
	})
}

// succeed publishes what follows the live version of a tenant. Nothing else is
// published meanwhile, and live is as the store has it.
func (s *Service) succeed(ctx context.Context, tenant string, next func(live schema.Weights) (schema.Weights, error)) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if err := s.synchroniseTenant(ctx, tenant); err != nil {
		return schema.Weights{}, err
	}
	live, err := s.Live(tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	return next(live)
}

// republish publishes the content of w. The caller holds publishing.
func (s *Service) republish(ctx context.Context, tenant string, w schema.Weights, parent, source string) (schema.Weights, error) {
	model, err := fusion.ModelOf(w)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Source = source
	if err := s.change(func(m *memory) error {
		t := m.tenant(tenant)
		l := t.lesson(s, s.Model())
		if err := t.goLive(l, w, parent, s.deps.Now().UTC()); err != nil {
			return err
		}
		l.learner.Restart(model)
		l.record.Trial.settled()
		l.record.Pending = nil
		l.record.Needed = s.cfg.MinPairs
		w = *l.record.Live
		return t.save(m)
	}); err != nil {
		return schema.Weights{}, err
	}
	return w, s.publish(ctx)
}
