package query

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// MaxExploration is the largest share of places that may be explored.
const MaxExploration = 0.5

// exploredFloor is the share of the score and of the similarity of the tool
// whose turn it is that a tool needs to be explored in its place.
const exploredFloor = 0.8

// explore gives a share of the places to tools that nobody has used and that
// would not be shown, so that they can become known. An answer is made place by
// place: the first goes to the best; at every other whose turn is that of a used
// tool, chance decides with the configured probability for one of the unused
// tools that are close behind it, each alike. Whatever is not shown for it is
// the last. The search's id decides what chance does. Scores of several steps can
// not be compared: they are not explored.
func (s *Service) explore(sr *search, picks []pick) []pick {
	k := sr.req.K
	if s.cfg.Exploration == 0 || len(picks) <= k || sr.stepwise() {
		return picks
	}
	chance := chanceOf(sr.id)
	order, rest, hidden := picks[:1:1], picks[1:k:k], slices.Clone(picks[k:])
	for len(order) < k {
		next := rest[0]
		near := sr.near(hidden, &next)
		if len(near) == 0 {
			order, rest = append(order, next), rest[1:]
			continue
		}
		if chance.Float64() >= s.cfg.Exploration {
			next.propensity = 1 - s.cfg.Exploration
			order, rest = append(order, next), rest[1:]
			continue
		}
		at := near[chance.IntN(len(near))]
		found := hidden[at]
		found.explored, found.propensity = true, s.cfg.Exploration/float64(len(near))
		order, hidden = append(order, found), slices.Delete(hidden, at, at+1)
	}
	return slices.Concat(order, rest, hidden)
}

// near returns the places of the unused tools that may stand where next would:
// none if that is no tool, or an unused one itself.
func (sr *search) near(hidden []pick, next *pick) []int {
	if next.ref.Kind != schema.KindTool || sr.unused(next) || next.by.Score <= 0 {
		return nil
	}
	var places []int
	for i := range hidden {
		p := &hidden[i]
		near := p.by.Score >= exploredFloor*next.by.Score && p.by.Similarity >= exploredFloor*next.by.Similarity
		if near && p.ref.Kind == schema.KindTool && sr.unused(p) {
			places = append(places, i)
		}
	}
	return places
}

func (sr *search) unused(p *pick) bool {
	_, used := sr.usage.table.Prior[p.ref.ID]
	return !used
}

// chanceOf returns the chance of a search, the same for the same id.
func chanceOf(id string) *rand.Rand {
	sum := sha256.Sum256([]byte(id))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])))
}
