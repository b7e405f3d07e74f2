package wordpiece

import (
	"sort"
	"unicode/utf8"
)

// trait is a set of what is special about a rune.
type trait uint8

const (
	drop  trait = 1 << iota // cleaning removes it
	space                   // it ends a word
	punct                   // it is a word of its own
	mark                    // non-spacing: it vanishes with the accents
	cjk                     // cleaning sets it apart
	moves                   // canonical ordering can move it
)

const (
	dottedI  = 'İ'
	dotAbove = '\u0307'
)

// span says one thing of the runes from first to last.
type span struct {
	first, last rune
	value       uint8
}

// shift maps every step-th rune from first to last to the one delta further.
type shift struct{ first, last, step, delta rune }

type decomposition struct {
	from rune
	to   string
}

// asciiTraits holds the traits of the runes below 0x80. Everything that can be
// printed and is no letter or digit is punctuation here, also $ and ^.
var asciiTraits = func() (table [utf8.RuneSelf]trait) {
	for c := range table {
		switch {
		case c == '\t' || c == '\n' || c == '\r' || c == ' ':
			table[c] = space
		case c == '\v' || c == '\f':
			table[c] = drop | space
		case c < ' ' || c == 0x7f:
			table[c] = drop
		case c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
		default:
			table[c] = punct
		}
	}
	return table
}()

func traitsOf(r rune) trait {
	if r < utf8.RuneSelf {
		return asciiTraits[r]
	}
	return trait(valueOf(traits[:], r))
}

// classOf returns the canonical combining class of a spacing mark, 0 for every
// other rune.
func classOf(r rune) uint8 { return valueOf(classes[:], r) }

func valueOf(spans []span, r rune) uint8 {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].last >= r })
	if i < len(spans) && spans[i].first <= r {
		return spans[i].value
	}
	return 0
}

func toLower(r rune) rune {
	i := sort.Search(len(cases), func(i int) bool { return cases[i].last >= r })
	if i < len(cases) && cases[i].first <= r && (r-cases[i].first)%cases[i].step == 0 {
		return r + cases[i].delta
	}
	return r
}

// decompose returns what is left of r when it is decomposed and its
// non-spacing marks are gone, "" for a rune that has no decomposition.
func decompose(r rune) string {
	i := sort.Search(len(decompositions), func(i int) bool { return decompositions[i].from >= r })
	if i < len(decompositions) && decompositions[i].from == r {
		return decompositions[i].to
	}
	return ""
}

// Hangul syllables decompose by arithmetic (Unicode standard, 3.12).
const (
	hangulBase = 0xac00
	leadBase   = 0x1100
	vowelBase  = 0x1161
	tailBase   = 0x11a7
	vowels     = 21
	tails      = 28
	syllables  = 19 * vowels * tails
)

func isHangul(r rune) bool { return hangulBase <= r && r < hangulBase+syllables }

func (w *writer) hangul(r rune) {
	i := r - hangulBase
	w.letter(leadBase + i/(vowels*tails))
	w.letter(vowelBase + i/tails%vowels)
	if tail := i % tails; tail > 0 {
		w.letter(tailBase + tail)
	}
}
