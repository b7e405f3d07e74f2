package flat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sourcegraph/conc/panics"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/lexical"
	"github.com/toolstream/toolstream/internal/kit/telemetry"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// enough returns how many hits of a first pass are scored exactly: more than the
// candidates asked for, because eight bits are not exact.
func enough(candidates int) int { return candidates + max(32, candidates/8) }

// minShare is how many blocks are worth a goroutine.
const minShare = 16

// search is one lookup at work on one snapshot.
type search struct {
	*snapshot
	lookup  *index.Lookup
	tenant  *tenant
	words   *words
	named   map[uint32]float64             // slots of entities whose name is the query, with Candidate.Known
	given   map[schema.Ref]*events.Vectors // in place of the vectors in the index
	open    []uint64                       // by block: the slots that the filters allow
	masks   []uint64                       // by block: the open slots that come first
	behind  []uint64                       // by block: the other open slots; nil for none
	allowed int                            // to be chosen
}

// Candidates returns the N best entities that the filters allow, best first by
// the model of the lookup, usage and penalty left out, followed by any tools of Also that
// did not make the cut. It fails if ctx ends or the file cannot be read.
func (i *Index) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	return i.search(ctx, &l, (*search).find)
}

// search answers a lookup with the best of the entities that find scores exactly.
func (i *Index) search(ctx context.Context, l *index.Lookup, find func(*search, context.Context) ([]scored, error)) ([]index.Candidate, error) {
	defer prometheus.NewTimer(i.metrics.search).ObserveDuration()
	if l.N < 0 {
		return nil, fmt.Errorf("flat: %d candidates asked for", l.N)
	}
	if err := i.ready(ctx); err != nil {
		return nil, err
	}
	t := i.tenants.find(l.Tenant)
	if t == nil {
		return nil, nil
	}
	s := newSearch(t, l)
	found, err := find(s, ctx)
	if err != nil {
		return nil, err
	}
	return s.answer(found), nil
}

// newSearch prepares a lookup on the current snapshot of a tenant.
func newSearch(t *tenant, l *index.Lookup) *search {
	s := &search{snapshot: t.now.Load(), lookup: l, tenant: t}
	f := newFilter(l, t, s.snapshot)
	open, n := f.allowed(s.blocks)
	s.open = open
	s.masks, s.behind, s.allowed = f.divide(s.blocks, open, n)
	s.words = newWords(s.lexical, &l.Probe)
	s.named = s.lexical.Named(l.Probe.Query.Words)
	return s
}

// find scores exactly the entities of Also, and all allowed entities or, if there are many, the
// best of a first pass.
func (s *search) find(ctx context.Context) ([]scored, error) {
	slots := s.also()
	if s.lookup.N > 0 {
		best, err := s.best(ctx)
		if err == nil && s.wantsBehind() {
			var more []uint32
			more, err = s.others().best(ctx)
			best = append(best, more...)
		}
		if err != nil {
			return nil, err
		}
		slots = distinct(append(slots, best...), nil)
	}
	return s.score(ctx, slots)
}

// best returns the slots that are worth exact scores: all that may be chosen or, if there are
// many, the best of a first pass.
func (s *search) best(ctx context.Context) ([]uint32, error) {
	size := enough(s.lookup.N)
	if s.allowed <= size {
		return s.everything(), nil
	}
	ctx, span := telemetry.StartSpan(ctx, "first pass")
	p := newPlan(s.lookup, s.dimensions())
	hits, err := s.firstPass(ctx, &p, size)
	telemetry.EndSpan(span, err)
	return distinct(nil, hits), err
}

// wantsBehind reports whether entities that come after all others are needed to reach N.
func (s *search) wantsBehind() bool { return s.behind != nil && s.allowed < s.lookup.N }

// others returns the same search for the entities that come after all others.
func (s *search) others() *search {
	o := *s
	o.masks, o.behind, o.allowed = s.behind, nil, 0
	for _, mask := range o.masks {
		o.allowed += bits.OnesCount64(mask)
	}
	return &o
}

