package trainer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The errors of a request for a version.
var (
	// ErrUnknownVersion says that no such version is kept.
	ErrUnknownVersion = errors.New("no such version of the weights")
	// ErrNoParent says that no version served before the live one.
	ErrNoParent = errors.New("the live weights have no version before them")
	// ErrPinned says that the live weights are to stay.
	ErrPinned = errors.New("the live weights are pinned")
	// ErrOtherModel says that weights were learned for another embedding model, whose
	// features do not compare.
	ErrOtherModel = errors.New("the weights are of another embedding model")

	errDamaged = fmt.Errorf("%w that can serve", ErrUnknownVersion)
)

// versionNames are the names of kept versions.
var versionNames = regexp.MustCompile(`^w[1-9][0-9]*-[0-9a-f]{8}$`)

// Live returns the weights that a tenant's searches rank by, and whether they are pinned.
func (s *Service) Live(tenant string) (w schema.Weights, pinned bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return schema.Weights{}, false, err
	}
	if t := m.tenants[tenant]; t != nil {
		state := t.record.Models[s.Model()]
		return t.live(s.Model()), state != nil && state.Pinned, nil
	}
	return fusion.BuiltinFor(s.Model()), false, nil
}

// Version returns one version: a kept one, or a preset by its name. The error wraps
// ErrUnknownVersion if there is none.
func (s *Service) Version(ctx context.Context, tenant, version string) (schema.Weights, error) {
	if version == fusion.BuiltinName {
		return fusion.BuiltinFor(s.Model()), nil
	}
	if w, err := fusion.Preset(version); err == nil {
		return w, nil
	}
	if w, _, err := s.Live(tenant); err != nil || w.Version == version {
		return w, err
	}
	if !versionNames.MatchString(version) {
		return schema.Weights{}, fmt.Errorf("%w: %s", ErrUnknownVersion, schema.Quote(version))
	}
	e, err := s.deps.Store.Get(ctx, versionKey+tenant+"."+version)
	if errors.Is(err, stream.ErrNotFound) {
		return schema.Weights{}, fmt.Errorf("%w: %s", ErrUnknownVersion, version)
	}
	if err != nil {
		return schema.Weights{}, fmt.Errorf("trainer: read version %s: %w", version, err)
	}
	var w liveWeights
	if _, err := decodeWeights(e.Value, &w); err != nil {
		return schema.Weights{}, fmt.Errorf("%w: %s: %w", errDamaged, version, err)
	}
	return w.Weights, nil
}

