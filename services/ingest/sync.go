package ingest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unique"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Summary counts what became of a batch.
type Summary struct {
	Accepted   int `json:"accepted" doc:"Without deletes."`
	Unchanged  int `json:"unchanged" doc:"Known as they are."`
	Stale      int `json:"stale" doc:"Older than the known version."`
	Superseded int `json:"superseded" doc:"Items that a later item of the same id replaced."`
	Rejected   int `json:"rejected" doc:"Not acceptable."`
	Deleted    int `json:"deleted" doc:"Accepted deletes."`
	TakenOver  int `json:"taken_over" doc:"Accepted tools that belonged to another provider."`

	Unshown int `json:"unshown,omitempty" doc:"Items without an answer of their own."`

	// Start is a revision above every change accepted before the batch.
	Start uint64 `json:"start" doc:"Revision for upto of tools:sync."`

	// Withheld says why a sync deleted nothing.
	Withheld string `json:"deletions_withheld,omitempty" doc:"Why sync deleted nothing."`
	// Error says why the batch ended early. Items without an answer may or may not
	// be accepted; send them again.
	Error      string `json:"error,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty" doc:"Seconds after which to send again."`
}

func (s *Summary) add(outcomes []Outcome) {
	for i := range outcomes {
		switch o := &outcomes[i]; o.State {
		case Accepted:
			if o.Deleted {
				s.Deleted++
			} else {
				s.Accepted++
			}
			if o.TakenFrom != "" {
				s.TakenOver++
			}
		case Unchanged:
			s.Unchanged++
		case Stale:
			s.Stale++
		case Superseded:
			s.Superseded++
		case Rejected:
			s.Rejected++
		}
	}
}

// A batch accepts the tools of one request piece by piece and, if asked to,
// makes them the only ones that their providers have. It is used by one goroutine.
type batch struct {
	s         *Service
	tenant    string
	opts      Options
	sync      bool
	start     uint64          // revision: the batch deletes nothing that came later
	providers map[string]bool // whose tools are synced
	sent      map[string]bool // ids of tools, accepted or not
	lost      bool            // an item without an id was rejected: it may be any tool
	answerAll bool            // items that are not rejected have an answer of their own, however many
	refusals  int             // rejected items with an answer of their own
	answers   int             // other items with an answer of their own
	full      bool            // no further item has an answer of its own

	Summary Summary
}

// newBatch starts a batch. With sync, Finish deletes the tools that provider, and
// any other provider that an item names, had before and that were not sent.
func (s *Service) newBatch(tenant, provider string, sync bool, opts Options) *batch {
	b := &batch{s: s, tenant: tenant, opts: opts, sync: sync, providers: map[string]bool{}, sent: map[string]bool{}}
	if provider != "" {
		b.providers[norm.NFC.String(provider)] = true
	}
	return b
}

// Accept accepts items as Service.Accept does.
func (b *batch) Accept(ctx context.Context, items []formats.Item) ([]Outcome, error) {
	if err := b.setStart(ctx); err != nil {
		return nil, err
	}
	opts := b.opts
	opts.start = b.start
	outcomes, err := b.s.Accept(ctx, b.tenant, items, opts)
	if err != nil {
		return nil, err
	}
	b.Summary.add(outcomes)
	for i, item := range items {
		if !b.sync || item.Kind == schema.KindProvider {
			continue
		}
		b.sent[outcomes[i].ID] = true
		if item.Provider != "" && outcomes[i].State != Rejected {
			b.providers[norm.NFC.String(item.Provider)] = true
		}
	}
	return outcomes, nil
}

// maxAnswers bounds the rejected items, and the others, with an answer of their own: an item of two
// bytes can have an answer of a hundred.
const maxAnswers = 1000

// shown returns the outcomes that are answered one by one, in the memory of the given ones.
func (b *batch) shown(outcomes []Outcome) []Outcome {
	return slices.DeleteFunc(outcomes, func(o Outcome) bool {
		answers := &b.answers
		if o.State == Rejected {
			answers = &b.refusals
		} else if b.answerAll {
			return false
		}
		if b.full || *answers == maxAnswers {
			b.Summary.Unshown++
			return true
		}
		*answers++
		return false
	})
}

