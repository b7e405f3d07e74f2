package trainer

import (
	"maps"
	"math"
	"slices"
)

// How people click, where it is not known better: who looks at a result clicks
// against what is right in one of ten looks, and looks at rank r once in r
// searches. How much of what stands at a rank is right is learned, beginning with
// one in ten.
const (
	errs      = 0.1
	share     = 0.1
	shareOver = 10  // results that the beginning counts for
	leastOdds = -4. // log odds of a rank
)

// How likely what is right for a question is not any more by the next search for it
// that is reported on, and how likely what is not right is: where one tool gives its
// place to another, that is one of hundreds.
const (
	turnsWrong = 0.05
	turnsRight = 0.0001
)

// How clients are judged.
const (
	sweeps  = 4 // in which results and clients are judged in turn
	trusted = 2 // log odds that a client who is not known means what it clicks
	certain = 8 // bound on log odds

	silentMost = 2 // of those who surely looked, whom all count for together who reported nothing
)

// beliefs are what a tenant's questions say when they are taken together: the log
// odds that a result is right for a question, and how far a client is to be
// believed. The two are found in turn, as Dawid and Skene (1979) do: a client whose
// clicks fall where others found what is right is believed, and one who clicks
// results as if thrown by dice is not.
type beliefs struct {
	odds   map[string][]float64 // by question, of its Tools
	came   map[string][]float64 // the part of it that is not of the ranks alone
	heard  map[string][]float64 // odds without what silence says
	ranks  [maxLooked]float64   // log odds that what stands there is right
	tells  float64              // share of those who search who report what they do
	honest map[string]float64   // by client, from 0 to 1
}

// believe judges results and clients.
func (t *account) believe() beliefs {
	b := beliefs{odds: map[string][]float64{}, came: map[string][]float64{}, heard: map[string][]float64{}, honest: map[string]float64{}}
	ids := slices.Sorted(maps.Keys(t.questions))
	for i := range b.ranks {
		b.ranks[i] = math.Log(share / (1 - share))
	}
	for range sweeps {
		says := map[string]float64{}
		for _, id := range ids {
			q := t.questions[id]
			b.judge(q)
			for i := range q.Seen {
				says[q.Seen[i].Client] += b.honesty(q, &q.Seen[i])
			}
		}
		b.rate(t, ids)
		b.hear(t, ids)
		for client, sum := range says {
			b.honest[client] = logistic(trusted + max(-certain, min(sum, certain)))
		}
	}
	return b
}

// judge finds the log odds of a question's results: those of the ranks at which
// they stood, and what came of it.
func (b *beliefs) judge(q *question) {
	stood, times := make([]float64, len(q.Tools)), make([]int, len(q.Tools))
	for i := range q.Seen {
		for rank, tool := range q.Seen[i].Shown {
			times[tool]++
			stood[tool] += b.ranks[min(rank, maxLooked-1)]
		}
	}
	came, heard := b.outcome(q)
	odds := slices.Clone(came)
	for i := range odds {
		place := stood[i] / float64(max(times[i], 1))
		odds[i] += place
		heard[i] += place
	}
	b.odds[q.id], b.came[q.id], b.heard[q.id] = odds, came, heard
}

// outcome returns what came of the searches for a question, as log odds of its
// results, and what came of those that were reported on: what the others say takes
// away no more than two would who surely looked.
//
// What is right may change, so that what came long ago tells less, reported or not.
func (b *beliefs) outcome(q *question) (came, heard []float64) {
	came, heard = make([]float64, len(q.Tools)), make([]float64, len(q.Tools))
	for i := range q.Seen {
		o := &q.Seen[i]
		if o.silent() {
			listened := b.listened(q, o)
			for rank, tool := range o.Shown {
				came[tool] = max(came[tool]+listened*o.evidence(rank, tool), heard[tool]+silentMost*math.Log(errs/(1-errs)))
			}
			continue
		}
		believed := b.of(o.Client)
		for tool := range came {
			came[tool], heard[tool] = turned(came[tool], believed), turned(heard[tool], believed)
		}
		for rank, tool := range o.Shown {
			says := believed * o.evidence(rank, tool)
			came[tool], heard[tool] = came[tool]+says, heard[tool]+says
		}
	}
	return came, heard
}

// turned returns what is left by the next search of what came of those before: the
// forward step of a hidden Markov model of two states (Rabiner 1989, equation 20), from
// the odds of what nothing is known of. It moves towards these and not beyond, and as
// far as the next search is believed: who clicks at random makes nobody forget.
func turned(came, believed float64) float64 {
	if came == 0 {
		return 0
	}
	unknown := math.Log(share / (1 - share))
	p := logistic(unknown + came)
	if came > 0 {
		p *= 1 - turnsWrong*believed
		return max(0, math.Log(p/(1-p))-unknown)
	}
	p += (1 - p) * turnsRight * believed
	return min(0, math.Log(p/(1-p))-unknown)
}

// rate learns how much of what stands at a rank is right.
func (b *beliefs) rate(t *account, ids []string) {
	var right, all [maxLooked]float64
	for _, id := range ids {
		q := t.questions[id]
		for i := range q.Seen {
			for rank, tool := range q.Seen[i].Shown[:min(len(q.Seen[i].Shown), maxLooked)] {
				right[rank] += logistic(b.odds[id][tool]) / float64(len(q.Seen))
				all[rank] += 1 / float64(len(q.Seen))
			}
		}
	}
	for rank := range b.ranks {
		p := (right[rank] + share*shareOver) / (all[rank] + shareOver)
		b.ranks[rank] = max(leastOdds, min(math.Log(p/(1-p)), 0))
	}
}

// of returns how far a client is to be believed. Who has no name is one of many.
func (b *beliefs) of(client string) float64 {
	if h, known := b.honest[client]; known && client != "" {
		return h
	}
	return 1
}

// evidence is the log of how much likelier what a search led to is where the result
// at that rank is right.
func (o *observation) evidence(rank, tool int) float64 {
	looks := 1 / float64(rank+1)
	switch {
	case slices.Contains(o.Rejected, tool):
		return math.Log(errs/(1-errs)) / 2 // it may have been right and out of order
	case slices.Contains(o.Used, tool):
		return math.Log((1 - errs) / errs)
	}
	return math.Log((1 - (1-errs)*looks) / (1 - errs*looks))
}

// honesty is the log of how much likelier a search's clicks are of one who looks
// for what is right, as far as others tell, than of dice.
func (b *beliefs) honesty(q *question, o *observation) (sum float64) {
	for rank, tool := range o.Shown {
		if !slices.Contains(o.Used, tool) {
			continue
		}
		others := b.odds[q.id][tool] - b.of(o.Client)*o.evidence(rank, tool)
		clicks := (errs + (1-2*errs)*logistic(others)) / float64(rank+1)
		sum += math.Log(clicks * float64(len(o.Shown)))
	}
	return sum
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
