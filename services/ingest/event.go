package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/cloudevents"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// The states of an event beside those of items.
const (
	Duplicate State = "duplicate" // the same event was dealt with before
	Ignored   State = "ignored"   // its type, or what it holds, concerns no tool
)

// EventOutcome says what became of one event.
type EventOutcome struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"`  // of its tools
	Rejected []Outcome `json:"rejected,omitempty"` // tools that are not acceptable
}

// AcceptEvents applies CloudEvents in order and returns one outcome for each
// once everything is durable. Errors are those of Accept.
//
// An event is known by its source and id. Those of the last Config.EventWindow
// events are remembered in memory; beyond that, and after a restart, the newest
// event of every entity is, because it is on the bus with the change that it
// brought. What then comes again is measured by source version, by the time of
// the newest event of the same source, and by content, in this order. So a
// repetition has an effect only if it lies beyond the window or a restart, is
// not the newest of its entity, has neither version nor time, and says
// something else than what is known.
func (s *Service) AcceptEvents(ctx context.Context, tenant string, list []cloudevents.Event) ([]EventOutcome, error) {
	out := make([]EventOutcome, len(list))
	for i := range list {
		o, err := s.acceptEvent(ctx, tenant, &list[i])
		if err != nil {
			return nil, err
		}
		out[i] = o
	}
	return out, nil
}

func (s *Service) acceptEvent(ctx context.Context, tenant string, e *cloudevents.Event) (EventOutcome, error) {
	// The extensions traceparent and tracestate say what led to the event
	// (https://github.com/cloudevents/spec, extensions/distributed-tracing.md).
	ctx, span := tracing.Join(ctx, e.Extensions, "receive event")
	span.SetAttributes(semconv.CloudEventsEventID(e.ID), semconv.CloudEventsEventSource(e.Source), semconv.CloudEventsEventType(e.Type))
	o, err := s.dealWith(ctx, tenant, e)
	if err == nil {
		span.SetAttributes(tracing.Outcome.String(string(o.State)))
	}
	tracing.End(span, err)
	return o, err
}

func (s *Service) dealWith(ctx context.Context, tenant string, e *cloudevents.Event) (EventOutcome, error) {
	o := EventOutcome{ID: e.ID, Source: e.Source}
	key := keyOf(tenant, e.Source, e.ID)
	if s.seen.has(key) {
		o.State = Duplicate
	} else if err := s.applyEvent(ctx, tenant, e, &o); err != nil {
		return o, err
	}
	if o.State != Rejected {
		s.seen.add(key)
	}
	s.metrics.events.WithLabelValues(string(o.State)).Inc()
	return o, nil
}

func (s *Service) applyEvent(ctx context.Context, tenant string, e *cloudevents.Event, o *EventOutcome) error {
	m, ok := meaningOf(e.Type)
	if !ok {
		o.State, o.Reason = Ignored, "the type is none that tools come with"
		return nil
	}
	p, reason := s.plan(e, m)
	if reason != "" {
		o.State, o.Reason = Ignored, reason
		return nil
	}
	return s.apply(ctx, tenant, e, p, o)
}

// plan is what an event asks for.
type plan struct {
	items    []formats.Item
	problems []formats.Problem
	agent    string // whose tools are all in items
	sync     bool
	version  uint64
}

// apply does what a plan says and sums it up.
func (s *Service) apply(ctx context.Context, tenant string, e *cloudevents.Event, p plan, o *EventOutcome) error {
	b := s.NewBatch(tenant, p.agent, p.sync)
	b.from = origin{event: &events.Event{Source: e.Source, ID: e.ID, Time: e.Time.UTC()}, version: p.version}
	o.Rejected = rejectedOnly(b.Reject(p.problems))
	outcomes, err := b.Accept(ctx, p.items)
	if err != nil {
		return err
	}
	o.Rejected = append(o.Rejected, rejectedOnly(outcomes)...)
	if _, err := b.Finish(ctx); err != nil {
		return err
	}
	o.Summary = &b.Summary
	o.State, o.Reason = b.Summary.state()
	return nil
}

func rejectedOnly(outcomes []Outcome) []Outcome {
	var out []Outcome
	for _, o := range outcomes {
		if o.State == Rejected {
			out = append(out, o)
		}
	}
	return out
}

// state is the one word for what became of all items.
func (s *Summary) state() (State, string) {
	switch {
	case s.Accepted+s.Deleted > 0:
		return Accepted, ""
	case s.Rejected > 0:
		return Rejected, ""
	case s.Stale > 0:
		return Stale, ReasonStale
	}
	return Unchanged, s.Withheld
}