// setStart sets the revision of the newest tools that the batch may delete.
func (b *batch) setStart(ctx context.Context) error {
	if b.start != 0 {
		return nil
	}
	start, err := b.s.Revision(ctx)
	b.start, b.Summary.Start = start, start
	return err
}

// Revision returns a revision above every known change.
func (s *Service) Revision(ctx context.Context) (uint64, error) {
	if err := s.replica.awaitLoaded(ctx); err != nil {
		return 0, err
	}
	return s.replica.clock.Next(), nil
}

// Reject counts items that could not be read.
func (b *batch) Reject(problems []formats.Problem) []Outcome {
	outcomes := make([]Outcome, len(problems))
	for i, p := range problems {
		outcomes[i] = rejected(p)
		b.lost = b.lost || p.ID == ""
		if b.sync {
			b.sent[norm.NFC.String(p.ID)] = true
		}
	}
	b.Summary.add(outcomes)
	b.s.metrics.count(outcomes)
	return outcomes
}

// Finish deletes the missing tools of a sync and returns the outcomes, after an error those
// before it. Call it only when the batch was read to its end.
func (b *batch) Finish(ctx context.Context) ([]Outcome, error) {
	if !b.sync {
		return nil, nil
	}
	if b.lost {
		b.Summary.Withheld = "items without an id were rejected; they may be tools that are still there"
		return nil, nil
	}
	if err := b.setStart(ctx); err != nil {
		return nil, err
	}
	ids, err := b.s.missing(ctx, b.tenant, slices.Collect(maps.Keys(b.providers)), b.sent, b.start)
	if err != nil {
		return nil, err
	}
	opts := b.opts
	opts.UpTo = b.start
	outcomes, err := b.s.Remove(ctx, b.tenant, ids, opts)
	b.Summary.add(outcomes)
	return outcomes, err
}

// missing returns the ids, in order, of the tools that providers had at the revision
// upTo and that are not to be kept. Providers and the ids to keep are in NFC.
func (s *Service) missing(ctx context.Context, tenant string, providers []string, keep map[string]bool, upTo uint64) ([]string, error) {
	if err := s.replica.current(ctx); err != nil {
		return nil, err
	}
	wanted := map[unique.Handle[string]]bool{}
	for _, p := range providers {
		wanted[unique.Make(p)] = true
	}
	owned := s.replica.table.owned(tenant, upTo, func(p unique.Handle[string]) bool { return wanted[p] })
	ids := slices.DeleteFunc(owned, func(id string) bool { return keep[id] })
	slices.Sort(ids)
	return ids, nil
}

// Owned returns the ids, in order, of the tools of a provider and of the providers below
// it. The id of a provider below begins with the id of the provider and a slash.
func (s *Service) Owned(ctx context.Context, tenant, provider string) ([]string, error) {
	if err := s.replica.current(ctx); err != nil {
		return nil, err
	}
	ids := s.replica.table.owned(tenant, events.MaxRevision, func(p unique.Handle[string]) bool {
		rest, below := strings.CutPrefix(p.Value(), provider)
		return below && (rest == "" || rest[0] == '/')
	})
	slices.Sort(ids)
	return ids, nil
}

// Remove deletes tools and returns the outcomes of the existing ones. It goes piece by piece:
// one commit of very many would exceed its time at every try. After an error it returns the
// outcomes of the pieces before.
func (s *Service) Remove(ctx context.Context, tenant string, ids []string, opts Options) (removed []Outcome, err error) {
	for piece := range slices.Chunk(ids, groupItems) {
		items := make([]formats.Item, len(piece))
		for i, id := range piece {
			items[i] = formats.Item{ID: id, Kind: schema.KindTool, Delete: true}
		}
		outcomes, err := s.Accept(ctx, tenant, items, opts)
		if err != nil {
			return removed, err
		}
		removed = append(removed, slices.DeleteFunc(outcomes, func(o Outcome) bool { return o.State != Accepted })...)
	}
	return removed, nil
}
