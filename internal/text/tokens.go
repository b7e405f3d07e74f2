package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"golang.org/x/text/unicode/norm"
)

const (
	minToken = 2  // runes; single letters are noise
	maxToken = 64 // runes; nobody searches for longer ones
)

// Tokens returns the words of s in order: runs of letters, digits and marks,
// NFKC and lower case, of 2 to 64 characters. A run in a script that is
// written without spaces (Chinese, Japanese, Korean, Thai and its kin) becomes
// its overlapping pairs of characters; a single such character is a word too.
//
// A word whose Latin or Greek letters bear accents is followed by its plain
// form ("café", "cafe"; "straße", "strasse"), so that either spelling finds
// the other, and an exact match counts twice.
func Tokens(s string) []string {
	return AppendTokens(make([]string, 0, len(s)/6+1), s)
}

// AppendTokens appends the tokens of s to dst.
func AppendTokens(dst []string, s string) []string {
	s = strings.ToLower(norm.NFKC.String(s))
	start, runes, unspaced := -1, 0, false
	flush := func(end int) {
		if start >= 0 {
			dst = appendRun(dst, s[start:end], runes, unspaced)
		}
		start, runes = -1, 0
	}
	for i, r := range s {
		if !isWordRune(r) || start < 0 && unicode.IsMark(r) {
			flush(i)
			continue
		}
		if u := isUnspaced(r) || unspaced && start >= 0 && unicode.IsMark(r); start < 0 || u != unspaced {
			flush(i)
			start, unspaced = i, u
		}
		runes++
	}
	flush(len(s))
	return dst
}

// appendRun appends what one run of word characters stands for.
func appendRun(dst []string, run string, runes int, unspaced bool) []string {
	if unspaced {
		return appendPairs(dst, run, runes)
	}
	if runes < minToken || runes > maxToken {
		return dst
	}
	dst = append(dst, run)
	if len(run) > runes {
		if plain := fold(run); plain != run && len(plain) >= minToken {
			dst = append(dst, plain)
		}
	}
	return dst
}

// appendPairs appends the overlapping pairs of a run's characters.
func appendPairs(dst []string, run string, runes int) []string {
	if runes == 1 {
		return append(dst, run)
	}
	for _, first := utf8.DecodeRuneInString(run); ; {
		_, second := utf8.DecodeRuneInString(run[first:])
		dst = append(dst, run[:first+second])
		if run = run[first:]; len(run) == second {
			return dst
		}
		first = second
	}
}

// unspacedScripts are written without spaces between words, or, as Korean,
// with words too long to match as a whole.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func isUnspaced(r rune) bool {
	return r > 0x0e00 && (r == 'ー' || unicode.In(r, unspacedScripts...))
}

// fold returns a lower-case word with its Latin and Greek letters' accents
// taken off, and the Latin letters that have no accents to take off spelled
// out.
func fold(word string) string {
	var b strings.Builder
	base := rune(0)
	for _, r := range norm.NFD.String(word) {
		if unicode.Is(unicode.Mn, r) && unicode.In(base, unicode.Latin, unicode.Greek) {
			continue
		}
		base = r
		if plain := spelled(r); plain != "" {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// spelled returns the plain letters for a letter that Unicode does not
// decompose.
func spelled(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø':
		return "o"
	case 'đ', 'ð':
		return "d"
	case 'ł':
		return "l"
	case 'þ':
		return "th"
	case 'ı':
		return "i"
	case 'ς':
		return "σ"
	}
	return ""
}

// Stem returns the stem of an English word by the Snowball algorithm
// ("Porter2"). Tokens that are not ASCII letters alone are their own stem.
func Stem(token string) string {
	for i := range len(token) {
		if c := token[i]; c < 'a' || c > 'z' {
			return token
		}
	}
	env := snowballstem.NewEnv(token)
	english.Stem(env)
	return env.Current()
}
