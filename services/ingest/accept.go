package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/audit"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Outcome says what became of one item.
type Outcome struct {
	Line      int         `json:"line,omitempty" doc:"Where the item stood in what was sent, from 1."`
	Kind      schema.Kind `json:"kind,omitempty"` // absent for a tool
	ID        string      `json:"id,omitempty"`   // empty where no id could be read
	Provider  string      `json:"provider,omitempty"`
	Callable  string      `json:"callable_name,omitempty" doc:"Of a tool that is there: how a language model calls it."`
	TakenFrom string      `json:"taken_from,omitempty" doc:"The provider that the tool belonged to before."`
	Revision  uint64      `json:"revision,omitempty" doc:"Of the change; of what is known, if nothing changed."`
	State     State       `json:"state" enum:"accepted,unchanged,stale,superseded,rejected" doc:"What became of it."`
	Deleted   bool        `json:"deleted,omitempty" doc:"The item was a delete."`
	Reason    string      `json:"reason,omitempty"` // a stable word
	Path      string      `json:"path,omitempty" doc:"JSON pointer to what is wrong in the item."`
	Detail    string      `json:"detail,omitempty" doc:"What is wrong, in words."`
}

// Options apply to all items of one call.
type Options struct {
	TakeOver bool      // a tool that belongs to another provider may change hands
	UpTo     uint64    // of deletes: only what has at most this revision; 0: whatever is there
	Amends   uint64    // revision of the change that an item takes the place of: one with another document is stale if something newer is known
	Source   string    // that the items were read from; empty: they were sent
	Seen     time.Time // when the change was seen at a source that is crawled; zero: it was sent

	event   *events.Event // that brought the items
	version uint64        // source version of items that have none of their own
}

func (o *Outcome) reject(reason, path, detail string) {
	o.State, o.Reason, o.Path, o.Detail, o.Revision, o.Callable = Rejected, reason, path, detail, 0, ""
}

// Accept decides what becomes of the items, puts what is new on the bus and
// returns one outcome for each, in order, once that is durable. Items of one
// entity are taken in order; the last accepted one replaces those before it,
// which are superseded. Any number of callers may accept at the same time.
//
// Items are such as package formats makes: their documents are valid JSON.
//
// An error says that the service could not decide (ErrUnavailable) or that ctx ended: any
// part of the items may be on the bus, none is known to be, and accepting them again is
// right.
func (s *Service) Accept(ctx context.Context, tenant string, items []formats.Item, opts Options) ([]Outcome, error) {
	ctx, span := tracing.Begin(ctx, "accept")
	span.SetAttributes(tracing.Tenant.String(tenant), tracing.Items.Int(len(items)))
	outcomes, err := s.accept(ctx, tenant, items, opts)
	if err == nil || errors.Is(err, ErrUnavailable) {
		s.health.Note(ctx, s.log, err, "ingest: no changes are accepted", "ingest: changes are accepted again")
	}
	tracing.End(span, err)
	return outcomes, err
}

func (s *Service) accept(ctx context.Context, tenant string, items []formats.Item, opts Options) ([]Outcome, error) {
	if err := schema.ValidateTenant(tenant); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if err := s.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	r, outcomes := s.request(ctx, tenant, items, opts)
	if len(r.Items) > 0 {
		if err := s.submit(ctx, r); err != nil {
			return nil, err
		}
	}
	s.count(ctx, outcomes)
	return outcomes, nil
}

// request checks items and makes those that pass changes of a request. The others have their
// outcomes.
func (s *Service) request(ctx context.Context, tenant string, items []formats.Item, opts Options) (*request, []Outcome) {
	outcomes := make([]Outcome, len(items))
	r := &request{}
	for i, item := range items {
		c, err := s.change(tenant, item, opts)
		if err != nil {
			outcomes[i] = refused(item, err)
			continue
		}
		outcomes[i] = Outcome{Line: item.Line, Kind: shownKind(c.Kind), ID: c.ID, Provider: c.Provider, Deleted: c.deletes()}
		c.outcome, c.request, c.ctx = &outcomes[i], r, ctx
		r.Add(c, len(c.raw))
	}
	return r, outcomes
}

// Preview returns what Accept would, and accepts nothing: the outcomes have no revisions.
func (s *Service) Preview(ctx context.Context, tenant string, items []formats.Item, opts Options) ([]Outcome, error) {
	if err := s.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	r, outcomes := s.request(ctx, tenant, items, opts)
	g := newGroup()
	for _, c := range r.Items {
		s.decide(g, c)
	}
	for i := range outcomes {
		outcomes[i].Revision = 0
	}
	return outcomes, nil
}

