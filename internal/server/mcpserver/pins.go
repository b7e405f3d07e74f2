package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// PinPrefix begins the keys of pins in the bucket; the tenant follows.
const PinPrefix = "pins."

// PinBucket has the pins of all tenants. Get fails with stream.ErrNotFound for a missing key.
type PinBucket interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// errPinsChanged reports that the pins have another version than the change is based on.
var errPinsChanged = errors.New("the pinned tools were changed meanwhile: read them again")

// PinsAPI serves the pins of a tenant.
type PinsAPI struct {
	Bucket PinBucket

	// Find returns nil if the caller may find a tool. NoTool is true for its error if there is no
	// such tool for the caller.
	Find   func(ctx context.Context, caller identity.Caller, key string) error
	NoTool func(error) bool
}

// Pins are the pinned tools of a tenant, which the MCP server lists after its own tools: agents
// see them without a search.
type Pins struct {
	Version string   `json:"version" doc:"Rises with each change, from 0 for a tenant without pins. A change names the version that it replaces."`
	Tools   []string `json:"tools" maxItems:"50" doc:"Ids or callable names, in the order of the list."`
}

type (
	output struct{ Body Pins }
	input  struct{ Body Pins }
)

// Routes adds the calls of the API.
func (a *PinsAPI) Routes(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "get-pins", Security: identity.Needs(identity.Reader), Method: http.MethodGet, Path: "/v1/pins",
		Summary: "List the pinned tools that the caller may find", Tags: []string{"mcp"},
	}, func(ctx context.Context, _ *struct{}) (*output, error) {
		caller := identity.From(ctx)
		stored, err := a.stored(ctx, caller.Tenant)
		if err == nil {
			stored.Tools, _, err = a.divide(ctx, caller, stored.Tools)
		}
		if err != nil {
			return nil, httpserver.Unavailable("the pinned tools cannot be read now", 1)
		}
		return &output{stored}, nil
	})
	huma.Register(api, huma.Operation{
		OperationID: "replace-pins", Security: identity.Needs(identity.Operator), Method: http.MethodPut, Path: "/v1/pins",
		Summary: "Replace the pinned tools of the tenant", Tags: []string{"mcp"}, MaxBodyBytes: 64 << 10, Errors: []int{409},
	}, a.replace)
}

func (a *PinsAPI) stored(ctx context.Context, tenant string) (Pins, error) {
	pins := Pins{Version: "0"}
	e, err := a.Bucket.Get(ctx, PinPrefix+tenant)
	if errors.Is(err, stream.ErrNotFound) {
		return pins, nil
	}
	if err != nil {
		return pins, err
	}
	pins.Version = strconv.FormatUint(e.Revision, 10)
	return pins, json.Unmarshal(e.Value, &pins.Tools)
}

// divide divides pins into tools that a caller may find, never nil, and others, which are hidden
// from it or do not exist at the moment.
func (a *PinsAPI) divide(ctx context.Context, caller identity.Caller, keys []string) (found, others []string, err error) {
	ctx, _ = audit.WithNotes(ctx) // not a denial: the caller has not named these tools in the request
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

// replace replaces the pins that the caller may find, and keeps the others after them.
func (a *PinsAPI) replace(ctx context.Context, in *input) (*output, error) {
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
	var err error
	switch pins.Version, err = a.store(ctx, caller, in.Body.Version, pins.Tools); {
	case errors.Is(err, errPinsChanged):
		return nil, huma.Error409Conflict(err.Error())
	case err != nil:
		return nil, httpserver.Unavailable("the pinned tools cannot be stored now", 1)
	}
	audit.Annotate(ctx, audit.Details{Tools: tools})
	return &output{pins}, nil
}

// store stores tools, and the pins that are hidden from the caller, in place of a version of the
// pins. It returns the new version, or errPinsChanged if there is another version.
func (a *PinsAPI) store(ctx context.Context, caller identity.Caller, version string, tools []string) (string, error) {
	before, err := a.stored(ctx, caller.Tenant)
	if err != nil {
		return "", err
	}
	if before.Version != version {
		return "", errPinsChanged
	}
	_, others, err := a.divide(ctx, caller, before.Tools)
	if err != nil {
		return "", err
	}
	value, err := json.Marshal(slices.Concat(tools, others))
	if err != nil {
		return "", err
	}
	replaced, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return "", err
	}
	var revision uint64
	if key := PinPrefix + caller.Tenant; replaced == 0 {
		revision, err = a.Bucket.Create(ctx, key, value)
	} else {
		revision, err = a.Bucket.Update(ctx, key, value, replaced)
	}
	if errors.Is(err, stream.ErrConflict) {
		return "", errPinsChanged
	}
	return strconv.FormatUint(revision, 10), err
}
