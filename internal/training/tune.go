package training

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/pkg/fusion"
)

// Tuning is what a search for built-in weights began with and came to.
type Tuning struct {
	Model  fusion.Model
	Before []float64 // quality of the beginning, by set
	After  []float64 // quality of Model, by set

	// LeftOut is the quality on each set of the weights that a search on the
	// other sets alone comes to: what to expect on a set that nobody tuned to.
	LeftOut []float64
}

// least is the gain below which a change is taken for noise.
const least = 0.0003

// maxRounds bounds the steps of a search.
const maxRounds = 8

// Tune searches for what the vectors of an embedding model count against words,
// over a grid of factors, on several sets of queries together. What is compared
// is the mean over the neighbourhood of each point, so that a flat optimum wins
// over a narrow one.
//
// It is the one thing that a model has to be asked for. Searches over all
// weights, or over those of clauses, pairs, owners and suppliers apart, find more
// on the sets that they look at and lose on one that was left out.
//
// The quality of a set is the mean of NDCG@5 and NDCG@10.
func Tune(ctx context.Context, sets []*Deck, begin fusion.Model, progress func(stage string, done, total int)) (*Tuning, error) {
	if len(sets) == 0 {
		return nil, errors.New("tune: no data set")
	}
	report := func(done int) {
		if progress != nil {
			progress("tuning", done, len(sets)+1)
		}
	}
	t := &Tuning{}
	var err error
	if t.Model, err = climb(ctx, sets, begin); err != nil {
		return nil, err
	}
	report(1)
	for i, set := range sets {
		t.Before = append(t.Before, set.Quality(&begin))
		t.After = append(t.After, set.Quality(&t.Model))
		if len(sets) == 1 {
			break
		}
		others := slices.Delete(slices.Clone(sets), i, i+1)
		without, err := climb(ctx, others, begin)
		if err != nil {
			return nil, err
		}
		t.LeftOut = append(t.LeftOut, set.Quality(&without))
		report(i + 2)
	}
	return t, nil
}

// factors are what is tried in place of a weight, as parts of it.
func factors() []float64 { return []float64{1.3, 1 / 1.3, 2, 0.5} }

// climb is a search that begins at m.
func climb(ctx context.Context, sets []*Deck, m fusion.Model) (fusion.Model, error) {
	best := neighbourhood(sets, m)
	for range maxRounds {
		before, begin := best, m
		for _, factor := range factors() {
			if err := ctx.Err(); err != nil {
				return m, fmt.Errorf("tune: %w", err)
			}
			next := scaled(begin, factor)
			if q := neighbourhood(sets, next); q > best+least {
				best, m = q, next
			}
		}
		if best-before < least {
			break
		}
	}
	return m, nil
}

// scaled returns m with the weights of all vectors times a factor.
func scaled(m fusion.Model, factor float64) fusion.Model {
	for f := range m.Features {
		if fusion.Feature(f).Dense() {
			m.Features[f] *= factor
		}
	}
	return m
}

// neighbourhood is the mean quality of a model and of those in which all dense
// weights, or all of the needs', are a third higher or lower.
func neighbourhood(sets []*Deck, m fusion.Model) float64 {
	sum, points := 0.0, 0.0
	for _, scale := range [][2]float64{{1, 1}, {1.33, 1}, {0.75, 1}, {1, 1.33}, {1, 0.75}} {
		near := m
		for f := range near.Features {
			if fusion.Feature(f).Dense() {
				near.Features[f] *= scale[0]
			}
			if fusion.Feature(f).Needs() {
				near.Features[f] *= scale[1]
			}
		}
		for _, set := range sets {
			sum += set.Quality(&near)
			points++
		}
	}
	return sum / points
}