// count counts outcomes, and names in the audit log what was changed.
func (s *Service) count(ctx context.Context, outcomes []Outcome) {
	s.metrics.count(outcomes)
	var changed []audit.ToolRef
	for _, o := range outcomes {
		if o.State == Accepted {
			changed = append(changed, audit.ToolRef{ID: o.ID, Kind: o.Kind, Revision: o.Revision})
		}
	}
	audit.Annotate(ctx, audit.Details{Tools: changed})
}

// submit has a request committed and waits for that. The outcomes belong to commitAll
// until submit returns nil.
func (s *Service) submit(ctx context.Context, r *request) error {
	_, span := tracing.Begin(ctx, "send "+string(events.ToolsRaw), trace.WithSpanKind(trace.SpanKindProducer))
	err := s.commits.Put(ctx, r)
	if err == nil {
		err = s.commits.Wait(ctx, r)
	}
	if errors.Is(err, stream.ErrClosed) {
		err = unavailable(errStopped)
	}
	tracing.End(span, err)
	return err
}

// refusal says why an item cannot be accepted.
type refusal struct {
	reason string
	path   string
	detail string
}

// invalid makes a refusal of what package schema refuses.
func invalid(err error) *refusal {
	var i *schema.Invalid
	if !errors.As(err, &i) {
		return &refusal{ReasonInvalid, "", err.Error()}
	}
	return &refusal{ReasonInvalid, i.Path, i.Reason}
}

func refused(item formats.Item, r *refusal) Outcome {
	o := Outcome{Line: item.Line, Kind: shownKind(item.Kind), ID: norm.NFC.String(item.ID), Deleted: item.Delete}
	if schema.ValidateID(o.ID) != nil {
		o.ID = schema.Quote(o.ID)
	}
	o.reject(r.reason, r.path, r.detail)
	return o
}

func shownKind(k schema.Kind) schema.Kind {
	if k == schema.KindTool {
		return ""
	}
	return k
}

// change checks an item and makes it a change.
func (s *Service) change(tenant string, item formats.Item, opts Options) (*change, *refusal) {
	c := &change{
		Change: events.Change{
			Schema:  events.ChangeSchema,
			Ref:     schema.Ref{Tenant: tenant, Kind: cmp.Or(item.Kind, schema.KindTool), ID: norm.NFC.String(item.ID)},
			Version: schema.Version{Source: cmp.Or(item.SourceVersion, opts.version)},
			Op:      events.OpDelete,
			Event:   opts.event,
			Seen:    opts.Seen.UTC(),
		},
		opts: opts,
	}
	if !item.Delete {
		c.Op, c.Provider, c.Format, c.Hash = events.OpUpsert, norm.NFC.String(item.Provider), item.Format, item.Hash
		c.raw, c.From, c.name = item.Raw, opts.Source, item.Name
	}
	c.key, c.said = events.Key(c.Ref), c.sentences()
	return c, s.validate(c)
}

func (s *Service) validate(c *change) *refusal {
	if err := c.Ref.Validate(); err != nil {
		return invalid(err)
	}
	if e := c.Event; e != nil && (e.Time.Year() < 0 || e.Time.Year() > 9999) {
		return &refusal{ReasonInvalid, "/time", "a time is in the years 0 to 9999, in UTC"}
	}
	if c.deletes() {
		return nil
	}
	if c.Provider != "" {
		if err := (schema.Ref{Tenant: c.Tenant, Kind: schema.KindProvider, ID: c.Provider}).Validate(); err != nil {
			return &refusal{ReasonInvalid, "/provider", invalid(err).detail}
		}
	}
	switch {
	case len(c.raw) == 0 || c.Hash == "":
		return &refusal{ReasonEmpty, "", "there is no document"}
	case len(c.raw) > s.cfg.MaxDocument:
		return &refusal{ReasonTooLarge, "", fmt.Sprintf("the document has %d bytes, at most %d", len(c.raw), s.cfg.MaxDocument)}
	case foreign(c.raw, c.Tenant):
		return &refusal{ReasonTenant, "/tenant", "the document names another tenant than the credential"}
	}
	return nil
}

// foreign reports whether a document names another tenant than the
// credential's.
func foreign(raw json.RawMessage, tenant string) bool {
	if !bytes.Contains(raw, []byte(`"tenant"`)) {
		return false
	}
	var named struct {
		Tenant any `json:"tenant"`
	}
	if json.Unmarshal(raw, &named) != nil {
		return false
	}
	name, ok := named.Tenant.(string)
	return ok && name != tenant
}
