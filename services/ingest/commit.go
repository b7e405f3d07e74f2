package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
)

// request is what one caller wants committed. Requests that come in while others are
// published are committed together (group commit), one group at a time: so the order of
// revisions is the order on the bus.
type request = stream.Write[*change]

// group is what is committed together.
type group struct {
	accepted []*change
	latest   map[string]*change // the newest accepted change of each key
	repeated []*change          // of events that brought nothing new
	grown    map[string]tally   // what the accepted changes add to the tallies, by tenant
}

func newGroup() *group { return &group{latest: map[string]*change{}, grown: map[string]tally{}} }

const (
	groupItems = 1000    // changes of a group, at most, plus those of one request
	groupBytes = 8 << 20 // of documents, likewise
)

// commitAll commits requests together and tells their callers.
func (s *Service) commitAll(requests []*request) {
	err := s.commit(requests)
	for _, r := range requests {
		r.Settle(err)
	}
}

// commit decides on a group and makes it durable. After an error it is unknown which
// changes are on the bus; who tries again gets a higher revision.
func (s *Service) commit(requests []*request) error {
	if s.cfg.Shared {
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.PublishTimeout)
		defer cancel()
		if err := s.catchUp(ctx); err != nil {
			return err
		}
	}
	g := newGroup()
	for _, r := range requests {
		for _, ch := range r.Items {
			s.decide(g, ch)
		}
	}
	if err := s.publish(g); err != nil {
		return err
	}
	for _, ch := range g.repeated {
		s.table.putEvent(ch.key, eventTimeOf(ch.Event))
	}
	return nil
}

// decide judges one change as if those before it in the group were on the bus already.
func (s *Service) decide(g *group, ch *change) {
	old, there, uncertain := s.table.get(ch.key)
	before := g.latest[ch.key]
	if before != nil {
		old, there = before.record(), true
	}
	ch.adopt(old)
	ch.call()
	state, reason := decide(old, there, before == nil && !uncertain.IsZero(), ch)
	ch.decided(state, reason, old)
	if state == Unchanged && ch.Event != nil {
		g.repeated = append(g.repeated, ch)
	}
	if state != Accepted {
		return
	}
	grows := difference(old, there, ch.record())
	if detail := s.beyond(g, ch.Tenant, grows); detail != "" {
		ch.outcome.reject(ReasonLimit, "", detail)
		return
	}
	g.grown[ch.Tenant] = g.grown[ch.Tenant].plus(grows)
	if before != nil && before.request == ch.request {
		before.superseded = true
		before.decided(Superseded, "", record{})
	}
	ch.Version = version(s.clock.Next(), old.Version, uncertain, ch)
	ch.First = ch.since(old, there)
	ch.Accepted = s.now().UTC()
	ch.outcome.Revision = ch.Revision
	g.accepted = append(g.accepted, ch)
	g.latest[ch.key] = ch
}

// knownPart is how many times its limit a tenant may have in records: an id that was
// deleted is known for a month.
const knownPart = 10

// beyond says why a change that adds this to its tenant's tally is over the limit, or is
// empty. What is there may change, and go, whatever the limit is.
func (s *Service) beyond(g *group, tenant string, grows tally) string {
	limit := s.cfg.Tools.Of(tenant)
	if limit == 0 {
		return ""
	}
	has := s.table.tally(tenant).plus(g.grown[tenant])
	switch {
	case grows.there > 0 && has.there >= limit:
		return fmt.Sprintf("the tenant has %d tools and providers, and may have %d (limits.tools): delete some, or ask the operator for a higher limit", has.there, limit)
	case grows.known > 0 && has.known >= knownPart*limit:
		return fmt.Sprintf("the tenant has used %d ids in a month, deleted ones counted, and may use %d times as many as it may have tools and providers (limits.tools): use ids again, or ask the operator for a higher limit", has.known, knownPart)
	}
	return ""
}

// publish makes the accepted changes of a group durable and remembers them.
func (s *Service) publish(g *group) error {
	var changes []*change
	var outdated []string
	for _, ch := range g.accepted {
		if !ch.superseded {
			outdated = append(outdated, s.mark(ch)...)
			ch.encode()
			changes = append(changes, ch)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.PublishTimeout)
	defer cancel()
	start := time.Now()
	err := s.send(ctx, changes)
	s.metrics.published(len(changes), time.Since(start), err)
	for _, ch := range changes {
		switch {
		case err != nil:
			s.table.putUncertain(ch.key, ch.Version)
		case !ch.refused:
			s.table.put(ch.key, ch.record())
		}
	}
	s.outdated.add(outdated)
	if err != nil {
		return unavailable(err)
	}
	return nil
}

// send puts changes on the bus, and refuses a change that the bus will never take, such
// as a larger one than its limit. A record that is stored twice is the same change.
func (s *Service) send(ctx context.Context, changes []*change) error {
	publish := func(some []*change) error {
		msgs := make([]stream.Message, len(some))
		for i, ch := range some {
			msgs[i] = ch.message
		}
		return s.publisher.Publish(ctx, msgs...)
	}
	return stream.Bisect(changes, publish, func(ch *change, why *stream.PermanentError) {
		ch.refused = true
		ch.outcome.reject(why.Reason, "", why.Err.Error())
	})
}

// encode makes the message of an accepted change.
func (c *change) encode() {
	c.message = stream.Message{Topic: events.ToolsRaw, Key: c.key, Value: encode(&c.Change, c.raw), Headers: events.Headers(&c.Change)}
	tracing.Inject(c.ctx, c.message.Headers)
}

// rawMember goes before the document, which is a record's last member.
const rawMember = `,"raw":`

// encode writes a record whose document, which is valid JSON, is put in as it
// is: encoding/json would read it once more, and escape <, > and & to six times
// their size.
func encode(record *events.Change, raw []byte) []byte {
	head, err := json.Marshal(record)
	if err != nil {
		panic(err) // strings and numbers only: validate has checked the times
	}
	if len(raw) == 0 {
		return head
	}
	value := make([]byte, 0, len(head)+len(rawMember)+len(raw))
	value = append(value, head[:len(head)-1]...)
	value = append(value, rawMember...)
	value = append(value, raw...)
	return append(value, '}')
}
