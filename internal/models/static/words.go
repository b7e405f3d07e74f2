package static

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/kit/text"
)

const (
	maxLetters = 24 // of a word; what follows is left out
	maxDigits  = 4  // longer numbers are alike
)

// Words returns the words of a text in order: runs of letters in lower case and
// without accents, split at the humps of camel-case identifiers. A number becomes
// as many zeros as it has digits. Scripts written without spaces give every pair
// of neighbouring characters.
func Words(text string) []string {
	var s splitter
	s.split(text)
	out := make([]string, len(s.words))
	for i, w := range s.words {
		out[i] = string(s.letters[w.start:w.end])
	}
	return out
}

// splitter cuts texts into words. It keeps its memory from text to text.
type splitter struct {
	letters []byte // of all words, one after the other
	words   []span // in letters
}

type span struct{ start, end int }

// class is the part that a character plays in a word.
type class uint8

const (
	between    class = iota // separates words
	letter                  // of a script with spaces between its words
	unspaced                // of a script without
	digit                   // of any script
	unnoticed               // neither part of a word nor its end
	apostrophe              // between letters begins an ending
)

func classOf(r rune) class {
	switch {
	case r < utf8.RuneSelf:
		return classOfASCII(byte(r))
	case r == '’' || r == 'ʼ':
		return apostrophe
	case r >= 0x300 && r < 0x370 || r == 0xad || r == 0x200c || r == 0x200d:
		return unnoticed
	case r >= 0xe00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar), r == 'ー', r == 'ｰ':
		return unspaced
	case unicode.IsLetter(r) || unicode.IsMark(r):
		return letter
	case unicode.IsNumber(r):
		return digit
	}
	return between
}

func classOfASCII(c byte) class {
	switch {
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return letter
	case '0' <= c && c <= '9':
		return digit
	case c == '\'':
		return apostrophe
	}
	return between
}

// split replaces the words by the words of a text.
func (s *splitter) split(text string) {
	s.letters, s.words = s.letters[:0], s.words[:0]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		kind := classOf(r)
		if kind == between || kind == unnoticed || kind == apostrophe {
			i += size
			continue
		}
		end := i + runEnd(text[i:], kind)
		switch kind {
		case letter:
			s.humps(text[i:end])
			end += ending(text[end:])
		case unspaced:
			s.pairs(text[i:end])
		case digit: // a word that tells how long the number is
			start := len(s.letters)
			for range min(utf8.RuneCountInString(text[i:end]), maxDigits) {
				s.letters = append(s.letters, '0')
			}
			s.end(start)
		}
		i = end
	}
}

// runEnd returns the length of the run of one class at the beginning of text.
func runEnd(text string, kind class) int {
	for i, r := range text {
		if k := classOf(r); k != kind && k != unnoticed {
			return i
		}
	}
	return len(text)
}

// ending returns the length of an English ending after an apostrophe, which
// says nothing of the word: dog's, we're, don't.
func ending(text string) int {
	r, size := utf8.DecodeRuneInString(text)
	if classOf(r) != apostrophe {
		return 0
	}
	n := runEnd(text[size:], letter)
	switch text[size : size+n] {
	case "s", "t", "d", "m", "re", "ve", "ll":
		return size + n
	}
	return 0
}

// pairs adds every two neighbouring characters of a run, or its only one.
func (s *splitter) pairs(run string) {
	previous := 0
	for i, r := range run {
		end := i + utf8.RuneLen(r)
		if i > 0 || end == len(run) {
			start := len(s.letters)
			for k, r := range run[previous:end] {
				s.put(r, run[previous+k:end])
			}
			s.end(start)
		}
		previous = i
	}
}

// end ends the word that began at start, if it has letters.
func (s *splitter) end(start int) {
	if len(s.letters) > start {
		s.words = append(s.words, span{start, len(s.letters)})
	}
}

// humps adds the words of a run of letters: "parseHTTPHeader" is parse, http,
// header. A single capital before a hump, or letter before a capital, belongs
// to it: iPhone, eBay and OAuth are one word.
func (s *splitter) humps(run string) {
	start, letters, first := len(s.letters), 0, true
	var lower, upper bool // what the letter before was
	for i, r := range run {
		isUpper := 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsUpper(r)
		if isUpper && (lower || upper && beginsHump(run[i+utf8.RuneLen(r):])) && !(first && letters == 1) {
			s.end(start)
			start, letters, first = len(s.letters), 0, false
		}
		if letters++; letters <= maxLetters {
			s.put(r, run[i:])
		}
		upper, lower = isUpper, 'a' <= r && r <= 'z' || r >= utf8.RuneSelf && unicode.IsLower(r)
	}
	s.end(start)
}

// beginsHump reports whether what follows a capital among capitals makes it the
// first letter of a word: two small letters, or one other than the s of a plural.
func beginsHump(rest string) bool {
	r, size := utf8.DecodeRuneInString(rest)
	if !unicode.IsLower(r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[size:])
	return r != 's' || unicode.IsLower(next)
}

// put adds a letter in lower case, without accents and compatibility forms.
// rest begins with it.
func (s *splitter) put(r rune, rest string) {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		s.letters = append(s.letters, byte(r))
	case classOf(r) == unnoticed:
	case unicode.Is(unicode.Hangul, r):
		s.letters = utf8.AppendRune(s.letters, r) // syllables stay whole
	default:
		s.fold(r, rest)
	}
}

func (s *splitter) fold(r rune, rest string) {
	if plain := text.Spelled(unicode.ToLower(r)); plain != "" {
		s.letters = append(s.letters, plain...)
		return
	}
	parts := norm.NFKD.PropertiesString(rest).Decomposition()
	if len(parts) == 0 {
		s.letters = utf8.AppendRune(s.letters, unicode.ToLower(r))
		return
	}
	for len(parts) > 0 {
		part, size := utf8.DecodeRune(parts)
		if k := classOf(part); k == letter || k == unspaced {
			s.letters = utf8.AppendRune(s.letters, unicode.ToLower(part))
		}
		parts = parts[size:]
	}
}
