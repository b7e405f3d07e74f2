// Package injection tells texts that give instructions to a language model from
// those that describe a tool to a reader.
//
// It looks for what such instructions have in common, in several languages: they
// overrule other instructions, speak of prompts, secrets and other tools, hide
// from the user or from the eye, or try to end the data that they stand in. One
// sign alone may be honest ("call this tool first"), so signs are weighed.
// What is well disguised is not found: this flags, the checks of answers
// protect.
package injection

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Flag marks a document whose text gives instructions to a model.
const Flag = "instructions-in-text"

// Threshold is the score from which a text is taken for instructions to a
// model.
const Threshold = 1.0

// MaxRead bounds what is looked at of a text, in bytes. What is longer is read
// at both ends.
const MaxRead = 64 << 10

// Score says how much a text reads like instructions to a model: the sum of the
// weights of the signs that it shows.
func Score(s string) float64 {
	score := 0.0
	for _, sign := range Signs(s) {
		score += weightOf(sign)
	}
	return score
}

// Suspicious reports whether a text is taken for instructions to a model.
func Suspicious(s string) bool { return Score(s) >= Threshold }

// Signs returns the names of the signs that a text shows, in a fixed order.
func Signs(s string) []string {
	if len(s) > MaxRead {
		s = s[:MaxRead/2] + s[len(s)-MaxRead/2:]
	}
	seen, smuggled, hidden := reveal(s)
	var out []string
	if smuggled {
		out = append(out, signTags)
	}
	if hidden >= manyHidden {
		out = append(out, signHidden)
	}
	if monotonous(seen) {
		out = append(out, signRepetition)
	}
	for i, shown := range doors.shown(seen, signals) {
		if shown {
			out = append(out, signals[i].name)
		}
	}
	return out
}

// manyHidden is the number of hidden characters that no honest text has.
const manyHidden = 4

// reveal returns a text as a model may read it: tag characters as the ASCII
// that they stand for, without invisible characters, in small letters, letters
// set apart ("i g n o r e") put together, space as single spaces.
func reveal(s string) (seen string, smuggled bool, hidden int) {
	if plain(s) {
		return together(strings.ToLower(s)), false, 0
	}
	var b strings.Builder
	b.Grow(len(s))
	tags := 0
	for _, r := range norm.NFKC.String(strings.ToValidUTF8(s, "")) {
		switch {
		case r >= 0xe0020 && r <= 0xe007e:
			tags++
			b.WriteRune(r - 0xe0000)
		case r == '\u200c' || r == '\u200d' || r == '\ufe0f' || r == '\u00ad' || r == '\ufeff':
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			hidden++
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	// Flags of regions are spelt with a few tag characters.
	return together(b.String()), tags > 6, hidden
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// together joins runs of at least five letters that stand alone.
func together(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var apart []string // letters that stand alone, in a row
	flush := func() {
		between := " "
		if len(apart) >= 5 {
			between = ""
		}
		for i, letter := range apart {
			if b.Len() > 0 && (i == 0 || between != "") {
				b.WriteByte(' ')
			}
			b.WriteString(letter)
		}
		apart = apart[:0]
	}
	for word := range strings.FieldsSeq(s) {
		if len(word) == 1 && asciiLetter(word[0]) {
			apart = append(apart, word)
			continue
		}
		flush()
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	flush()
	return b.String()
}

// monotonous reports whether a long text says hardly anything: it repeats
// itself to crowd out what stands before it.
func monotonous(s string) bool {
	if len(s) < 2000 {
		return false
	}
	if longestRun(s) > 500 {
		return true
	}
	words := strings.Fields(s)
	if len(words) < 300 {
		return false
	}
	distinct := map[string]bool{}
	for _, w := range words {
		distinct[w] = true
	}
	return len(distinct)*25 < len(words)
}

// longestRun returns the length of the longest run of one character.
func longestRun(s string) int {
	longest, run, last := 0, 0, rune(-1)
	for _, r := range s {
		if r != last {
			run, last = 0, r
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
