package injection

import (
	"cmp"
	"html"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// revealed is a text as a model may read it.
type revealed struct {
	text     string // in lower case, on one line
	smuggled bool   // it has ASCII in characters without a glyph
	hidden   int    // characters without a glyph
	gap      bool   // white space moves a part of it out of sight
}

// manyTags is a number of tag characters that no flag of a region is spelt with.
const manyTags = 7

// reveal returns a text without invisible characters, with tag characters and private use as the
// ASCII that they encode, look-alikes of Latin letters as these letters, spaced letters
// ("i g n o r e") joined, and white space as single spaces.
func reveal(s string) revealed {
	out := revealed{gap: hasGap(s)}
	if strings.Contains(s, "&#") {
		s = html.UnescapeString(s)
	}
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 {
		out.text = together(strings.ToLower(s))
		return out
	}
	var b strings.Builder
	b.Grow(len(s))
	tags, before := 0, rune(0)
	for _, r := range norm.NFKC.String(strings.ToValidUTF8(s, "")) {
		switch hides := hiddenASCII(r); {
		case hides != 0:
			tags++
			b.WriteRune(unicode.ToLower(hides))
		case r == '\u200c' || r == '\u200d' || r == '\ufe0f' || r == '\u00ad' || r == '\ufeff':
			continue
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point):
			out.hidden++
			continue
		case r == brailleBlank:
			b.WriteByte(' ')
		case unicode.Is(unicode.Mn, r) && (before < 0x80 || unicode.Is(unicode.Mn, before)):
			continue // a letter that is struck through, for instance
		case r >= '🄰' && r <= '🆉' && (r-'🄰')%0x20 < 26: // squared, circled and dark letters
			b.WriteRune('a' + (r-'🄰')%0x20)
		case r >= '🇦' && r <= '🇿':
			b.WriteRune('a' + r - '🇦')
		default:
			b.WriteRune(r)
		}
		before = r
	}
	out.smuggled = tags >= manyTags
	out.text = together(strings.ToLower(latin(b.String())))
	return out
}

const brailleBlank = '\u2800'

// hiddenASCII returns the ASCII that a tag character or a character of private use encodes,
// or 0.
func hiddenASCII(r rune) rune {
	switch base := r &^ 0x7f; base {
	case 0xe000, 0xf000, 0xe0000, 0xf0000, 0x100000:
		if r -= base; r >= ' ' && r <= '~' {
			return r
		}
	}
	return 0
}

// A gap is white space as long as no table or listing of 80,658 real documents has it.
const (
	gapSpaces = 500
	gapLines  = 40
)

// hasGap reports whether a text continues behind a gap.
func hasGap(s string) bool {
	spaces, lines := 0, 0
	for _, r := range s {
		if !unicode.IsSpace(r) && r != brailleBlank {
			if spaces >= gapSpaces || lines >= gapLines {
				return true
			}
			spaces, lines = 0, 0
			continue
		}
		if spaces++; r == '\n' || r == '\u2028' || r == '\u2029' {
			lines++
		}
	}
	return false
}

// alike has the Latin letters that letters of other scripts look like, and small capitals: the
// part of confusables.txt (Unicode Technical Standard 39) that matters in words of ASCII letters,
// with the capitals that differ from their small letters.
var alike = func() map[rune]rune {
	out := map[rune]rune{}
	for latin, others := range map[rune]string{
		'a': "аαΑАɑᴀ", 'b': "ВΒЬьʙβ", 'c': "сСϲϹᴄ", 'd': "ԁԀᴅɗ", 'e': "еЕΕεєᴇ", 'f': "ϝꜰ", 'g': "ɡɢց", 'h': "һҺНΗнʜհ",
		'i': "іІιΙɪ", 'j': "јЈϳᴊ", 'k': "кКκΚᴋ", 'l': "ӏӀʟ", 'm': "МмΜᴍ", 'n': "ηΝɴո", 'o': "оОοΟσօՕᴏ", 'p': "рРρΡᴘ",
		'q': "ԛԚզ", 'r': "гʀᴦ", 's': "ѕЅꜱ", 't': "тТτΤᴛ", 'u': "υսᴜ", 'v': "νѵѴᴠ", 'w': "ԝԜωᴡ", 'x': "хХχΧ", 'y': "уУγΥүҮʏ", 'z': "Ζᴢ",
	} {
		for _, r := range others {
			out[r] = latin
		}
	}
	return out
}()

// latin returns a text with look-alikes as the Latin letters in words that have Latin letters, too:
// a word of Greek or Cyrillic letters alone belongs to another language.
func latin(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(s)
		}
		word := s[:end]
		if strings.IndexFunc(word, func(r rune) bool { return unicode.Is(unicode.Latin, r) }) >= 0 {
			word = strings.Map(func(r rune) rune { return cmp.Or(alike[r], r) }, word)
		}
		b.WriteString(word)
		between := strings.IndexFunc(s[end:], unicode.IsLetter)
		if between < 0 {
			between = len(s) - end
		}
		b.WriteString(s[end : end+between])
		s = s[end+between:]
	}
	return b.String()
}
