package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiVariation     = '\ufe0f'
	softHyphen         = '\u00ad'
	byteOrderMark      = '\ufeff'
	blackFlag          = '\U0001f3f4'
	cancelTag          = '\U000e007f'
	brailleBlank       = '\u2800'
)

// The findings of Suspicious.
const (
	FlagInvisible    = "invisible-characters" // zero-width and other characters without a glyph
	FlagTags         = "tag-characters"       // U+E0000 block: ASCII text that only a model reads
	FlagBidi         = "bidi-characters"      // embeddings, overrides, isolates
	FlagControl      = "control-characters"   // C0 and C1 except tab and line breaks
	FlagMixedScripts = "mixed-scripts"        // Latin and Cyrillic letters within one word
)

// joining are the scripts whose spelling needs the zero-width joiners.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
	unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
	unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// visible returns s as valid UTF-8 without invisible characters. Line and paragraph separators
// become line feeds, other control characters spaces. A joiner stays if it is part of the
// spelling.
func visible(s string) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	prev := rune(0)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		next, _ := utf8.DecodeRuneInString(s)
		switch {
		case r == '\r' || r == '\n' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			if !(r == '\n' && prev == '\r') {
				b.WriteByte('\n')
			}
		case isControl(r) || r == '\t' || r == brailleBlank:
			b.WriteByte(' ')
		case isInvisible(r) && !isSpelling(prev, r, next):
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' || c == 0x7f {
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' && r != '\u0085'
}

// isInvisible reports whether r has no glyph of its own: a format character, except the ones that
// enclose digits, a variation selector, a filler, or a character of private use, whose glyph
// depends on the font.
func isInvisible(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		unicode.In(r, unicode.Variation_Selector, unicode.Co) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// isSpelling reports whether a zero-width joiner is between letters of a script that spells with
// it.
func isSpelling(prev, r, next rune) bool {
	if r != zeroWidthNonJoiner && r != zeroWidthJoiner {
		return false
	}
	return unicode.In(prev, joining...) && unicode.In(next, joining...)
}

func isBidi(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

func isTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// Suspicious returns the kinds of characters in s that could hide text from a human reader, as
// the Flag constants, each once, in the order of their declaration. Characters with an honest use
// there (joiners in Arabic, Indic and emoji, flags, soft hyphens, a leading byte order mark) are
// not reported.
func Suspicious(s string) []string {
	if plainASCII(s) {
		return nil
	}
	var f findings
	rs := []rune(s)
	for i := 0; i < len(rs); i++ {
		if n := flagSequence(rs[i:]); n > 0 {
			i += n - 1
			continue
		}
		f.see(rs, i)
	}
	return f.list(s)
}

type findings struct{ invisible, tags, bidi, control bool }

func (f *findings) see(rs []rune, i int) {
	r := rs[i]
	switch {
	case isTag(r):
		f.tags = true
	case isBidi(r):
		f.bidi = true
	case isControl(r):
		f.control = true
	case (isInvisible(r) || r == brailleBlank) && !honest(rs, i):
		f.invisible = true
	}
}

func (f *findings) list(s string) []string {
	var out []string
	for _, c := range []struct {
		found bool
		flag  string
	}{
		{f.invisible, FlagInvisible}, {f.tags, FlagTags}, {f.bidi, FlagBidi},
		{f.control, FlagControl}, {mixesScripts(s), FlagMixedScripts},
	} {
		if c.found {
			out = append(out, c.flag)
		}
	}
	return out
}

// honest reports whether the invisible rune at i is part of normal writing.
func honest(rs []rune, i int) bool {
	r := rs[i]
	prev, next := rune(0), rune(0)
	if i > 0 {
		prev = rs[i-1]
	}
	if i+1 < len(rs) {
		next = rs[i+1]
	}
	switch {
	case r == softHyphen, r == '\u200e', r == '\u200f', r == '\u061c': // the last three mark the direction of a text
		return true
	case r == byteOrderMark:
		return i == 0
	case r == brailleBlank:
		return isBraille(prev) || isBraille(next)
	case unicode.Is(unicode.Variation_Selector, r):
		return r < 0x10000 && prev != 0 && !unicode.Is(unicode.Variation_Selector, prev)
	case r == zeroWidthJoiner && (isEmoji(prev) || prev == emojiVariation):
		return isEmoji(next)
	}
	return isSpelling(prev, r, next)
}

// isBraille reports whether r is a pattern of dots.
func isBraille(r rune) bool { return r > brailleBlank && r <= '\u28ff' }

func isEmoji(r rune) bool {
	return unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff || r == '\u2640' || r == '\u2642'
}

// flagSequence returns the length of a subdivision's flag emoji at the beginning of rs, or 0: a
// black flag, up to six tags, an end.
func flagSequence(rs []rune) int {
	if len(rs) == 0 || rs[0] != blackFlag {
		return 0
	}
	for i := 1; i < len(rs) && i <= 7; i++ {
		if rs[i] == cancelTag {
			return i + 1
		}
		if !isTag(rs[i]) {
			return 0
		}
	}
	return 0
}

// mixesScripts reports whether a run of letters holds both Latin and Cyrillic:
// look-alikes that make one name pass for another.
func mixesScripts(s string) bool {
	var latin, cyrillic bool
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r):
			latin, cyrillic = false, false
		case r < utf8.RuneSelf || unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic = true
		}
		if latin && cyrillic {
			return true
		}
	}
	return false
}
