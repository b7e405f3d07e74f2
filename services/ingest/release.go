package ingest

import (
	"context"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Release lets a document out of quarantine: the newest one of the entity, if that has the
// hash, goes through the stages once more with the note that it is released. The note stays
// with later changes, and holds for this content alone. It also ends a hold. The error is as
// that of Accept.
func (s *Service) Release(ctx context.Context, ref schema.Ref, hash string) (Outcome, error) {
	return s.judge(ctx, ref, func(c *change) bool {
		c.Released, c.Held = hash, false
		return c.Hash == hash
	})
}

// holdTries is how often a hold looks for the newest document of an entity that changes
// meanwhile.
const holdTries = 5

// Hold puts an entity into quarantine, whatever it says now and later: its newest document goes
// through the stages once more with the note that it is held. The note stays with later changes,
// deletes included, until a release. The error is as that of Accept.
func (s *Service) Hold(ctx context.Context, ref schema.Ref) (o Outcome, err error) {
	for range holdTries {
		o, err = s.judge(ctx, ref, func(c *change) bool {
			c.Released, c.Held = "", true
			return true
		})
		if err != nil || o.Reason != ReasonChanged {
			break
		}
	}
	return o, err
}

// judge has the newest document of an entity go through the stages once more, with the note
// that a judgement makes, unless that does not hold for the document.
func (s *Service) judge(ctx context.Context, ref schema.Ref, judgement func(*change) bool) (Outcome, error) {
	ref.ID = norm.NFC.String(ref.ID)
	o := Outcome{Kind: shownKind(ref.Kind), ID: ref.ID}
	if err := ref.Validate(); err != nil {
		o.reject(invalid(err).reason, "/id", invalid(err).detail)
		return o, nil
	}
	if err := s.awaitLoaded(ctx); err != nil {
		return o, err
	}
	if err := s.catchUp(ctx); err != nil { // so that the place of what was just accepted is known
		return o, err
	}
	known, there, _ := s.table.get(events.Key(ref))
	if !there || known.deleted {
		o.reject(ReasonNotFound, "", "there is no such "+string(ref.Kind))
		return o, nil
	}
	if known.offset == 0 { // it is newer than what was read just now
		o.reject(changedSince())
		return o, nil
	}
	m, found, err := stream.ReadAt(ctx, s.follower, events.ToolsRaw, known.partition, known.offset)
	if err != nil {
		return o, unavailable(err)
	}
	c, ok := decodeChange(m.Key, m.Value)
	if !found || !ok || c.Ref != ref {
		o.reject(changedSince())
		return o, nil
	}
	r := &request{}
	judged := again(ctx, r, m.Key, c, &o)
	judged.judged = true
	if !judgement(judged) {
		o.reject(changedSince())
		return o, nil
	}
	if err := s.submit(ctx, r); err != nil {
		return Outcome{}, err
	}
	s.count(ctx, []Outcome{o})
	return o, nil
}

// again adds to a request the change that writes a record as it is once more.
func again(ctx context.Context, r *request, key string, record events.Change, outcome *Outcome) *change {
	c := &change{Change: record, raw: record.Raw, key: key, outcome: outcome, request: r, ctx: ctx}
	c.Raw, c.Event, c.Version = nil, nil, schema.Version{}
	c.said = c.sentences()
	r.Add(c, len(c.raw))
	return c
}

func changedSince() (reason, path, detail string) {
	return ReasonChanged, "/hash", "the document is another one by now: look at it again"
}

// decideJudged says what becomes of a release or a hold, given what is known. Where an earlier
// commit ended without an answer, the document may be another one.
func decideJudged(old record, there, uncertain bool, c *change) (State, string) {
	next := c.record()
	switch {
	case !there || old.deleted:
		return Rejected, ReasonNotFound
	case uncertain || next.fingerprint != old.fingerprint:
		return Rejected, ReasonChanged
	case next.released == old.released && next.held == old.held:
		return Unchanged, ""
	}
	return Accepted, ""
}
