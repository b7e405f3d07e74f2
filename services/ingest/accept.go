package ingest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Outcome says what became of one item.
type Outcome struct {
	Line     int         `json:"line,omitempty"` // where the item stood in what was sent, from 1
	Kind     schema.Kind `json:"kind,omitempty"` // absent for a tool
	ID       string      `json:"id,omitempty"`   // empty where no id could be read
	Agent    string      `json:"agent,omitempty"`
	Revision uint64      `json:"revision,omitempty"`
	State    State       `json:"state"`
	Deleted  bool        `json:"deleted,omitempty"` // the item was a delete
	Reason   string      `json:"reason,omitempty"`  // a stable word, absent for what went well
	Path     string      `json:"path,omitempty"`    // JSON pointer into the item
	Detail   string      `json:"detail,omitempty"`
}

func (o *Outcome) settle(state State, reason string, revision uint64) {
	o.State, o.Reason, o.Revision = state, reason, revision
	if reason == ReasonConflict {
		o.Detail = conflictDetail
	}
}

func (o *Outcome) reject(reason, path, detail string) {
	o.State, o.Reason, o.Path, o.Detail, o.Revision = Rejected, reason, path, detail, 0
}

// Accept decides what becomes of the items, puts what is new on the bus and
// returns one outcome for each, in order, once that is durable. Items of one
// entity are taken in order; the last accepted one replaces those before it,
// which are superseded. Any number of callers may accept at the same time.
//
// Items are such as package formats makes: their documents are valid JSON.
//
// An error says that the service could not decide (*UnavailableError) or that
// ctx ended: any part of the items may be on the bus, none is known to be, and
// accepting them again is right.
func (s *Service) Accept(ctx context.Context, tenant string, items []formats.Item) ([]Outcome, error) {
	return s.accept(ctx, tenant, items, origin{})
}

// origin is what the items of one call have in common.
type origin struct {
	event   *events.Event // that brought them, if one did
	version uint64        // source version of those that have none of their own
	upTo    uint64        // of deletes: only what has at most this revision; 0 for whatever is there
}

func (s *Service) accept(ctx context.Context, tenant string, items []formats.Item, from origin) ([]Outcome, error) {
	ctx, span := tracing.Begin(ctx, "accept")
	span.SetAttributes(tracing.Tenant.String(tenant), tracing.Items.Int(len(items)))
	outcomes, err := s.settle(ctx, tenant, items, from)
	if u := (*UnavailableError)(nil); err == nil || errors.As(err, &u) {
		s.refusing.Note(ctx, s.log, err, "ingest: nothing is accepted", "ingest: changes are accepted again")
	}
	if span.IsRecording() {
		accepted, rejected := tally(outcomes)
		span.SetAttributes(tracing.Accepted.Int(accepted), tracing.Rejected.Int(rejected))
	}
	tracing.End(span, err)
	return outcomes, err
}

func tally(outcomes []Outcome) (accepted, rejected int) {
	for i := range outcomes {
		switch outcomes[i].State {
		case Accepted:
			accepted++
		case Rejected:
			rejected++
		}
	}
	return accepted, rejected
}

func (s *Service) settle(ctx context.Context, tenant string, items []formats.Item, from origin) ([]Outcome, error) {
	if err := schema.ValidateTenant(tenant); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if err := s.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(items))
	j := &job{ctx: ctx, done: make(chan error, 1)}
	for i, item := range items {
		c, err := s.change(tenant, item, from)
		if err != nil {
			outcomes[i] = refused(item, err)
			continue
		}
		outcomes[i] = Outcome{Line: item.Line, Kind: shownKind(c.record.Kind), ID: c.record.ID, Agent: c.record.Agent, Deleted: c.deletes()}
		c.outcome = &outcomes[i]
		j.changes = append(j.changes, c)
	}
	if err := s.submit(ctx, j); err != nil {
		return nil, err
	}
	s.metrics.settled(outcomes)
	return outcomes, nil
}

// submit hands a job to the committer and waits for it. The outcomes belong to
// the committer until it returns nil.
func (s *Service) submit(ctx context.Context, j *job) error {
	if len(j.changes) == 0 {
		return nil
	}
	select {
	case s.committer.queue <- j:
		return s.await(ctx, j)
	case <-s.stopped:
		return unavailable("accept", errStopped)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) await(ctx context.Context, j *job) error {
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
	}
	select {
	case err := <-j.done:
		return err
	default:
		return unavailable("accept", errStopped)
	}
}

// refusal says why an item can not be accepted.
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
func (s *Service) change(tenant string, item formats.Item, from origin) (*change, *refusal) {
	c := &change{
		record: events.Change{
			Schema:  events.ChangeSchema,
			Ref:     schema.Ref{Tenant: tenant, Kind: item.Kind, ID: norm.NFC.String(item.ID)},
			Version: schema.Version{Source: cmp.Or(item.SourceVersion, from.version)},
			Op:      events.OpDelete,
			Event:   from.event,
		},
		event: s.table.markOf(from.event),
		upTo:  from.upTo,
	}
	if c.record.Kind == "" {
		c.record.Kind = schema.KindTool
	}
	if !item.Delete {
		c.record.Op = events.OpUpsert
		c.record.Agent = norm.NFC.String(item.Agent)
		c.record.Format, c.record.Hash = item.Format, item.Hash
		c.print = fingerprintOf(c.record.Hash, c.record.Agent, c.record.Format)
	}
	c.key = events.Key(c.record.Ref)
	return c, s.check(c, item.Raw)
}

// check refuses what can not be accepted, and takes the document over.
func (s *Service) check(c *change, raw json.RawMessage) *refusal {
	r := &c.record
	if err := r.Ref.Validate(); err != nil {
		return invalid(err)
	}
	if e := r.Event; e != nil && (e.Time.Year() < 0 || e.Time.Year() > 9999) {
		return &refusal{ReasonInvalid, "/time", "a time is in the years 0 to 9999, in UTC"}
	}
	if c.deletes() {
		return nil
	}
	if r.Agent != "" {
		if err := (schema.Ref{Tenant: r.Tenant, Kind: schema.KindAgent, ID: r.Agent}).Validate(); err != nil {
			return &refusal{ReasonInvalid, "/agent", invalid(err).detail}
		}
	}
	switch {
	case len(raw) == 0 || r.Hash == "":
		return &refusal{ReasonEmpty, "", "there is no document"}
	case len(raw) > s.cfg.MaxDocument:
		return &refusal{ReasonTooLarge, "", fmt.Sprintf("the document has %d bytes, at most %d", len(raw), s.cfg.MaxDocument)}
	case foreign(raw, r.Tenant):
		return &refusal{ReasonTenant, "/tenant", "the document names another tenant than the credential"}
	}
	c.raw = raw
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