// plan reads an event's data. The reason is not empty where the event is to be
// ignored.
func (s *Service) plan(e *cloudevents.Event, m meaning) (p plan, reason string) {
	version, problem := versionOf(e)
	if problem != nil {
		return plan{problems: []formats.Problem{*problem}}, ""
	}
	p.version = version
	agent := norm.NFC.String(e.Extensions["agent"])
	switch {
	case m.deletes:
		return s.planDelete(e, m, p)
	case len(e.Data) == 0:
		return p.refuse("/data", formats.Required, "the event holds no document"), ""
	case m.noun == nounAgent:
		p.items, p.problems = formats.Parse(e.Data, formats.Options{ID: e.Subject, Kind: schema.KindAgent, Limits: s.limits(s.cfg.MaxBody)})
		return p, ""
	case m.noun == nounDocument:
		return s.planDocument(e, m, p)
	}
	p.items, p.problems = formats.Parse(e.Data, formats.Options{ID: e.Subject, Agent: agent, Limits: s.limits(s.cfg.MaxBody)})
	switch {
	case several(p.problems) && m.own:
		p.items = nil
		return p, ""
	case several(p.problems):
		return s.planDocument(e, m, p)
	}
	if !m.own && !recognised(p.items) {
		return plan{}, "the data is no tool document"
	}
	return p, ""
}

// planDocument takes all the tools of one agent. Only our own types promise
// that the document is whole; with others nothing is deleted.
func (s *Service) planDocument(e *cloudevents.Event, m meaning, p plan) (plan, string) {
	p.agent = norm.NFC.String(cmp.Or(e.Extensions["agent"], e.Subject))
	p.items, p.problems = formats.Parse(e.Data, formats.Options{Agent: p.agent, Limits: s.limits(s.cfg.MaxBody)})
	if !m.own && !recognised(p.items) {
		return plan{}, "the data is no tool document"
	}
	if p.sync = m.own && m.noun == nounDocument; p.sync && p.agent == "" {
		return p.refuse("/subject", formats.Required, "the subject names the agent"), ""
	}
	return p, ""
}

func (s *Service) planDelete(e *cloudevents.Event, m meaning, p plan) (plan, string) {
	id := norm.NFC.String(cmp.Or(e.Subject, dataMember(e, "id")))
	switch {
	case id == "" && m.own:
		return p.refuse("/subject", formats.Required, "the subject names what is deleted"), ""
	case id == "":
		return plan{}, "nothing says what is deleted"
	case m.noun == nounDocument:
		p.agent, p.sync = id, true
	case m.noun == nounAgent:
		p.items = []formats.Item{{ID: id, Kind: schema.KindAgent, Delete: true}}
	case m.noun == nounTool:
		p.items = []formats.Item{{ID: id, Kind: schema.KindTool, Delete: true}}
	default:
		return plan{}, "the type does not say what is deleted"
	}
	return p, ""
}

func (p plan) refuse(path, reason, detail string) plan {
	p.items, p.problems = nil, []formats.Problem{{Path: path, Reason: reason, Detail: detail}}
	return p
}

func several(problems []formats.Problem) bool {
	for _, p := range problems {
		if p.Reason == formats.SeveralTools {
			return true
		}
	}
	return false
}

// recognised reports whether anything among the items looks like a tool: what
// others send may be any JSON, and prose.
func recognised(items []formats.Item) bool {
	for _, it := range items {
		if it.Format != formats.JSON && it.Format != formats.Text {
			return true
		}
	}
	return false
}

// versionOf returns the source version: what the attribute sourceversion says,
// else a whole number in the attributes version or sequence or in data's
// member version, else 0.
func versionOf(e *cloudevents.Event) (uint64, *formats.Problem) {
	if v := e.Extensions["sourceversion"]; v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return 0, &formats.Problem{Path: "/sourceversion", Reason: formats.InvalidVersion, Detail: "a whole number is wanted"}
		}
		return n, nil
	}
	for _, v := range []string{e.Extensions["version"], e.Extensions["sequence"], dataMember(e, "version")} {
		if n, err := strconv.ParseUint(v, 10, 64); err == nil && n > 0 {
			return n, nil
		}
	}
	return 0, nil
}

// dataMember returns a top-level string or number of JSON data, "" if there is
// none.
func dataMember(e *cloudevents.Event, name string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.Data, &members) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(members[name], &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(members[name], &n) == nil {
		return n.String()
	}
	return ""
}
