// Package wordpiece turns text into the token ids of BERT-shaped models, as the
// tokenizers library of Hugging Face does: the same cleaning, splitting and
// longest-match pieces (Wu et al. 2016, arXiv 1609.08144; Devlin et al. 2019,
// arXiv 1810.04805). Characters are classed by the Unicode version of the Go
// release, where the library mixes older ones.
package wordpiece

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// DefaultMaxTokens is where texts are cut if nothing else is said, the marks at
// both ends included.
const DefaultMaxTokens = 256

// Tokenizer encodes text. It never changes and may be used concurrently.
type Tokenizer struct {
	pieces    map[string]int64 // that begin a word, by text
	tails     map[string]int64 // that continue a word, without their prefix
	longest   int              // bytes of the longest of either
	added     []added          // tokens that are found in raw text, longest first
	open      int64            // put before every text
	close     int64            // put after every text
	unknown   int64
	padding   int64
	size      int64 // ids are below it
	wordRunes int   // a word of more is unknown as a whole

	clean, chinese, accents, lower bool // accents: decompose and drop the marks
}

// added is a token that stands outside of the word pieces, such as [SEP].
type added struct {
	text string
	id   int64
}

// Size is one more than the highest id.
func (t *Tokenizer) Size() int { return int(t.size) }

// Padding is the id that fills a row up to the length of a longer one.
func (t *Tokenizer) Padding() int64 { return t.padding }

// Append appends the ids of text to dst, between the marks of its begin and
// end: at most maxTokens of them, at least the two marks.
func (t *Tokenizer) Append(dst []int64, text string, maxTokens int) []int64 {
	limit := len(dst) + max(maxTokens, 2) - 1
	ids := append(dst, t.open)
	for text != "" && len(ids) < limit {
		at, token := t.nextAdded(text)
		for _, word := range words(t.normalize(text[:at])) {
			if ids = t.appendWord(ids, word); len(ids) >= limit {
				break
			}
		}
		text = text[at:]
		if token != nil {
			ids, text = append(ids, token.id), text[len(token.text):]
		}
	}
	return append(ids[:min(len(ids), limit)], t.close)
}

// nextAdded returns the first added token in text and its start, or the length of
// text and nil.
func (t *Tokenizer) nextAdded(text string) (at int, token *added) {
	at = len(text)
	for i := range t.added {
		if n := strings.Index(text, t.added[i].text); n >= 0 && n < at {
			at, token = n, &t.added[i]
		}
	}
	return at, token
}

// normalize takes the steps of the reference in its order: clean, isolate Chinese
// characters, decompose and drop marks, lower.
func (t *Tokenizer) normalize(s string) string {
	if t.clean {
		s = strings.Map(cleaned, s)
	}
	if t.chinese && strings.ContainsFunc(s, isChinese) {
		var b strings.Builder
		for _, r := range s {
			if isChinese(r) {
				b.WriteString(" " + string(r) + " ")
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	if t.accents {
		s = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) {
				return -1
			}
			return r
		}, norm.NFD.String(s))
	}
	if t.lower {
		s = strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")) // the only letter whose lower case is two
	}
	return s
}

// cleaned returns a space for white space, and -1 for control characters.
func cleaned(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// isChinese reports whether r is in a block of CJK ideographs.
func isChinese(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0xf900 && r <= 0xfaff ||
		r >= 0x20000 && r <= 0x2a6df || r >= 0x2a700 && r <= 0x2ceaf || r >= 0x2f800 && r <= 0x2fa1f
}

// words cuts a text at white space and around punctuation.
func words(s string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, s[start:end])
		}
		start = end
	}
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			cut(i)
			start += utf8.RuneLen(r)
		case unicode.IsPunct(r) || r < utf8.RuneSelf && unicode.IsSymbol(r): // also $ and ^
			cut(i)
			cut(i + utf8.RuneLen(r))
		}
	}
	cut(len(s))
	return out
}

// appendWord appends the longest pieces that cover the word one after the other,
// or the unknown token if no pieces cover it.
func (t *Tokenizer) appendWord(ids []int64, word string) []int64 {
	begin, pieces := len(ids), t.pieces
	if utf8.RuneCountInString(word) > t.wordRunes {
		return append(ids, t.unknown)
	}
	for word != "" {
		n := min(len(word), t.longest)
		for n > 0 {
			if id, ok := pieces[word[:n]]; ok {
				ids = append(ids, id)
				break
			}
			n--
		}
		if n == 0 {
			return append(ids[:begin], t.unknown)
		}
		word, pieces = word[n:], t.tails
	}
	return ids
}