// Versions returns a tenant's kept versions, newest first, and the built-in weights last;
// and those that are kept and cannot serve.
func (s *Service) Versions(ctx context.Context, tenant string) ([]KeptWeights, []Damaged, error) {
	names, err := s.versions(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(names)
	var found []schema.Weights
	damaged := []Damaged{}
	for _, name := range append(names, fusion.BuiltinName) {
		w, err := s.Version(ctx, tenant, name)
		switch {
		case errors.Is(err, errDamaged):
			damaged = append(damaged, Damaged{Version: name, Reason: err.Error()})
		case errors.Is(err, ErrUnknownVersion): // deleted meanwhile
		case err != nil:
			return nil, nil, err
		default:
			found = append(found, w)
		}
	}
	out := make([]KeptWeights, len(found))
	for i, w := range found {
		if out[i], err = s.kept(ctx, tenant, w, found); err != nil {
			return nil, nil, err
		}
	}
	return out, damaged, nil
}

// kept returns a version with its history and what it changed, as far as its parent is
// among those that are known, or still kept.
func (s *Service) kept(ctx context.Context, tenant string, w schema.Weights, known []schema.Weights) (KeptWeights, error) {
	out := KeptWeights{w, s.History(tenant, w), []string{}}
	if w.Parent == "" {
		return out, nil
	}
	var parent schema.Weights
	if w.Parent == fusion.BuiltinName {
		parent = fusion.BuiltinFor(w.Model)
	} else if at := slices.IndexFunc(known, func(k schema.Weights) bool { return k.Version == w.Parent }); at >= 0 {
		parent = known[at]
	} else {
		var err error
		parent, err = s.Version(ctx, tenant, w.Parent)
		if errors.Is(err, ErrUnknownVersion) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
	before, err := fusion.ModelOf(parent)
	if err != nil {
		return out, err
	}
	after, err := fusion.ModelOf(w)
	if err != nil {
		return out, err
	}
	out.Words = fusion.Changes(&before, &after)
	return out, nil
}

// History returns what is known of a version of a tenant beside its content.
func (s *Service) History(tenant string, w schema.Weights) History {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, live := History{Status: Kept}, fusion.BuiltinName
	if s.memory != nil && s.memory.tenants[tenant] != nil {
		t := s.memory.tenants[tenant]
		if known, ok := t.history[w.Version]; ok {
			h = known
		}
		if state := t.record.Models[w.Model]; state != nil && state.Trial.Weights != nil && state.Trial.Weights.Version == w.Version {
			state.Trial.tell(&h)
		}
		live = t.live(s.Model()).Version
	}
	if live == w.Version {
		h.Status = Live
	}
	return h
}

// onTrial returns the trial of the weights of the model that is searched by, nil for none.
func (s *Service) onTrial(tenant string) *ShadowTrial {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == nil || s.memory.tenants[tenant] == nil {
		return nil
	}
	state := s.memory.tenants[tenant].record.Models[s.Model()]
	if state == nil || state.Trial.Weights == nil {
		return nil
	}
	began := state.Trial.Since
	return &ShadowTrial{state.Trial.Weights.Version, began, began.Add(s.cfg.Shadow), s.cfg.Sample}
}

// Promote makes the content of a version live under a new epoch. Learning goes on beside
// it, and replaces it by what ranks better.
func (s *Service) Promote(ctx context.Context, tenant, version string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, err := s.replaceable(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	return s.promote(ctx, tenant, version, live)
}

func (s *Service) promote(ctx context.Context, tenant, version string, live schema.Weights) (schema.Weights, error) {
	w, err := s.Version(ctx, tenant, version)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Parent, w.Source = live.Version, "promoted "+version
	return s.replace(ctx, tenant, w, Replaced, version+" was promoted")
}

// Pin makes the content of a version live, as Promote does, if it is not, and keeps it so:
// nothing that is learned replaces it until Unpin.
func (s *Service) Pin(ctx context.Context, tenant, version string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, _, err := s.current(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	if version == "live" {
		version = live.Version
	}
	if version != live.Version || version == fusion.BuiltinName {
		if live, err = s.promote(ctx, tenant, version, live); err != nil {
			return schema.Weights{}, err
		}
	}
	return live, s.pin(ctx, tenant, live, true)
}

// Unpin lets what is learned replace the live weights again, and returns them.
func (s *Service) Unpin(ctx context.Context, tenant string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, pinned, err := s.current(ctx, tenant)
	if err != nil || !pinned {
		return live, err
	}
	return live, s.pin(ctx, tenant, live, false)
}

// pin pins the live weights in the store first, from where another trainer takes the pin
// over.
func (s *Service) pin(ctx context.Context, tenant string, live schema.Weights, pinned bool) error {
	model := s.Model()
	record := liveWeights{live, pinned}
	if err := s.put(ctx, liveKey+schema.ModelOwner(tenant, model), record.tag(), record); err != nil {
		return err
	}
	return s.change(func(m *memory) error {
		t := m.tenant(tenant)
		state := t.model(model)
		state.Pinned, t.changed = pinned, true
		if pinned && state.Trial.Weights != nil {
			return t.endTrial(m, model, s.deps.Now().UTC(), "the live weights were pinned")
		}
		return nil
	})
}

// Take makes weights that were made elsewhere live under a new epoch. The error is a
// *schema.Invalid if they could not rank.
func (s *Service) Take(ctx context.Context, tenant string, w schema.Weights) (schema.Weights, error) {
	if _, err := fusion.ModelOf(w); err != nil {
		return schema.Weights{}, err
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, err := s.replaceable(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Parent, w.Source = live.Version, "given: "+schema.Quote(w.Version)+", "+schema.Quote(w.Source)
	return s.replace(ctx, tenant, w, Replaced, "other weights were given")
}

// Rollback makes the content of the version before the live one live again, under a new
// epoch. Called again it goes one further back. The error is ErrNoParent if there is no
// version before.
func (s *Service) Rollback(ctx context.Context, tenant string) (schema.Weights, error) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	live, err := s.replaceable(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	if live.Parent == "" {
		return schema.Weights{}, ErrNoParent
	}
	w, err := s.Version(ctx, tenant, live.Parent)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Source = "rolled back to " + live.Parent
	return s.replace(ctx, tenant, w, RolledBack, "on request")
}

// current returns the live weights as the store has them, if this process may publish
// others. The caller holds publishing.
func (s *Service) current(ctx context.Context, tenant string) (live schema.Weights, pinned bool, err error) {
	if s.deps.Elected != nil {
		if err := s.deps.Elected(); err != nil {
			return schema.Weights{}, false, err
		}
	}
	if err := s.synchroniseTenant(ctx, tenant); err != nil {
		return schema.Weights{}, false, err
	}
	return s.Live(tenant)
}

// replaceable is current, and fails with ErrPinned if the live weights are pinned.
func (s *Service) replaceable(ctx context.Context, tenant string) (schema.Weights, error) {
	live, pinned, err := s.current(ctx, tenant)
	if err == nil && pinned {
		err = ErrPinned
	}
	return live, err
}

// replace publishes the content of w in place of the live weights, which end with that
// status and reason. The caller holds publishing.
func (s *Service) replace(ctx context.Context, tenant string, w schema.Weights, status Status, reason string) (schema.Weights, error) {
	model := s.Model()
	if w.Model != "" && model != "" && w.Model != model {
		return schema.Weights{}, fmt.Errorf("%w: %s of %s, and searches are by %s", ErrOtherModel, schema.Quote(w.Version), schema.Quote(w.Model), schema.Quote(model))
	}
	if err := s.change(func(m *memory) (err error) {
		t := m.tenant(tenant)
		if w, err = t.sealed(model, w, w.Parent, s.deps.Now().UTC()); err != nil {
			return err
		}
		state := t.model(model)
		state.Fresh, state.Pinned = 0, false
		return t.goLive(m, model, w, History{}, status, reason)
	}); err != nil {
		return schema.Weights{}, err
	}
	return w, s.publishModel(ctx, tenant, schema.ModelOwner(tenant, model), &liveWeights{Weights: w}, nil)
}
