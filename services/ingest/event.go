package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// The states that only events have.
const (
	Duplicate State = "duplicate" // the same event came before
	Ignored   State = "ignored"   // its type is not understood
)

// EventOutcome is the outcome of an event.
type EventOutcome struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	State    State     `json:"state" enum:"accepted,unchanged,stale,superseded,rejected,duplicate,ignored" doc:"Outcome."`
	Reason   string    `json:"reason,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"` // of its tools
	Rejected []Outcome `json:"rejected,omitempty" doc:"Tools that are not acceptable."`
}

// eventWindow is how many of the newest events are known if they come again.
const eventWindow = 1 << 16

// acceptEvents applies CloudEvents in order and returns one outcome for each
// once everything is durable. Errors are as for Accept.
//
// An event is recognised by its source and id as long as the process runs and no
// eventWindow events have come since. A later repetition is judged by its source
// version, by the time of the newest event of the same source, which is on the bus with the
// change that it brought, and by its content, in this order. So it has an effect only if it
// has neither version nor time, and differs from the known document.
func (s *Service) acceptEvents(ctx context.Context, tenant string, list []cloudEvent) ([]EventOutcome, error) {
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

// acceptEvent applies an event that did not come before.
func (s *Service) acceptEvent(ctx context.Context, tenant string, e *cloudEvent) (o EventOutcome, err error) {
	// The extensions traceparent and tracestate say what led to the event
	// (https://github.com/cloudevents/spec, extensions/distributed-tracing.md).
	ctx, span := telemetry.JoinSpan(ctx, e.Extensions, "receive event")
	span.SetAttributes(semconv.CloudEventsEventID(e.ID), semconv.CloudEventsEventSource(e.Source), semconv.CloudEventsEventType(e.Type))
	defer func() { telemetry.EndSpan(span, err) }()
	o = EventOutcome{ID: e.ID, Source: e.Source, State: Duplicate}
	sum := sha256.Sum256([]byte(tenant + "\x00" + e.Source + "\x00" + e.ID))
	key := eventKey(sum[:16])
	if !s.seen.Contains(key) {
		if err := s.applyEvent(ctx, tenant, e, &o); err != nil {
			return o, err
		}
	}
	if o.State != Rejected {
		s.seen.Add(key, struct{}{})
	}
	s.metrics.events.WithLabelValues(string(o.State)).Inc()
	span.SetAttributes(telemetry.Outcome.String(string(o.State)))
	return o, nil
}

// eventKey names an event within a tenant: source and id identify it (CloudEvents
// 1.0, section 3.1.1).
type eventKey [16]byte

// applyEvent accepts the items of an event and sums up their outcomes in o.
func (s *Service) applyEvent(ctx context.Context, tenant string, e *cloudEvent, o *EventOutcome) error {
	t, known := s.eventTypes[e.Type]
	if !known {
		o.State, o.Reason = Ignored, "the type is neither one of toolstream's nor mapped to one by events.types"
		return nil
	}
	version, problem := sourceVersionOf(e)
	c := eventContent{}
	if problem != nil {
		c.problems = []formats.Problem{*problem}
	} else {
		c = readEvent(e, t, s.limits(s.cfg.MaxBody))
	}
	b := s.newBatch(tenant, c.provider, c.provider != "", Options{
		event: &events.Event{Source: e.Source, ID: e.ID, Time: e.Time.UTC()}, version: version,
	})
	b.answerAll = true // so that the rejected items alone are counted as unshown
	o.Rejected = rejectedOnly(b.shown(b.Reject(c.problems)))
	outcomes, err := b.Accept(ctx, c.items)
	if err != nil {
		return err
	}
	o.Rejected = append(o.Rejected, rejectedOnly(b.shown(outcomes))...)
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

// state sums up the outcomes of all items.
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

// eventContent holds the items of an event.
type eventContent struct {
	items    []formats.Item
	problems []formats.Problem
	provider string // the provider whose tools items holds completely; empty: items is not complete
}

func readEvent(e *cloudEvent, t eventType, limits formats.Limits) (c eventContent) {
	provider := norm.NFC.String(e.Extensions["provider"])
	subject, source := norm.NFC.String(e.Subject), sourceOf(e.DataType)
	switch {
	case t.deletes:
		subject = cmp.Or(subject, norm.NFC.String(dataMember(e, "id")))
		switch {
		case subject == "":
			return unreadable("/subject", "the subject names what is deleted")
		case t.all:
			c.provider = subject
		default:
			c.items = []formats.Item{{ID: subject, Kind: t.kind, Delete: true}}
		}
	case len(e.Data) == 0:
		return unreadable("/data", "the event holds no document")
	case t.all:
		if c.provider = cmp.Or(provider, subject); c.provider == "" {
			return unreadable("/subject", "the subject names the provider")
		}
		c.items, c.problems = formats.Parse(e.Data, formats.Options{Source: source, Provider: c.provider, Limits: limits})
	case t.kind == schema.KindProvider:
		c.items, c.problems = formats.Parse(e.Data, formats.Options{Source: source, ID: subject, Kind: t.kind, Limits: limits})
	default:
		c.items, c.problems = formats.Parse(e.Data, formats.Options{Source: source, ID: subject, Provider: provider, Limits: limits})
		if slices.ContainsFunc(c.problems, func(p formats.Problem) bool { return p.Reason == formats.SeveralTools }) {
			c.items = nil
		}
	}
	return c
}

func unreadable(path, detail string) eventContent {
	return eventContent{problems: []formats.Problem{{Path: path, Reason: formats.Required, Detail: detail}}}
}

// sourceVersionOf returns the source version: the attribute sourceversion, else
// a whole number in the attributes version or sequence or in the data's member
// version, else 0.
func sourceVersionOf(e *cloudEvent) (uint64, *formats.Problem) {
	if v := e.Extensions["sourceversion"]; v != "" {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return 0, &formats.Problem{Path: "/sourceversion", Reason: formats.InvalidVersion, Detail: "must be a whole number"}
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

// dataMember returns a top-level string or number of JSON data, or "".
func dataMember(e *cloudEvent, name string) string {
	v, _ := jsondoc.Decode(e.Data, jsondoc.Limits{Bytes: len(e.Data), Nodes: eventNodes})
	members, _ := v.(map[string]any)
	switch member := members[name].(type) {
	case string:
		return member
	case json.Number:
		return member.String()
	}
	return ""
}

// The event types that are understood. Config.EventTypes maps the types of
// other senders to these.
const (
	TypeToolUpserted     = "io.toolstream.tool.upserted"     // data: one tool in any format; subject: its id
	TypeToolDeleted      = "io.toolstream.tool.deleted"      // subject: the tool's id
	TypeProviderUpserted = "io.toolstream.provider.upserted" // data: the provider's document; subject: its id
	TypeProviderDeleted  = "io.toolstream.provider.deleted"  // subject: the provider's id
	TypeOpenAPIPublished = "io.toolstream.openapi.published" // data: the whole document; subject: the provider, which then has its operations and no other tools
	TypeOpenAPIDeleted   = "io.toolstream.openapi.deleted"   // subject: the provider, which then has no tools
	TypeToolsPublished   = "io.toolstream.tools.published"   // data: a whole tools/list answer; subject: the provider, as above
	TypeToolsDeleted     = "io.toolstream.tools.deleted"     // subject: the provider, as above
)

// typePrefix begins the event types above.
const typePrefix = "io.toolstream."

// eventType is the effect of an event of a type.
type eventType struct {
	kind    schema.Kind // of the entity that the subject names
	all     bool        // the event replaces all tools of the provider that the subject names
	deletes bool
}

func ownEventTypes() map[string]eventType {
	return map[string]eventType{
		TypeToolUpserted:     {kind: schema.KindTool},
		TypeToolDeleted:      {kind: schema.KindTool, deletes: true},
		TypeProviderUpserted: {kind: schema.KindProvider},
		TypeProviderDeleted:  {kind: schema.KindProvider, deletes: true},
		TypeOpenAPIPublished: {kind: schema.KindProvider, all: true},
		TypeOpenAPIDeleted:   {kind: schema.KindProvider, all: true, deletes: true},
		TypeToolsPublished:   {kind: schema.KindProvider, all: true},
		TypeToolsDeleted:     {kind: schema.KindProvider, all: true, deletes: true},
	}
}

// ParseEventTypes reads a space-separated list of TYPE=OWN and returns a map from
// TYPE to OWN. OWN is a type from above without its prefix, such as tool.deleted.
func ParseEventTypes(list string) (map[string]string, error) {
	out := map[string]string{}
	for _, entry := range strings.Fields(list) {
		theirs, own, _ := strings.Cut(entry, "=")
		if _, known := ownEventTypes()[typePrefix+own]; !known || theirs == "" {
			names := slices.Sorted(maps.Keys(ownEventTypes()))
			for i, name := range names {
				names[i] = strings.TrimPrefix(name, typePrefix)
			}
			return nil, fmt.Errorf("%q is not TYPE=OWN; OWN is one of %s", entry, strings.Join(names, ", "))
		}
		out[theirs] = typePrefix + own
	}
	return out, nil
}