// distinct returns slots and the slots of hits, each once, rising, so that later accesses are
// sequential.
func distinct(slots []uint32, hits []lexical.Hit) []uint32 {
	for _, h := range hits {
		slots = append(slots, h.Slot)
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

// everything returns all slots that are allowed.
func (s *search) everything() []uint32 {
	slots := make([]uint32, 0, s.allowed)
	for n, mask := range s.masks {
		for ; mask != 0; mask &= mask - 1 {
			slots = append(slots, uint32(n*blockSize+bits.TrailingZeros64(mask)))
		}
	}
	return slots
}

// also returns the slots of the entities that are wanted whatever they score, as
// far as the filters allow them.
func (s *search) also() []uint32 {
	var slots []uint32
	for _, id := range s.lookup.Also {
		for _, kind := range []schema.Kind{schema.KindTool, schema.KindProvider} {
			slot, ok := s.tenant.slotOf(kind, id, s.snapshot)
			if ok && s.allows(slot) && !slices.Contains(slots, slot) {
				slots = append(slots, slot)
			}
		}
	}
	if s.lookup.N > 0 {
		add := func(slot uint32) {
			if s.allows(slot) && !slices.Contains(slots, slot) && len(slots) < maxKnown {
				slots = append(slots, slot)
			}
		}
		for _, slot := range slices.Sorted(maps.Keys(s.named)) {
			add(slot)
		}
		s.words.holders(add)
	}
	return slots
}

const (
	leastRare = 0.3 // Candidate.Rare of a known entity
	maxKnown  = 200 // entities that are scored because they may be known
)

func (s *search) allows(slot uint32) bool { return has(s.open, slot) }

// has reports whether masks, one a block, hold a slot.
func has(masks []uint64, slot uint32) bool { return masks[slot/blockSize]&(1<<(slot%blockSize)) != 0 }

// firstPass returns the size best hits by the scores of words plus the approximate scores of a
// plan.
func (s *search) firstPass(ctx context.Context, p *plan, size int) ([]lexical.Hit, error) {
	words, err := s.words.accumulate(ctx, &s.lookup.Model)
	for _, part := range words {
		defer s.lexical.Return(part)
	}
	if err != nil {
		return nil, err
	}
	tops := make([]top, workers(len(s.blocks)/minShare))
	var next atomic.Int64
	split(len(tops), len(tops), func(worker, _, _ int) {
		tops[worker] = top{lexical.NewTop(size)}
		s.scan(ctx, p, words, &next, &tops[worker])
	})
	var hits []lexical.Hit
	for i := range tops {
		hits = append(hits, tops[i].Sorted()...)
	}
	slices.SortFunc(hits, lexical.Hit.Compare)
	return hits[:min(size, len(hits))], ctx.Err()
}

// scan takes blocks from next, a few at a time, and offers their slots to best.
// It stops early when ctx ends.
func (s *search) scan(ctx context.Context, p *plan, words []*[]float32, next *atomic.Int64, best *top) {
	var m scratch
	for ctx.Err() == nil {
		to := int(next.Add(minShare))
		if to-minShare >= len(s.blocks) {
			return
		}
		for n := to - minShare; n < min(to, len(s.blocks)); n++ {
			if s.masks[n] != 0 {
				m.reset(s.blocks[n], words, n)
				mask := p.dense(&m, s.masks[n], best.least())
				best.offerAll(&m.scores, mask, n*blockSize)
			}
		}
	}
}

// top keeps the best hits of a first pass.
type top struct{ lexical.Top }

// offerAll offers the slots of a block that the mask allows.
func (t *top) offerAll(scores *[blockSize]float32, mask uint64, first int) {
	least := t.least()
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		if scores[i] >= least {
			t.Offer(lexical.Hit{Score: scores[i], Slot: uint32(first + i)})
			least = t.least()
		}
	}
}

// least returns the score below which a hit is not kept.
func (t *top) least() float32 {
	if score, full := t.Least(); full {
		return score
	}
	return float32(math.Inf(-1))
}

// dimensions returns the length of the snapshot's vectors.
func (s *snapshot) dimensions() int {
	for _, b := range s.blocks {
		if b.live != 0 {
			return b.entities[bits.TrailingZeros64(b.live)].dimensions
		}
	}
	return 0
}

// scored is a candidate with the score that orders it.
type scored struct {
	index.Candidate
	score float64
}

// known reports whether the query names the entity, or says rare words that it holds: it is worth
// returning whatever it scores.
func (c *scored) known() int {
	if c.Known > 0 || c.Rare > leastRare {
		return 1
	}
	return 0
}

// byScore orders like every ranking: held-back entities after all others, tools before providers
// of the same id.
func byScore(a, b *scored) int {
	return cmp.Or(cmp.Compare(min(1, len(a.HeldBack)), min(1, len(b.HeldBack))), fusion.Order(a.score, a.ID, b.score, b.ID), cmp.Compare(b.Kind, a.Kind))
}

// score scores slots exactly.
func (s *search) score(ctx context.Context, slots []uint32) ([]scored, error) {
	if len(slots) == 0 {
		return nil, ctx.Err()
	}
	ctx, span := telemetry.StartSpan(ctx, "score fields")
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(telemetry.Candidates.Int(len(slots)))
	}
	found := make([]scored, len(slots))
	errs := make([]error, workers(len(slots)/minShare))
	split(len(slots), len(errs), func(worker, from, to int) {
		words := s.words.exact(slots[from:to])
		if s.lookup.Apart() {
			s.words.apart(slots[from:to], words, &s.lookup.Model.Features)
		}
		var r reader
		for i := from; i < to && errs[worker] == nil && ctx.Err() == nil; i++ {
			found[i], errs[worker] = s.scoreOne(&r, slots[i], &words[i-from])
			found[i].Covered, found[i].Rare = words[i-from].covered, words[i-from].rare
		}
	})
	return found, errors.Join(append(errs, ctx.Err())...)
}

