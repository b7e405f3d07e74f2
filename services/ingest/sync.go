package ingest

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// Summary counts what became of a batch.
type Summary struct {
	Accepted   int `json:"accepted"` // without deletes
	Unchanged  int `json:"unchanged"`
	Stale      int `json:"stale"`
	Superseded int `json:"superseded"`
	Rejected   int `json:"rejected"`
	Deleted    int `json:"deleted"` // accepted deletes

	// Start is a revision: what was accepted before the batch has a lower one.
	Start uint64 `json:"start"`

	// Withheld says why a sync deleted nothing.
	Withheld string `json:"deletions_withheld,omitempty"`
	// Error says why the batch ended early: items without an answer were not
	// accepted, as far as is known, and are to be sent again.
	Error      string `json:"error,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"` // seconds
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

// Batch accepts the tools of one request piece by piece and, if asked to,
// makes them the only ones that their agents have. It is used by one goroutine.
type Batch struct {
	s      *Service
	tenant string
	from   origin
	sync   bool
	start  uint64          // revision: what came later is none of this batch's business
	agents map[string]bool // whose tools are synced
	sent   map[string]bool // ids of tools, accepted or not
	lost   int             // items that were rejected without an id

	Summary Summary
}

// NewBatch starts a batch. With sync, Finish deletes the tools that agent, and
// any other agent that an item names, had before and that were not sent.
func (s *Service) NewBatch(tenant, agent string, sync bool) *Batch {
	b := &Batch{s: s, tenant: tenant, sync: sync, agents: map[string]bool{}, sent: map[string]bool{}}
	if agent != "" {
		b.agents[norm.NFC.String(agent)] = true
	}
	return b
}

// Accept accepts items as Service.Accept does.
func (b *Batch) Accept(ctx context.Context, items []formats.Item) ([]Outcome, error) {
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	outcomes, err := b.s.accept(ctx, b.tenant, items, b.from)
	if err != nil {
		return nil, err
	}
	b.Summary.add(outcomes)
	if !b.sync {
		return outcomes, nil
	}
	for i, item := range items {
		if item.Kind == schema.KindAgent {
			continue
		}
		b.sent[outcomes[i].ID] = true
		if item.Agent != "" && outcomes[i].State != Rejected {
			b.agents[norm.NFC.String(item.Agent)] = true
		}
	}
	return outcomes, nil
}

// begin fixes what counts as being there before the batch.
func (b *Batch) begin(ctx context.Context) error {
	if b.start != 0 {
		return nil
	}
	if err := b.s.awaitLoaded(ctx); err != nil {
		return err
	}
	b.start = b.s.clock.Next()
	b.Summary.Start = b.start
	return nil
}

// Reject counts items that could not be read. One without an id may have been
// any tool, so nothing is deleted then.
func (b *Batch) Reject(problems []formats.Problem) []Outcome {
	outcomes := make([]Outcome, len(problems))
	for i, p := range problems {
		outcomes[i] = rejected(p)
		if p.ID == "" {
			b.lost++
		}
		if b.sync {
			b.sent[norm.NFC.String(p.ID)] = true
		}
	}
	b.Summary.add(outcomes)
	b.s.metrics.settled(outcomes)
	return outcomes
}

// Finish deletes what a sync is to delete and returns the outcomes of that, after
// an error of what was deleted before. Call it only when the batch was read to its
// end.
func (b *Batch) Finish(ctx context.Context) ([]Outcome, error) {
	if !b.sync {
		return nil, nil
	}
	if b.lost > 0 {
		b.Summary.Withheld = "items without an id were rejected; they may be tools that are still there"
		return nil, nil
	}
	if err := b.begin(ctx); err != nil {
		return nil, err
	}
	if err := b.s.settled(ctx); err != nil {
		return nil, err
	}
	from := b.from
	from.upTo = b.start
	outcomes, err := b.s.remove(ctx, b.tenant, b.missing(), from)
	b.Summary.add(outcomes)
	return outcomes, err
}

// remove accepts deletes, each of another tool, and returns the outcomes of those
// that changed something. It goes piece by piece: one commit of very many would
// exceed its time, and end so however often it is tried. After an error the
// outcomes are of the pieces before.
func (s *Service) remove(ctx context.Context, tenant string, deletes []formats.Item, from origin) (removed []Outcome, err error) {
	for piece := range slices.Chunk(deletes, roundItems) {
		outcomes, err := s.accept(ctx, tenant, piece, from)
		if err != nil {
			return removed, err
		}
		for _, o := range outcomes {
			if o.State == Accepted {
				removed = append(removed, o)
			}
		}
	}
	return removed, nil
}

// missing returns deletes of the tools that were there and were not sent.
func (b *Batch) missing() []formats.Item {
	var items []formats.Item
	for agent := range b.agents {
		items = append(items, b.s.unwanted(b.tenant, agent, b.sent, b.start)...)
	}
	slices.SortFunc(items, func(x, y formats.Item) int { return strings.Compare(x.ID, y.ID) })
	return items
}

// unwanted returns deletes of the tools that an agent had at a revision and
// that are not to be kept.
func (s *Service) unwanted(tenant, agent string, keep map[string]bool, upTo uint64) []formats.Item {
	var items []formats.Item
	for _, id := range s.table.owned(tenant, agent, upTo) {
		if !keep[id] {
			items = append(items, formats.Item{ID: id, Kind: schema.KindTool, Delete: true})
		}
	}
	return items
}

// Sync deletes the tools of an agent that are not to be kept and have at most
// the revision upTo: what came later is none of the caller's business. It
// returns the outcomes of the deletes, after an error of those before it. Ids are
// compared in NFC.
func (s *Service) Sync(ctx context.Context, tenant, agent string, keep []string, upTo uint64) ([]Outcome, error) {
	if err := s.awaitLoaded(ctx); err != nil {
		return nil, err
	}
	if err := s.settled(ctx); err != nil {
		return nil, err
	}
	kept := make(map[string]bool, len(keep))
	for _, id := range keep {
		kept[norm.NFC.String(id)] = true
	}
	items := s.unwanted(tenant, norm.NFC.String(agent), kept, upTo)
	slices.SortFunc(items, func(x, y formats.Item) int { return strings.Compare(x.ID, y.ID) })
	return s.remove(ctx, tenant, items, origin{upTo: upTo})
}
