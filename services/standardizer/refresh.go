package standardizer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/health"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// RefreshConfig says how documents are made anew.
type RefreshConfig struct {
	Rate  float64       // documents a second at most; 1 when 0
	Retry time.Duration // before a document is tried again; 10 minutes when 0
}

// Uses tells how much tools are used.
type Uses interface {
	// Used returns how often, lately, a tool was used: more is more.
	Used(tenant, tool string) float64
}

// RefreshDeps is what a refresher works with.
type RefreshDeps struct {
	Wanted      Wanted // of the service
	Follower    stream.Follower
	Republisher stream.Republisher
	Publisher   stream.Publisher
	Uses        Uses        // optional: without it, what changed last comes first
	Ready       func() bool // whether the model would answer now; nil: always
	Now         func() time.Time
	Logger      *slog.Logger
	Registerer  prometheus.Registerer
}

// Refresher has documents made anew that were made by another prompt or model,
// or by rules while the model was away: slowly, the most used first. It puts
// the raw record of such a tool on tools.raw once more, where it keeps its place
// in the order of its key, and only while it is the newest. One at a time is to
// run; a second does needless work, no harm.
type Refresher struct {
	cfg     RefreshConfig
	deps    RefreshDeps
	made    *stream.Tail[document]
	raw     *stream.Tail[uint64]
	metrics *refreshMetrics

	mu   sync.Mutex // guards rows
	rows map[string]*row
}

// document is what a record of tools.standardized says of the making of its
// document; the zero value, that there is none.
type document struct {
	ref      schema.Ref
	version  schema.Version
	outdated bool
	later    bool // it was tried in vain: not again at once
}

// row is a tool: its document as it was read, and its raw record.
type row struct {
	document
	due       time.Time
	raw       uint64 // revision of the raw record; 0: there is none
	partition int
	offset    uint64
}

// NewRefresher checks its arguments and registers metrics. It starts nothing.
func NewRefresher(c RefreshConfig, d RefreshDeps) (*Refresher, error) {
	if c.Rate < 0 || c.Retry < 0 {
		return nil, errors.New("refresher: rate and retry cannot be negative")
	}
	c.Rate = cmp.Or(c.Rate, 1)
	c.Retry = cmp.Or(c.Retry, 10*time.Minute)
	r := &Refresher{cfg: c, deps: d, rows: map[string]*row{}, metrics: newRefreshMetrics(d.Registerer)}
	deps := stream.Deps{Follower: d.Follower, Publisher: d.Publisher, Logger: d.Logger, Registerer: d.Registerer}
	r.made = stream.NewTail(stream.Sink[document]{
		Name: "standardizer-refresh", Topic: events.ToolsStandardized, Decode: r.readDocument,
		Apply: func(_ context.Context, records []stream.Record[document], _ map[int]uint64) error {
			for _, m := range records {
				r.update(m.Message.Key, func(row *row) { row.learn(m.Decoded, c.Retry) })
			}
			return nil
		},
	}, deps)
	r.raw = stream.NewTail(stream.Sink[uint64]{
		Name: "standardizer-refresh-raw", Topic: events.ToolsRaw, Decode: readRevision,
		Apply: func(_ context.Context, records []stream.Record[uint64], _ map[int]uint64) error {
			for _, m := range records {
				r.update(m.Message.Key, func(row *row) {
					row.raw, row.partition, row.offset = m.Decoded, m.Message.Partition, m.Message.Offset
				})
			}
			return nil
		},
	}, deps)
	return r, nil
}

// readDocument reads the head of a record. What cannot be read is the
// embedder's to dead-letter.
func (r *Refresher) readDocument(m stream.Message) (document, error) {
	var c struct {
		schema.Ref
		schema.Version
		Op       events.Op `json:"op"`
		Document struct {
			Flags        []string       `json:"flags"`
			Standardized *schema.Origin `json:"standardized"`
		} `json:"document"`
	}
	if m.IsNull() || json.Unmarshal(m.Value, &c) != nil || c.Op != events.OpUpsert || c.Kind != schema.KindTool {
		return document{}, nil
	}
	origin := c.Document.Standardized
	return document{
		ref: c.Ref, version: c.Version, outdated: r.deps.Wanted.Outdated(c.Document.Flags, origin),
		later: origin != nil && origin.Fallback == schema.FallbackPending,
	}, nil
}

