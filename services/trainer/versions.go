package trainer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The errors of requests.
var (
	// ErrUnknownVersion means that the store has no such version.
	ErrUnknownVersion = errors.New("no such version of the weights")
	// ErrNoParent means that the live version is the first.
	ErrNoParent = errors.New("the live weights have no version before them")
	// ErrPinned means that the live weights are pinned.
	ErrPinned = errors.New("the live weights are pinned")
	// ErrOtherModel means that weights were learned for another embedding model, whose
	// features cannot be compared.
	ErrOtherModel = errors.New("the weights are of another embedding model")

	errDamaged = fmt.Errorf("%w that can serve", ErrUnknownVersion)
)

// versionNames matches the names of versions in the store.
var versionNames = regexp.MustCompile(`^w[1-9][0-9]*-[0-9a-f]{8}$`)

// Weights answers requests about the fusion weights of tenants, for the embedding model that
// searches use. Its methods may be called concurrently.
type Weights struct {
	publisher *publisher
	state     *stateStore
	elected   func() error // optional
	now       func() time.Time
	model     func() string
}

// Live returns the weights that a tenant's searches rank by, and whether they are pinned.
func (ws *Weights) Live(tenant string) (w schema.Weights, pinned bool, err error) {
	model := ws.model()
	w = fusion.BuiltinFor(model)
	err = ws.state.view(func(m *memory) {
		if t := m.tenants[tenant]; t != nil {
			state := t.record.Models[model]
			w, pinned = t.live(model), state != nil && state.Pinned
		}
	})
	return w, pinned, err
}

