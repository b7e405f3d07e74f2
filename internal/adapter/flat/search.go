package flat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/tracing"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The first pass hands on so many hits for each candidate that is asked for,
// and no fewer than the second number: room for the error of eight bits.
const (
	spare   = 2
	minHits = 200
)

// sample is how many hits are scored exactly at the least: enough of them to see
// how far approximate scores are off.
const sample = 64

// minShare is how many blocks are worth a goroutine.
const minShare = 16

// search is one lookup at work on one snapshot.
type search struct {
	*snapshot
	lookup  *index.Lookup
	store   *store
	tenant  *tenant
	words   *words
	masks   []uint64 // by block: the slots that may be chosen
	allowed int
}

// Candidates returns the N best entities that the filters allow, best first by
// the model of the lookup, usage left out, with the tools of Also behind them
// where they are not among them. It fails when ctx ends or the file can not be
// read.
func (i *Index) Candidates(ctx context.Context, l index.Lookup) ([]index.Candidate, error) {
	return i.search(ctx, &l, (*search).find)
}

// search answers a lookup with the best of those that find scores exactly.
func (i *Index) search(ctx context.Context, l *index.Lookup, find func(*search, context.Context) ([]scored, error)) ([]index.Candidate, error) {
	defer i.metrics.searching()()
	if l.N < 0 {
		return nil, fmt.Errorf("flat: %d candidates asked for", l.N)
	}
	t := i.find(l.Tenant)
	if t == nil {
		return nil, ctx.Err()
	}
	s := i.begin(t, l)
	found, err := find(s, ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, byScore)
	return s.answer(found), nil
}

// begin returns a lookup made ready on what there is now of a tenant.
func (i *Index) begin(t *tenant, l *index.Lookup) *search {
	s := &search{snapshot: t.now.Load(), lookup: l, store: i.store, tenant: t}
	f := newFilter(l, t, s.snapshot)
	s.masks, s.allowed = f.allowed(s.blocks)
	s.words = newWords(s.lexical, &l.Probe)
	return s
}

// find returns the entities that are worth exact scores, with them: those of
// Also, and all that are allowed or, where they are many, those that the first
// pass leaves a hope.
func (s *search) find(ctx context.Context) ([]scored, error) {
	if s.lookup.N == 0 {
		return s.score(ctx, s.also())
	}
	size := max(minHits, spare*s.lookup.N)
	if s.allowed <= size {
		return s.score(ctx, s.everything())
	}
	_, span := tracing.Begin(ctx, "first pass")
	hits, err := s.firstPass(ctx, size)
	tracing.End(span, err)
	if err != nil {
		return nil, err
	}
	sure := hits[:min(max(s.lookup.N, sample), len(hits))]
	bySlot(sure)
	slots := slotsOfHits(sure)
	for _, slot := range s.also() {
		if !slices.Contains(slots, slot) {
			slots = append(slots, slot)
		}
	}
	found, err := s.score(ctx, slots)
	if err != nil {
		return nil, err
	}
	rest := hopeful(hits[len(sure):], s.least(sure, found))
	bySlot(rest)
	left := slotsOfHits(rest)
	left = slices.DeleteFunc(left, func(slot uint32) bool { return slices.Contains(slots, slot) })
	more, err := s.score(ctx, left)
	return append(found, more...), err
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

// bySlot sorts hits so that what is looked up of them lies nearer together.
func bySlot(hits []hit) {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Compare(a.slot, b.slot) })
}

func slotsOfHits(hits []hit) []uint32 {
	slots := make([]uint32, len(hits))
	for i, h := range hits {
		slots[i] = h.slot
	}
	return slots
}

// least returns the approximate score below which a hit has no hope of being
// among the N best. The exact scores of the best hits, found in the same order,
// say what the N best reach and how far the approximation is off; another one
// may be off by half as much again.
func (s *search) least(hits []hit, found []scored) float64 {
	exact := make([]float64, len(hits))
	low, high := math.Inf(1), math.Inf(-1)
	for i, h := range hits {
		exact[i] = found[i].score
		off := exact[i] - float64(h.score)
		low, high = min(low, off), max(high, off)
	}
	slices.Sort(exact)
	reached := exact[max(0, len(exact)-s.lookup.N)]
	return reached - (high + (high-low)/2)
}

// hopeful returns the hits, best first, that reach a score.
func hopeful(hits []hit, score float64) []hit {
	for i, h := range hits {
		if float64(h.score) < score {
			return hits[:i]
		}
	}
	return hits
}

// also returns the slots of the tools that are wanted whatever they score, as
// far as the filters allow them.
func (s *search) also() []uint32 {
	var slots []uint32
	for _, id := range s.lookup.Also {
		slot, ok := s.tenant.slotOf(schema.KindTool, id, s.snapshot)
		if ok && s.allows(slot) && !slices.Contains(slots, slot) {
			slots = append(slots, slot)
		}
	}
	return slots
}

