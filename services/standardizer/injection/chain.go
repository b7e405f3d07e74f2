package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The most bytes between two links of a chain.
const (
	far  = 60 // " .. "
	near = 8  // " ~ "
)

// chain is a sequence of links in one sentence.
type chain []link

// link is any of its stems, at most gap bytes after the link before.
type link struct {
	stems []string
	gap   int
}

// newChain reads "ignor|forget .. previous|prior ~ rule$": stems of words, and a whole word
// before "$", with more (" .. ") or less (" ~ ") text between the links.
func newChain(s string) chain {
	var c chain
	for part := range strings.SplitSeq(s, " .. ") {
		gap := far
		for sub := range strings.SplitSeq(part, " ~ ") {
			c = append(c, link{strings.Split(sub, "|"), gap})
			gap = near
		}
	}
	return c
}

// entry is a stem that starts a chain.
type entry struct {
	stem          string
	signal, chain int
}

// entryIndex finds the entries of all signals by their first two bytes.
type entryIndex struct {
	known [1 << 16]bool // pairs with an entry: most places of a text have none
	pairs map[uint16][]entry
}

func newEntryIndex(all []signal) *entryIndex {
	out := &entryIndex{pairs: map[uint16][]entry{}}
	for i := range all {
		for j, c := range all[i].chains {
			for _, stem := range c[0].stems {
				at := pair(stem)
				out.known[at] = true
				out.pairs[at] = append(out.pairs[at], entry{stem, i, j})
			}
		}
	}
	return out
}

func pair(s string) uint16 { return uint16(s[0])<<8 | uint16(s[1]) }

// find reports which signals are in a text, which reveal has returned. It goes through the
// text once.
func (x *entryIndex) find(s string, all []signal) []bool {
	out := make([]bool, len(all))
	for i := 0; i+1 < len(s); i++ {
		if i > 0 && asciiLetter(s[i]) && asciiLetter(s[i-1]) {
			continue // within a word
		}
		first := pair(s[i:])
		if !x.known[first] {
			continue
		}
		for _, e := range x.pairs[first] {
			if out[e.signal] {
				continue
			}
			if end, ok := at(s, e.stem, i); ok {
				out[e.signal] = all[e.signal].chains[e.chain][1:].follow(s[end:])
			}
		}
	}
	return out
}

// follow reports whether the rest of a chain comes next, in the same sentence.
func (c chain) follow(s string) bool {
	if len(c) == 0 {
		return true
	}
	window := sentence(s[:min(len(s), c[0].gap+maxStem)])
	for _, stem := range c[0].stems {
		for from := 0; ; {
			start, end := find(window, stem, from)
			if start < 0 || start > c[0].gap {
				break
			}
			if c[1:].follow(s[end:]) {
				return true
			}
			from = start + 1
		}
	}
	return false
}

// maxStem is at least the length of the longest stem, in bytes, which a test checks.
const maxStem = 64

// sentence returns s up to the end of its first sentence.
func sentence(s string) string {
	for i := 0; i < len(s); i++ {
		if (s[i] == '.' || s[i] == '!' || s[i] == '?') && i+1 < len(s) && s[i+1] == ' ' {
			return s[:i]
		}
	}
	return s
}

// find returns the place of a stem at or after from, or -1.
func find(s, stem string, from int) (start, end int) {
	bare := strings.TrimSuffix(stem, "$")
	for {
		i := strings.Index(s[from:], bare)
		if i < 0 {
			return -1, -1
		}
		if end, ok := at(s, stem, from+i); ok {
			return from + i, end
		}
		from += i + 1
	}
}

// at reports whether s has a stem at i, and returns its end. A stem in a script with spaces
// starts a word, and a stem marked with "$" ends it.
func at(s, stem string, i int) (end int, ok bool) {
	stem, whole := strings.CutSuffix(stem, "$")
	if !strings.HasPrefix(s[i:], stem) {
		return 0, false
	}
	end = i + len(stem)
	first, _ := utf8.DecodeRuneInString(stem)
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[end:])
	return end, !(spaced(first) && spaced(before)) && !(whole && spaced(after))
}

func asciiLetter(c byte) bool { return c >= 'a' && c <= 'z' }

// spaced reports letters of scripts that put spaces between words and do not attach words to
// each other, as Arabic and Korean do.
func spaced(r rune) bool {
	return r != utf8.RuneError && (r >= '0' && r <= '9' || unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Devanagari, unicode.Greek))
}
