package flat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/pool"

	"github.com/toolstream/toolstream/internal/bus/segmentlog"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/kit/vector"
)

// load fills the memory from the log: it verifies all records, notes the newest record of each
// entity, and then reads their heads.
func load(ctx context.Context, config Config) (_ *Index, err error) {
	all := &tenants{}
	i := &Index{config: config, clock: time.Now, tenants: all, records: records{tenants: all}}
	newest := state{Positions: map[int]uint64{}}
	var mu sync.Mutex // guards newest and the index
	content := uint64(format)
	if config.WordsOnly {
		content |= 1 << 32
	}
	i.records.log, err = segmentlog.Open(ctx, config.Path, content, func(p segmentlog.Place, b []byte) error {
		if len(b) > 0 && b[0] == typeState {
			s := state{Positions: map[int]uint64{}}
			if _, err := decodeMeta(b, &s); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if i.records.state != (segmentlog.Place{}) && !p.After(i.records.state) {
				p.Discard()
				return nil
			}
			i.records.setState(p)
			newest = s
			return nil
		}
		var m meta
		body, err := decodeMeta(b, &m)
		if err != nil || !m.valid(body) {
			return cmp.Or(err, errRecord)
		}
		e := newEntity(&m, len(b)-len(body), p)
		mu.Lock()
		defer mu.Unlock()
		if all.keepNewest(e) && e.deleted() {
			i.tombstones = append(i.tombstones, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.records.log.Close())
		}
	}()
	i.state.Store(&newest)
	entities := 0
	for _, t := range all.all() {
		var live []*entity
		for _, e := range t.entities {
			if !e.deleted() {
				live = append(live, e)
			}
		}
		entities += len(live)
		if err = t.load(ctx, live, newest.Dimensions); err != nil {
			return nil, err
		}
	}
	if entities != newest.Entities {
		return nil, fmt.Errorf("%w: it holds %d entities, not %d", segmentlog.ErrDamaged, entities, newest.Entities)
	}
	return i, nil
}

// keepNewest keeps the entity of a record and reports true, unless another record of it is newer.
func (ts *tenants) keepNewest(e *entity) bool {
	t, n := ts.create(e.ref.Tenant), name{e.ref.Kind, e.ref.ID}
	if old := t.entities[n]; old != nil {
		before := *old.place.Load()
		if !e.place.Load().After(before) {
			e.place.Load().Discard()
			return false
		}
		before.Discard()
	}
	t.entities[n] = e
	return true
}

// loadSize is how many entities a start reads in one go, into whole blocks and a
// segment of the lexical index.
const loadSize = 64 * blockSize

// load builds the blocks and the words of a tenant from its entities.
func (t *tenant) load(ctx context.Context, live []*entity, dimensions int) error {
	slices.SortFunc(live, func(a, b *entity) int {
		if b.place.Load().After(*a.place.Load()) {
			return -1
		}
		return 1
	})
	blocks := make([]*block, (len(live)+blockSize-1)/blockSize)
	words := make([]*lexical.Segment, (len(live)+loadSize-1)/loadSize)
	var next atomic.Int64
	loaders := pool.New().WithContext(ctx).WithFirstError().WithCancelOnError()
	for range workers(len(words)) {
		loaders.Go(func(ctx context.Context) (err error) {
			l := loader{dimensions: dimensions}
			defer func() { err = errors.Join(err, l.in.Close()) }()
			for n := next.Add(1) - 1; int(n) < len(words); n = next.Add(1) - 1 {
				from := int(n) * loadSize
				if words[n], err = l.load(ctx, blocks[from/blockSize:], uint32(from), live[from:min(from+loadSize, len(live))]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := loaders.Wait(); err != nil {
		return err
	}
	t.lexical, t.slots = lexical.New(words...), uint32(len(blocks)*blockSize)
	for slot := t.slots; slot > uint32(len(live)); slot-- {
		t.free = append(t.free, slot-1)
	}
	t.show(blocks)
	return nil
}

// loader reads the heads of entities. It is for one goroutine.
type loader struct {
	dimensions int
	in         segmentlog.Reader
	words      lexical.Builder
	rows       quantised // of one block
}

// load reads entities, which get the slots from first on, into blocks, and returns
// their words.
func (l *loader) load(ctx context.Context, blocks []*block, first uint32, live []*entity) (*lexical.Segment, error) {
	stride := vector.Stride(l.dimensions)
	for n := 0; n*blockSize < len(live) && ctx.Err() == nil; n++ {
		some := live[n*blockSize : min((n+1)*blockSize, len(live))]
		changes := make([]change, len(some))
		l.rows = quantised{l.rows.codes[:0], l.rows.scales[:0]}
		for i, e := range some {
			e.slot = first + uint32(n*blockSize+i)
			if err := l.entity(e); err != nil {
				return nil, err
			}
			changes[i] = change{slot: e.slot, entity: e}
		}
		// The rows of all changes are in the order of the changes.
		from := 0
		for i := range changes {
			to := from + changes[i].entity.counts.total()
			changes[i].quantised = quantised{l.rows.codes[from*stride : to*stride], l.rows.scales[from:to]}
			from = to
		}
		blocks[n] = (&block{}).with(changes, stride)
	}
	return l.words.Segment(), ctx.Err()
}

// entity reads one head.
func (l *loader) entity(e *entity) error {
	b, err := l.in.Read(*e.place.Load(), e.head)
	if err != nil {
		return err
	}
	if e.dimensions != l.dimensions {
		return fmt.Errorf("%w: dimensions of %q", errRecord, e.ref.ID)
	}
	rows := e.counts.total()
	codes := b[e.body : e.body+rows*vector.Stride(e.dimensions)]
	scales, words := b[e.body+len(codes):][:4*rows], b[e.body+len(codes)+4*rows:]
	l.rows.codes, l.rows.scales = append(l.rows.codes, codes...), append(l.rows.scales, floats(nil, scales)...)
	if err := l.words.Add(e.slot, words); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	return nil
}
