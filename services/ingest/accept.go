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

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Options apply to all items of one call.
type Options struct {
	TakeOver    bool      // a tool that belongs to another provider may change hands
	UpTo        uint64    // deletes apply only to entities with at most this revision; 0: to any
	Amends      uint64    // revision of the change that an item replaces: an item with another document is stale if a newer change is known
	ImportStart uint64    // revision: entities that an earlier batch sent since then keep their content; 0: all may change
	Source      string    // the source that the items were read from; empty: they were sent
	Endpoint    string    // of the source, as source.Spec.Endpoint has it
	Seen        time.Time // when the change was seen at a crawled source; zero: it was sent

	event   *events.Event // that brought the items
	version uint64        // source version of items without their own
	start   uint64        // revision above all from before the batch of the items; 0: they came without one
}

// Accept decides on the items, publishes the new ones on the bus and returns one outcome
// for each, in order, once that is durable. Items of one entity are taken in order; the last
// accepted one supersedes those before it. Any number of callers may accept at the same time.
//
// Items are as package formats makes them: their documents are valid JSON.
//
// An error says that the service could not decide (ErrUnavailable) or that ctx ended. Some of
// the items may then be on the bus; the caller should accept all of them again.
func (s *Service) Accept(ctx context.Context, tenant string, items []formats.Item, opts Options) (outcomes []Outcome, err error) {
	ctx, span := telemetry.StartSpan(ctx, "accept")
	span.SetAttributes(telemetry.Tenant.String(tenant), telemetry.Items.Int(len(items)))
	defer func() {
		if err == nil || errors.Is(err, ErrUnavailable) {
			s.health.LogChange(ctx, s.log, err, "ingest: no changes are accepted", "ingest: changes are accepted again")
		}
		telemetry.EndSpan(span, err)
	}()
	if err := schema.ValidateTenant(tenant); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if err := s.replica.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	w, outcomes := s.prepare(ctx, tenant, items, opts)
	if len(w.Items) > 0 {
		if err := s.submit(ctx, w); err != nil {
			return nil, err
		}
	}
	s.record(ctx, outcomes)
	return outcomes, nil
}

// Preview returns the outcomes of Accept without revisions, and accepts nothing.
func (s *Service) Preview(ctx context.Context, tenant string, items []formats.Item, opts Options) ([]Outcome, error) {
	if err := s.replica.current(ctx); err != nil {
		return nil, err
	}
	w, outcomes := s.prepare(ctx, tenant, items, opts)
	s.committer.decide(w.Items)
	for i := range outcomes {
		outcomes[i].Revision = 0
	}
	return outcomes, nil
}

// prepare checks the items and adds the valid ones to a write. Invalid items have their
// outcomes already.
func (s *Service) prepare(ctx context.Context, tenant string, items []formats.Item, opts Options) (*write, []Outcome) {
	outcomes := make([]Outcome, len(items))
	w := &write{}
	for i, item := range items {
		c, err := newChange(tenant, item, opts, s.cfg.MaxDocument)
		if err != nil {
			o := Outcome{Line: item.Line, Kind: shownKind(item.Kind), ID: norm.NFC.String(item.ID), Deleted: item.Delete}
			if schema.ValidateID(o.ID) != nil {
				o.ID = schema.Quote(o.ID)
			}
			o.reject(err.reason, err.path, err.detail)
			outcomes[i] = o
			continue
		}
		outcomes[i] = Outcome{Line: item.Line, Kind: shownKind(c.Kind), ID: c.ID, Provider: c.Provider, Deleted: c.deletes()}
		c.outcome, c.write, c.ctx = &outcomes[i], w, ctx
		w.Add(c, len(c.raw))
	}
	return w, outcomes
}

