package audit

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
)

// WholeHeader is the header of an export that says whether it begins with the first record ever
// written.
const WholeHeader = "Audit-Whole"

// readLimit bounds one page.
const readLimit = time.Minute

type (
	listInput struct {
		Filter
		Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Entries on a page: 1 to 1000, 100 by default."`
	}
	listOutput  struct{ Body Excerpt }
	headsOutput struct{ Body HeadList }
	exportInput struct {
		Since time.Time `query:"since" doc:"Not before this time (RFC 3339)."`
	}
)

// Excerpt is a part of the log.
type Excerpt struct {
	Records []Opened `json:"records" doc:"Oldest first, as written."`
	Cursor  string   `json:"cursor" doc:"Cursor of the next page, which may be empty."`
	End     bool     `json:"end" doc:"Nothing more is there now."`
}

// HeadList lists the ends of the chains.
type HeadList struct {
	Heads []Head `json:"heads" doc:"The last records of the tenant's chains as known outside the log, some seconds old."`
}

// Routes adds the calls of the reader to an API.
func Routes(api huma.API, r *Reader) {
	operation := func(id, path, summary, description string) huma.Operation {
		return huma.Operation{
			OperationID: id, Security: identity.Needs(identity.Operator), Method: http.MethodGet, Path: "/v1/audit" + path, Summary: summary, Description: description,
			Tags: []string{"audit"},
		}
	}
	huma.Register(api, operation("list-audit-records", "", "Show records of the audit log, oldest first",
		"Of the caller's tenant: behind the cursor, or from the time since on, or else the last ones."), r.list)
	huma.Register(api, operation("list-audit-heads", "/heads", "Show the heads of the audit log's chains", ""), func(ctx context.Context, _ *struct{}) (*headsOutput, error) {
		heads, err := readAllHeads(ctx, r.heads, identity.From(ctx).Tenant)
		if err != nil {
			return nil, unavailable(err)
		}
		return &headsOutput{HeadList{heads}}, nil
	})
	export := operation("export-audit", ":export", "Export the audit log as JSON Lines",
		"One record a line, with sealed private fields, for `toolstream audit verify`. The header "+WholeHeader+" says whether the first record is there. An answer that breaks off is not whole.")
	export.Responses = map[string]*huma.Response{"200": {
		Description: "One record a line", Content: map[string]*huma.MediaType{"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(api, export, r.export)
}

func unavailable(error) error {
	return huma.Error503ServiceUnavailable("the audit log cannot be read: the bus, or the store of keys, does not answer")
}

func (r *Reader) list(ctx context.Context, in *listInput) (*listOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	tenant := identity.From(ctx).Tenant
	var from place
	var err error
	switch {
	case in.Cursor != "":
		if from, err = parsePlace(in.Cursor); err != nil {
			return nil, huma.Error422UnprocessableEntity("not a cursor of this list", &huma.ErrorDetail{Location: "/query/cursor", Value: in.Cursor})
		}
	case !in.Since.IsZero():
		if from, err = r.since(ctx, in.Since); err != nil {
			return nil, unavailable(err)
		}
	}
	out := Excerpt{End: true}
	var at place
	if from == nil {
		out.Records, at, err = r.last(ctx, tenant, in.Filter, in.Limit)
	} else {
		out.Records, at, out.End, err = r.page(ctx, tenant, in.Filter, from, in.Limit)
	}
	if err != nil {
		return nil, unavailable(err)
	}
	if out.Records == nil {
		out.Records = []Opened{}
	}
	out.Cursor = at.String()
	return &listOutput{out}, nil
}

func (r *Reader) export(ctx context.Context, in *exportInput) (*huma.StreamResponse, error) {
	if full := (*inflight.FullError)(nil); errors.As(inflight.From(ctx).Grow(ctx, inflight.Export), &full) {
		return nil, huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(full.Error()), http.Header{"Retry-After": {strconv.Itoa(int(full.After.Seconds()))}})
	}
	from, err := r.since(ctx, in.Since)
	if err != nil {
		return nil, unavailable(err)
	}
	whole, err := r.whole(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	tenant := identity.From(ctx).Tenant
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/jsonl")
		hc.SetHeader(WholeHeader, strconv.FormatBool(whole && in.Since.IsZero()))
		out := hc.BodyWriter()
		_, _, err := r.scan(ctx, from, func(m stream.Message) (bool, error) {
			if m.Key != tenant {
				return false, nil
			}
			if rec, err := parse(m.Value); err == nil && rec.Time.Before(in.Since) {
				return false, nil
			}
			_, err := out.Write(append(m.Value, '\n'))
			return false, err
		})
		if err != nil {
			panic(http.ErrAbortHandler) // the status is already sent: a broken answer shows the client that it is incomplete
		}
	}}, nil
}