func (s *search) scoreOne(r *reader, slot uint32, words *exact) (scored, error) {
	e := s.at(slot)
	vectors, given := s.given[e.ref]
	if !given {
		var err error
		if vectors, err = r.vectors(e); err != nil {
			return scored{}, err
		}
	}
	found := index.Score(&s.lookup.Probe, index.Entry{Vectors: vectors, Required: e.required, Query: words.query, Needs: words.needs})
	out := scored{score: s.lookup.Model.Linear(&found.Features), Candidate: index.Candidate{
		Ref: e.ref, Provider: e.provider.Value(), Label: e.label, First: e.first, Sketch: e.sketch, Features: found.Features,
		Matches: found.Matches, BestArg: found.BestArg, Similarity: found.Similarity, Known: s.named[slot], HeldBack: e.heldBack(s.lookup.Behind),
	}}
	if s.lookup.Apart() {
		index.AddNeeds(words.apart, &s.lookup.Probe, vectors, &s.lookup.Model.Features)
		out.Needs = words.apart
	}
	if s.lookup.Rerank {
		out.Vector = slices.Clone(vectors.Name)
	}
	return out, nil
}

// reader reads exact vectors from the mapped files: a search needs the vectors of a few hundred
// entities, so memory holds only quantised ones. It is for one goroutine.
type reader struct {
	memory []float32
	found  events.Vectors
}

// vectors returns the vectors of an entity, valid until the next call.
func (r *reader) vectors(e *entity) (*events.Vectors, error) {
	err := e.place.Load().View(func(b []byte) error {
		r.memory = floats(r.memory, b[e.head:][:4*e.counts.total()*e.dimensions])
		return nil
	})
	r.found = events.Vectors{Dimensions: e.dimensions, Examples: r.found.Examples[:0], Parameters: r.found.Parameters[:0]}
	spread(&r.found, &e.counts, r.memory)
	return &r.found, err
}

// answer returns the N best, followed by the entities of Also. Candidates are large, and copied
// once.
func (s *search) answer(found []scored) []index.Candidate {
	best := make([]*scored, len(found))
	for i := range found {
		best[i] = &found[i]
	}
	slices.SortFunc(best, func(a, b *scored) int { return cmp.Or(cmp.Compare(b.known(), a.known()), byScore(a, b)) })
	n := min(s.lookup.N, len(best))
	slices.SortFunc(best[:n], byScore)
	out := make([]index.Candidate, 0, n+len(s.lookup.Also))
	for i, c := range best {
		if i < n || slices.Contains(s.lookup.Also, c.ID) {
			out = append(out, c.Candidate)
		}
	}
	return out
}

