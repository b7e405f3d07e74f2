package flat

import (
	"context"
	"slices"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Judge is Candidates where vectors are searched elsewhere: it chooses among the
// best by words and what that other search proposes, as far as the filters allow
// it, by the same exact scores and in the same order.
func (i *Index) Judge(ctx context.Context, l index.Lookup, proposed []schema.Ref) ([]index.Candidate, error) {
	return i.search(ctx, &l, func(s *search, ctx context.Context) ([]scored, error) {
		slots, err := s.chosen(ctx, proposed)
		if err != nil {
			return nil, err
		}
		return s.score(ctx, slots)
	})
}

// chosen returns the slots that are worth exact scores: all, where they are few.
func (s *search) chosen(ctx context.Context, proposed []schema.Ref) ([]uint32, error) {
	size := max(minHits, spare*s.lookup.N)
	if s.allowed <= size {
		return s.everything(), nil
	}
	byWords, err := s.byWords(ctx, size)
	if err != nil {
		return nil, err
	}
	slots := append(s.also(), s.slotsOfRefs(proposed)...)
	slots = append(slots, slotsOfHits(byWords)...)
	slices.Sort(slots)
	return slices.Compact(slots), nil
}

// slotsOfRefs returns the slots of entities, those that the filters allow.
func (s *search) slotsOfRefs(refs []schema.Ref) []uint32 {
	slots := make([]uint32, 0, len(refs))
	for _, ref := range refs {
		if slot, ok := s.tenant.slotOf(ref.Kind, ref.ID, s.snapshot); ok && s.allows(slot) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// byWords returns the size best slots by lexical scores alone. Where no word
// matches there is nothing to choose by: it returns fewer, or none.
func (s *search) byWords(ctx context.Context, size int) ([]hit, error) {
	lexical, err := s.words.accumulate(ctx, &s.lookup.Model)
	for _, part := range lexical {
		defer s.lexical.Return(part)
	}
	if err != nil {
		return nil, err
	}
	best := top{size: size}
	var scores [blockSize]float32
	for n, mask := range s.masks {
		if mask == 0 {
			continue
		}
		clear(scores[:])
		for _, part := range lexical {
			addBlock(&scores, *part, n)
		}
		best.offerAll(&scores, keep(mask, func(i int) bool { return scores[i] != 0 }), n*blockSize)
	}
	return best.hits, ctx.Err()
}

// addBlock adds the scores of a block's slots. The arrays end with the last slot
// that the words know.
func addBlock(to *[blockSize]float32, scores []float32, block int) {
	from := min(block*blockSize, len(scores))
	for i, x := range scores[from:min(from+blockSize, len(scores))] {
		to[i] += x
	}
}