// change is an item on its way through acceptance.
type change struct {
	events.Change // without the document; Version, First and Accepted are set when it is accepted

	name       string // of the tool at its source
	raw        []byte // the document, valid JSON
	key        string
	write      *write
	ctx        context.Context // of the caller, for its trace only
	opts       Options
	quarantine bool           // an operator releases or holds the known document
	message    stream.Message // once it is accepted

	outcome    *Outcome  // where the answer goes
	sent       *sent     // nil: nothing was decided yet
	superseded bool      // by a later change of its write
	after      *change   // the newest accepted change of its key in its group, when it was decided
	replaces   *change   // the first of the changes that it superseded
	losers     []*change // the changes that were not accepted after it
	inDoubt    bool      // it may be on the bus, and is decided again
}

func (c *change) deletes() bool { return c.Op == events.OpDelete }

// record is the table's record of the change once it is durable.
func (c *change) record() record { return recordOf(&c.Change) }

// refusal says why an item cannot be accepted.
type refusal struct {
	reason string
	path   string
	detail string
}

// invalid returns the refusal for an error of package schema.
func invalid(err error) *refusal {
	var i *schema.Invalid
	if !errors.As(err, &i) {
		return &refusal{ReasonInvalid, "", err.Error()}
	}
	return &refusal{ReasonInvalid, i.Path, i.Reason}
}

// newChange checks an item and returns its change.
func newChange(tenant string, item formats.Item, opts Options, maxDocument int) (*change, *refusal) {
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
	c.key = events.Key(c.Ref)
	if err := c.Ref.Validate(); err != nil {
		return nil, invalid(err)
	}
	if e := c.Event; e != nil && (e.Time.Year() < 0 || e.Time.Year() > 9999) {
		return nil, &refusal{ReasonInvalid, "/time", "a time is in the years 0 to 9999, in UTC"}
	}
	if item.Delete {
		return c, nil
	}
	c.Op, c.Provider, c.Format, c.Hash = events.OpUpsert, norm.NFC.String(item.Provider), item.Format, item.Hash
	c.raw, c.From, c.Endpoint, c.name = item.Raw, opts.Source, opts.Endpoint, item.Name
	if c.Provider != "" {
		if err := (schema.Ref{Tenant: tenant, Kind: schema.KindProvider, ID: c.Provider}).Validate(); err != nil {
			return nil, &refusal{ReasonInvalid, "/provider", invalid(err).detail}
		}
	}
	switch {
	case len(c.raw) == 0 || c.Hash == "":
		return nil, &refusal{ReasonEmpty, "", "there is no document"}
	case len(c.raw) > maxDocument:
		return nil, &refusal{ReasonTooLarge, "", fmt.Sprintf("the document has %d bytes, at most %d", len(c.raw), maxDocument)}
	case namesOtherTenant(c.raw, tenant):
		return nil, &refusal{ReasonTenant, "/tenant", "the document names another tenant than the credential"}
	}
	return c, nil
}

func namesOtherTenant(raw json.RawMessage, tenant string) bool {
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

// submit has a write committed and waits for that. The outcomes belong to the committer
// until submit returns nil.
func (s *Service) submit(ctx context.Context, w *write) error {
	_, span := telemetry.StartSpan(ctx, "send "+string(events.ToolsRaw), trace.WithSpanKind(trace.SpanKindProducer))
	err := s.committer.batcher.Put(ctx, w)
	if err == nil {
		err = s.committer.batcher.Wait(ctx, w)
	}
	if errors.Is(err, stream.ErrClosed) {
		err = unavailable(errStopped)
	}
	telemetry.EndSpan(span, err)
	return err
}

// record counts the outcomes and names the changed tools in the audit log.
func (s *Service) record(ctx context.Context, outcomes []Outcome) {
	s.metrics.count(outcomes)
	var changed []audit.ToolRef
	for _, o := range outcomes {
		if o.State == Accepted {
			changed = append(changed, audit.ToolRef{ID: o.ID, Kind: o.Kind, Revision: o.Revision})
		}
	}
	audit.Annotate(ctx, audit.Details{Tools: changed})
}
