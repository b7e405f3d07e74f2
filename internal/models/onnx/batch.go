package onnx

import (
	"cmp"
	"iter"
	"slices"

	"github.com/toolstream/toolstream/internal/models/modelstore"
)

// marks is how many ids a text without a token has: its begin and its end.
const marks = 2

// encoded holds the ids of texts, one after the other.
type encoded struct {
	ids   []int64
	ends  []int // of each text in ids
	query int   // number of ids of the query before each text
}

func (m *Model) encode(prefix string, texts []string) encoded {
	e := encoded{ends: make([]int, len(texts))}
	for i, text := range texts {
		if text != "" {
			text = prefix + text
		}
		e.ids = m.tokenizer.Append(e.ids, text, m.description.MaxTokens)
		e.ends[i] = len(e.ids)
	}
	return e
}

func (e encoded) text(i int) []int64 {
	if i == 0 {
		return e.ids[:e.ends[0]]
	}
	return e.ids[e.ends[i-1]:e.ends[i]]
}

// batches yields the texts that run together, by number: texts of like length,
// so that little is padded, and at most so many tokens with padding. The
// longest come first, so that no long text runs alone at the end. The vectors of an
// int8 model depend on the other texts of their batch, so its texts run one by one.
func (e encoded) batches(precision string, tokens int) iter.Seq[[]int] {
	var order []int
	for i := range e.ends {
		if len(e.text(i)) > marks {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(e.text(b)), len(e.text(a))) })
	return func(yield func([]int) bool) {
		for len(order) > 0 {
			n := 1
			if precision == modelstore.F32 {
				n = min(len(order), max(1, tokens/len(e.text(order[0]))))
			}
			if !yield(order[:n]) {
				return
			}
			order = order[n:]
		}
	}
}

// batch is the input of a run: rows of equal length.
type batch struct {
	rows, length int
	lengths      []int // of each row without padding
	// Rows of length. A type is 0 for the first text of a row, 1 for its second.
	ids, mask, types []int64
}

func (e encoded) batch(rows []int, padding int64) batch {
	b := batch{rows: len(rows), length: len(e.text(rows[0])), lengths: make([]int, len(rows))}
	size := b.rows * b.length
	b.ids, b.mask, b.types = make([]int64, size), make([]int64, size), make([]int64, size)
	for i, row := range rows {
		at := i * b.length
		b.lengths[i] = copy(b.ids[at:], e.text(row))
		for k := range b.length {
			if k < b.lengths[i] {
				b.mask[at+k] = 1
			} else {
				b.ids[at+k] = padding
			}
			if e.query > 0 && k >= e.query && k < b.lengths[i] {
				b.types[at+k] = 1
			}
		}
	}
	return b
}
