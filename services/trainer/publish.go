package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The keys of the store. Query services watch the live weights and the usage.
const (
	liveKey    = "weights.live."    // tenant and embedding model, as schema.ModelOwner names them: liveWeights
	versionKey = "weights.version." // tenant.version: schema.Weights
	usageKey   = "usage."           // tenant: schema.Usage
)

// UsageKey is where the store has a tenant's usage, a schema.Usage in JSON.
func UsageKey(tenant string) string { return usageKey + tenant }

// liveWeights are the weights that searches rank by, as they are published.
type liveWeights struct {
	schema.Weights
	Pinned bool `json:"pinned,omitempty"` // nothing that is learned replaces them
}

func (w *liveWeights) tag() string { return w.Version + " " + strconv.FormatBool(w.Pinned) }

// entry is what the store has under a key, as far as the trainer knows.
type entry struct {
	revision uint64 // 0: there is no such key
	tag      string // names the content
}

// put writes a value under a key, unless the store has that content. The write fails with
// stream.ErrConflict if another process has written since the trainer read the key: a
// trainer that was paused overwrites nothing. The trainer then reads what the store has
// before it writes again. The caller holds publishing.
func (s *Service) put(ctx context.Context, key, tag string, v any) error {
	known := s.stored[key]
	if known.tag == tag {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("trainer: encode %s: %w", key, err)
	}
	if known.revision == 0 {
		known.revision, err = s.deps.Store.Create(ctx, key, raw)
	} else {
		known.revision, err = s.deps.Store.Update(ctx, key, raw, known.revision)
	}
	if err != nil {
		// The write may have arrived all the same.
		delete(s.synced, strings.TrimPrefix(key, liveKey))
		return fmt.Errorf("trainer: publish %s: %w", key, err)
	}
	s.stored[key] = entry{known.revision, tag}
	return nil
}

// get reads a key and notes its revision; a key that is not there has no value.
func (s *Service) get(ctx context.Context, key string) ([]byte, error) {
	e, err := s.deps.Store.Get(ctx, key)
	if err != nil && !errors.Is(err, stream.ErrNotFound) {
		return nil, fmt.Errorf("trainer: read %s: %w", key, err)
	}
	s.stored[key] = entry{revision: e.Revision}
	return e.Value, nil
}

// synchronise reads what the store has of every tenant, once: weights that another
// process has published win, and new epochs are above those of the store. The caller holds publishing.
func (s *Service) synchronise(ctx context.Context) error {
	var names []string
	if len(s.synced) == 0 {
		for _, prefix := range []string{liveKey, usageKey} {
			keys, err := s.deps.Store.Keys(ctx, prefix)
			if err != nil {
				return fmt.Errorf("trainer: list weights: %w", err)
			}
			for _, key := range keys {
				name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), ".")
				names = append(names, name)
			}
		}
	}
	s.mu.Lock()
	m, err := s.loaded()
	if err == nil {
		names = slices.AppendSeq(names, maps.Keys(m.tenants))
	}
	s.mu.Unlock()
	for _, name := range names {
		if err == nil && !s.erasing[name] {
			err = s.synchroniseTenant(ctx, name)
		}
	}
	return err
}

