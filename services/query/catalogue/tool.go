package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ErrNoTool is wrapped by the error that says that a tool is not there, or not for the caller
// to find.
var ErrNoTool = errors.New("there is no tool")

// Tool returns the tool that a key names, an id or a callable name, and its raw document.
// What the caller may not find is not there. The error wraps ErrNoTool or ErrUnavailable, or is
// a *schema.Invalid where the key names several tools: none is chosen then, for a model that
// calls one by its name must not reach another one that took the name as its id.
func (s *Service) Tool(ctx context.Context, caller identity.Caller, key string) (schema.Entity, json.RawMessage, error) {
	scope, err := s.scope(ctx, caller)
	if err != nil {
		return schema.Entity{}, nil, err
	}
	now, release := s.snapshot()
	defer release()
	ref := refOf(caller.Tenant, schema.KindTool, key)
	e, raw, there, err := now.tool(ctx, ref, scope)
	switch {
	case err != nil:
		return schema.Entity{}, nil, err
	case !there:
		now.denied(ctx, ref, scope)
		return schema.Entity{}, nil, fmt.Errorf("%w %s", ErrNoTool, schema.Quote(key))
	}
	return e, raw, nil
}

// tool returns the tool of a scope whose id or callable name a ref has.
func (s *snapshot) tool(ctx context.Context, ref schema.Ref, scope *policy.Scope) (schema.Entity, json.RawMessage, bool, error) {
	e, raw, there, err := s.Catalogue.Get(ctx, ref, scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !there {
		return s.named(ctx, ref.Tenant, ref.ID, scope)
	}
	ids, err := s.Catalogue.Named(ctx, ref.Tenant, ref.ID, scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	others := slices.DeleteFunc(ids, func(id string) bool { return id == ref.ID })
	return e, raw, true, one(ref.ID, append(others, e.CallableName)) // its id would be taken for their name
}

// named returns the tool of a scope that has a callable name.
func (s *snapshot) named(ctx context.Context, tenant, name string, scope *policy.Scope) (schema.Entity, json.RawMessage, bool, error) {
	ids, err := s.Catalogue.Named(ctx, tenant, name, scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := one(name, ids); err != nil || len(ids) == 0 {
		return schema.Entity{}, nil, false, err
	}
	e, raw, there, err := s.Catalogue.Get(ctx, refOf(tenant, schema.KindTool, ids[0]), scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return e, raw, there, nil
}

// one refuses a key that names several tools, which have other keys.
func one(key string, others []string) error {
	if len(others) < 2 {
		return nil
	}
	return &schema.Invalid{
		Path: "/id", Value: schema.Quote(key),
		Reason: fmt.Sprintf("several tools have this name: use an id: %s or %s", schema.Quote(others[0]), schema.Quote(others[1])),
	}
}

// denied notes in the audit log that a caller named a tool or provider that is there and not
// for them to find.
func (s *snapshot) denied(ctx context.Context, ref schema.Ref, scope *policy.Scope) {
	if _, deleted, known := s.Catalogue.Version(ref); known && !deleted && scope != nil {
		audit.Annotate(ctx, audit.Details{Decision: audit.Denied, Reason: "no grant allows it", Tools: []audit.ToolRef{{ID: ref.ID}}})
	}
}
