package ingest

import (
	"context"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Release releases a document from quarantine: if the newest document of the entity has the
// hash, its record is written again with the note that it is released. Later changes keep the
// note, which holds for this content alone. A release also ends a hold. Errors are as for Accept.
func (s *Service) Release(ctx context.Context, ref schema.Ref, hash string) (Outcome, error) {
	return s.rewrite(ctx, ref, func(c *change) bool {
		c.Released, c.Held = hash, false
		return c.Hash == hash
	})
}

// holdTries is how often a hold is tried on an entity that changes meanwhile.
const holdTries = 5

// Hold puts an entity into quarantine, whatever it says now and later: its newest record is
// written again with the note that it is held. Later changes keep the note, deletes included,
// until a release. Errors are as for Accept.
func (s *Service) Hold(ctx context.Context, ref schema.Ref) (o Outcome, err error) {
	for range holdTries {
		o, err = s.rewrite(ctx, ref, func(c *change) bool {
			c.Released, c.Held = "", true
			return true
		})
		if err != nil || o.Reason != ReasonChanged {
			break
		}
	}
	return o, err
}

// rewrite publishes the newest record of an entity again, edited, unless edit says that it does
// not apply to the document.
func (s *Service) rewrite(ctx context.Context, ref schema.Ref, edit func(*change) bool) (Outcome, error) {
	ref.ID = norm.NFC.String(ref.ID)
	o := Outcome{Kind: shownKind(ref.Kind), ID: ref.ID}
	if err := ref.Validate(); err != nil {
		o.reject(invalid(err).reason, "/id", invalid(err).detail)
		return o, nil
	}
	if err := s.replica.current(ctx); err != nil { // so that the positions of recent changes are known
		return o, err
	}
	known, there, _ := s.replica.table.get(events.Key(ref))
	if !there || known.deleted {
		o.reject(ReasonNotFound, "", "there is no such "+string(ref.Kind))
		return o, nil
	}
	if known.offset == 0 { // it was accepted after the table caught up
		o.reject(changedSince())
		return o, nil
	}
	m, found, err := stream.ReadAt(ctx, s.follower, events.ToolsRaw, known.partition, known.offset)
	if err != nil {
		return o, unavailable(err)
	}
	record, ok := decodeChange(m.Key, m.Value)
	if !found || !ok || record.Ref != ref {
		o.reject(changedSince())
		return o, nil
	}
	w := &write{}
	c := &change{Change: record, raw: record.Raw, key: m.Key, outcome: &o, write: w, ctx: ctx, quarantine: true}
	c.Raw, c.Event, c.Version = nil, nil, schema.Version{}
	if !edit(c) {
		o.reject(changedSince())
		return o, nil
	}
	w.Add(c, len(c.raw))
	if err := s.submit(ctx, w); err != nil {
		return Outcome{}, err
	}
	s.record(ctx, []Outcome{o})
	return o, nil
}

func changedSince() (reason, path, detail string) {
	return ReasonChanged, "/hash", "the document has changed since: look at it again"
}