// synchroniseTenant reads what the store has of a tenant: of the model that is searched by
// and of those that were learned for.
func (s *Service) synchroniseTenant(ctx context.Context, name string) error {
	s.mu.Lock()
	m, err := s.loaded()
	models := []string{s.Model()}
	if err == nil {
		models = slices.AppendSeq(models, maps.Keys(m.tenant(name).record.Models))
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	for _, model := range models {
		owner := schema.ModelOwner(name, model)
		if s.synced[owner] {
			continue
		}
		if err := s.synchroniseModel(ctx, name, model, owner); err != nil {
			return err
		}
		s.synced[owner] = true
	}
	if s.synced[usageKey+name] {
		return nil
	}
	raw, err := s.get(ctx, usageKey+name)
	if err != nil {
		return err
	}
	epoch := epochIn(raw)
	s.synced[usageKey+name] = true
	return s.change(func(m *memory) error {
		if t := m.tenant(name); t.record.UsageEpoch < epoch {
			t.record.UsageEpoch, t.changed, t.usageChanged = epoch, true, true
		}
		return nil
	})
}

// epochIn returns the epoch of a stored value, also of one that cannot serve.
func epochIn(raw []byte) uint64 {
	var v struct {
		Epoch uint64 `json:"epoch"`
	}
	_ = json.Unmarshal(raw, &v) // as much as can be read
	return v.Epoch
}

func (s *Service) synchroniseModel(ctx context.Context, name, model, owner string) error {
	raw, err := s.get(ctx, liveKey+owner)
	if err != nil || len(raw) == 0 {
		return err
	}
	epoch := epochIn(raw)
	var live liveWeights
	_, damage := decodeWeights(raw, &live)
	if damage != nil {
		versions, err := s.versions(ctx, name)
		if err != nil {
			return err
		}
		for _, v := range versions {
			epoch = max(epoch, epochOf(v))
		}
	} else {
		s.stored[liveKey+owner] = entry{s.stored[liveKey+owner].revision, live.tag()}
	}
	return s.change(func(m *memory) error {
		t := m.tenant(name)
		state := t.model(model)
		state.Epoch, t.changed = max(state.Epoch, epoch), true
		_, ours := t.history[live.Version]
		if damage != nil || ours && state.Live != nil && state.Live.Epoch > live.Epoch && !live.Pinned {
			return nil // the next version is yet to be published
		}
		if state.Live == nil || state.Live.Version != live.Version {
			state.Live, state.Trial = &live.Weights, trial{}
		}
		state.Pinned = live.Pinned
		if ours {
			return nil
		}
		return t.note(m, live.Version, History{Status: Live, Since: live.Created})
	})
}

// decodeWeights reads published weights into w. The error says why they cannot serve.
func decodeWeights(raw []byte, w *liveWeights) (fusion.Model, error) {
	if err := json.Unmarshal(raw, w); err != nil {
		return fusion.Model{}, err
	}
	return fusion.ModelOf(w.Weights)
}

// publish writes everything that the store does not have yet. A write that fails for one
// tenant does not keep the others from being published. The caller holds publishing.
func (s *Service) publish(ctx context.Context) error {
	var failed []error
	s.mu.Lock()
	var names []string
	if s.memory != nil {
		names = slices.Sorted(maps.Keys(s.memory.tenants))
	}
	s.mu.Unlock()
	for _, name := range names {
		failed = append(failed, s.publishTenant(ctx, name))
	}
	return errors.Join(failed...)
}

// publishTenant publishes what is new of a tenant. Models that the trainer has not read
// from the store yet wait.
func (s *Service) publishTenant(ctx context.Context, name string) error {
	type model struct {
		owner string
		live  *liveWeights
		trial *schema.Weights
	}
	var models []model
	s.mu.Lock()
	if s.memory == nil {
		s.mu.Unlock()
		return nil // what was dropped with the memory is prepared again
	}
	t := s.memory.tenant(name)
	usage := t.usage
	for _, name := range slices.Sorted(maps.Keys(t.record.Models)) {
		state := t.record.Models[name]
		m := model{owner: schema.ModelOwner(t.name, name), trial: state.Trial.Weights}
		if state.Live != nil {
			m.live = &liveWeights{*state.Live, state.Pinned}
		}
		if s.synced[m.owner] {
			models = append(models, m)
		}
	}
	s.mu.Unlock()
	for _, m := range models {
		if err := s.publishModel(ctx, name, m.owner, m.live, m.trial); err != nil {
			return err
		}
	}
	if usage == nil || !s.synced[usageKey+name] {
		return nil
	}
	return s.put(ctx, usageKey+name, strconv.FormatUint(usage.Epoch, 10), usage)
}

// publishModel publishes the live weights of a tenant, under their version first, so that
// they can always be found by its name, and the version on trial.
func (s *Service) publishModel(ctx context.Context, tenant, owner string, live *liveWeights, trial *schema.Weights) error {
	if live != nil && s.stored[liveKey+owner].tag != live.tag() {
		if err := s.putVersion(ctx, tenant, &live.Weights); err != nil {
			return err
		}
		if err := s.put(ctx, liveKey+owner, live.tag(), live); err != nil {
			return err
		}
		s.metrics.published.Inc()
		s.deps.Logger.Info("trainer: published weights", "tenant", tenant, "model", live.Model, "version", live.Version, "source", live.Source, "pairs", live.Trained, "pinned", live.Pinned)
	}
	if trial == nil {
		return nil
	}
	return s.putVersion(ctx, tenant, trial)
}

// putVersion keeps a version under its name, and forgets the oldest ones.
func (s *Service) putVersion(ctx context.Context, tenant string, w *schema.Weights) error {
	key := versionKey + tenant + "." + w.Version
	if s.stored[key].tag == w.Hash {
		return nil
	}
	err := s.put(ctx, key, w.Hash, w)
	if errors.Is(err, stream.ErrConflict) { // the name holds the hash of the content: the store has it
		s.stored[key] = entry{tag: w.Hash}
		return nil
	}
	if err != nil {
		return err
	}
	versions, err := s.versions(ctx, tenant)
	if err != nil {
		return err
	}
	needed := s.needed(tenant)
	for _, v := range versions[:max(0, len(versions)-s.cfg.Keep)] {
		if needed[v] {
			continue
		}
		key := versionKey + tenant + "." + v
		if err := s.deps.Store.Delete(ctx, key); err != nil {
			return fmt.Errorf("trainer: delete version %s: %w", v, err)
		}
		delete(s.stored, key)
	}
	return nil
}

// needed returns the versions of a tenant that are live, before these, or on trial.
func (s *Service) needed(tenant string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	needed := map[string]bool{}
	if s.memory == nil {
		return needed
	}
	for _, state := range s.memory.tenant(tenant).record.Models {
		if state.Live != nil {
			needed[state.Live.Version], needed[state.Live.Parent] = true, true
		}
		if w := state.Trial.Weights; w != nil {
			needed[w.Version] = true
		}
	}
	return needed
}

// versions returns the names of a tenant's kept versions, oldest first.
func (s *Service) versions(ctx context.Context, tenant string) ([]string, error) {
	prefix := versionKey + tenant + "."
	keys, err := s.deps.Store.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("trainer: list weights: %w", err)
	}
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, prefix)
	}
	slices.SortFunc(keys, byEpoch)
	return keys, nil
}
