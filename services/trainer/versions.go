package trainer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// errDamaged says that what is kept of a version can not serve.
var errDamaged = fmt.Errorf("%w that can serve", ErrUnknownVersion)

// The errors of asking for a version.
var (
	// ErrUnknownVersion says that no such version is kept.
	ErrUnknownVersion = errors.New("no such version of the weights")
	// ErrNoParent says that nothing served before the live weights.
	ErrNoParent = errors.New("the live weights have no version before them")
	// ErrPinned says that the live weights are to stay.
	ErrPinned = errors.New("the live weights are pinned")
	// ErrOtherModel says that weights were learned for another embedding model, whose
	// features do not compare.
	ErrOtherModel = errors.New("the weights are of another embedding model")
)

// versionNames are the names of kept versions, and no others: what can be no key is
// not asked for.
var versionNames = regexp.MustCompile(`^w[1-9][0-9]*-[0-9a-f]{8}$`)

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
	if !versionNames.MatchString(version) {
		return schema.Weights{}, fmt.Errorf("%w: %s", ErrUnknownVersion, schema.Quote(version))
	}
	w, _, err := s.stored(ctx, versionKey+tenant+"."+version)
	if err != nil {
		return schema.Weights{}, fmt.Errorf("%s: %w", schema.Quote(version), err)
	}
	return *w, nil
}

