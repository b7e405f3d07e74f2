package lexical

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	maxRead     = 16 // unknown words of a query that are looked up
	twoEdits    = 8  // least characters of a word that may have two slips
	sureStart   = 8  // least characters of a word whose first letter may be a slip
	leastOfName = 5  // characters of a name that may have a slip
	mostBlanks  = 5  // in such a name; a request has more
	minRun      = 6  // bytes of words that are run together
	maxRun      = 64
	minPiece    = 3 // bytes of a word in a run
	leastHeld   = 2 // documents that hold a word in a run
)

// How much a name and a query are the same name.
const (
	identical = 1    // as written
	sameName  = 0.75 // case or separators differ
	slip      = 0.5  // within one edit
)

// Named returns the slots of the documents with this name, and how much it is theirs. Documents
// within one edit have it only if no other has.
func (s *Snapshot) Named(name string) map[uint32]float64 {
	key := nameKey(name)
	if key == "" {
		return nil
	}
	slots := map[uint32]float64{}
	s.holding(Name, nameMarker+key, func(slot uint32) { slots[slot] = sameName })
	s.holding(Name, writtenMarker+strings.TrimSpace(name), func(slot uint32) { slots[slot] = identical })
	if len(slots) > 0 || utf8.RuneCountInString(key) < leastOfName || strings.Count(name, " ") > mostBlanks {
		return slots
	}
	for _, p := range s.parts {
		near(p.names, key, 1, func(other string, _ int) {
			s.holding(Name, nameMarker+other, func(slot uint32) { slots[slot] = slip })
		})
	}
	return slots
}

// nameKey returns the letters, digits and signs of a name in one spelling, or "" if it is too long.
func nameKey(name string) string {
	if len(name) > maxName {
		return ""
	}
	return text.Key(name)
}

// holding calls found with the slots of the documents with a term.
func (s *Snapshot) holding(f Field, term string, found func(slot uint32)) {
	for _, p := range s.parts {
		for _, posting := range p.fields[f].find(hash(term)) {
			if !p.dead.has(posting.slot()) {
				found(posting.slot())
			}
		}
	}
}

// Read returns a query with its unknown words read as words of the index: words that it is made of,
// or a word within one edit, two from eight characters. A word is known if an accepted document
// holds it, or known says so. A capital inside a sentence makes a word a proper name, which stays,
// except in German.
func (s *Snapshot) Read(query string, accept func(slot uint32) bool, known func(word string) bool) (string, []schema.Correction) {
	for slot := range s.Named(query) {
		if accept(slot) {
			return query, nil
		}
	}
	in := interpreter{snapshot: s, accept: accept, known: known}
	split := text.Split(query)
	in.languages, in.sure = text.Detect(text.Words(split))
	var b strings.Builder
	for rest := split; rest != ""; {
		n := strings.IndexFunc(rest, func(r rune) bool { return !text.IsWordRune(r) })
		switch {
		case n == 0:
			_, n = utf8.DecodeRuneInString(rest)
			b.WriteString(rest[:n])
		default:
			if n < 0 {
				n = len(rest)
			}
			b.WriteString(in.run(rest[:n], b.Len() > 0))
		}
		rest = rest[n:]
	}
	if len(in.corrections) == 0 {
		return query, nil
	}
	return b.String(), in.corrections
}

// interpreter reads the words of one query.
type interpreter struct {
	snapshot    *Snapshot
	accept      func(slot uint32) bool
	known       func(word string) bool
	languages   text.Languages
	sure        text.Sure
	marker      string // of the documents whose words a word may be read as; empty: of all
	stem        string // of the words that a word may be read as; empty: any
	tried       int    // words
	corrections []schema.Correction
}

// run returns the text that a run of letters is read as: itself, if it is known.
func (in *interpreter) run(run string, inside bool) string {
	if len(run) < minSpelt || len(run) > maxRun || in.tried == maxRead {
		return run
	}
	words := text.Words(run)
	if len(words) != 1 || !words[0].Spaced() || !text.Alphabetic(words[0].Text) || in.knows(&words[0]) {
		return run
	}
	w, l := words[0].Text, in.languages[words[0].Script]
	if first, _ := utf8.DecodeRuneInString(run); inside && unicode.IsUpper(first) && l != "de" {
		return run
	}
	in.marker, in.stem = "", ""
	if in.held(Stem, text.Stem(w)) > 0 {
		in.stem = w
	}
	if l != text.English && in.sure[words[0].Script] {
		in.marker = languageMarker + string(l)
	}
	for _, c := range in.corrections {
		if c.From == w {
			return c.To
		}
	}
	in.tried++
	read, likely := in.pieces(w)
	if near, n := in.nearest(w); n > 0 && in.log(n) >= likely {
		read = near
	}
	if read == "" {
		return run
	}
	in.corrections = append(in.corrections, schema.Correction{From: w, To: read})
	return read
}

