package rerank

import "math"

// Signal is one thing about a query and its ranking that tells whether one
// owner answers it.
type Signal int

// The signals. A share of the score is of that of the first tool, a share of
// the query of its distinct words. The first owner is that of the first tool.
const (
	Owners      Signal = iota // distinct owners among the first ten tools
	Second                    // share of the score that the second owner's best tool has
	Third                     // the same of the third owner
	Mass                      // share of the first ten scores that the first owner has
	Fifth                     // share of the score that the fifth tool has
	Sibling                   // share of the score that the first owner's second tool has
	Needs                     // number of needs
	Length                    // logarithm of the number of words
	Covered                   // share of the query that the first owner's tools say
	Added                     // what another owner adds to that at most
	AddedByAll                // what all other owners add to it
	CoveredPart               // Covered as a share of what all owners say
	NeedsOwned                // share of the needs that no owner says more of than the first
	NeedOwners                // distinct owners who say most of a need
	NeedGap                   // the most by which a need's best owner is ahead of the first owner
	NeedGapMean               // the mean of that over the needs
	SignalCount
)

// Signals holds a value for each signal.
type Signals [SignalCount]float64

// The depths to which a ranking is looked at.
const (
	topTools   = 10 // whose owners and scores are counted
	wordTools  = 20 // whose words are
	ownerTools = 50 // whose scores are shared out among owners
)

// SignalsOf reads the signals off a ranking, best first, of which the scores
// need not be calibrated. Needs are the words of each need, as those of Item.
func SignalsOf(items []Item, needs []Words) Signals {
	var s Signals
	if len(items) == 0 || items[0].Score <= 0 {
		return s
	}
	s.ofScores(items)
	s.ofWords(items[:min(len(items), wordTools)], needs)
	return s
}

func (s *Signals) ofScores(items []Item) {
	top, first := items[0].Score, items[0].owner()
	best, leaders, siblings := map[string]bool{}, []float64{}, 0
	var all, own float64
	for i := range items[:min(len(items), ownerTools)] {
		owner, score := items[i].owner(), max(0, items[i].Score/top)
		if i < topTools {
			all += score
		}
		if owner == first {
			if siblings++; siblings == 2 {
				s[Sibling] = score
			}
			if i < topTools {
				own += score
			}
		}
		if !best[owner] {
			best[owner] = true
			leaders = append(leaders, score)
		}
		if i == topTools-1 || i == len(items)-1 && i < topTools {
			s[Owners] = float64(len(best))
		}
		if i == 4 {
			s[Fifth] = score
		}
	}
	leaders = append(leaders, 0, 0)
	s[Second], s[Third], s[Mass] = leaders[1], leaders[2], own/all
}

func (s *Signals) ofWords(items []Item, needs []Words) {
	var query Words
	for _, need := range needs {
		query = query.and(need)
	}
	s[Needs], s[Length] = float64(len(needs)), math.Log(1+float64(len(query)))
	said := map[string]Words{}
	var all Words
	for i := range items {
		words := items[i].Words.in(query)
		owner := items[i].owner()
		said[owner], all = said[owner].and(words), all.and(words)
	}
	s.ofCoverage(said, len(all), items[0].owner(), float64(max(1, len(query))))
	s.ofNeeds(items, needs)
}

func (s *Signals) ofCoverage(said map[string]Words, all int, first string, words float64) {
	own := said[first]
	var added int
	for _, other := range said {
		added = max(added, len(other)-other.shared(own))
	}
	s[Covered], s[Added] = float64(len(own))/words, float64(added)/words
	s[AddedByAll] = float64(all-len(own)) / words
	s[CoveredPart] = float64(len(own)) / float64(max(1, all))
}

// ofNeeds looks for the owner of the tool that says most of each need: the first
// owner where it says as much as any, else the one that ranks first.
func (s *Signals) ofNeeds(items []Item, needs []Words) {
	first := items[0].owner()
	owners := map[string]bool{}
	for _, need := range needs {
		own, most, by := 0.0, -1.0, first
		for i := range items {
			share := shareOf(need, items[i].Words)
			if items[i].owner() == first {
				own = max(own, share)
			}
			if share > most {
				most, by = share, items[i].owner()
			}
		}
		if own >= most {
			by = first
			s[NeedsOwned] += 1 / float64(len(needs))
		}
		owners[by] = true
		s[NeedGap] = max(s[NeedGap], most-own)
		s[NeedGapMean] += (most - own) / float64(len(needs))
	}
	s[NeedOwners] = float64(len(owners))
}

// shareOf returns the share of the words of need that are in words.
func shareOf(need, words Words) float64 {
	return float64(need.shared(words)) / float64(max(1, len(need)))
}
