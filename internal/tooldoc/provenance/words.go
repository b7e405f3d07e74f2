package provenance

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lower has the ASCII letters and digits in lower case; everything else is 0.
var lower = func() (t [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			t[c] = c
		case 'A' <= c && c <= 'Z':
			t[c] = c + 'a' - 'A'
		}
	}
	return t
}()

// Fold reduces a key or a short text to its letters and digits in lower case, so that
// "apiName", "api_name" and "API name" are equal.
func Fold(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && s[i] != 0 && lower[s[i]] == s[i] {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// FoldWords returns the words of a text in lower case: texts that differ in nothing else
// are equal.
func FoldWords(s string) string { return string(appendWords(nil, s)) }

// CountWords returns how many words a text has, as texts are compared.
func CountWords(s string) int { return count(appendWords(nil, s)) }

// count counts the words that appendWords has written.
func count(words []byte) int { return bytes.Count(words, []byte{' '}) - 1 }

// appendWords appends the words of s in lower case, with a space before, between and
// after them. A letter of a script without spaces is a word by itself.
func appendWords(b []byte, s string) []byte {
	b = append(b, ' ')
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if i++; lower[c] != 0 {
				b = append(b, lower[c])
			} else {
				b = endWord(b)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case Wide(r):
			b = append(utf8.AppendRune(endWord(b), r), ' ')
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			b = utf8.AppendRune(b, unicode.ToLower(r))
		default:
			b = endWord(b)
		}
	}
	return endWord(b)
}

func endWord(b []byte) []byte {
	if b[len(b)-1] != ' ' {
		b = append(b, ' ')
	}
	return b
}

// Says reports whether a text has three words or more, or as much in a script without
// spaces.
func Says(s string) bool {
	words, open, wide := 0, false, 0
	for _, r := range s {
		if r == ' ' || '\t' <= r && r <= '\r' || r >= utf8.RuneSelf && unicode.IsSpace(r) {
			open = false
		} else if !open && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			open = true
			words++
		}
		if Wide(r) {
			wide++
		}
	}
	return words >= minWords || wide >= 8
}

// Wide reports letters of scripts that put no spaces between words.
func Wide(r rune) bool {
	return r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