// readRevision reads the head of a raw record: 0 where it deletes the tool. A record
// without a revision is not refreshed.
func readRevision(m stream.Message) (uint64, error) {
	revision, err := strconv.ParseUint(m.Headers[events.HeaderRevision], 10, 64)
	if err != nil || m.IsNull() || m.Headers[events.HeaderOp] == string(events.OpDelete) {
		return 0, nil
	}
	return revision, nil
}

// update changes the row of a tool. A tool that has neither document nor raw record is
// forgotten.
func (r *Refresher) update(key string, change func(*row)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.rows[key]
	if x == nil {
		x = &row{}
		r.rows[key] = x
	}
	change(x)
	if x.document == (document{}) && x.raw == 0 {
		delete(r.rows, key)
	}
}

// learn takes over a document that was read.
func (r *row) learn(d document, retry time.Duration) {
	if d.version.Revision != r.version.Revision {
		r.due = time.Time{}
	}
	r.document = d
	if due := time.UnixMicro(int64(d.version.Edition)).Add(retry); d.later && r.due.Before(due) {
		r.due = due
	}
}

// Run refreshes until ctx ends.
func (r *Refresher) Run(ctx context.Context) error {
	g := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	g.Go(func(ctx context.Context) error { return r.made.Run(ctx, nil) })
	g.Go(func(ctx context.Context) error { return r.raw.Run(ctx, nil) })
	g.Go(r.pace)
	return g.Wait()
}

// pace refreshes one document after the other.
func (r *Refresher) pace(ctx context.Context) error {
	tick := time.NewTicker(time.Duration(float64(time.Second) / r.cfg.Rate))
	defer tick.Stop()
	var health health.State
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := r.step(ctx); ctx.Err() == nil {
			health.Note(ctx, r.deps.Logger, err, "refresher: trying again", "refresher: it works again")
		}
	}
}

// step refreshes the document that is worth it most, if there is one.
func (r *Refresher) step(ctx context.Context) error {
	if r.deps.Ready != nil && !r.deps.Ready() {
		return nil
	}
	now := r.deps.Now()
	key, next, waiting := r.next(now)
	r.metrics.waiting.Set(float64(waiting))
	if key == "" {
		return nil
	}
	m, found, err := stream.ReadAt(ctx, r.deps.Follower, events.ToolsRaw, next.partition, next.offset)
	if err != nil {
		return err
	}
	// Not again before its answer can be there.
	r.update(key, func(row *row) { row.due = now.Add(r.cfg.Retry) })
	if !found || m.Key != key {
		return nil
	}
	m.Headers = tracing.Without(m.Headers)
	m.Headers[events.HeaderRefresh] = r.deps.Wanted.String()
	done, err := r.deps.Republisher.Republish(ctx, m)
	if err != nil {
		return fmt.Errorf("republish %s: %w", key, err)
	}
	if done {
		r.metrics.asked.Inc()
	}
	return nil
}

// next returns the tool to refresh, "" if there is none: of those that are outdated and
// due, and whose raw record is the one that the document was made of, the one that is
// used most, then the one that changed last. It also counts all that wait.
func (r *Refresher) next(now time.Time) (best string, next row, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var most float64
	for key, x := range r.rows {
		if !x.outdated {
			continue
		}
		waiting++
		if now.Before(x.due) || x.raw != x.version.Revision {
			continue
		}
		used := 0.0
		if r.deps.Uses != nil {
			used = r.deps.Uses.Used(x.ref.Tenant, x.ref.ID)
		}
		order := cmp.Or(cmp.Compare(used, most), cmp.Compare(x.version.Revision, next.version.Revision), cmp.Compare(best, key))
		if best == "" || order > 0 {
			best, next, most = key, *x, used
		}
	}
	return best, next, waiting
}