// workers returns how many goroutines share so many portions of work.
func workers(portions int) int { return max(1, min(portions, runtime.GOMAXPROCS(0))) }

// split divides n items among workers, which run at once, the caller among
// them, and waits for them. It panics if one of them does: the caller's goroutine recovers from
// that, and a worker's would end the process.
func split(n, workers int, fn func(worker, from, to int)) {
	if workers == 1 {
		fn(0, 0, n)
		return
	}
	var wg sync.WaitGroup
	var caught panics.Catcher
	for w := 1; w < workers; w++ {
		wg.Go(func() { caught.Try(func() { fn(w, w*n/workers, (w+1)*n/workers) }) })
	}
	caught.Try(func() { fn(0, 0, n/workers) })
	wg.Wait()
	caught.Repanic()
}

// Choose returns the entities that are worth exact scores if vectors are searched elsewhere: the
// best by words and the proposals of that search, within the filters, or all if there are few.
func (i *Index) Choose(ctx context.Context, l index.Lookup, proposed []schema.Ref) ([]schema.Ref, error) {
	var refs []schema.Ref
	_, err := i.search(ctx, &l, func(s *search, ctx context.Context) ([]scored, error) {
		slots, err := s.chosen(ctx, proposed)
		for _, slot := range slots {
			refs = append(refs, s.at(slot).ref)
		}
		return nil, err
	})
	return refs, err
}

// ScoreCandidates is Candidates for vectors from elsewhere: it scores their entities.
func (i *Index) ScoreCandidates(ctx context.Context, l index.Lookup, vectors map[schema.Ref]*events.Vectors) ([]index.Candidate, error) {
	return i.search(ctx, &l, func(s *search, ctx context.Context) ([]scored, error) {
		s.given = vectors
		return s.score(ctx, s.slotsOfRefs(slices.Collect(maps.Keys(vectors))))
	})
}

// chosen returns the slots that are worth exact scores: all, if there are few.
func (s *search) chosen(ctx context.Context, proposed []schema.Ref) ([]uint32, error) {
	size := enough(s.lookup.N)
	switch {
	case s.lookup.N == 0:
		return s.also(), nil
	case s.allowed <= size:
		slots := s.everything()
		if s.wantsBehind() {
			others := s.others().everything()
			slots = append(slots, others[:min(len(others), size)]...)
		}
		return distinct(append(s.also(), slots...), nil), nil
	}
	hits, err := s.firstPass(ctx, &plan{}, size)
	if err != nil {
		return nil, err
	}
	// If no word matches, all scores are equal.
	hits = slices.DeleteFunc(hits, func(h lexical.Hit) bool { return h.Score == 0 })
	chosen := slices.DeleteFunc(s.slotsOfRefs(proposed), func(slot uint32) bool { return !has(s.masks, slot) })
	return distinct(append(s.also(), chosen...), hits), nil
}

// slotsOfRefs returns the slots of the entities that the filters allow.
func (s *search) slotsOfRefs(refs []schema.Ref) []uint32 {
	slots := make([]uint32, 0, len(refs))
	for _, ref := range refs {
		if slot, ok := s.tenant.slotOf(ref.Kind, ref.ID, s.snapshot); ok && s.allows(slot) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// Read returns a query with its unknown words read as words of the index: of the documents that
// the scope allows. known says whether a word needs no reading.
func (i *Index) Read(ctx context.Context, tenant string, scope *policy.Scope, query string, known func(word string) bool) (string, []schema.Correction, error) {
	if err := i.ready(ctx); err != nil {
		return query, nil, err
	}
	t := i.tenants.find(tenant)
	if t == nil {
		return query, nil, nil
	}
	now := t.now.Load()
	masks := sync.OnceValue(func() []uint64 {
		f := newFilter(&index.Lookup{Scope: scope}, t, now)
		masks, _ := f.allowed(now.blocks)
		return masks
	})
	read, corrections := now.lexical.Read(query, func(slot uint32) bool { return has(masks(), slot) }, known)
	return read, corrections, nil
}
