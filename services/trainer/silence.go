package trainer

import "math"

// silent reports whether nothing was reported of a search.
func (o *observation) silent() bool { return len(o.Used)+len(o.Rejected) == 0 }

func (r *searchRecord) silent() bool { return len(r.Used)+len(r.Rejected) == 0 }

// overhear adds a search of which nothing was reported to what is known of its
// question, if that is known: who looked and used nothing says that what stood first
// is not right. It makes no question of its own, so that nobody who only asks can
// push out what others reported.
func (t *account) overhear(m *memory, search string, rec *searchRecord) {
	if q := t.questionOf(rec, search); q != nil {
		t.see(m, q, search, rec)
	}
}

// hear learns how many of those who search report what they do: as many searches were
// reported on as were to be expected of so many.
func (b *beliefs) hear(t *account, ids []string) {
	var told, expected float64
	for _, id := range ids {
		q := t.questions[id]
		for i := range q.Seen {
			if !q.Seen[i].silent() {
				told++
			}
			expected += 1 - b.nothing(q, &q.Seen[i])
		}
	}
	b.tells = min(1, told/max(expected, 1))
}

// nothing is how likely somebody who reports finds nothing to use in a search, as far
// as reports tell what is right: silence must not prove itself.
func (b *beliefs) nothing(q *question, o *observation) float64 {
	p := 1.
	for rank, tool := range o.Shown {
		right := share
		if heard := b.heard[q.id]; heard != nil {
			right = logistic(heard[tool])
		}
		p *= 1 - (errs+(1-2*errs)*right)/float64(rank+1)
	}
	return p
}

// listened is how likely it was somebody who reports of whom nothing was heard.
func (b *beliefs) listened(q *question, o *observation) float64 {
	p := b.tells * b.nothing(q, o)
	return p / max(p+1-b.tells, math.SmallestNonzeroFloat64)
}
