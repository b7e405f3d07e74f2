package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	minToken = 2  // runes; single letters are noise
	maxToken = 64 // runes
)

// Word is a word of a text as it is searched for.
type Word struct {
	// Text is the word in NFKC and lower case. If its script has several spellings that readers
	// take for the same, it is in one of them.
	Text string
	// Plain is Text without the accents of its Latin, Greek and Cyrillic letters; it equals Text
	// if there are none.
	Plain string
	// Script is the script of its first letter, Latin for numbers.
	Script Script
}

// Words returns the words of s in order: runs of letters, digits and marks of
// 2 to 64 characters. A run in a script that is written without spaces
// (Chinese, Japanese, Thai and its kin), or as Korean with words too long to
// match as a whole, becomes its overlapping pairs of characters; a single such
// character is a word too. So are the sign of a currency, and a run with the signs that end or
// begin it, such as c++, c# and .net, after the run itself.
//
// Arabic is without its vowel signs and long-drawn letters, its alef, ya and
// ta marbuta each in one form; Hebrew without points; Indic scripts without
// nukta and joiners; digits of every script are ASCII digits.
func Words(s string) []Word {
	dst := make([]Word, 0, len(s)/6+1)
	s = spell(s)
	start, script := -1, latin
	flush := func(end int) {
		if start >= 0 {
			dst = appendRun(dst, s[start:end], script)
			if !script.unspaced() {
				dst = appendSigned(dst, s, start, end, script)
			}
		}
		start = -1
	}
	for i, r := range s {
		if r < utf8.RuneSelf {
			switch {
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				if start < 0 || script.unspaced() {
					flush(i)
					start, script = i, latin
				}
			default:
				flush(i)
				if r == '$' {
					dst = append(dst, Word{"$", "$", latin})
				}
			}
			continue
		}
		if unicode.Is(unicode.Sc, r) {
			flush(i)
			dst = append(dst, Word{string(r), string(r), latin})
			continue
		}
		if !IsWordRune(r) || start < 0 && unicode.IsMark(r) {
			flush(i)
			continue
		}
		if unicode.IsMark(r) {
			continue
		}
		if own := scriptOf(r); start < 0 || own.unspaced() != script.unspaced() {
			flush(i)
			start, script = i, own
		}
	}
	flush(len(s))
	return dst
}

// appendSigned appends the run s[start:end] with the signs that tell it from the run without
// them: + or # at its end, a dot before a run that begins a word.
func appendSigned(dst []Word, s string, start, end int, script Script) []Word {
	signed := end
	for signed < len(s) && (s[signed] == '+' || s[signed] == '#') {
		signed++
	}
	if next, _ := utf8.DecodeRuneInString(s[signed:]); signed > end && !IsWordRune(next) {
		dst = append(dst, Word{s[start:signed], s[start:signed], script})
	}
	if start > 0 && s[start-1] == '.' && (start == 1 || s[start-2] == ' ') {
		dst = append(dst, Word{s[start-1 : end], s[start-1 : end], script})
	}
	return dst
}

// appendRun appends the words of one run of word characters.
func appendRun(dst []Word, run string, script Script) []Word {
	if script.unspaced() {
		return appendPairs(dst, run)
	}
	runes := utf8.RuneCountInString(run)
	if runes < minToken || runes > maxToken {
		return dst
	}
	w := Word{run, run, script}
	if len(run) > runes {
		if plain := fold(run); len(plain) >= minToken {
			w.Plain = plain
		}
	}
	return append(dst, w)
}

// appendPairs appends the overlapping pairs of a run's characters, each with
// the marks on it.
func appendPairs(dst []Word, run string) []Word {
	first := character(run)
	if first == len(run) {
		return append(dst, Word{run, run, scriptOf(firstRune(run))})
	}
	for first < len(run) {
		second := character(run[first:])
		pair := run[:first+second]
		dst = append(dst, Word{pair, pair, scriptOf(firstRune(run))})
		run, first = run[first:], second
	}
	return dst
}

// character returns the length of the first character of s with its marks.
func character(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsMark(r) {
			break
		}
		n += size
	}
	return n
}

