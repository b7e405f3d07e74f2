package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
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
	errLimit    = errors.New("the tenant has as many sources as it may have (limits.sources): remove one, or ask the operator for a higher limit")
	errProvider = errors.New("the provider of a source stays: remove the source, and add it anew")
)

// admit says whether a source may be as it is declared.
func (s *Service) admit(i id, spec source.Spec) (source.Spec, error) {
	if err := source.ValidateName(i.name); err != nil {
		return spec, err
	}
	if err := s.reachable(i.tenant, spec); err != nil {
		return spec, err
	}
	taken := s.dir.matching(func(other id, rec *record) bool {
		return other.tenant == i.tenant && other.name != i.name && rec.Parent != i.name && overlap(spec.Root(i.name), rec.Root(other.name))
	})
	for other := range taken {
		return spec, fmt.Errorf("%w: provider %q is that of the source %s", errTaken, spec.Root(i.name), other.name)
	}
	return spec, nil
}

// reachable says whether a tenant may look at a source that is declared so, whatever its name.
func (s *Service) reachable(tenant string, spec source.Spec) error {
	if s.crawler.connectors[spec.Kind] == nil {
		return &schema.Invalid{Path: "/kind", Value: schema.Quote(spec.Kind), Reason: "must be one of " + strings.Join(slices.Sorted(maps.Keys(s.crawler.connectors)), ", ")}
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	if _, err := s.crawler.places.Locate(tenant, spec, false, ""); err != nil {
		return err
	}
	if spec.Hook != nil {
		if _, err := s.crawler.places.Hook(tenant, spec); err != nil {
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
	return s.dir.modify(ctx, i, true, func(rec *record) error {
		if err := rec.takes(i, spec); err != nil {
			return err
		}
		rec.Spec = spec
		return nil
	})
}

// declarable says whether a source may be declared so, and returns the declaration with the
// secrets of the present one.
func (s *Service) declarable(ctx context.Context, i id, spec source.Spec) (source.Spec, error) {
	there, err := s.dir.get(ctx, i)
	switch {
	case err == nil && there.Parent != "":
		return spec, (&record{Parent: there.Parent}).changeable()
	case errors.Is(err, errNotFound) && s.dir.available(i.tenant, s.cfg.Most.Of(i.tenant)) == 0:
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

// remove removes a source, with its tools unless keep is set.
func (s *Service) remove(ctx context.Context, i id, keep bool) (Source, error) {
	return s.dir.edit(ctx, i, func(rec *record) error {
		if err := rec.changeable(); err != nil {
			return err
		}
		rec.Removed, rec.KeepTools = true, keep
		return nil
	})
}

// pause stops or resumes looking at a source.
func (s *Service) pause(ctx context.Context, i id, paused bool) (Source, error) {
	return s.dir.edit(ctx, i, func(rec *record) error {
		if err := rec.changeable(); err != nil {
			return err
		}
		rec.Paused = paused
		return nil
	})
}

// ask requests a look at a source now, which compares everything again.
func (s *Service) ask(ctx context.Context, i id) (Source, error) {
	return s.dir.edit(ctx, i, func(rec *record) error {
		if rec.Paused {
			return errPaused
		}
		rec.Asked = time.Now().UTC()
		return nil
	})
}

// confirm confirms the deletion of the tools and sources that are gone from a source.
func (s *Service) confirm(ctx context.Context, i id) (Source, error) {
	all, err := s.dir.get(ctx, i)
	if err != nil {
		return Source{}, err
	}
	if all.Held == nil {
		return Source{}, errNotHeld
	}
	return s.dir.edit(ctx, i, func(rec *record) error {
		if rec.Paused {
			return errPaused
		}
		rec.Confirmed, rec.Asked = all.Held.Digest, time.Now().UTC()
		return nil
	})
}

// All returns the sources of a tenant by name, each followed by the sources that it names.
func (s *Service) All(ctx context.Context, tenant string) ([]Source, error) {
	return s.dir.all(ctx, tenant)
}

// One returns a source of a tenant.
func (s *Service) One(tenant, name string) (Source, bool) { return s.dir.find(id{tenant, name}) }
