package sources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Errors of calls.
var (
	errStore    = errors.New("the store of sources cannot be reached")
	errNotFound = errors.New("there is no source of this name")
	errDeclared = errors.New("the source stands in the settings: change it there")
	errRemoving = errors.New("the source is being removed")
	errPaused   = errors.New("the source is paused: resume it first")
	errNotHeld  = errors.New("the source holds nothing that waits for a confirmation")
	errTaken    = errors.New("two sources cannot fill one provider")
	errNamed    = errors.New("the source is named by the source")
	errUnproven = errors.New("events of this source cannot be verified: the server's log says why")
	errLimit    = errors.New("the tenant has as many sources as it may have (limits.sources): remove one, or ask the operator for a higher limit")
	errProvider = errors.New("the provider of a source stays: remove the source, and add it anew")
)

func decode(e stream.Entry, into any) error {
	if err := json.Unmarshal(e.Value, into); err != nil {
		return fmt.Errorf("%s: %w", e.Key, err)
	}
	return nil
}

// maxTries bounds how often a write is tried that others came before.
const maxTries = 10

// modify changes a source in the store, and makes one where create says so.
func (s *Service) modify(ctx context.Context, i id, create bool, change func(*record) error) (Source, error) {
	if !isName(i.name) {
		return Source{}, errNotFound
	}
	var err error
	for range maxTries {
		var shown Source
		if shown, err = s.modifyOnce(ctx, i, create, change); !errors.Is(err, stream.ErrConflict) {
			return shown, err
		}
	}
	return Source{}, fmt.Errorf("%w: %w", errStore, err)
}

func (s *Service) modifyOnce(ctx context.Context, i id, create bool, change func(*record) error) (Source, error) {
	e, err := s.store.Get(ctx, specKey(i))
	rec := &record{}
	switch {
	case errors.Is(err, stream.ErrNotFound) && !create:
		return Source{}, errNotFound
	case errors.Is(err, stream.ErrNotFound):
	case err != nil:
		return Source{}, fmt.Errorf("%w: %w", errStore, err)
	default:
		if err := decode(e, rec); err != nil {
			return Source{}, err
		}
	}
	before, _ := json.Marshal(rec) // texts, numbers and times always encode
	if err := change(rec); err != nil {
		return Source{}, err
	}
	value, _ := json.Marshal(rec)
	switch {
	case e.Revision == 0:
		e.Revision, err = s.store.Create(ctx, specKey(i), value)
	case string(before) != string(value):
		e.Revision, err = s.store.Update(ctx, specKey(i), value, e.Revision)
	}
	if err != nil && !errors.Is(err, stream.ErrConflict) {
		err = fmt.Errorf("%w: %w", errStore, err)
	}
	if err != nil {
		return Source{}, err
	}
	s.readSpec(i, stream.Entry{Key: specKey(i), Value: value, Revision: e.Revision})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(i, &held{spec: rec, status: s.known[i].status}), nil
}

