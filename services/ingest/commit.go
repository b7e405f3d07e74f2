package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/quota"
)

// write holds the changes of one caller. Writes that come in while others are being
// published are committed together (group commit), one group at a time: so the order of
// revisions is the order on the bus.
type write = stream.Write[*change]

const (
	groupItems = 1000    // at most so many changes in a group, plus one write
	groupBytes = 8 << 20 // of documents, likewise

	// commitTimeout bounds the wait for the bus, before and during a commit.
	commitTimeout = 10 * time.Second
)

// committer decides on changes and publishes the accepted ones. Its goroutine, batcher.Run,
// commits one group after the other.
type committer struct {
	batcher   *stream.Batcher[*change]
	replica   *replica
	publisher stream.Publisher
	quota     quota.Quota // tools and providers of a tenant
	shared    bool        // other processes write to tools.raw, too
	now       func() time.Time
	metrics   *metrics
}

func newCommitter(cfg Config, deps Deps, r *replica, m *metrics) *committer {
	c := &committer{
		replica: r, publisher: deps.Publisher, quota: cfg.Tools, shared: cfg.Shared, now: deps.Now, metrics: m,
	}
	c.batcher = stream.NewBatcher(groupItems, groupBytes, r.ending, func(writes []*write) {
		err := c.commit(writes)
		for _, w := range writes {
			w.Settle(err)
		}
	})
	return c
}

// commit decides on a group and makes it durable. If the bus refuses a change for good, decisions
// that rest on it are made again without it. After an error it is unknown which changes are on the
// bus; a caller that tries again gets a higher revision.
func (c *committer) commit(writes []*write) error {
	if c.shared {
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		defer cancel()
		if err := c.replica.catchUp(ctx); err != nil {
			return err
		}
	}
	var changes []*change
	for _, w := range writes {
		changes = append(changes, w.Items...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	for len(changes) > 0 {
		g := c.decide(changes)
		if slices.ContainsFunc(changes, (*change).undone) {
			return unavailable(errUndone)
		}
		if err := c.publish(ctx, g); err != nil {
			return err
		}
		again := g.again(changes)
		for _, ch := range g.repeated {
			switch {
			case again[ch]:
			case ch.Event != nil:
				c.replica.table.putEvent(ch.key, eventTimeOf(ch.Event))
			default:
				c.replica.table.putSent(ch.key, ch.opts.ImportStart, c.replica.clock.Next())
			}
		}
		changes = slices.DeleteFunc(changes, func(ch *change) bool { return !again[ch] })
	}
	return nil
}

// errUndone is of a change that may be on the bus, and is not acceptable without the refused one.
var errUndone = errors.New("the bus refused what another change rested on")

// undone reports whether the latest decision on c is against it though it may be on the bus.
func (c *change) undone() bool {
	return c.inDoubt && c.outcome.State != Accepted && c.outcome.State != Superseded
}

// again returns the changes whose decisions rest on a change that the bus refused: it superseded
// them, has the same key and came before them, or counted towards the tenant's limit.
func (g *group) again(changes []*change) map[*change]bool {
	tenants, reached, again := map[string]bool{}, map[string]bool{}, map[*change]bool{}
	for _, refused := range g.refused {
		tenants[refused.Tenant] = true
	}
	for _, ch := range changes {
		refused := g.refused[ch.key]
		if refused != nil && ch == cmp.Or(refused.replaces, refused) {
			reached[ch.key] = true
		}
		over := ch.outcome.Reason == ReasonLimit && tenants[ch.Tenant] && g.latest[ch.key] == ch.after
		if ch != refused && (reached[ch.key] || over) {
			again[ch] = true
		}
	}
	return again
}
