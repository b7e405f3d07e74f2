package distill

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/models/static"
)

const (
	// When words are chosen for rows, a text about tools counts more than general language,
	// because the model will embed tools.
	toolCount    = 3
	generalCount = 1
	// minCount is how often a word must count to have a row.
	minCount = 2
)

// vocabulary holds the words that have rows, and how often words occur.
type vocabulary struct {
	words []string // the most frequent first
	rows  map[string]int
	share map[string]float64 // of all words counted
}

// usage is how a word is used.
type usage struct {
	count  int
	group  string // the first that used it
	groups int    // counted to 2
	known  bool   // in general language
}

// chooseWords returns the n words that count most, from the words that at least two groups or
// general language use: a word of a single vendor is likely a name. With minGroups 1, every
// word that counts at least twice may have a row. If the texts have fewer such words, there
// are fewer rows.
func chooseWords(texts []Text, lemmas []string, n, minGroups int) vocabulary {
	used := countWords(texts, lemmas)
	total := 0
	var words []string
	for w, u := range used {
		total += u.count
		if u.count >= minCount && (u.known || minGroups <= 1 || u.groups >= minGroups) {
			words = append(words, w)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(used[b].count, used[a].count), strings.Compare(a, b))
	})
	v := vocabulary{words: words[:min(n, len(words))], rows: map[string]int{}, share: map[string]float64{}}
	for row, w := range v.words {
		v.rows[w] = row
		v.share[w] = float64(used[w].count) / float64(total)
	}
	return v
}

func countWords(texts []Text, lemmas []string) map[string]*usage {
	used := map[string]*usage{}
	of := func(w string) *usage {
		if used[w] == nil {
			used[w] = &usage{}
		}
		return used[w]
	}
	for _, t := range texts {
		words := static.Words(t.Text)
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			of(w).see(t)
		}
	}
	for _, w := range lemmas {
		if u := used[w]; u != nil {
			u.known = true
		}
	}
	return used
}

func (u *usage) see(t Text) {
	switch {
	case t.General:
		u.count += generalCount
		u.known = true
		return
	case t.Group != "" && u.groups == 0:
		u.group, u.groups = t.Group, 1
	case t.Group != "" && u.groups == 1 && u.group != t.Group:
		u.groups = 2
	}
	u.count += toolCount
}

// alone returns the words that are also learned by themselves: all but numbers.
func (v vocabulary) alone() []string {
	return slices.DeleteFunc(slices.Clone(v.words), func(w string) bool { return strings.Trim(w, "0") == "" })
}

// entry is a row that a text's sum has, and how often.
type entry struct {
	row    int32
	weight float32
}

// entries returns the rows of a text, as the model will add them up.
func (v vocabulary) entries(text string) (out []entry) {
	words := static.Words(text)
	slices.Sort(words)
	for len(words) > 0 {
		n := 1
		for n < len(words) && words[n] == words[0] {
			n++
		}
		if row, known := v.rows[words[0]]; known {
			out = append(out, entry{int32(row), static.Weight(n)})
		}
		words = words[n:]
	}
	return out
}