// admit says whether a source may be as it is declared.
func (s *Service) admit(i id, spec source.Spec) (source.Spec, error) {
	if err := source.ValidateName(i.name); err != nil {
		return spec, err
	}
	if err := s.reachable(i.tenant, spec); err != nil {
		return spec, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, h := range s.known {
		if other.tenant == i.tenant && other.name != i.name && h.spec != nil && h.spec.Parent != i.name && overlap(spec.Root(i.name), h.spec.Root(other.name)) {
			return spec, fmt.Errorf("%w: provider %q is that of the source %s", errTaken, spec.Root(i.name), other.name)
		}
	}
	return spec, nil
}

// reachable says whether a tenant may look at a source that is declared so, whatever its name.
func (s *Service) reachable(tenant string, spec source.Spec) error {
	if s.connectors[spec.Kind] == nil {
		return &schema.Invalid{Path: "/kind", Value: schema.Quote(spec.Kind), Reason: "must be one of " + strings.Join(slices.Sorted(maps.Keys(s.connectors)), ", ")}
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	if _, err := s.places.Of(tenant, spec, false); err != nil {
		return err
	}
	if spec.Hook != nil {
		if _, err := s.places.Proof(tenant, spec); err != nil {
			return err
		}
	}
	return nil
}

// put adds or replaces a source.
func (s *Service) put(ctx context.Context, i id, spec source.Spec) (Source, error) {
	spec, err := s.declarable(ctx, i, spec)
	if err != nil {
		return Source{}, err
	}
	return s.modify(ctx, i, true, func(rec *record) error {
		if err := rec.takes(i, spec); err != nil {
			return err
		}
		rec.Spec = spec
		return nil
	})
}

// declarable says whether a source may be declared so, and returns the declaration with what of
// the present one is not shown.
func (s *Service) declarable(ctx context.Context, i id, spec source.Spec) (source.Spec, error) {
	there, err := s.get(ctx, i)
	switch {
	case err == nil && there.Parent != "":
		return spec, (&record{Parent: there.Parent}).changeable()
	case errors.Is(err, errNotFound) && s.room(i.tenant) == 0:
		return spec, errLimit
	case err != nil && !errors.Is(err, errNotFound):
		return spec, err
	}
	return s.admit(i, unhide(spec, there.Spec))
}

// takes says why the record of a source does not take a declaration, or nil.
func (r *record) takes(i id, spec source.Spec) error {
	switch {
	case r.Declared:
		return errDeclared
	case r.Removed:
		return errRemoving
	case r.Kind != "" && r.Root(i.name) != spec.Root(i.name):
		return errProvider
	}
	return nil
}

// room returns how many sources a tenant may still add. Those of the settings are the
// operator's and are taken whatever the limit is, but count.
func (s *Service) room(tenant string) int {
	limit := s.cfg.Most.Of(tenant)
	if limit == 0 {
		return math.MaxInt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, h := range s.known {
		if i.tenant == tenant && h.spec != nil {
			limit--
		}
	}
	return max(0, limit)
}

// edit changes something of a source that is there.
func (s *Service) edit(ctx context.Context, i id, change func(*record) error) (Source, error) {
	return s.modify(ctx, i, false, func(rec *record) error {
		if rec.Removed {
			return errRemoving
		}
		return change(rec)
	})
}

// remove lets a source go, with its tools unless they are to be kept.
func (s *Service) remove(ctx context.Context, i id, keep bool) (Source, error) {
	return s.edit(ctx, i, func(rec *record) error {
		if err := rec.changeable(); err != nil {
			return err
		}
		rec.Removed, rec.KeepTools = true, keep
		return nil
	})
}

// pause stops or resumes looking at a source.
func (s *Service) pause(ctx context.Context, i id, paused bool) (Source, error) {
	return s.edit(ctx, i, func(rec *record) error {
		if err := rec.changeable(); err != nil {
			return err
		}
		rec.Paused = paused
		return nil
	})
}

// ask has a source looked at now, and everything of it compared anew.
func (s *Service) ask(ctx context.Context, i id) (Source, error) {
	return s.edit(ctx, i, func(rec *record) error {
		if rec.Paused {
			return errPaused
		}
		rec.Asked = time.Now().UTC()
		return nil
	})
}

// confirm lets the tools and sources that are gone from a source be deleted.
func (s *Service) confirm(ctx context.Context, i id) (Source, error) {
	all, err := s.get(ctx, i)
	if err != nil {
		return Source{}, err
	}
	if all.Held == nil {
		return Source{}, errNotHeld
	}
	return s.edit(ctx, i, func(rec *record) error {
		if rec.Paused {
			return errPaused
		}
		rec.Confirmed, rec.Asked = all.Held.Digest, time.Now().UTC()
		return nil
	})
}

// get returns one source.
func (s *Service) get(ctx context.Context, i id) (Source, error) {
	if err := s.awaitLoaded(ctx); err != nil {
		return Source{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.known[i]; h != nil && h.spec != nil {
		return s.shown(i, h), nil
	}
	return Source{}, errNotFound
}
