// Package injection recognises texts that instruct a language model instead of describing a
// tool to a reader.
//
// It looks for the signs of such instructions in several languages: they overrule other
// instructions, speak of prompts, secrets and other tools, hide from the user or from the
// eye, or try to end the data around them. One sign alone may be honest ("call this tool
// first"), so signs are weighed. Well disguised instructions are not found: this package
// flags, and the checks of answers protect.
//
// injection.go scores a text, which fold.go has freed from disguises. A sign is in the text if
// one of its chains of words is (chain.go); signals.go lists the signs.
package injection

import (
	"strings"
)

// Flag marks a document whose text gives instructions to a model.
const Flag = "instructions-in-text"

// Threshold is the lowest score of a text that counts as instructions to a model.
const Threshold = 1.0

// MaxRead bounds how much of a text is read, in bytes. A longer text is read at both ends.
const MaxRead = 64 << 10

// Score says how much a text reads like instructions to a model: the sum of the weights of
// its signs.
func Score(s string) float64 {
	score := 0.0
	for _, sign := range Signs(s) {
		switch sign {
		case signTags:
			score++
		case signHidden, signGap, signRepetition: // samples and rules of dashes repeat, too
			score += 0.6
		}
		for i := range signals {
			if signals[i].name == sign {
				score += signals[i].weight
			}
		}
	}
	return score
}

// Suspicious reports whether a text counts as instructions to a model.
func Suspicious(s string) bool { return Score(s) >= Threshold }

// Signs returns the names of the signs of a text, in a fixed order.
func Signs(s string) []string {
	if len(s) > MaxRead {
		s = s[:MaxRead/2] + s[len(s)-MaxRead/2:]
	}
	seen := reveal(s)
	var out []string
	if seen.smuggled {
		out = append(out, signTags)
	}
	if seen.hidden >= manyHidden {
		out = append(out, signHidden)
	}
	if seen.gap {
		out = append(out, signGap)
	}
	if monotonous(seen.text) {
		out = append(out, signRepetition)
	}
	for i, found := range entries.find(seen.text, signals) {
		if found {
			out = append(out, signals[i].name)
		}
	}
	return out
}

// manyHidden is a number of hidden characters that no honest text has.
const manyHidden = 4

// together joins runs of at least five single letters.
func together(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	var apart []string // consecutive single letters
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

// monotonous reports whether a long text repeats itself, to crowd out the text before it.
func monotonous(s string) bool {
	if len(s) < 2000 {
		return false
	}
	run, last := 0, rune(-1)
	for _, r := range s {
		if r != last {
			run, last = 0, r
		}
		if run++; run > 500 {
			return true
		}
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
