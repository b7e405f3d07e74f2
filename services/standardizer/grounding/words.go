package grounding

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// containsWord reports whether a text has a name that neither begins nor ends
// within another word. Case counts not.
func containsWord(s, name string) bool {
	s, name = strings.ToLower(s), strings.ToLower(name)
	for from := 0; name != ""; {
		i := strings.Index(s[from:], name)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(s[:from+i])
		after, _ := utf8.DecodeRuneInString(s[from+i+len(name):])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		from += i + 1
	}
	return false
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// family returns the kind of value that a type word means, "" if that is not
// known.
func family(typ string) string {
	t, _, _ := strings.Cut(rules.TypeName(typ), " (")
	if t == "array" || strings.HasPrefix(t, "array of ") {
		return "array"
	}
	switch strings.ToLower(t) {
	case "string", "date", "time", "datetime", "date-time", "timestamp", "uuid", "email", "url", "uri", "file", "binary", "bytes":
		return "string"
	case "integer", "number":
		return "number"
	case "boolean", "object", "null":
		return t
	}
	return ""
}

// sameType reports whether a type may be worded as said. An unknown
// type may be worded in any way.
func sameType(fact, said string) bool {
	a, b := family(fact), family(said)
	return a == b || a == "" || strings.EqualFold(fact, said)
}

func knownType(s string) bool { return family(s) != "" }

// sameWords reports whether two lists have the same words, in any order.
func sameWords(a, b []string) bool {
	return within(a, b) && within(b, a)
}

// within reports whether all words of a list are in another.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// quoted is what a user quotes, which may be in any language.
var quoted = regexp.MustCompile(`["“„«'‘].{2,}["”“»'’]`)

// foreign returns the language of a text where that is clearly another than the one
// wanted.
func foreign(said string, want text.Language) string {
	is := text.Guess(said)
	if is == "" || is == want || is == "zh" && want == "ja" {
		return ""
	}
	mine, theirs := 0, 0
	for _, w := range text.Words(said) {
		if w.FunctionWord(want) {
			mine++
		}
		if w.FunctionWord(is) {
			theirs++
		}
	}
	unspaced := func(l text.Language) bool { return l == "zh" || l == "ja" || l == "ko" || l == "th" }
	if theirs < mine+2 && is.Script() == want.Script() && !unspaced(is) && !unspaced(want) {
		return ""
	}
	return string(is)
}
