package grounding

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// containsWord reports whether a text has a name that neither begins nor ends within another
// word, in any case.
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

// family returns the kind of value that a type word means, "" if it is unknown.
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

// within reports whether all words of a list are in another.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// quoted matches quotations, which may be in any language.
var quoted = regexp.MustCompile(`["“„«'‘].{2,}["”“»'’]`)

// foreign returns the language of a text if it clearly differs from the requested one.
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