// Versions returns a tenant's kept versions, newest first, and the built-in
// weights last; and those that are kept and can not serve.
func (s *Service) Versions(ctx context.Context, tenant string) ([]KeptWeights, []Damaged, error) {
	names, err := s.versions(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(names)
	var out []KeptWeights
	damaged := []Damaged{}
	for _, name := range names {
		w, err := s.Version(ctx, tenant, name)
		switch {
		case errors.Is(err, errDamaged):
			damaged = append(damaged, Damaged{Version: name, Reason: err.Error()})
		case errors.Is(err, ErrUnknownVersion): // pruned meanwhile
		case err != nil:
			return nil, nil, err
		default:
			out = append(out, KeptWeights{w, s.History(tenant, w)})
		}
	}
	builtin := fusion.BuiltinFor(s.Model())
	return append(out, KeptWeights{builtin, s.History(tenant, builtin)}), damaged, nil
}

// History returns what is known of a version of a tenant beside its content.
func (s *Service) History(tenant string, w schema.Weights) History {
	live, err := s.Live(tenant)
	s.mu.Lock()
	defer s.mu.Unlock()
	var h History
	if s.memory != nil && s.memory.tenants[tenant] != nil {
		h = s.memory.tenants[tenant].history[w.Version]
	}
	if h.State == "" {
		h.State = Kept
	}
	if err == nil && live.Version == w.Version {
		h.State = Live
	}
	return h
}

// Promote makes the content of a version live under a new epoch. Learning goes
// on from there, and as many pairs as for the first version have to come in
// before it publishes again.
func (s *Service) Promote(ctx context.Context, tenant, version string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	return s.promote(ctx, tenant, version)
}

// promote is Promote for a caller that holds publishing.
func (s *Service) promote(ctx context.Context, tenant, version string) (schema.Weights, error) {
	return s.follow(ctx, tenant, func(live schema.Weights) (schema.Weights, error) {
		w, err := s.Version(ctx, tenant, version)
		if err != nil {
			return schema.Weights{}, err
		}
		return s.republish(ctx, tenant, w, successor{parent: live.Version, source: "promoted " + version, trial: true, became: Replaced, why: version + " was promoted"})
	})
}

// Pin makes the content of a version live, as Promote does, if it is not, and
// keeps it so: nothing that is learned follows it, and nothing takes it back,
// until Unpin.
func (s *Service) Pin(ctx context.Context, tenant, version string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, err := s.current(ctx, tenant)
	if err == nil && version != "live" && version != live.Version {
		live, err = s.promote(ctx, tenant, version)
	}
	if err != nil {
		return schema.Weights{}, err
	}
	return live, s.pin(ctx, tenant, true)
}

// Unpin lets what is learned follow the live weights again, and returns them.
func (s *Service) Unpin(ctx context.Context, tenant string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, err := s.current(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	return live, s.pin(ctx, tenant, false)
}

// pin pins what is live, in the store first, from where another trainer takes it over.
// The caller holds publishing, or others could be live by now.
func (s *Service) pin(ctx context.Context, tenant string, pinned bool) error {
	owner := schema.ModelOwner(tenant, s.Model())
	if err := s.put(ctx, pinnedKey+owner, pinRecord{pinned}); err != nil {
		return err
	}
	s.synced[owner] = false // until it is here, too
	if err := s.change(func(m *memory) error {
		t := m.tenant(tenant)
		l := t.lesson(s, s.Model())
		if pinned && l.record.Candidate.Weights != nil {
			if err := s.drop(m, t, l, "the live weights were pinned"); err != nil {
				return err
			}
		}
		if l.record.Pinned && !pinned {
			l.record.Trial.settled() // what it was worth meanwhile is no reason to take it back
		}
		l.record.Pinned = pinned
		return t.save(m)
	}); err != nil {
		return err
	}
	s.synced[owner] = true
	return nil
}

// Pinned reports whether a tenant's live weights are pinned.
func (s *Service) Pinned(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil || m.tenants[tenant] == nil {
		return false
	}
	l := m.tenants[tenant].find(s.Model())
	return l != nil && l.record.Pinned
}

// Take makes weights that were made elsewhere live under a new epoch, as
// Promote does with a version. The error is a *schema.Invalid where they could
// not rank.
func (s *Service) Take(ctx context.Context, tenant string, w schema.Weights) (schema.Weights, error) {
	if _, err := fusion.ModelOf(w); err != nil {
		return schema.Weights{}, err
	}
	return s.succeed(ctx, tenant, func(live schema.Weights) (schema.Weights, error) {
		return s.republish(ctx, tenant, w, successor{parent: live.Version, source: "given: " + schema.Quote(w.Version) + ", " + schema.Quote(w.Source), trial: true, became: Replaced, why: "weights that were made elsewhere were given"})
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
		return s.republish(ctx, tenant, w, successor{parent: w.Parent, source: "rolled back to " + live.Parent, became: RolledBack, why: "as was asked for"})
	})
}

// succeed publishes what follows the live version of a tenant. Nothing else is
// published meanwhile.
func (s *Service) succeed(ctx context.Context, tenant string, next func(live schema.Weights) (schema.Weights, error)) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	return s.follow(ctx, tenant, next)
}

// current returns the live weights as the store has them, where this process may
// publish others. The caller holds publishing.
func (s *Service) current(ctx context.Context, tenant string) (schema.Weights, error) {
	if s.deps.Elected != nil {
		if err := s.deps.Elected(); err != nil {
			return schema.Weights{}, err
		}
	}
	if err := s.synchroniseTenant(ctx, tenant); err != nil {
		return schema.Weights{}, err
	}
	return s.Live(tenant)
}

// follow is succeed for a caller that holds publishing.
func (s *Service) follow(ctx context.Context, tenant string, next func(live schema.Weights) (schema.Weights, error)) (schema.Weights, error) {
	live, err := s.current(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	if s.Pinned(tenant) {
		return schema.Weights{}, ErrPinned
	}
	return next(live)
}

// successor says how weights come to be live by request.
type successor struct {
	parent, source string
	trial          bool     // they go again if they serve worse than what was before
	became         Standing // of what was before
	why            string
}

// republish publishes the content of w. The caller holds publishing.
func (s *Service) republish(ctx context.Context, tenant string, w schema.Weights, how successor) (schema.Weights, error) {
	model, err := fusion.ModelOf(w)
	if err != nil {
		return schema.Weights{}, err
	}
	if searched := s.Model(); w.Model != "" && searched != "" && w.Model != searched {
		return schema.Weights{}, fmt.Errorf("%w: %s of %s, and searches are by %s", ErrOtherModel, schema.Quote(w.Version), schema.Quote(w.Model), schema.Quote(searched))
	}
	w.Source = how.source
	ends := s.ends(ctx)
	if err := s.change(func(m *memory) error {
		if m.over.IsZero() { // or nothing was ever found by the live weights
			m.look(s.deps.Now(), ends, s.cfg.Settle)
		}
		t := m.tenant(tenant)
		l := t.lesson(s, s.Model())
		if w, err = t.sealed(l, w, how.parent, s.deps.Now().UTC()); err != nil {
			return err
		}
		if err := s.goLive(m, t, l, w, History{}, how.became, how.why); err != nil {
			return err
		}
		if !how.trial {
			l.record.Trial.settled()
		}
		l.learner.Restart(model)
		l.record.Pending = nil
		l.record.Needed = s.cfg.MinPairs
		return t.save(m)
	}); err != nil {
		return schema.Weights{}, err
	}
	return w, s.publishLive(ctx, tenant)
}
