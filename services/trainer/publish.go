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
	"time"

	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The keys of the store. Those who rank watch the live weights and the usage.
const (
	liveKey    = "weights.live."    // tenant and embedding model, as schema.ModelOwner names them
	versionKey = "weights.version." // tenant.version
	pinnedKey  = "weights.pinned."  // as liveKey; a pinRecord
	usageKey   = "usage."           // tenant
)

// refreshUsage is how old published usage gets when nothing new happens: its
// counts fade all the same.
const refreshUsage = 24 * time.Hour

// synchronise learns which epochs the store has, of every tenant and model once,
// so that what comes is newer even where the state was lost. Then the store's
// weights are where learning goes on from. The caller holds publishing.
func (s *Service) synchronise(ctx context.Context) error {
	names, err := s.tenants(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.synchroniseTenant(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// tenants returns the tenants that are known, the first time those of the store
// too.
func (s *Service) tenants(ctx context.Context) ([]string, error) {
	var names []string
	if len(s.synced) == 0 {
		for _, prefix := range []string{liveKey, pinnedKey} {
			keys, err := s.deps.Store.Keys(ctx, prefix)
			if err != nil {
				return nil, fmt.Errorf("trainer: list weights: %w", err)
			}
			for _, key := range keys {
				name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), ".")
				names = append(names, name)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.loaded()
	if err != nil {
		return nil, err
	}
	names = slices.AppendSeq(names, maps.Keys(m.tenants))
	slices.Sort(names)
	return slices.Compact(names), nil
}

// synchroniseTenant does it for the model that is searched by, and those that
// were learned for.
func (s *Service) synchroniseTenant(ctx context.Context, name string) error {
	for _, model := range s.unsynced(name) {
		if err := s.synchroniseLesson(ctx, name, model); err != nil {
			return err
		}
		s.synced[schema.ModelOwner(name, model)] = true
	}
	if s.counted[name] {
		return nil
	}
	if err := s.moveOld(ctx, name); err != nil {
		return err
	}
	return s.synchroniseUsage(ctx, name)
}

// synchroniseLesson takes over what the store has of the weights for a model: which are
// live, the highest epoch, also where those can not be read, and whether they are pinned.
func (s *Service) synchroniseLesson(ctx context.Context, name, model string) error {
	owner := schema.ModelOwner(name, model)
	live, ranks, err := s.stored(ctx, liveKey+owner)
	var epoch uint64
	switch {
	case errors.Is(err, errDamaged):
		epoch, err = s.highestEpoch(ctx, name, owner)
	case errors.Is(err, ErrUnknownVersion):
		err = nil
	}
	if err != nil {
		return err
	}
	pin, err := s.storedPin(ctx, owner)
	if err != nil {
		return err
	}
	unsaid := false // of an earlier release
	if err := s.change(func(m *memory) error {
		t := m.tenant(name)
		l := t.lesson(s, model)
		l.adopt(live, ranks)
		l.record.Epoch = max(l.record.Epoch, epoch)
		if pin != nil {
			l.record.Pinned = pin.Pinned
		}
		unsaid = pin == nil && l.record.Pinned
		return t.save(m)
	}); err != nil || !unsaid {
		return err
	}
	return s.put(ctx, pinnedKey+owner, pinRecord{Pinned: true})
}

// highestEpoch returns the highest epoch that live weights which can not be read, or a
// kept version, say of themselves: what comes has to be newer, or those who have them
// refuse it.
func (s *Service) highestEpoch(ctx context.Context, tenant, owner string) (uint64, error) {
	raw, err := s.deps.Store.Get(ctx, liveKey+owner)
	if err != nil {
		return 0, fmt.Errorf("trainer: read %s%s: %w", liveKey, owner, err)
	}
	var said struct {
		Epoch uint64 `json:"epoch"`
	}
	_ = json.Unmarshal(raw, &said) // as much of it as can be read
	versions, err := s.versions(ctx, tenant)
	if err != nil {
		return 0, err
	}
	for _, v := range versions {
		said.Epoch = max(said.Epoch, epochOf(v))
	}
	return said.Epoch, nil
}

// pinRecord says whether live weights are to stay, for whoever trains next.
type pinRecord struct {
	Pinned bool `json:"pinned"`
}

// storedPin returns what the store says of a pin, nil where it says nothing that can be
// read.
func (s *Service) storedPin(ctx context.Context, owner string) (*pinRecord, error) {
	raw, err := s.deps.Store.Get(ctx, pinnedKey+owner)
	if err != nil {
		return nil, fmt.Errorf("trainer: read %s%s: %w", pinnedKey, owner, err)
	}
	var pin *pinRecord
	if json.Unmarshal(raw, &pin) != nil {
		return nil, nil
	}
	return pin, nil
}

// unsynced returns the models of a tenant of which it is not known what the store
// has.
func (s *Service) unsynced(name string) []string {
	models := []string{s.Model()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory != nil && s.memory.tenants[name] != nil {
		for _, l := range s.memory.tenants[name].lessons {
			models = append(models, l.record.Model)
		}
	}
	slices.Sort(models)
	return slices.DeleteFunc(slices.Compact(models), func(model string) bool { return s.synced[schema.ModelOwner(name, model)] })
}

func (s *Service) synchroniseUsage(ctx context.Context, name string) error {
	raw, err := s.deps.Store.Get(ctx, usageKey+name)
	if err != nil {
		return fmt.Errorf("trainer: read %s%s: %w", usageKey, name, err)
	}
	var usage struct {
		Epoch uint64 `json:"epoch"`
	}
	_ = json.Unmarshal(raw, &usage) // what can not be read is replaced
	err = s.change(func(m *memory) error {
		t := m.tenant(name)
		t.record.UsageEpoch = max(t.record.UsageEpoch, usage.Epoch)
		return t.save(m)
	})
	s.counted[name] = err == nil
	return err
}

// moveOld puts the weights that stand under a tenant's name alone, from before
// models were told apart, where those of the model that is searched by belong.
func (s *Service) moveOld(ctx context.Context, name string) error {
	if s.Model() == "" {
		return nil
	}
	live, ranks, err := s.stored(ctx, liveKey+name)
	if errors.Is(err, ErrUnknownVersion) {
		return nil
	}
	if err != nil {
		return err
	}
	owner := schema.ModelOwner(name, s.Model())
	var own *schema.Weights
	if err := s.change(func(m *memory) error {
		t := m.tenant(name)
		l := t.lesson(s, s.Model())
		l.adopt(live, ranks)
		own = l.record.Live
		return t.save(m)
	}); err != nil {
		return err
	}
	if own != nil {
		if err := s.put(ctx, liveKey+owner, own); err != nil {
			return err
		}
	}
	if err := s.deps.Store.Delete(ctx, liveKey+name); err != nil {
		return fmt.Errorf("trainer: move %s%s: %w", liveKey, name, err)
	}
	return nil
}

// stored returns weights that the store has and that can rank; for the rest
// the error wraps ErrUnknownVersion.
func (s *Service) stored(ctx context.Context, key string) (*schema.Weights, fusion.Model, error) {
	raw, err := s.deps.Store.Get(ctx, key)
	if err != nil {
		return nil, fusion.Model{}, fmt.Errorf("trainer: read %s: %w", key, err)
	}
	if raw == nil {
		return nil, fusion.Model{}, ErrUnknownVersion
	}
	var w schema.Weights
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fusion.Model{}, fmt.Errorf("%w: %s: %w", errDamaged, key, err)
	}
	model, err := fusion.ModelOf(w)
	if err != nil {
		return nil, fusion.Model{}, fmt.Errorf("%w: %s: %w", errDamaged, key, err)
	}
	return &w, model, nil
}

// prepare makes the next weights of every tenant that is due, once it is known which
// epochs the store has: who came up since that was asked waits. They are saved before
// they are published: an epoch is never given twice. The caller holds publishing.
func (s *Service) prepare(m *memory) error {
	now := s.deps.Now().UTC()
	for _, name := range slices.Sorted(maps.Keys(m.tenants)) {
		t := m.tenants[name]
		changed := false
		for _, l := range t.lessons {
			if !s.synced[l.owner()] {
				continue
			}
			advanced, err := s.succession(m, t, l, now)
			if err != nil {
				return err
			}
			changed = changed || advanced
		}
		if changed {
			if err := t.save(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepareUsage makes the next table of every tenant whose use has changed, or has faded.
// Those of large tenants take long, so that the bus is read in between, and for as
// long afterwards as all of them took: the more there is to do, the seldomer. The caller
// holds publishing.
func (s *Service) prepareUsage() error {
	began := s.deps.Now()
	if began.Before(s.rested) {
		return nil
	}
	for _, name := range s.usageDue(began) {
		if err := s.change(func(m *memory) error {
			t := m.tenant(name)
			t.record.UsageEpoch++
			t.record.Usage = s.deps.Now().UTC()
			t.putUsage, t.usageChanged = s.usage(m, t, t.record.Usage), false
			return t.save(m)
		}); err != nil {
			return err
		}
	}
	ended := s.deps.Now()
	s.rested = ended.Add(ended.Sub(began))
	return nil
}

// usageDue returns the tenants that prepareUsage is for, of those whose epochs are known.
func (s *Service) usageDue(now time.Time) (due []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == nil {
		return nil
	}
	for name, t := range s.memory.tenants {
		if s.counted[name] && (t.usageChanged || len(t.uses) > 0 && now.Sub(t.record.Usage) >= refreshUsage) {
			due = append(due, name)
		}
	}
	slices.Sort(due)
	return due
}

// publication is what is to be put into the store for one tenant.
type publication struct {
	tenant string
	lesson *lesson         // nil: there are no weights
	live   *schema.Weights // of the lesson
	trial  *schema.Weights // of the lesson, where live is nil
	usage  *schema.Usage
}

// publish puts into the store what was prepared. What the store refuses of one tenant
// does not keep back the others'. The caller holds publishing.
func (s *Service) publish(ctx context.Context) error { return s.putAll(ctx, s.publications()) }

// publishLive is publish for a tenant's live weights alone: whoever asked for them is not
// to hear what the store refuses of others. The caller holds publishing.
func (s *Service) publishLive(ctx context.Context, tenant string) error {
	return s.putAll(ctx, slices.DeleteFunc(s.publications(), func(p publication) bool { return p.tenant != tenant || p.live == nil }))
}

func (s *Service) putAll(ctx context.Context, list []publication) error {
	var failed []error
	for _, p := range list {
		if err := s.putPublication(ctx, p); err != nil {
			failed = append(failed, err)
			continue
		}
		s.published(p)
	}
	return errors.Join(failed...)
}

func (s *Service) putPublication(ctx context.Context, p publication) error {
	switch {
	case p.usage != nil:
		return s.put(ctx, usageKey+p.tenant, p.usage)
	case p.live != nil:
		return s.putWeights(ctx, p.tenant, p.lesson.owner(), p.live)
	}
	return s.putCandidate(ctx, p.tenant, p.lesson.owner(), p.trial)
}

func (s *Service) publications() []publication {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == nil {
		return nil // what was dropped with it is prepared again
	}
	var out []publication
	for _, name := range slices.Sorted(maps.Keys(s.memory.tenants)) {
		t := s.memory.tenants[name]
		for _, l := range t.lessons {
			if l.putWeights && l.record.Live != nil {
				out = append(out, publication{tenant: name, lesson: l, live: l.record.Live})
			}
			if l.putShadow {
				out = append(out, publication{tenant: name, lesson: l, trial: l.record.Candidate.Weights})
			}
		}
		if t.putUsage != nil {
			out = append(out, publication{tenant: name, usage: t.putUsage})
		}
	}
	return out
}

// published notes that the store has it.
func (s *Service) published(p publication) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.lesson != nil && p.live == nil {
		p.lesson.putShadow = p.lesson.putShadow && p.lesson.record.Candidate.Weights != p.trial
		return
	}
	if p.lesson != nil {
		p.lesson.putWeights = p.lesson.putWeights && p.lesson.record.Live != p.live
		return
	}
	if s.memory == nil {
		return
	}
	if t := s.memory.tenants[p.tenant]; t != nil && t.putUsage == p.usage {
		t.putUsage = nil
	}
}

// putWeights puts weights into the store: the version first, so that what is
// live can always be found by its name.
func (s *Service) putWeights(ctx context.Context, tenant, owner string, w *schema.Weights) error {
	if err := s.put(ctx, versionKey+tenant+"."+w.Version, w); err != nil {
		return err
	}
	if err := s.put(ctx, liveKey+owner, w); err != nil {
		return err
	}
	s.metrics.published.Inc()
	s.deps.Logger.Info("trainer: new weights", "tenant", tenant, "model", w.Model, "version", w.Version, "source", w.Source, "pairs", w.Trained)
	return s.prune(ctx, tenant)
}

func (s *Service) put(ctx context.Context, key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("trainer: encode %s: %w", key, err)
	}
	if err := s.deps.Store.Put(ctx, key, raw); err != nil {
		return fmt.Errorf("trainer: publish %s: %w", key, err)
	}
	return nil
}

// prune deletes all but the newest versions of a tenant, and those that are wanted.
func (s *Service) prune(ctx context.Context, tenant string) error {
	versions, err := s.versions(ctx, tenant)
	if err != nil {
		return err
	}
	wanted := s.wanted(tenant)
	for _, v := range versions[:max(0, len(versions)-s.cfg.Keep)] {
		if wanted[v] {
			continue
		}
		if err := s.deps.Store.Delete(ctx, versionKey+tenant+"."+v); err != nil {
			return fmt.Errorf("trainer: prune weights: %w", err)
		}
	}
	return nil
}

// wanted returns the versions of a tenant that have to be there; see account.wanted.
func (s *Service) wanted(tenant string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == nil || s.memory.tenants[tenant] == nil {
		return nil
	}
	return s.memory.tenants[tenant].wanted()
}

// wanted returns the versions that are live, before those, or on trial.
func (t *account) wanted() map[string]bool {
	wanted := map[string]bool{}
	for _, l := range t.lessons {
		if live := l.record.Live; live != nil {
			wanted[live.Version], wanted[live.Parent] = true, true
		}
		if c := l.record.Candidate.Weights; c != nil {
			wanted[c.Version] = true
		}
	}
	return wanted
}

// versions returns the names of a tenant's kept versions, oldest first.
func (s *Service) versions(ctx context.Context, tenant string) ([]string, error) {
	prefix := versionKey + tenant + "."
	keys, err := s.deps.Store.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("trainer: list weights: %w", err)
	}
	versions := make([]string, len(keys))
	for i, key := range keys {
		versions[i] = strings.TrimPrefix(key, prefix)
	}
	slices.SortFunc(versions, byEpoch)
	return versions, nil
}

// epochOf reads the epoch of a version "w12-0a1b2c3d", 0 of any other.
func epochOf(version string) uint64 {
	digits, _, _ := strings.Cut(strings.TrimPrefix(version, "w"), "-")
	epoch, _ := strconv.ParseUint(digits, 10, 64)
	return epoch
}

// UsageKey is where the store has a tenant's usage, a schema.Usage in JSON.
func UsageKey(tenant string) string { return usageKey + tenant }
