package ingest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Amend accepts a document in place of that of a change: as a new change of the same entity,
// with its provider and source, by the checks of every other document. An object has the form
// that the change's has. It returns the revision of the new change, or that of the change itself
// where the document is the one that it has, and false where something newer is known that says
// something else. After an error nothing is known to be accepted, and the same call is right
// again. The error is an answer (RFC 9457) whose places are below /body/document, with the line
// and column in the document where they are known.
func (s *Service) Amend(ctx context.Context, of events.Change, document string) (revision uint64, done bool, err error) {
	item, refused := s.amended(of, document)
	if refused != nil {
		return 0, false, refused
	}
	outcomes, err := s.Accept(ctx, of.Tenant, []formats.Item{item}, Options{Amends: of.Revision, Source: of.From})
	if err != nil {
		return 0, false, s.failed(err)
	}
	o := outcomes[0]
	if o.State == Rejected {
		return 0, false, o.in(document, jsondoc.Place{})
	}
	return o.Revision, o.State != Stale, nil
}

// amended reads a document in place of that of a change, or answers why it is none.
func (s *Service) amended(of events.Change, document string) (formats.Item, error) {
	items, problems := formats.Parse([]byte(document), formats.Options{
		ID: of.ID, Kind: of.Kind, Provider: of.Provider, Format: formatOf(of), Kept: true, Limits: s.limits(int64(s.cfg.MaxDocument)),
	})
	switch {
	case len(problems) > 0:
		p := problems[0]
		return formats.Item{}, rejected(p).in(document, jsondoc.Place{Line: p.Line, Column: p.Column})
	case len(items) == 1 && items[0].Kind == of.Kind && !items[0].Delete:
		return items[0], nil
	}
	none := Outcome{State: Rejected, Reason: formats.NotATool, Detail: "the document holds no " + string(of.Kind)}
	return formats.Item{}, none.in(document, jsondoc.Place{})
}

// formatOf is as what a document in place of that of a change is read. What nothing but its
// content made JSON may be more by now.
func formatOf(c events.Change) string {
	text := len(c.Raw) > 0 && c.Raw[0] == '"'
	switch {
	case text && c.Format == formats.Python:
		return formats.Python
	case text:
		return formats.Text
	case c.Kind == schema.KindProvider, c.Format == formats.JSON, !formats.KnownFormat(c.Format):
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

// in is the answer to a request with a document that was not accepted, in its member of this
// name. Where at is not known, it is that of the value which is wrong.
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