// Singles returns the characters of a pair that are likely to be words by themselves: Chinese
// characters and Korean syllables. Only the last pair of a run has a second, as otherwise the next
// pair begins with it.
func (w Word) Singles(next *Word) (first, second string) {
	if !w.Script.unspaced() {
		return "", ""
	}
	n := character(w.Text)
	if first = w.Text[:n]; !single(first) || n == len(w.Text) {
		first = ""
	}
	if second = w.Text[n:]; !single(second) || next != nil && strings.HasPrefix(next.Text, second) {
		second = ""
	}
	return first, second
}

func single(character string) bool {
	s := scriptOf(firstRune(character))
	return character != "" && (s == han || s == hangul)
}

// Tokens returns the words of s; a word that bears accents is followed by its
// plain form ("café", "cafe"; "straße", "strasse"), so that either spelling
// finds the other, and an exact match counts twice.
func Tokens(s string) []string {
	var out []string
	for _, w := range Words(s) {
		out = append(out, w.Text)
		if w.Plain != w.Text {
			out = append(out, w.Plain)
		}
	}
	return out
}

// spell returns s in lower case and one spelling.
func spell(s string) string {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(s)
	}
	last := rune(0)
	return strings.Map(func(r rune) rune {
		r = respelled(last, r)
		if r >= 0 {
			last = r
		}
		return r
	}, strings.ToLower(norm.NFKC.String(s)))
}

// respelled returns the letter that replaces r after last, or -1.
func respelled(last, r rune) rune {
	switch {
	case r < 0x590:
		if r == softHyphen {
			return -1
		}
	case r < 0x780:
		return semitic(r)
	case r == zeroWidthJoiner || r == byteOrderMark || r == '\u2060':
		return -1
	case r == zeroWidthNonJoiner:
		if last < 0x900 { // between the words of a Persian compound
			return ' '
		}
		return -1
	case r >= 0x900 && r < 0x0e00:
		return indic(r)
	}
	return digit(r)
}

// semitic spells Hebrew and Arabic letters.
func semitic(r rune) rune {
	switch {
	case r == 'أ' || r == 'إ' || r == 'آ' || r == 'ٱ':
		return 'ا'
	case r == 'ى' || r == 'ی':
		return 'ي'
	case r == 'ک':
		return 'ك'
	case r == 'ة':
		return 'ه'
	case r == 'ـ' || unicode.Is(unicode.Mn, r):
		return -1
	}
	return digit(r)
}

// indic spells the letters of India's scripts: Devanagari's nukta is often left
// out, and its chandrabindu written as anusvara.
func indic(r rune) rune {
	switch r {
	case '\u093c':
		return -1
	case '\u0901':
		return '\u0902'
	}
	return digit(r)
}

// digit returns the ASCII digit for a decimal digit of any script.
func digit(r rune) rune {
	if r < 0x660 || !unicode.IsDigit(r) {
		return r
	}
	value := rune(0)
	for unicode.IsDigit(r-value-1) && value < 9 {
		value++
	}
	return '0' + value
}

// fold returns a lower-case word with the accents of its Latin and Greek
// letters, and of the Cyrillic yo, taken off, and the letters that have no
// accents to take off spelled out.
func fold(word string) string {
	var b strings.Builder
	base := rune(0)
	for _, r := range norm.NFD.String(word) {
		if unicode.Is(unicode.Mn, r) && (unicode.In(base, unicode.Latin, unicode.Greek) || base == 'е' && r == '\u0308') {
			continue
		}
		base = r
		if r == 'ς' {
			r = 'σ'
		}
		if plain := Spelled(r); plain != "" {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// Spelled returns the plain letters for a small letter that Unicode does not
// decompose, "" for any other.
func Spelled(r rune) string {
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
	}
	return ""
}

// Key returns the letters, digits and signs of a name in the spelling of Words, without what
// separates them: names that differ in case and separators alone have the same key.
func Key(name string) string {
	return strings.Map(func(r rune) rune {
		if IsWordRune(r) || isSign(r) {
			return r
		}
		return -1
	}, spell(name))
}

// isSign reports whether a character other than letters and digits may tell names apart: C++, C#,
// € and 50%.
func isSign(r rune) bool { return r == '+' || r == '#' || r == '%' || unicode.Is(unicode.Sc, r) }

// Alphabetic reports whether a word consists of letters and their marks.
func Alphabetic(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}