// Version returns a version from the store, or a preset by its name. The error wraps
// ErrUnknownVersion if neither exists.
func (ws *Weights) Version(ctx context.Context, tenant, version string) (schema.Weights, error) {
	if version == fusion.BuiltinName {
		return fusion.BuiltinFor(ws.model()), nil
	}
	if w, err := fusion.Preset(version); err == nil {
		return w, nil
	}
	if w, _, err := ws.Live(tenant); err != nil || w.Version == version {
		return w, err
	}
	if !versionNames.MatchString(version) {
		return schema.Weights{}, fmt.Errorf("%w: %s", ErrUnknownVersion, schema.Quote(version))
	}
	e, err := ws.publisher.store.Get(ctx, versionKey+tenant+"."+version)
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

// Versions returns a tenant's versions, newest first with the built-in weights last, and the
// damaged ones.
func (ws *Weights) Versions(ctx context.Context, tenant string) ([]KeptWeights, []Damaged, error) {
	names, err := ws.publisher.versions(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(names)
	var found []schema.Weights
	damaged := []Damaged{}
	for _, name := range append(names, fusion.BuiltinName) {
		w, err := ws.Version(ctx, tenant, name)
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
		if out[i], err = ws.describe(ctx, tenant, w, found); err != nil {
			return nil, nil, err
		}
	}
	return out, damaged, nil
}

// describe returns a version with its history and its changes against its parent, if the
// parent is among the loaded versions or still in the store.
func (ws *Weights) describe(ctx context.Context, tenant string, w schema.Weights, loaded []schema.Weights) (KeptWeights, error) {
	history, err := ws.History(tenant, w)
	out := KeptWeights{w, history, []string{}}
	if err != nil || w.Parent == "" {
		return out, err
	}
	var parent schema.Weights
	if w.Parent == fusion.BuiltinName {
		parent = fusion.BuiltinFor(w.Model)
	} else if at := slices.IndexFunc(loaded, func(k schema.Weights) bool { return k.Version == w.Parent }); at >= 0 {
		parent = loaded[at]
	} else {
		parent, err = ws.Version(ctx, tenant, w.Parent)
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

// History returns the history of a tenant's version.
func (ws *Weights) History(tenant string, w schema.Weights) (h History, err error) {
	h = History{Status: Kept}
	live := fusion.BuiltinName
	err = ws.state.view(func(m *memory) {
		t := m.tenants[tenant]
		if t == nil {
			return
		}
		if known, ok := t.history[w.Version]; ok {
			h = known
		}
		live = t.live(ws.model()).Version
	})
	if live == w.Version {
		h.Status = Live
	}
	return h, err
}

// Promote makes the content of a version live under a new epoch. Learned weights may replace
// it later.
func (ws *Weights) Promote(ctx context.Context, tenant, version string) (schema.Weights, error) {
	ws.publisher.mu.Lock()
	defer ws.publisher.mu.Unlock()
	live, err := ws.replaceable(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	return ws.promote(ctx, tenant, version, live)
}

func (ws *Weights) promote(ctx context.Context, tenant, version string, live schema.Weights) (schema.Weights, error) {
	w, err := ws.Version(ctx, tenant, version)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Parent, w.Source = live.Version, "promoted "+version
	return ws.replace(ctx, tenant, w, Replaced, version+" was promoted")
}

// Pin promotes a version unless it is live, and keeps it live: learned weights do not
// replace it until Unpin.
func (ws *Weights) Pin(ctx context.Context, tenant, version string) (schema.Weights, error) {
	ws.publisher.mu.Lock()
	defer ws.publisher.mu.Unlock()
	live, _, err := ws.current(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	if version == "live" {
		version = live.Version
	}
	if version != live.Version || version == fusion.BuiltinName {
		if live, err = ws.promote(ctx, tenant, version, live); err != nil {
			return schema.Weights{}, err
		}
	}
	return live, ws.setPinned(ctx, tenant, live, true)
}

// Unpin lets learned weights replace the live ones again, and returns the live ones.
func (ws *Weights) Unpin(ctx context.Context, tenant string) (schema.Weights, error) {
	ws.publisher.mu.Lock()
	defer ws.publisher.mu.Unlock()
	live, pinned, err := ws.current(ctx, tenant)
	if err != nil || !pinned {
		return live, err
	}
	return live, ws.setPinned(ctx, tenant, live, false)
}

// setPinned writes the pin to the store first, where another trainer would find it.
func (ws *Weights) setPinned(ctx context.Context, tenant string, live schema.Weights, pinned bool) error {
	model := ws.model()
	record := liveWeights{live, pinned}
	if err := ws.publisher.put(ctx, liveKey+schema.ModelOwner(tenant, model), record.tag(), record); err != nil {
		return err
	}
	return ws.state.update(func(m *memory) error {
		t := m.tenant(tenant)
		t.model(model).Pinned, t.changed = pinned, true
		return nil
	})
}

// Import makes weights from elsewhere live under a new epoch. The error is a *schema.Invalid
// if they cannot rank.
func (ws *Weights) Import(ctx context.Context, tenant string, w schema.Weights) (schema.Weights, error) {
	if _, err := fusion.ModelOf(w); err != nil {
		return schema.Weights{}, err
	}
	ws.publisher.mu.Lock()
	defer ws.publisher.mu.Unlock()
	live, err := ws.replaceable(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Parent, w.Source = live.Version, "given: "+schema.Quote(w.Version)+", "+schema.Quote(w.Source)
	return ws.replace(ctx, tenant, w, Replaced, "other weights were given")
}

// Rollback makes the content of the version before the live one live again, under a new
// epoch. Each further call goes one version back. The error is ErrNoParent if there is no
// earlier version.
func (ws *Weights) Rollback(ctx context.Context, tenant string) (schema.Weights, error) {
	ws.publisher.mu.Lock()
	defer ws.publisher.mu.Unlock()
	live, err := ws.replaceable(ctx, tenant)
	if err != nil {
		return schema.Weights{}, err
	}
	if live.Parent == "" {
		return schema.Weights{}, ErrNoParent
	}
	w, err := ws.Version(ctx, tenant, live.Parent)
	if err != nil {
		return schema.Weights{}, err
	}
	w.Source = "rolled back to " + live.Parent
	return ws.replace(ctx, tenant, w, RolledBack, "on request")
}

// current returns the live weights as the store has them, if this process may publish. The
// caller holds publisher.mu.
func (ws *Weights) current(ctx context.Context, tenant string) (live schema.Weights, pinned bool, err error) {
	if ws.elected != nil {
		if err := ws.elected(); err != nil {
			return schema.Weights{}, false, err
		}
	}
	if err := ws.publisher.synchroniseTenant(ctx, tenant); err != nil {
		return schema.Weights{}, false, err
	}
	return ws.Live(tenant)
}

// replaceable is current, but fails with ErrPinned if the live weights are pinned.
func (ws *Weights) replaceable(ctx context.Context, tenant string) (schema.Weights, error) {
	live, pinned, err := ws.current(ctx, tenant)
	if err == nil && pinned {
		err = ErrPinned
	}
	return live, err
}

// replace publishes w in place of the live weights, whose history ends with the status and
// the reason. The caller holds publisher.mu.
func (ws *Weights) replace(ctx context.Context, tenant string, w schema.Weights, status Status, reason string) (schema.Weights, error) {
	model := ws.model()
	if w.Model != "" && model != "" && w.Model != model {
		return schema.Weights{}, fmt.Errorf("%w: %s of %s, and searches are by %s", ErrOtherModel, schema.Quote(w.Version), schema.Quote(w.Model), schema.Quote(model))
	}
	if err := ws.state.update(func(m *memory) (err error) {
		t := m.tenant(tenant)
		if w, err = t.sealed(model, w, w.Parent, ws.now().UTC()); err != nil {
			return err
		}
		state := t.model(model)
		state.Fresh, state.Pinned = 0, false
		return t.goLive(m, model, w, History{}, status, reason)
	}); err != nil {
		return schema.Weights{}, err
	}
	return w, ws.publisher.publishModel(ctx, tenant, schema.ModelOwner(tenant, model), &liveWeights{Weights: w})
}
