// Package pins keeps the tools that a tenant wants its agents to see at once, without a
// search: servers of MCP list them beside their own.
package pins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// KeyPrefix is that of the keys under which the bucket holds the pins of tenants.
const KeyPrefix = "pins."

// Bucket holds the pins of all tenants. Get of what is not there is a stream.ErrNotFound.
type Bucket interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
}

// API serves the pins of a tenant.
type API struct {
	Bucket Bucket

	// Find returns an error of which NoTool is true for a tool that is not there, or not for the
	// caller to find.
	Find   func(ctx context.Context, caller identity.Caller, key string) error
	NoTool func(error) bool
}

// Pins are the pinned tools of a tenant.
type Pins struct {
	Tools []string `json:"tools" maxItems:"50" doc:"Ids or callable names, in the order in which they are listed."`
}

type (
	output struct{ Body Pins }
	input  struct{ Body Pins }
)

// Routes adds the calls of the API.
func (a *API) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-pins", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/pins",
		Summary: "List the pinned tools of the tenant that the caller may find", Tags: []string{"mcp"}, Errors: []int{503},
	}, func(ctx context.Context, _ *struct{}) (*output, error) {
		pins, err := a.of(ctx, identity.From(ctx))
		if err != nil {
			return nil, httpserver.Unavailable("the pinned tools cannot be read now", 1)
		}
		return &output{pins}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "replace-pins", Security: identity.Needs(identity.Operator), Method: http.MethodPut, Path: "/v1/pins",
		Summary: "Replace the pinned tools of the tenant", Tags: []string{"mcp"}, MaxBodyBytes: 64 << 10, Errors: []int{400, 413, 422, 503},
	}, a.replace)
}

// of returns the pins that a caller may find.
func (a *API) of(ctx context.Context, caller identity.Caller) (Pins, error) {
	stored, err := a.stored(ctx, caller.Tenant)
	if err != nil {
		return Pins{}, err
	}
	found, _, err := a.divide(ctx, caller, stored.Tools)
	return Pins{found}, err
}

func (a *API) stored(ctx context.Context, tenant string) (pins Pins, err error) {
	e, err := a.Bucket.Get(ctx, KeyPrefix+tenant)
	if errors.Is(err, stream.ErrNotFound) {
		return pins, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &pins)
	}
	return pins, err
}

// divide returns which of the pins a caller may find, never nil, and which are hidden from it
// or not there at the moment.
func (a *API) divide(ctx context.Context, caller identity.Caller, keys []string) (found, others []string, err error) {
	ctx, _ = audit.WithNotes(ctx) // the caller has named none of them: what it may not find is no denial
	found = []string{}
	for _, key := range keys {
		switch missing := a.Find(ctx, caller, key); {
		case missing == nil:
			found = append(found, key)
		case a.NoTool(missing):
			others = append(others, key)
		default:
			return nil, nil, missing
		}
	}
	return found, others, nil
}

// replace replaces the pins that the caller may find: it has not seen the others.
func (a *API) replace(ctx context.Context, in *input) (*output, error) {
	caller := identity.From(ctx)
	pins := Pins{Tools: []string{}}
	var tools []audit.ToolRef
	for i, id := range in.Body.Tools {
		id = norm.NFC.String(id)
		switch err := a.Find(ctx, caller, id); {
		case err != nil && a.NoTool(err):
			return nil, httpserver.Unprocessable(&schema.Invalid{Path: fmt.Sprintf("/tools/%d", i), Value: schema.Quote(id), Reason: "names no tool that you may find"})
		case err != nil:
			return nil, httpserver.Unavailable("the tools cannot be looked up now", 1)
		}
		pins.Tools, tools = append(pins.Tools, id), append(tools, audit.ToolRef{ID: id})
	}
	if err := a.store(ctx, caller, pins.Tools); err != nil {
		return nil, httpserver.Unavailable("the pinned tools cannot be stored now", 1)
	}
	audit.Annotate(ctx, audit.Details{Tools: tools})
	return &output{pins}, nil
}

func (a *API) store(ctx context.Context, caller identity.Caller, tools []string) error {
	before, err := a.stored(ctx, caller.Tenant)
	if err != nil {
		return err
	}
	_, others, err := a.divide(ctx, caller, before.Tools)
	if err != nil {
		return err
	}
	value, err := json.Marshal(Pins{slices.Concat(tools, others)})
	if err == nil {
		_, err = a.Bucket.Put(ctx, KeyPrefix+caller.Tenant, value)
	}
	return err
}
