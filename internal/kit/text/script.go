package text

import "unicode"

// Script is a family of letters, as far as words are treated differently.
type Script uint8

// The scripts. Every other one is Other: its words are matched as they are.
const (
	latin Script = iota
	greek
	cyrillic
	hebrew
	arabic
	devanagari
	tamil
	han
	kana
	hangul
	southeast // Thai, Lao, Khmer, Myanmar
	other
)

// unspaced reports whether the script is written without spaces between words.
func (s Script) unspaced() bool { return s >= han && s <= southeast }

var tables = [...]struct {
	script Script
	table  *unicode.RangeTable
}{
	{latin, unicode.Latin}, {greek, unicode.Greek}, {cyrillic, unicode.Cyrillic}, {hebrew, unicode.Hebrew},
	{arabic, unicode.Arabic}, {devanagari, unicode.Devanagari}, {tamil, unicode.Tamil}, {han, unicode.Han},
	{kana, unicode.Hiragana}, {kana, unicode.Katakana}, {kana, unicode.Bopomofo}, {hangul, unicode.Hangul},
	{southeast, unicode.Thai}, {southeast, unicode.Lao}, {southeast, unicode.Khmer}, {southeast, unicode.Myanmar},
}

// scriptOf returns the script of a letter.
func scriptOf(r rune) Script {
	switch {
	case r < 0x250:
		return latin
	case r >= 0x4e00 && r < 0xa000:
		return han
	case r >= 0x3040 && r < 0x3100:
		return kana
	case r >= 0x400 && r < 0x530:
		return cyrillic
	}
	for _, t := range tables {
		if unicode.Is(t.table, r) {
			return t.script
		}
	}
	return other
}

func isUnspaced(r rune) bool { return r > 0x0e00 && scriptOf(r).unspaced() }
