package standardizer

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// docState is what a record of tools.standardized says of the making of its
// document.
type docState struct {
	ref      schema.Ref
	version  schema.Version
	outdated bool
	later    bool // it was tried in vain: not again at once
	gone     bool
}

// rawState is the revision of a raw record, 0 where it deletes the tool.
type rawState struct{ revision uint64 }

// outdated is the tools whose documents would be made otherwise now.
type outdated struct {
	wanted Wanted
	retry  time.Duration

	mu   sync.Mutex // guards all below
	rows map[string]*outdatedRow
}

// outdatedRow is a tool: its document as it was read, and its raw record.
type outdatedRow struct {
	docState
	due       time.Time
	raw       uint64 // revision of the raw record
	partition int
	offset    uint64
}

// candidate is a tool to refresh.
type candidate struct {
	key       string
	partition int
	offset    uint64
}

func newOutdated(w Wanted, retry time.Duration) *outdated {
	return &outdated{wanted: w, retry: retry, rows: map[string]*outdatedRow{}}
}

// readDocument reads the head of a record. What can not be read is the
// embedder's to bury.
func (o *outdated) readDocument(m stream.Message) (docState, error) {
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
		return docState{gone: true}, nil
	}
	origin := c.Document.Standardized
	return docState{
		ref: c.Ref, version: c.Version, outdated: o.wanted.Outdated(c.Document.Flags, origin),
		later: origin != nil && origin.Fallback.Temporary(),
	}, nil
}

// readRaw reads the head of a raw record. One without a revision is not
// refreshed.
func readRaw(m stream.Message) (rawState, error) {
	revision, err := strconv.ParseUint(m.Headers[events.HeaderRevision], 10, 64)
	if err != nil || m.IsNull() || deletes(m) {
		return rawState{}, nil
	}
	return rawState{revision}, nil
}

// deletes tells by the headers, or by the record of one that was published before
// they said it.
func deletes(m stream.Message) bool {
	op := events.Op(m.Headers[events.HeaderOp])
	if op == "" {
		var c struct{ Op events.Op }
		_ = json.Unmarshal(m.Value, &c) // what is no change deletes nothing
		op = c.Op
	}
	return op == events.OpDelete
}

func (o *outdated) row(key string) *outdatedRow {
	r := o.rows[key]
	if r == nil {
		r = &outdatedRow{docState: docState{gone: true}}
		o.rows[key] = r
	}
	return r
}

func (o *outdated) learnDocuments(_ context.Context, records []stream.Record[docState], _ map[int]uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range records {
		row := o.row(r.Message.Key)
		if r.Decoded.version.Revision != row.version.Revision {
			row.due = time.Time{}
		}
		row.docState = r.Decoded
		if tried := time.UnixMicro(int64(r.Decoded.version.Edition)); r.Decoded.later && row.due.Before(tried.Add(o.retry)) {
			row.due = tried.Add(o.retry)
		}
		o.drop(r.Message.Key)
	}
	return nil
}

// drop forgets a tool of which there is neither document nor raw record.
func (o *outdated) drop(key string) {
	if r := o.rows[key]; r.gone && r.raw == 0 {
		delete(o.rows, key)
	}
}

func (o *outdated) learnRaw(_ context.Context, records []stream.Record[rawState], _ map[int]uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range records {
		row := o.row(r.Message.Key)
		row.raw, row.partition, row.offset = r.Decoded.revision, r.Message.Partition, r.Message.Offset
		o.drop(r.Message.Key)
	}
	return nil
}

// next returns the tool to refresh: of those that are outdated and due, and
// whose raw record is the one that the document was made of, the one that is
// used most, then the one that changed last. It also counts all that wait.
func (o *outdated) next(now time.Time, uses Uses) (best candidate, waiting int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var most float64
	var newest uint64
	for key, r := range o.rows {
		if !r.outdated {
			continue
		}
		waiting++
		if now.Before(r.due) || r.raw != r.version.Revision {
			continue
		}
		used := 0.0
		if uses != nil {
			used = uses.Used(r.ref.Tenant, r.ref.ID)
		}
		order := cmp.Or(cmp.Compare(used, most), cmp.Compare(r.version.Revision, newest), cmp.Compare(best.key, key))
		if !ok || order > 0 {
			best, most, newest, ok = candidate{key, r.partition, r.offset}, used, r.version.Revision, true
		}
	}
	return best, waiting, ok
}

// postpone keeps a tool from being refreshed again before its answer can be
// there.
func (o *outdated) postpone(key string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.rows[key]; r != nil {
		r.due = now.Add(o.retry)
	}
}
