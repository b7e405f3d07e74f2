// Package pins keeps the tools that a tenant wants its agents to see at once, without a
// search: servers of MCP list them beside their own.
package pins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

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
	pins := Pins{Tools: []string{}}
	e, err := a.Bucket.Get(ctx, KeyPrefix+caller.Tenant)
	if errors.Is(err, stream.ErrNotFound) {
		return pins, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &pins)
	}
	ctx, _ = audit.WithNotes(ctx) // the caller has named none of them: what it may not find is no denial
	found := pins.Tools[:0]
	for _, key := range pins.Tools {
		switch missing := a.Find(ctx, caller, key); {
		case missing == nil:
			found = append(found, key)
		case !a.NoTool(missing):
			err = errors.Join(err, missing)
		}
	}
	pins.Tools = found
	return pins, err
}

func (a *API) replace(ctx context.Context, in *input) (*output, error) {
	pins := Pins{Tools: []string{}}
	var tools []audit.ToolRef
	for i, id := range in.Body.Tools {
		id = norm.NFC.String(id)
		switch err := a.Find(ctx, identity.From(ctx), id); {
		case err != nil && a.NoTool(err):
			return nil, httpserver.Unprocessable(&schema.Invalid{Path: fmt.Sprintf("/tools/%d", i), Value: schema.Quote(id), Reason: "names no tool that you may find"})
		case err != nil:
			return nil, httpserver.Unavailable("the tools cannot be looked up now", 1)
		}
		pins.Tools, tools = append(pins.Tools, id), append(tools, audit.ToolRef{ID: id})
	}
	value, err := json.Marshal(pins)
	if err != nil {
		return nil, err
	}
	if _, err := a.Bucket.Put(ctx, KeyPrefix+identity.From(ctx).Tenant, value); err != nil {
		return nil, httpserver.Unavailable("the pinned tools cannot be stored now", 1)
	}
	audit.Annotate(ctx, audit.Details{Tools: tools})
	return &output{pins}, nil
}
