package distill

import (
	"slices"

	"github.com/toolstream/toolstream/internal/models/static"
)

// entry is a row that a text's sum has, and how often.
type entry struct {
	row    int32
	weight float32
}

// features knows the words of all texts, as the model will see them.
type features struct {
	kinds []kind    // the distinct words
	texts [][]entry // per text; entry.row is a kind
}

// kind is a distinct word.
type kind struct {
	row   int32   // of the word, -1 if it has none
	grams []entry // the rows of its n-grams
}

// newFeatures cuts the texts into the words of a model with these word rows and
// as many buckets.
func newFeatures(texts []string, rows map[string]int, buckets int) *features {
	f := &features{texts: make([][]entry, len(texts))}
	known := map[string]int32{}
	for i, text := range texts {
		words := static.Words(text)
		slices.Sort(words)
		for len(words) > 0 {
			n := 1
			for n < len(words) && words[n] == words[0] {
				n++
			}
			k, seen := known[words[0]]
			if !seen {
				k = int32(len(f.kinds))
				known[words[0]] = k
				f.kinds = append(f.kinds, newKind(words[0], rows, buckets))
			}
			f.texts[i] = append(f.texts[i], entry{k, static.Weight(n)})
			words = words[n:]
		}
	}
	return f
}

func newKind(word string, rows map[string]int, buckets int) kind {
	k := kind{row: -1}
	if row, known := rows[word]; known {
		k.row = int32(row)
	}
	found := static.Buckets(word, buckets)
	for _, b := range found {
		k.grams = append(k.grams, entry{int32(len(rows)) + int32(b), 1 / float32(len(found))})
	}
	return k
}

// append appends the rows of a text to out.
func (f *features) append(out []entry, text int, through []bool) []entry {
	for _, e := range f.texts[text] {
		k := &f.kinds[e.row]
		if !through[e.row] {
			out = append(out, entry{k.row, e.weight})
			continue
		}
		for _, g := range k.grams {
			out = append(out, entry{g.row, e.weight * g.weight})
		}
	}
	return out
}
