package catalogue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// ErrNoTool is wrapped by the error that says that a tool is not there, or that the caller may
// not find it.
var ErrNoTool = errors.New("there is no tool")

// Tool returns the tool that a key names, an id or a callable name, and its raw document.
// A tool that the caller may not find is not there. The error wraps ErrNoTool or ErrUnavailable,
// or is a *schema.Invalid if the key names several tools: none is chosen then, because a model
// that calls a tool by its name must not reach another tool that took the name as its id.
func (c *Catalogue) Tool(ctx context.Context, caller identity.Caller, key string) (schema.Entity, json.RawMessage, error) {
	v, release, err := c.open(ctx, caller)
	if err != nil {
		return schema.Entity{}, nil, err
	}
	defer release()
	ref := RefOf(caller.Tenant, schema.KindTool, key)
	e, raw, there, err := v.tool(ctx, ref)
	switch {
	case err != nil:
		return schema.Entity{}, nil, err
	case !there:
		v.auditDenied(ctx, ref)
		return schema.Entity{}, nil, fmt.Errorf("%w %s", ErrNoTool, schema.Quote(key))
	}
	return e, raw, nil
}

// tool returns the tool whose id or callable name a ref has.
func (v *view) tool(ctx context.Context, ref schema.Ref) (schema.Entity, json.RawMessage, bool, error) {
	e, raw, there, err := v.Get(ctx, ref, v.scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if !there {
		return v.toolNamed(ctx, ref.ID)
	}
	ids, err := v.Named(ctx, v.tenant, ref.ID, v.scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	others := slices.DeleteFunc(ids, func(id string) bool { return id == ref.ID })
	return e, raw, true, ambiguous(ref.ID, append(others, e.CallableName)) // its id would be taken for their name
}

// toolNamed returns the tool that has a callable name.
func (v *view) toolNamed(ctx context.Context, name string) (schema.Entity, json.RawMessage, bool, error) {
	ids, err := v.Named(ctx, v.tenant, name, v.scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := ambiguous(name, ids); err != nil || len(ids) == 0 {
		return schema.Entity{}, nil, false, err
	}
	e, raw, there, err := v.Get(ctx, RefOf(v.tenant, schema.KindTool, ids[0]), v.scope)
	if err != nil {
		return schema.Entity{}, nil, false, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return e, raw, there, nil
}

// ambiguous refuses a key of several tools, which have the other keys.
func ambiguous(key string, others []string) error {
	if len(others) < 2 {
		return nil
	}
	return &schema.Invalid{
		Path: "/id", Value: schema.Quote(key),
		Reason: fmt.Sprintf("several tools have this name: use an id: %s or %s", schema.Quote(others[0]), schema.Quote(others[1])),
	}
}

// auditDenied notes in the audit log that a caller named an entity that exists and that it may
// not find.
func (v *view) auditDenied(ctx context.Context, ref schema.Ref) {
	if _, deleted, known := v.Version(ref); known && !deleted && v.scope != nil {
		audit.Annotate(ctx, audit.Details{Decision: audit.Denied, Reason: "no grant allows it", Tools: []audit.ToolRef{{ID: ref.ID}}})
	}
}
