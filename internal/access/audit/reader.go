package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// place is how far the topic was read, by partition.
type place map[int]uint64

func (p place) String() string {
	var parts []string
	for _, partition := range slices.Sorted(maps.Keys(p)) {
		parts = append(parts, fmt.Sprintf("%d.%d", partition, p[partition]))
	}
	return strings.Join(parts, "-")
}

func parsePlace(s string) (place, error) {
	p := place{}
	for part := range strings.SplitSeq(s, "-") {
		partition, offset, _ := strings.Cut(part, ".")
		n, err := strconv.Atoi(partition)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no place", s)
		}
		if p[n], err = strconv.ParseUint(offset, 10, 64); err != nil {
			return nil, fmt.Errorf("%q is no place", s)
		}
	}
	return p, nil
}

// Reader reads the log of the bus. Its methods may be called concurrently.
type Reader struct {
	bus   stream.Follower
	keys  *Keys
	heads HeadStore
}

// NewReader returns a reader.
func NewReader(bus stream.Follower, keys *Keys, heads HeadStore) *Reader {
	return &Reader{bus, keys, heads}
}

// scan visits the current records of the topic above a place, until visit returns true or an
// error. It returns how far it came, and whether that is the end.
func (r *Reader) scan(ctx context.Context, from place, visit func(stream.Message) (bool, error)) (at place, end bool, err error) {
	left, err := r.bus.End(ctx, events.Audit)
	if err != nil {
		return nil, false, fmt.Errorf("audit: %w", err)
	}
	at = place{}
	for partition := range left {
		at[partition] = from[partition]
	}
	maps.DeleteFunc(left, func(partition int, end uint64) bool { return end <= from[partition] })
	if len(left) == 0 {
		return at, true, nil
	}
	err = stream.Read(ctx, r.bus, events.Audit, at, func(m stream.Message) (bool, error) {
		at[m.Partition] = m.Offset
		if last, open := left[m.Partition]; open && m.Offset >= last {
			delete(left, m.Partition)
		}
		done, err := visit(m)
		return done || len(left) == 0, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("audit: %w", err)
	}
	return at, len(left) == 0, nil
}

// before returns a place n records before the end of each partition, and whether it is the
// beginning of all.
func (r *Reader) before(ctx context.Context, n uint64) (place, bool, error) {
	ends, err := r.bus.End(ctx, events.Audit)
	if err != nil {
		return nil, false, fmt.Errorf("audit: %w", err)
	}
	at, all := place{}, true
	for partition, end := range ends {
		at[partition] = end - min(n, end)
		all = all && end <= n
	}
	return at, all, nil
}

// firsts returns the first message after a place in each partition that has one.
func (r *Reader) firsts(ctx context.Context, from place) ([]stream.Message, error) {
	ends, err := r.bus.End(ctx, events.Audit)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	want := map[int]bool{}
	for partition, end := range ends {
		if end > from[partition] {
			want[partition] = true
		}
	}
	var found []stream.Message
	_, _, err = r.scan(ctx, from, func(m stream.Message) (bool, error) {
		if want[m.Partition] {
			found = append(found, m)
			delete(want, m.Partition)
		}
		return len(want) == 0, nil
	})
	return found, err
}

// near is how far from the end a search for a time, or for the last records, begins.
const near = 1024

// since returns a place before all records from t on, or the beginning for the zero time. Records
// are ordered by time to within moments.
func (r *Reader) since(ctx context.Context, t time.Time) (place, error) {
	if t.IsZero() {
		return place{}, nil
	}
	for n := uint64(near); ; n *= 2 {
		at, all, err := r.before(ctx, n)
		if err != nil || all {
			return at, err
		}
		first, err := r.firsts(ctx, at)
		if err != nil {
			return nil, err
		}
		later := func(m stream.Message) bool { return !m.Time.Before(t.Add(-time.Minute)) }
		if !slices.ContainsFunc(first, later) {
			return at, nil
		}
	}
}

// whole reports whether the topic still holds its first records.
func (r *Reader) whole(ctx context.Context) (bool, error) {
	first, err := r.firsts(ctx, place{})
	return !slices.ContainsFunc(first, func(m stream.Message) bool { return m.Offset > 1 }), err
}

// Filter chooses records. Empty fields choose all.
type Filter struct {
	Since    time.Time `query:"since" doc:"Not before this time (RFC 3339)."`
	Who      string    `query:"who" doc:"Only of this subject."`
	Action   string    `query:"action" doc:"Only this operation, by its id."`
	Tool     string    `query:"tool" doc:"Only about the tool or provider of this id."`
	Decision string    `query:"decision" enum:"allowed,denied" doc:"Only allowed, or only denied."`
}

// Opened is a record with its private part, as far as that can be read.
type Opened struct {
	Record
	Private
	Erased bool `json:"erased,omitempty" doc:"The key of the private fields is destroyed, so they are unreadable."`
}

// openEntry returns the entry of a message if the filter chooses it. A nil key opens nothing.
func openEntry(k *key, m stream.Message, f Filter) (e Opened, chosen bool) {
	r, err := parse(m.Value)
	if err != nil { // a verification reports this
		return Opened{}, false
	}
	if r.Time.Before(f.Since) || f.Action != "" && f.Action != r.Action || f.Decision != "" && f.Decision != string(r.Decision) {
		return Opened{}, false
	}
	e = Opened{Record: r}
	if len(r.Sealed) > 0 {
		private, readable := k.open(&r)
		e.Private, e.Erased = private, !readable
	}
	e.Key, e.Sealed = "", nil
	about := func(t ToolRef) bool { return t.ID == f.Tool }
	return e, (f.Who == "" || f.Who == e.Subject) && (f.Tool == "" || slices.ContainsFunc(e.Tools, about))
}

// visit visits the entries of a tenant after a place, in order, until add returns true. It returns how
// far it has read, and whether that is the end.
func (r *Reader) visit(ctx context.Context, tenant string, f Filter, from place, add func(Opened) bool) (at place, end bool, err error) {
	k, err := r.keys.stored(ctx, tenant)
	if err != nil && !errors.Is(err, stream.ErrNotFound) {
		return nil, false, fmt.Errorf("audit: key of the tenant %s: %w", tenant, err)
	}
	return r.scan(ctx, from, func(m stream.Message) (bool, error) {
		if m.Key != tenant {
			return false, nil
		}
		e, chosen := openEntry(k, m, f)
		return chosen && add(e), nil
	})
}

// page returns up to limit entries of a tenant after a place, in order, how far it has read, and
// whether that is the end.
func (r *Reader) page(ctx context.Context, tenant string, f Filter, from place, limit int) (entries []Opened, at place, end bool, err error) {
	at, end, err = r.visit(ctx, tenant, f, from, func(e Opened) bool {
		entries = append(entries, e)
		return len(entries) >= limit
	})
	return entries, at, end, err
}

// lastAfter returns the last entries of a tenant after a place, up to limit, in order.
func (r *Reader) lastAfter(ctx context.Context, tenant string, f Filter, from place, limit int) (entries []Opened, at place, err error) {
	at, _, err = r.visit(ctx, tenant, f, from, func(e Opened) bool {
		if entries = append(entries, e); len(entries) == 2*limit {
			entries = append(entries[:0], entries[limit:]...)
		}
		return false
	})
	return entries[max(0, len(entries)-limit):], at, err
}

// maxLast bounds how many records of a partition, of all tenants, the last of a tenant are looked for
// in.
const maxLast = 1 << 18

// last returns the last entries of a tenant, up to limit, in their order.
func (r *Reader) last(ctx context.Context, tenant string, f Filter, limit int) (entries []Opened, at place, err error) {
	for n := uint64(max(near, 2*limit)); ; n = min(8*n, maxLast) {
		from, all, err := r.before(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		if entries, at, err = r.lastAfter(ctx, tenant, f, from, limit); err != nil {
			return nil, nil, err
		}
		if len(entries) == limit || all || n >= maxLast {
			return entries, at, nil
		}
	}
}
