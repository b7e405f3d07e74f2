package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The keys of the store. Query services watch the live weights and the usage.
const (
	liveKey    = "weights.live."    // schema.ModelOwner of tenant and embedding model: liveWeights
	versionKey = "weights.version." // tenant.version: schema.Weights
	usageKey   = "usage."           // tenant: schema.Usage
)

// UsageKey returns the store's key of a tenant's usage, a schema.Usage in JSON.
func UsageKey(tenant string) string { return usageKey + tenant }

// liveWeights are published weights that searches rank by.
type liveWeights struct {
	schema.Weights
	Pinned bool `json:"pinned,omitempty"` // learned weights do not replace them
}

func (w *liveWeights) tag() string { return w.Version + " " + strconv.FormatBool(w.Pinned) }

// entry is the last known state of a key of the store.
type entry struct {
	revision uint64 // 0: the key does not exist
	tag      string // names the content
}

// publisher writes weights and usage to the store. Every write is conditional on the
// revision that was read: a trainer that was paused overwrites nothing.
type publisher struct {
	store     Store
	state     *stateStore
	keep      int // versions per tenant
	model     func() string
	log       *slog.Logger
	published prometheus.Counter

	// mu is held from the decision to publish until the publish is done, so that an older
	// epoch cannot overtake a newer one. It is acquired before stateStore.mu and guards the
	// maps. The methods expect it to be held.
	mu      sync.Mutex
	stored  map[string]entry // by key of the store
	synced  map[string]bool  // the schema.ModelOwners and usage keys that were read from the store
	erasing map[string]bool  // tenants that are not read from the store
}

// synchronise reads the store once for every tenant: weights that another process has
// published win, and new epochs exceed the epochs in the store.
func (p *publisher) synchronise(ctx context.Context) error {
	var tenants []string
	if len(p.synced) == 0 {
		for _, prefix := range []string{liveKey, usageKey} {
			keys, err := p.store.Keys(ctx, prefix)
			if err != nil {
				return fmt.Errorf("trainer: list weights: %w", err)
			}
			for _, key := range keys {
				name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), ".")
				tenants = append(tenants, name)
			}
		}
	}
	if err := p.state.view(func(m *memory) {
		tenants = slices.AppendSeq(tenants, maps.Keys(m.tenants))
	}); err != nil {
		return err
	}
	for _, name := range tenants {
		if p.erasing[name] {
			continue
		}
		if err := p.synchroniseTenant(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// synchroniseTenant reads the usage of a tenant, and the weights of the model that searches
// use and of all models with learned weights.
func (p *publisher) synchroniseTenant(ctx context.Context, tenant string) error {
	models := []string{p.model()}
	if err := p.state.view(func(m *memory) {
		models = slices.AppendSeq(models, maps.Keys(m.tenant(tenant).record.Models))
	}); err != nil {
		return err
	}
	for _, model := range models {
		owner := schema.ModelOwner(tenant, model)
		if p.synced[owner] {
			continue
		}
		if err := p.synchroniseModel(ctx, tenant, model, owner); err != nil {
			return err
		}
		p.synced[owner] = true
	}
	if p.synced[usageKey+tenant] {
		return nil
	}
	raw, err := p.get(ctx, usageKey+tenant)
	if err != nil {
		return err
	}
	epoch := epochIn(raw)
	p.synced[usageKey+tenant] = true
	return p.state.update(func(m *memory) error {
		if t := m.tenant(tenant); t.record.UsageEpoch < epoch {
			t.record.UsageEpoch, t.changed, t.usageChanged = epoch, true, true
		}
		return nil
	})
}

func (p *publisher) synchroniseModel(ctx context.Context, tenant, model, owner string) error {
	raw, err := p.get(ctx, liveKey+owner)
	if err != nil || len(raw) == 0 {
		return err
	}
	epoch := epochIn(raw)
	var live liveWeights
	_, damage := decodeWeights(raw, &live)
	if damage != nil {
		versions, err := p.versions(ctx, tenant)
		if err != nil {
			return err
		}
		for _, v := range versions {
			epoch = max(epoch, epochOf(v))
		}
	} else {
		p.stored[liveKey+owner] = entry{p.stored[liveKey+owner].revision, live.tag()}
	}
	return p.state.update(func(m *memory) error {
		t := m.tenant(tenant)
		state := t.model(model)
		state.Epoch, t.changed = max(state.Epoch, epoch), true
		_, ours := t.history[live.Version]
		if damage != nil || ours && state.Live != nil && state.Live.Epoch > live.Epoch && !live.Pinned {
			return nil // the next version is yet to be published
		}
		if state.Live == nil || state.Live.Version != live.Version {
			state.Live = &live.Weights
		}
		state.Pinned = live.Pinned
		if ours {
			return nil
		}
		return t.setHistory(m, live.Version, History{Status: Live, Since: live.Created})
	})
}

// epochIn returns the epoch of a stored value, even if the value is damaged otherwise.
func epochIn(raw []byte) uint64 {
	var v struct {
		Epoch uint64 `json:"epoch"`
	}
	_ = json.Unmarshal(raw, &v) // as much as can be read
	return v.Epoch
}

// decodeWeights reads published weights into w. The error says why they cannot rank.
func decodeWeights(raw []byte, w *liveWeights) (fusion.Model, error) {
	if err := json.Unmarshal(raw, w); err != nil {
		return fusion.Model{}, err
	}
	return fusion.ModelOf(w.Weights)
}

// publish writes everything that the store lacks. A write that fails for one tenant does not
// keep the others from being published.
func (p *publisher) publish(ctx context.Context) error {
	var tenants []string
	if err := p.state.view(func(m *memory) {
		tenants = slices.Sorted(maps.Keys(m.tenants))
	}); err != nil {
		return err
	}
	var failed []error
	for _, name := range tenants {
		failed = append(failed, p.publishTenant(ctx, name))
	}
	return errors.Join(failed...)
}

// publishTenant publishes the changes of a tenant. Models that were not read from the store
// yet wait.
func (p *publisher) publishTenant(ctx context.Context, tenant string) error {
	type model struct {
		owner string
		live  *liveWeights
	}
	var models []model
	var usage *schema.Usage
	if err := p.state.view(func(m *memory) {
		t := m.tenant(tenant)
		usage = t.usage
		for _, name := range slices.Sorted(maps.Keys(t.record.Models)) {
			state, owner := t.record.Models[name], schema.ModelOwner(tenant, name)
			if state.Live != nil && p.synced[owner] {
				models = append(models, model{owner, &liveWeights{*state.Live, state.Pinned}})
			}
		}
	}); err != nil {
		return err
	}
	for _, m := range models {
		if err := p.publishModel(ctx, tenant, m.owner, m.live); err != nil {
			return err
		}
	}
	if usage == nil || !p.synced[usageKey+tenant] {
		return nil
	}
	return p.put(ctx, usageKey+tenant, strconv.FormatUint(usage.Epoch, 10), usage)
}

// publishModel publishes the live weights of a tenant, under their version first, so that
// the version always exists.
func (p *publisher) publishModel(ctx context.Context, tenant, owner string, live *liveWeights) error {
	if p.stored[liveKey+owner].tag == live.tag() {
		return nil
	}
	if err := p.putVersion(ctx, tenant, &live.Weights); err != nil {
		return err
	}
	if err := p.put(ctx, liveKey+owner, live.tag(), live); err != nil {
		return err
	}
	p.published.Inc()
	p.log.Info("trainer: published weights", "tenant", tenant, "model", live.Model, "version", live.Version, "source", live.Source, "pairs", live.Trained, "pinned", live.Pinned)
	return nil
}

// putVersion writes a version under its name, and deletes the oldest versions except the live
// ones and their parents.
func (p *publisher) putVersion(ctx context.Context, tenant string, w *schema.Weights) error {
	key := versionKey + tenant + "." + w.Version
	if p.stored[key].tag == w.Hash {
		return nil
	}
	err := p.put(ctx, key, w.Hash, w)
	if errors.Is(err, stream.ErrConflict) { // the name contains the hash of the content: the store has it
		p.stored[key] = entry{tag: w.Hash}
		return nil
	}
	if err != nil {
		return err
	}
	versions, err := p.versions(ctx, tenant)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	if err := p.state.view(func(m *memory) {
		for _, state := range m.tenant(tenant).record.Models {
			if state.Live != nil {
				needed[state.Live.Version], needed[state.Live.Parent] = true, true
			}
		}
	}); err != nil {
		return err
	}
	for _, v := range versions[:max(0, len(versions)-p.keep)] {
		if needed[v] {
			continue
		}
		key := versionKey + tenant + "." + v
		if err := p.store.Delete(ctx, key); err != nil {
			return fmt.Errorf("trainer: delete version %s: %w", v, err)
		}
		delete(p.stored, key)
	}
	return nil
}

// versions returns the names of a tenant's versions in the store, oldest first.
func (p *publisher) versions(ctx context.Context, tenant string) ([]string, error) {
	prefix := versionKey + tenant + "."
	keys, err := p.store.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("trainer: list weights: %w", err)
	}
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, prefix)
	}
	slices.SortFunc(keys, byEpoch)
	return keys, nil
}