// log returns the logarithm of the share of the documents that n are.
func (in *interpreter) log(n int) float64 {
	return math.Log(float64(n) / float64(in.snapshot.sums[Flat].docs))
}

// knows reports whether a word needs no reading. A stem that documents hold does not make it a word
// by itself (creat).
func (in *interpreter) knows(w *text.Word) bool {
	if text.StopWord(w.Text) || w.Filler() || in.known(w.Text) || in.known(w.Plain) || in.held(Flat, w.Text) > 0 || in.held(Flat, w.Plain) > 0 {
		return true
	}
	if stem := text.Stem(w.Plain); stem != w.Plain && in.held(Stem, stem) > 0 {
		return true
	}
	a := inquiry{snapshot: in.snapshot, field: Stem, languages: in.languages, sure: in.sure}
	for _, l := range a.candidates(w) {
		stem := w.StemIn(l)
		if in.held(Stem, stem) > 0 && in.together(Stem, stem, languageMarker+string(l)) || w.FunctionWord(l) {
			return true
		}
		if l.Compounds() && in.sure[w.Script] {
			if _, head := a.split(stem); head != "" || len(a.endingIn(stem)) > 0 {
				return true
			}
		}
	}
	return false
}

// held returns how many documents hold a term, 0 if the caller may see none of them.
func (in *interpreter) held(f Field, term string) (n int) {
	seen := false
	key := hash(term)
	for _, p := range in.snapshot.parts {
		list := p.fields[f].find(key)
		n += len(list)
		for i := 0; i < len(list) && !seen; i++ {
			seen = !p.dead.has(list[i].slot()) && in.accept(list[i].slot())
		}
	}
	if !seen {
		return 0
	}
	return n
}

// together reports whether a document in the language of a marker holds a term: terms of two
// languages are often alike by chance.
func (in *interpreter) together(f Field, term, marker string) bool {
	for _, p := range in.snapshot.parts {
		marked := p.fields[Stem].find(hash(marker))
		for _, posting := range p.fields[f].find(hash(term)) {
			at := search(marked, posting.slot())
			if at < len(marked) && marked[at].slot() == posting.slot() && !p.dead.has(posting.slot()) {
				return true
			}
		}
	}
	return false
}

// nearest returns the word of the index with the fewest edits, and of several the one in most
// documents, and their number; "" for none. A word of another language than English is read as a
// word of its language, or as one that differs at the end (calendario). The first letter of a short
// word, and of a word with two edits, is right: a slip is seldom there, and other words often differ
// there alone.
func (in *interpreter) nearest(word string) (string, int) {
	first, _ := utf8.DecodeRuneInString(word)
	edits := 1
	if utf8.RuneCountInString(word) >= twoEdits {
		edits = 2
	}
	type candidate struct {
		word        string
		edits, held int
	}
	var best candidate
	for _, p := range in.snapshot.parts {
		near(p.words, word, edits, func(s string, edits int) {
			own, _ := utf8.DecodeRuneInString(s)
			if own != first && (edits > 1 || utf8.RuneCountInString(word) < sureStart) || text.StopWord(s) || text.Filler(s) || in.stem != "" && text.Stem(s) != in.stem {
				return
			}
			c := candidate{s, edits, in.held(Flat, s)}
			if in.marker != "" && !(len(word) >= minRun && strings.HasPrefix(s, word[:len(word)-edits])) && !in.together(Flat, s, in.marker) {
				return
			}
			if c.held > 0 && (best.held == 0 || cmp.Or(cmp.Compare(c.edits, best.edits), cmp.Compare(best.held, c.held), cmp.Compare(c.word, best.word)) < 0) {
				best = c
			}
		})
	}
	return best.word, best.held
}

// pieces returns the words of the index that a word is made of, "" if it is not. Of several
// divisions it takes the most probable one, and returns its logarithm: the largest product of the
// shares of documents that hold the words.
func (in *interpreter) pieces(word string) (words string, log float64) {
	if len(word) < minRun || in.marker != "" || in.stem != "" {
		return "", math.Inf(-1)
	}
	type division struct {
		log  float64
		from int
	}
	best := make([]division, len(word)+1)
	for to := 1; to <= len(word); to++ {
		best[to].log = math.Inf(-1)
		for from := max(0, to-maxRun); from <= to-minPiece; from++ {
			if from > 0 && math.IsInf(best[from].log, -1) || from == 0 && to == len(word) {
				continue
			}
			n := in.held(Flat, word[from:to])
			if text.StopWord(word[from:to]) {
				n = in.snapshot.sums[Flat].docs
			}
			if n < leastHeld {
				continue
			}
			if log := best[from].log + in.log(n); log > best[to].log {
				best[to] = division{log, from}
			}
		}
	}
	log = best[len(word)].log
	if math.IsInf(log, -1) {
		return "", log
	}
	var pieces []string
	for to := len(word); to > 0; to = best[to].from {
		pieces = append(pieces, word[best[to].from:to])
	}
	slices.Reverse(pieces)
	return strings.Join(pieces, " "), log
}
