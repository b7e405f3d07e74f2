package ingest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Amend replaces the document of a change: as a new change of the same entity, with the same
// provider, and with the usual checks. A tool has no source then, unless the document is the
// same: its source has not listed it. An object has the format of the previous document. Amend
// returns the revision of the new change, or the old revision if the document is the same; done is
// false if a newer change with another document is known. After an error nothing is known to be
// accepted, and the caller may try again. The error is an RFC 9457 problem: its pointers are below
// /body/document, with the line and column in the document if they are known.
func (s *Service) Amend(ctx context.Context, c events.Change, document string) (revision uint64, done bool, err error) {
	items, problems := formats.Parse([]byte(document), formats.Options{
		ID: c.ID, Kind: c.Kind, Provider: c.Provider, Format: formatOf(c), Kept: true, Limits: s.limits(int64(s.cfg.MaxDocument)),
	})
	switch {
	case len(problems) > 0:
		p := problems[0]
		return 0, false, rejected(p).in(document, jsondoc.Place{Line: p.Line, Column: p.Column})
	case len(items) != 1 || items[0].Kind != c.Kind || items[0].Delete:
		wrong := Outcome{State: Rejected, Reason: formats.NotATool, Detail: "the document holds no " + string(c.Kind)}
		return 0, false, wrong.in(document, jsondoc.Place{})
	}
	outcomes, err := s.Accept(ctx, c.Tenant, items, Options{Amends: c.Revision})
	if err != nil {
		return 0, false, s.failed(err)
	}
	o := outcomes[0]
	if o.State == Rejected {
		return 0, false, o.in(document, jsondoc.Place{})
	}
	return o.Revision, o.State != Stale, nil
}

// formatOf returns the format for reading the new document of a change. A document
// recognised as plain JSON before may be recognised as another format now.
func formatOf(c events.Change) string {
	text := len(c.Raw) > 0 && c.Raw[0] == '"'
	switch {
	case text && c.Format == tooldoc.Python:
		return tooldoc.Python
	case text:
		return tooldoc.Text
	case c.Kind == schema.KindProvider, c.Format == tooldoc.JSON, !formats.KnownFormat(c.Format):
		return ""
	}
	return c.Format
}

// placedProblem is an RFC 9457 problem with a place in a text of the request.
type placedProblem struct {
	huma.ErrorModel
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// in is the answer to a request whose member document was not accepted. If at is unknown, it is
// the place of the wrong value.
func (o Outcome) in(document string, at jsondoc.Place) error {
	status := statusOf(o.Reason)
	if status == http.StatusBadRequest { // the request is well-formed
		status = http.StatusUnprocessableEntity
	}
	if at.Line == 0 && o.Path != "" {
		at, _ = jsondoc.Find([]byte(document), o.Path)
	}
	p := problem(status, fmt.Sprintf("%s/document%s", httpserver.InBody, o.Path), o.detail())
	return &placedProblem{*p, at.Line, at.Column}
}
