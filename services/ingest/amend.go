package ingest

import (
	"context"
	"fmt"
	"net/http"

	"github.com/toolstream/toolstream/internal/httpserver"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Amend accepts a document in place of that of a change: as a new change of the same entity,
// with its provider and source, by the checks of every other document. An object has the form
// that the change's has. It returns the revision of the new change, or that of the change itself
// where the document is the one that it has, and false where something newer is known that says
// something else. After an error nothing is known to be accepted, and the same call is right
// again. The error is an answer (RFC 9457) whose places are below /body/document.
func (s *Service) Amend(ctx context.Context, of events.Change, document string) (revision uint64, done bool, err error) {
	item, refused := s.amended(of, document)
	if refused != nil {
		return 0, false, refused.inDocument()
	}
	outcomes, err := s.Accept(ctx, of.Tenant, []formats.Item{item}, Options{Amends: of.Revision, Source: of.From})
	if err != nil {
		return 0, false, s.failed(err)
	}
	o := outcomes[0]
	if o.State == Rejected {
		return 0, false, o.inDocument()
	}
	return o.Revision, o.State != Stale, nil
}

// amended reads a document in place of that of a change, or says why it is none.
func (s *Service) amended(of events.Change, document string) (formats.Item, *Outcome) {
	items, problems := formats.Parse([]byte(document), formats.Options{
		ID: of.ID, Kind: of.Kind, Provider: of.Provider, Format: formatOf(of), Kept: true, Limits: s.limits(int64(s.cfg.MaxDocument)),
	})
	refused := Outcome{State: Rejected, Reason: formats.NotATool, Detail: "the document holds no " + string(of.Kind)}
	switch {
	case len(problems) > 0:
		refused = rejected(problems[0])
	case len(items) == 1 && items[0].Kind == of.Kind && !items[0].Delete:
		return items[0], nil
	}
	return formats.Item{}, &refused
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

// inDocument is the answer to a request with a document that was not accepted, in its member
// of this name.
func (o Outcome) inDocument() error {
	status := statusOf(o.Reason)
	if status == http.StatusBadRequest { // the request is well-formed
		status = http.StatusUnprocessableEntity
	}
	return problem(status, fmt.Sprintf("%s/document%s", httpserver.InBody, o.Path), o.detail())
}
