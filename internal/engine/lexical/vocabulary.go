package lexical

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// vocabulary is the strings behind some of the terms of a segment, each list in byte order.
type vocabulary struct {
	words     []string // as written, that a misspelt word may be read as
	names     []string // keys of names
	compounds []string // stems of words that may be compounds
	reversed  []string // the same from the last character to the first
}

// newVocabulary takes over lists, some strings in them twice.
func newVocabulary(words, names, compounds []string) vocabulary {
	for _, list := range []*[]string{&words, &names, &compounds} {
		slices.Sort(*list)
		*list = packed(slices.Compact(*list))
	}
	return vocabulary{words, names, compounds, reversedAll(compounds)}
}

// bytes returns the memory of the lists.
func (v *vocabulary) bytes() (n int) {
	for _, list := range [][]string{v.words, v.names, v.compounds, v.reversed} {
		n += 16 * cap(list)
		for _, s := range list {
			n += len(s)
		}
	}
	return n
}

// reversedAll returns the reverses of some strings in byte order.
func reversedAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = reversed(s)
	}
	slices.Sort(out)
	return out
}

// packed returns the strings in memory that they share.
func packed(list []string) []string {
	all, out := strings.Join(list, ""), make([]string, len(list))
	for i, s := range list {
		out[i], all = all[:len(s)], all[len(s):]
	}
	return out
}

// mergeVocabularies returns the strings of the parts whose terms the merged fields still hold.
func mergeVocabularies(parts []part, fields *[FieldCount]postings) (v vocabulary) {
	dead := slices.ContainsFunc(parts, func(p part) bool { return p.dead.size > 0 })
	merged := func(list func(part) []string, f Field, marker string) (out []string) {
		for _, p := range parts {
			out = mergedStrings(out, list(p))
		}
		if dead {
			out = slices.DeleteFunc(out, func(s string) bool { return fields[f].find(hash(marker+s)) == nil })
		}
		return packed(out)
	}
	v.words = merged(func(p part) []string { return p.words }, Flat, "")
	v.names = merged(func(p part) []string { return p.names }, Name, nameMarker)
	v.compounds = merged(func(p part) []string { return p.compounds }, Stem, "")
	v.reversed = reversedAll(v.compounds)
	return v
}

// mergedStrings returns the distinct strings of two lists in byte order, each without repeats.
func mergedStrings(a, b []string) []string {
	out := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		c := cmp.Compare(a[0], b[0])
		if c <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out = append(out, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// near calls found with every string of a sorted list within so many edits of a word, 1 or more: a
// letter left out, added or replaced, or two neighbours swapped (optimal string alignment).
// Strings that share a prefix share its work, and a prefix that is too far ends all strings that
// begin with it.
func near(list []string, word string, edits int, found func(s string, edits int)) {
	w := aligner{word: []rune(word), edits: edits}
	w.rows, w.least = append(w.rows, make([]int, len(w.word)+1)), []int{0}
	for i := range w.rows[0] {
		w.rows[0][i] = i
	}
	for at := 0; at < len(list); {
		s := list[at]
		prefix, hopeless := w.align(s)
		if !hopeless {
			if n := w.rows[len(w.path)][len(w.word)]; n <= edits && len(w.path)+edits >= len(w.word) {
				found(s, n)
			}
			at++
			continue
		}
		at += beyond(list[at:], s[:prefix])
	}
}

// beyond returns how many strings at the beginning of a sorted list begin with a prefix.
func beyond(list []string, prefix string) int {
	step := 1
	for step < len(list) && strings.HasPrefix(list[step], prefix) {
		step *= 2
	}
	from := step / 2
	n, _ := slices.BinarySearchFunc(list[from:min(step, len(list))], prefix, func(s, prefix string) int {
		if strings.HasPrefix(s, prefix) {
			return -1
		}
		return 1
	})
	return from + n
}

// aligner compares a word with one string after the other.
type aligner struct {
	word  []rune
	edits int
	path  []rune  // the beginning of the last string
	rows  [][]int // edits between each beginning of the word and each of path, if they may be few
	least []int   // of each row
}

// align extends the rows to a string. It is hopeless if a prefix of so many bytes has too many edits.
func (w *aligner) align(s string) (prefix int, hopeless bool) {
	depth, bytes := 0, 0
	for depth < len(w.path) && bytes < len(s) {
		r, size := utf8.DecodeRuneInString(s[bytes:])
		if r != w.path[depth] {
			break
		}
		depth, bytes = depth+1, bytes+size
	}
	w.path, w.rows, w.least = w.path[:depth], w.rows[:depth+1], w.least[:depth+1]
	for bytes < len(s) {
		r, size := utf8.DecodeRuneInString(s[bytes:])
		bytes += size
		if least := w.step(r); least > w.edits {
			return bytes, true
		}
	}
	return bytes, false
}

// step adds a letter to the path, and returns the least number of edits that a longer path needs.
func (w *aligner) step(r rune) int {
	depth := len(w.path)
	if depth+1-w.edits > len(w.word) {
		return w.edits + 1
	}
	w.path = append(w.path, r)
	if len(w.rows) == cap(w.rows) {
		w.rows = slices.Grow(w.rows, 1)
	}
	w.rows = w.rows[:depth+2]
	if w.rows[depth+1] == nil {
		w.rows[depth+1] = make([]int, len(w.word)+1)
	}
	row, above, far := w.rows[depth+1], w.rows[depth], w.edits+1
	from, to := max(1, depth+1-w.edits), min(len(w.word), depth+1+w.edits) // all others are too far
	if row[from-1] = far; from == 1 {
		row[0] = depth + 1
	}
	least := row[from-1]
	for i := from; i <= to; i++ {
		cost := 1
		if w.word[i-1] == r {
			cost = 0
		}
		row[i] = min(above[i-1]+cost, above[i]+1, row[i-1]+1)
		if depth > 0 && i > 1 && w.word[i-1] == w.path[depth-1] && w.word[i-2] == r {
			row[i] = min(row[i], w.rows[depth-1][i-2]+1)
		}
		least = min(least, row[i])
	}
	if to < len(w.word) {
		row[to+1] = far
	}
	w.least = append(w.least, least)
	return min(least, w.least[depth]+1) // a swap looks two rows back
}