// get reads a key and remembers its revision. The value is nil if the key does not exist.
func (p *publisher) get(ctx context.Context, key string) ([]byte, error) {
	e, err := p.store.Get(ctx, key)
	if err != nil && !errors.Is(err, stream.ErrNotFound) {
		return nil, fmt.Errorf("trainer: read %s: %w", key, err)
	}
	p.stored[key] = entry{revision: e.Revision}
	return e.Value, nil
}

// put writes a value under a key, unless the store has that content. The write fails with
// stream.ErrConflict if another process has written since the trainer read the key, which
// it then reads again before its next write.
func (p *publisher) put(ctx context.Context, key, tag string, v any) error {
	e := p.stored[key]
	if e.tag == tag {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("trainer: encode %s: %w", key, err)
	}
	if e.revision == 0 {
		e.revision, err = p.store.Create(ctx, key, raw)
	} else {
		e.revision, err = p.store.Update(ctx, key, raw, e.revision)
	}
	if err != nil {
		// The write may have arrived all the same.
		delete(p.synced, strings.TrimPrefix(key, liveKey))
		return fmt.Errorf("trainer: publish %s: %w", key, err)
	}
	p.stored[key] = entry{e.revision, tag}
	return nil
}

// erase drops the remembered state of a tenant's keys.
func (p *publisher) erase(tenant string, erasing bool) {
	delete(p.erasing, tenant)
	if erasing {
		p.erasing[tenant] = true
	}
	owned := func(owner string) bool { return owner == tenant || strings.HasPrefix(owner, tenant+".") }
	maps.DeleteFunc(p.stored, func(key string, _ entry) bool {
		for _, prefix := range []string{liveKey, versionKey, usageKey} {
			if owner, ok := strings.CutPrefix(key, prefix); ok {
				return owned(owner)
			}
		}
		return false
	})
	maps.DeleteFunc(p.synced, func(key string, _ bool) bool { return owned(strings.TrimPrefix(key, usageKey)) })
}
