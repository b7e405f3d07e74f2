package hashing

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// maxLetters cuts a run of letters into words of this many bytes: beyond it is
// no word but data, or a script without spaces.
const maxLetters = 64

// class of a character as far as words are concerned.
type class int

const (
	other class = iota
	lower       // any letter that is not upper case
	upper
	digit
	whole // an ideograph, a word by itself
)

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z':
		return lower
	case 'A' <= r && r <= 'Z':
		return upper
	case '0' <= r && r <= '9':
		return digit
	case r < utf8.RuneSelf:
		return other
	case unicode.Is(unicode.Han, r):
		return whole
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower
	case unicode.IsNumber(r):
		return digit
	}
	return other
}

// split appends the words of text: runs of letters or digits, identifiers
// taken apart ("getHTTPStatus2" is get, http, status, 2), lower-cased and
// stemmed.
func (s *scratch) split(text string) {
	start := len(s.letters)
	before := other
	for i, r := range text {
		if r == utf8.RuneError {
			r = ' '
		}
		c := classOf(r)
		if breaks(before, c, text[i+utf8.RuneLen(r):]) || len(s.letters)-start >= maxLetters {
			s.cut(start)
			start = len(s.letters)
		}
		if c != other {
			s.letters = utf8.AppendRune(s.letters, unicode.ToLower(r))
		}
		before = c
	}
	s.cut(start)
}

// breaks reports whether a word ends between two characters, rest being what
// follows the second: "fooBar", "HTTPServer" before the S, "v2", and around
// everything that is not part of a word.
func breaks(before, now class, rest string) bool {
	switch {
	case now == other || now == whole || before == whole || before == other:
		return true
	case now == digit || before == digit:
		return now != before
	case now == upper && before == lower:
		return true
	case now == upper && before == upper:
		return startsWord(rest)
	}
	return false
}

// startsWord reports whether rest goes on in small letters, so that the
// capital before it begins a word. The s of "APIs" does not.
func startsWord(rest string) bool {
	next, n := utf8.DecodeRuneInString(rest)
	if n == 0 || classOf(next) != lower {
		return false
	}
	after, m := utf8.DecodeRuneInString(rest[n:])
	return next != 's' || (m > 0 && classOf(after) == lower)
}

// cut makes a word of the letters from start on.
func (s *scratch) cut(start int) {
	if start == len(s.letters) {
		return
	}
	end := start + len(stem(s.letters[start:]))
	s.letters = s.letters[:end]
	s.words = append(s.words, word{hash: hash(s.letters[start:end]), start: start, end: end})
}

// hash is FNV-1a with a finishing mix, so that every bit depends on every
// letter.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return mix(h)
}

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// marked is the i-th byte of "<word>".
func marked(letters []byte, i int) byte {
	switch i {
	case 0:
		return '<'
	case len(letters) + 1:
		return '>'
	}
	return letters[i-1]
}

// starts reports whether a character begins at byte i of the marked word.
func starts(letters []byte, i int) bool {
	return i == len(letters)+2 || utf8.RuneStart(marked(letters, i))
}

// grams yields the hashes of the marked word's n-grams of size characters.
func grams(letters []byte, size int) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		n := len(letters) + 2
		for from := 0; from < n; from++ {
			if !starts(letters, from) {
				continue
			}
			h, ok := gram(letters, from, size)
			if !ok || !yield(h) {
				return
			}
		}
	}
}

// gram hashes the size characters from byte from on, unless fewer are left.
func gram(letters []byte, from, size int) (uint64, bool) {
	h := uint64(14695981039346656037) ^ uint64(size)
	i := from
	for range size {
		if i >= len(letters)+2 {
			return 0, false
		}
		for {
			h = (h ^ uint64(marked(letters, i))) * 1099511628211
			i++
			if starts(letters, i) {
				break
			}
		}
	}
	return mix(h), true
}

// countGrams returns how many n-grams of all sizes the word has.
func countGrams(letters []byte) int {
	n := utf8.RuneCount(letters) + 2
	count := 0
	for size := minGram; size <= maxGram; size++ {
		count += max(0, n-size+1)
	}
	return count
}
