package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bytes that may lie between two links of a chain.
const (
	far  = 60 // " .. "
	near = 8  // " ~ "
)

// chain is a sequence of stems, one of each link, in one sentence.
type chain []link

// link is one of some stems, at most gap bytes after the link before.
type link struct {
	stems []string
	gap   int
}

// newChain reads "ignor|forget .. previous|prior ~ rule$": stems of words, of
// which the last is a whole word; " .. " for something between, " ~ " for
// hardly anything.
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

// entrance is a stem that begins a chain.
type entrance struct {
	stem          string
	signal, chain int
}

// entrances are those of all signals, by the first two bytes.
type entrances struct {
	known [1 << 16]bool // which pairs begin any: most places of a text begin none
	of    map[uint16][]entrance
}

func newEntrances(all []signal) *entrances {
	out := &entrances{of: map[uint16][]entrance{}}
	for i := range all {
		for j, c := range all[i].chains {
			for _, stem := range c[0].stems {
				at := pair(stem)
				out.known[at] = true
				out.of[at] = append(out.of[at], entrance{stem, i, j})
			}
		}
	}
	return out
}

func pair(s string) uint16 { return uint16(s[0])<<8 | uint16(s[1]) }

// shown reports which signals a text, as reveal returns it, shows. It looks at
// each place once.
func (e *entrances) shown(s string, all []signal) []bool {
	out := make([]bool, len(all))
	for i := 0; i+1 < len(s); i++ {
		if i > 0 && asciiLetter(s[i]) && asciiLetter(s[i-1]) {
			continue // within a word
		}
		first := pair(s[i:])
		if !e.known[first] {
			continue
		}
		for _, in := range e.of[first] {
			if out[in.signal] {
				continue
			}
			if end, ok := at(s, in.stem, i); ok {
				out[in.signal] = all[in.signal].chains[in.chain][1:].follow(s[end:])
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

// maxStem is no less than the longest stem, in bytes; a test holds that.
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

// find returns where a stem stands, at or after from, -1 if it does not.
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

// at reports whether a stem stands at a place, and where it ends. One that
// begins with a letter of a script with spaces begins a word, and one that is
// marked with "$" ends it.
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

// spaced reports letters of scripts that put spaces between words and nothing
// onto them: Arabic and Korean do not qualify.
func spaced(r rune) bool {
	return r != utf8.RuneError && (r >= '0' && r <= '9' || unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Devanagari, unicode.Greek))
}