func (s *search) allows(slot uint32) bool { return s.masks[slot/blockSize]&(1<<(slot%blockSize)) != 0 }

// firstPass returns the size best hits by approximate scores, best first.
func (s *search) firstPass(ctx context.Context, size int) ([]hit, error) {
	lexical, err := s.words.accumulate(ctx, &s.lookup.Model)
	for _, part := range lexical {
		defer s.lexical.Return(part)
	}
	if err != nil {
		return nil, err
	}
	p := newPlan(s.lookup, s.dimensions())
	tops := make([]top, workers(len(s.blocks)/minShare))
	var next atomic.Int64
	split(len(tops), len(tops), func(worker, _, _ int) {
		tops[worker] = top{size: size}
		s.scan(ctx, &p, lexical, &next, &tops[worker])
	})
	var hits []hit
	for _, t := range tops {
		hits = append(hits, t.hits...)
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.slot, b.slot))
	})
	return hits[:min(size, len(hits))], ctx.Err()
}

// scan takes blocks from next, a few at a time, and offers their slots to best.
// It stops early when ctx ends.
func (s *search) scan(ctx context.Context, p *plan, lexical []*[]float32, next *atomic.Int64, best *top) {
	var m scratch
	for ctx.Err() == nil {
		to := int(next.Add(minShare))
		if to-minShare >= len(s.blocks) {
			return
		}
		for n := to - minShare; n < min(to, len(s.blocks)); n++ {
			if s.masks[n] != 0 {
				m.begin(s.blocks[n], lexical, n)
				mask := p.dense(&m, s.masks[n], best.least())
				best.offerAll(&m.scores, mask, n*blockSize)
			}
		}
	}
}

// dimensions returns the length of the snapshot's vectors.
func (s *snapshot) dimensions() int {
	for _, b := range s.blocks {
		if b.live != 0 {
			return b.tools[bits.TrailingZeros64(b.live)].record.dimensions
		}
	}
	return 0
}

// scored is a candidate with the score that orders it.
type scored struct {
	index.Candidate
	score float64
}

// byScore orders as every ranking does, tools before agents of the same id.
func byScore(a, b scored) int {
	return cmp.Or(fusion.Order(a.score, a.ID, b.score, b.ID), cmp.Compare(b.Kind, a.Kind))
}

// score scores slots exactly.
func (s *search) score(ctx context.Context, slots []uint32) ([]scored, error) {
	if len(slots) == 0 {
		return nil, ctx.Err()
	}
	ctx, span := tracing.Begin(ctx, "score fields")
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(tracing.Candidates.Int(len(slots)))
	}
	found := make([]scored, len(slots))
	errs := make([]error, workers(len(slots)/minShare))
	split(len(slots), len(errs), func(worker, from, to int) {
		words := s.words.exact(slots[from:to])
		errs[worker] = s.store.read(func(r *reader) (err error) {
			for i := from; i < to && err == nil && ctx.Err() == nil; i++ {
				found[i], err = s.scoreOne(r, slots[i], &words[i-from])
			}
			return err
		})
	})
	return found, errors.Join(append(errs, ctx.Err())...)
}

func (s *search) scoreOne(r *reader, slot uint32, words *exact) (scored, error) {
	t := s.at(slot)
	vectors, err := r.vectors(t)
	if err != nil {
		return scored{}, err
	}
	found := index.Score(&s.lookup.Probe, index.Entry{Vectors: vectors, Required: t.required, Query: words.query, Needs: words.needs})
	score, _ := s.lookup.Model.Score(&found.Features, found.Matches)
	return scored{score: score, Candidate: index.Candidate{
		Ref: t.ref, Agent: t.agent.Value(), Features: found.Features,
		Matches: found.Matches, BestArg: found.BestArg, Similarity: found.Similarity,
	}}, nil
}

// answer returns the N best and the tools of Also behind them.
func (s *search) answer(found []scored) []index.Candidate {
	n := min(s.lookup.N, len(found))
	out := make([]index.Candidate, 0, n+len(s.lookup.Also))
	for i := range found {
		if i < n || found[i].Kind == schema.KindTool && slices.Contains(s.lookup.Also, found[i].ID) {
			out = append(out, found[i].Candidate)
		}
	}
	return out
}

// workers returns how many goroutines share so many portions of work.
func workers(portions int) int { return max(1, min(portions, runtime.GOMAXPROCS(0))) }

// split divides n items among workers, which run at once, the caller among
// them, and waits for them.
func split(n, workers int, fn func(worker, from, to int)) {
	if workers == 1 {
		fn(0, 0, n)
		return
	}
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { fn(w, w*n/workers, (w+1)*n/workers) })
	}
	fn(0, 0, n/workers)
	wg.Wait()
}
