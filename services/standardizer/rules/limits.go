package rules

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/text"
)

// Limits of a standardized document, in bytes and counts.
const (
	maxName          = 256
	maxTitle         = 256
	maxTag           = 128
	maxTags          = 16
	maxDescription   = 4 << 10
	maxParameters    = 256
	maxParameterText = 512
	maxType          = 64
	maxValue         = 128 // of a default, an example, one value of an enum
	maxEnum          = 32
	maxResponse      = 2 << 10
	maxExamples      = 5
	maxExample       = 512

	maxDepth = 4        // of nested parameters
	maxProse = 64 << 10 // of a source text before it is cleaned
)

// paragraph cleans prose and bounds it. What is far beyond the bound is cut
// before cleaning, so that cleaning costs no more than its result is worth.
func paragraph(s string, n int) string {
	return text.Truncate(unquoted(text.Clean(text.Truncate(s, min(8*n, maxProse)))), n)
}

var boilerplate = regexp.MustCompile(`(?i)^\W*(?:powered by\b|copyright\b|©|\(c\) \d|all rights reserved\b|(?:this \w+ is )?licen[sc]ed? under\b|(?:released|distributed) under\b|` +
	`rate.limit|(?:this \w+ is )?(?:limited to|rate.limited)\b|(?:get|sign up for|register for|obtain) (?:your|an?) (?:free )?api.?key|` +
	`(?:for (?:more|further|additional) (?:information|details?|info)\b|(?:see|visit|read|check out|refer to) (?:the |our )(?:full |official |api )?(?:documentation|docs|website|homepage)\b)|` +
	`(?:please )?(?:contact|email|reach out to) (?:us|support)\b)`)

// worthwhile drops the sentences of a description that would fit any tool:
// whose it is, under which licence, how often it may be called, where to read
// on. The first sentence always stays.
func worthwhile(s string) string {
	sentences := text.Sentences(s)
	kept := sentences[:0:0]
	for i, sentence := range sentences {
		if i == 0 || !boilerplate.MatchString(sentence) {
			kept = append(kept, sentence)
		}
	}
	if len(kept) == len(sentences) {
		return s
	}
	return strings.Join(kept, " ")
}

// unquoted removes one pair of quotes around a whole text.
func unquoted(s string) string {
	if len(s) > 2 && s[0] == '"' && strings.IndexByte(s[1:], '"') == len(s)-2 {
		return strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// line is paragraph for a text that is one line: a title, a tag, a type.
func line(s string, n int) string {
	return strings.Join(strings.Fields(paragraph(s, n)), " ")
}

// whole returns s, or nothing where it is longer than n bytes: half a JSON
// value is none.
func whole(s string, n int) string {
	if len(s) > n {
		return ""
	}
	return s
}

// identifier returns a name as the source has it, without control and format
// characters, on one line and at most n bytes long.
func identifier(s string, n int) string {
	s = strings.Trim(s, "` \t\r\n")
	if plain(s) {
		return s[:min(len(s), max(n, 0))]
	}
	s = strings.ToValidUTF8(text.Truncate(s, 4*max(n, 1)), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			return -1
		}
		return r
	}, s)
	return text.Truncate(strings.Join(strings.Fields(s), " "), n)
}

// plain reports whether s is visible ASCII without spaces.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= utf8.RuneSelf-1 {
			return false
		}
	}
	return true
}

// substance returns s, or nothing where s only says that there is nothing to
// say: "No description available", "N/A".
func substance(s string) string {
	if len(s) > 40 {
		return s
	}
	switch fold(s) {
	case "", "na", "none", "null", "nil", "undefined", "todo", "tbd", "missing", "empty", "unknown", "notavailable", "notprovided",
		"notspecified", "description", "descriptionnotavailable", "nodescription", "nodescriptionavailable",
		"nodescriptionprovided", "descriptionnotprovided", "nodescriptiongiven", "nodocumentation", "nodocs":
		return ""
	}
	return s
}

// fold reduces a key or a short text to its lower-cased letters and digits, so
// that "apiName", "api_name" and "API name" are one.
func fold(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// repeats reports whether a description is only the name again. A name that is
// a sentence is worth repeating.
func repeats(name, description string) bool {
	return len(strings.Fields(description)) < 4 && len(description) <= 2*len(name)+2 && fold(name) == fold(description)
}
