package asked

import (
	"cmp"
	"slices"
	"time"

	"github.com/toolstream/toolstream/pkg/schema"
)

// same is the cosine from which on two queries ask for the same.
const same = 0.95

// Exemplar is a query that stands for all that ask for the same.
type Exemplar struct {
	Vector schema.Direction `json:"v"`
	Uses   Tally            `json:"u"`
}

// Exemplars are the queries that a tool was used for, at most schema.MaxAsked,
// ordered by their vectors: as long as none gives way and none is another's
// neighbour, they do not depend on the order in which they came.
type Exemplars []Exemplar

// Add counts a use of the tool for a query. The nearest one that asks for the
// same is used once more; if there is none, the query joins. Where it is one too
// many, the one that is least used as of the newest use gives way, but not the
// one that was used last: what a tool is newly used for must not wait until
// years of other use have faded. It changes e and returns what is left of it.
func (e Exemplars) Add(query schema.Direction, at time.Time, halfLife time.Duration) Exemplars {
	if near := e.nearest(query); near >= 0 {
		e[near].Uses = e[near].Uses.Add(at, halfLife)
		return e
	}
	place, _ := slices.BinarySearchFunc(e, query, func(x Exemplar, v schema.Direction) int { return slices.Compare(x.Vector, v) })
	e = slices.Insert(e, place, Exemplar{Vector: query, Uses: Tally{}.Add(at, halfLife)})
	if len(e) > schema.MaxAsked {
		weakest := e.weakest(halfLife)
		e = slices.Delete(e, weakest, weakest+1)
	}
	return e
}

// nearest returns the position of the exemplar that asks for the same as the
// query, -1 for none.
func (e Exemplars) nearest(query schema.Direction) int {
	at, best := -1, same
	for i := range e {
		if cosine := e[i].Vector.Cosine(query); cosine > best || cosine == best && at < 0 {
			at, best = i, cosine
		}
	}
	return at
}

// weakest returns the position of the exemplar that gives way. Equally used ones
// give way in the order of their vectors.
func (e Exemplars) weakest(halfLife time.Duration) int {
	newest := slices.MaxFunc(e, func(a, b Exemplar) int { return a.Uses.At.Compare(b.Uses.At) }).Uses.At
	least := func(i, j int) int {
		return cmp.Or(cmp.Compare(e[i].Uses.Decayed(newest, halfLife), e[j].Uses.Decayed(newest, halfLife)), cmp.Compare(i, j))
	}
	var earlier, all []int
	for i := range e {
		if all = append(all, i); e[i].Uses.At.Before(newest) {
			earlier = append(earlier, i)
		}
	}
	if len(earlier) == 0 {
		return slices.MinFunc(all, least)
	}
	return slices.MinFunc(earlier, least)
}

// Faded returns the exemplars that still count for something as of now. It
// changes e.
func (e Exemplars) Faded(now time.Time, halfLife time.Duration) Exemplars {
	return slices.DeleteFunc(e, func(x Exemplar) bool { return x.Uses.Decayed(now, halfLife) < Negligible })
}

// Vectors returns the directions of the exemplars.
func (e Exemplars) Vectors() []schema.Direction {
	out := make([]schema.Direction, len(e))
	for i := range e {
		out[i] = e[i].Vector
	}
	return out
}
