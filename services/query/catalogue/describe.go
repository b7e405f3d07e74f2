package catalogue

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/toolschema"
	"github.com/toolstream/toolstream/pkg/schema"
)

// maxRequest is the largest request body that is read, in bytes.
const maxRequest = 256 << 10

// maxUnchecked bounds why a schema cannot be checked against, in bytes.
const maxUnchecked = 500

type (
	describeInput  struct{ Body schema.DescribeRequest }
	describeOutput struct{ Body schema.DescribeResponse }
)

func describeRoute(api huma.API, c *Catalogue) {
	huma.Register(api, huma.Operation{
		OperationID: "describe-tools", Security: identity.Needs(identity.Reader), Method: http.MethodPost, Path: "/v1/tools:describe",
		Summary: "Show several tools in the form of language models", Tags: []string{"search"},
		MaxBodyBytes: maxRequest, Metadata: audit.Sampled(),
	}, func(ctx context.Context, in *describeInput) (*describeOutput, error) {
		resp, err := c.Describe(ctx, identity.From(ctx), in.Body)
		if invalid := (*schema.Invalid)(nil); errors.As(err, &invalid) {
			return nil, httpserver.Unprocessable(invalid)
		}
		c.reading.LogChange(ctx, c.deps.Logger, err, "query: the catalogue cannot be read", "query: the catalogue is read again")
		if errors.Is(err, policy.ErrUnknown) {
			return nil, httpserver.Unavailable(policy.ErrUnknown.Error(), 1)
		}
		if err != nil {
			return nil, httpserver.Unavailable(ErrUnavailable.Error(), 1)
		}
		return &describeOutput{resp}, nil
	})
}

// Describe returns tools by their ids or callable names, each once. Models read the answer, so a
// tool in quarantine is unknown here as it is to searches. The error is a *schema.Invalid or
// wraps ErrUnavailable.
func (c *Catalogue) Describe(ctx context.Context, caller identity.Caller, req schema.DescribeRequest) (schema.DescribeResponse, error) {
	out := schema.DescribeResponse{Results: []schema.Described{}, Unknown: []string{}}
	if err := req.Validate(); err != nil {
		return out, err
	}
	v, release, err := c.open(ctx, caller)
	if err != nil {
		return out, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.deps.Timeout, 5*time.Second))
	defer cancel()
	var found []Known
	seen := map[string]bool{}
	for _, key := range req.IDs {
		ref := RefOf(caller.Tenant, schema.KindTool, key)
		e, raw, there, err := v.tool(ctx, ref)
		ambiguous := errors.As(err, new(*schema.Invalid))
		switch {
		case err != nil && !ambiguous:
			return out, err
		case ambiguous || !there || e.Document.Quarantined:
			out.Unknown = append(out.Unknown, key)
			if !ambiguous && !there {
				v.auditDenied(ctx, ref)
			}
		case !seen[e.ID]:
			seen[e.ID] = true
			found = append(found, Known{e, raw})
		}
	}
	out.Results = make([]schema.Described, len(found))
	tools := make([]Detailed, len(found))
	connectionOf := ConnectionOf(c.connections, caller)
	for i, e := range found {
		doc := &e.Document
		out.Results[i] = schema.Described{
			ID: e.ID, Provider: e.Provider, CallableName: e.CallableName, Name: doc.Name, Title: doc.Title, Description: doc.Description, Flags: doc.Flags,
		}
		SetConnection(&out.Results[i].Details, connectionOf(&e))
		tools[i] = Detailed{Known: e, Details: &out.Results[i].Details}
	}
	out.InForm = Detail(ctx, &req.Wanted, tools)
	for i := range tools {
		if input := tools[i].schemas.Input; input != nil {
			if err := toolschema.Checkable(ctx, input); err != nil && ctx.Err() == nil {
				out.Results[i].Unchecked = text.Truncate(err.Error(), maxUnchecked)
			}
		}
	}
	return out, nil
}
