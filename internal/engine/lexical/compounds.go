package lexical

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
)

const (
	minPart     = 4  // bytes of a part of a compound
	tellingPart = 6  // least bytes of a part that needs no proof by the rest
	maxFound    = 32 // compounds that one word is looked for in

	partWeight  = 0.7  // of a compound for its part, or of a part for its compound
	otherWeight = 0.25 // of another compound with the same part
)

// links may join the parts of a compound.
var links = [...]string{"s", "es", "n", "en", "e", "er"}

// compounds adds the compounds that a word is part of, and the parts that it
// is a compound of. stem is the word's in the language.
func (a *inquiry) compounds(v *variants, w *text.Word, stem string, l text.Language) {
	for _, c := range a.endingIn(stem) {
		v.add(c, partWeight)
	}
	for _, spelling := range modifiers(w, stem) {
		for _, c := range a.beginningWith(spelling) {
			v.add(c, partWeight)
		}
	}
	modifier, head := a.split(stem)
	if head == "" {
		return
	}
	part := text.Word{Text: modifier, Plain: modifier, Script: w.Script}
	v.add(part.StemIn(l), partWeight)
	v.add(head, partWeight)
	for _, c := range slices.Concat(a.endingIn(head), a.beginningWith(modifier)) {
		v.add(c, otherWeight)
	}
}

// modifiers returns the beginnings of a compound whose first part is the word: the word itself,
// its stem if that is long enough not to begin other words, and the word without umlauts.
func modifiers(w *text.Word, stem string) []string {
	out := []string{w.Plain}
	if len(stem) >= tellingPart && !strings.HasPrefix(w.Plain, stem) || len(stem) >= minCompound {
		out = append(out, stem)
	}
	if spelt := unfolded.Replace(w.Text); spelt != w.Text {
		out = append(out, spelt)
	}
	return out
}

// endingIn returns the compounds that end in a stem after a word.
func (a *inquiry) endingIn(stem string) []string {
	if len(stem) < minPart {
		return nil
	}
	var out []string
	for _, c := range a.snapshot.compoundsEnding(stem) {
		if rest := strings.TrimSuffix(c, stem); len(rest) >= minPart-1 && (len(stem) >= tellingPart || a.unlinked(rest, strings.CutSuffix) != "") {
			out = append(out, c)
		}
	}
	return out
}

// beginningWith returns the compounds that begin with a word, before a stem.
func (a *inquiry) beginningWith(word string) []string {
	if len(word) < minPart {
		return nil
	}
	var out []string
	for _, c := range a.snapshot.compoundsBeginning(word) {
		if rest := strings.TrimPrefix(c, word); len(rest) >= minPart-1 && (len(word) >= tellingPart || a.unlinked(rest, strings.CutPrefix) != "") {
			out = append(out, c)
		}
	}
	return out
}

// unlinked returns the word that a part of a compound is, without the linking element, or "". cut
// removes the element from the end of a modifier, or from the beginning of a head.
func (a *inquiry) unlinked(part string, cut func(s, link string) (string, bool)) string {
	if a.snapshot.knows(part) {
		return part
	}
	for _, link := range links {
		if word, ok := cut(part, link); ok && len(word) >= minPart && a.snapshot.knows(word) {
			return word
		}
	}
	return ""
}

// split cuts a stem into two parts. One part is a word of the index, and the other is a word or
// a part of another compound. It chooses the cut whose shorter part is longest.
func (a *inquiry) split(stem string) (modifier, head string) {
	if len(stem) < minCompound {
		return "", ""
	}
	another := func(c string) bool { return c != stem }
	best := 0
	for i := range stem {
		short := min(i, len(stem)-i)
		if short < minPart || short <= best {
			continue
		}
		before, end := stem[:i], stem[i:]
		word, alone := a.unlinked(before, strings.CutSuffix), a.snapshot.knows(end)
		switch {
		case word != "" && (alone || slices.ContainsFunc(a.snapshot.compoundsEnding(end), another)):
		case alone && slices.ContainsFunc(a.snapshot.compoundsBeginning(before), another):
			word = before
		default:
			continue
		}
		modifier, head, best = word, end, short
	}
	return modifier, head
}

// compoundsBeginning returns the first compounds that begin with a word, in byte
// order.
func (s *Snapshot) compoundsBeginning(word string) []string {
	return s.beginning(word, func(p part) []string { return p.compounds })
}

// compoundsEnding returns the first compounds that end in a stem, in the byte order
// of their reverses.
func (s *Snapshot) compoundsEnding(stem string) []string {
	out := s.beginning(reversed(stem), func(p part) []string { return p.reversed })
	for i := range out {
		out[i] = reversed(out[i])
	}
	return out
}

// beginning returns the first words of all parts that begin with a prefix.
func (s *Snapshot) beginning(prefix string, words func(part) []string) []string {
	var out []string
	for _, p := range s.parts {
		sorted := words(p)
		from, _ := slices.BinarySearch(sorted, prefix)
		for _, word := range sorted[from:min(from+maxFound, len(sorted))] {
			if !strings.HasPrefix(word, prefix) {
				break
			}
			out = append(out, word)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxFound)]
}
