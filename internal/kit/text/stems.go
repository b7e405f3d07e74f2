package text

import (
	"slices"
	"strings"

	"github.com/blevesearch/snowballstem"
	snowarabic "github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	snowtamil "github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

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

// StemIn returns the stem of a word in a language, without accents: by the
// Snowball algorithm of the language, and for Hindi by taking endings off. A
// word of another script than the language's, or of a language that no stemmer
// is known for, is only folded.
func (w Word) StemIn(l Language) string {
	if w.Script != l.Script() {
		return w.Plain
	}
	if l == English {
		return Stem(w.Plain)
	}
	return foldStem(stemIn(w.Text, l))
}

// PlainStemIn is StemIn of the word typed without accents.
func (w Word) PlainStemIn(l Language) string {
	if w.Plain == w.Text || w.Script != l.Script() || l == English {
		return w.StemIn(l)
	}
	return foldStem(stemIn(w.Plain, l))
}

func foldStem(stem string) string {
	for i := range len(stem) {
		if stem[i] >= 0x80 {
			return fold(stem)
		}
	}
	return stem
}

func stemIn(word string, l Language) string {
	switch l {
	case "hi":
		return stemHindi(word)
	case "ar":
		if stem, ok := strings.CutSuffix(word, "ه"); ok {
			word = stem + "ة" // the stemmer knows it, and words are spelt without
		}
	}
	stem := stemmer(l)
	if stem == nil || strings.ContainsAny(word, "0123456789") {
		return word
	}
	env := snowballstem.NewEnv(word)
	stem(env)
	return env.Current()
}

func stemmer(l Language) func(*snowballstem.Env) bool {
	switch l {
	case "de":
		return german.Stem
	case "fr":
		return french.Stem
	case "es":
		return spanish.Stem
	case "it":
		return italian.Stem
	case "pt":
		return portuguese.Stem
	case "nl":
		return dutch.Stem
	case "sv":
		return swedish.Stem
	case "da":
		return danish.Stem
	case "no":
		return norwegian.Stem
	case "fi":
		return finnish.Stem
	case "hu":
		return hungarian.Stem
	case "ro":
		return romanian.Stem
	case "tr":
		return turkish.Stem
	case "ru":
		return russian.Stem
	case "ar":
		return snowarabic.Stem
	case "ta":
		return snowtamil.Stem
	}
	return nil
}

// hindiEndings are the inflections of nouns, adjectives and verbs, longest
// first (Ramanathan and Rao, A Lightweight Stemmer for Hindi, 2003; the
// commonest of its list).
var hindiEndings = [...]string{
	"ाएंगी", "ाएंगे", "ाऊंगी", "ाऊंगा", "ाइयां", "ियाँ", "ियों", "ियां", "ाएगी", "ाएगा", "ाओगी", "ाओगे",
	"एंगी", "एंगे", "ूंगी", "ूंगा", "ातीं", "नाओं", "नाएं", "ताओं", "ताएं", "ेंगे", "ेंगी",
	"ाकर", "ाइए", "ाईं", "ाया", "ेगी", "ेगा", "ोगी", "ोगे", "ाने", "ाना", "ाते", "ाती", "ाता", "तीं", "ाओं", "ाएं", "ुओं", "ुएं", "ुआं",
	"कर", "ाओ", "िए", "ाई", "ाए", "ने", "नी", "ना", "ते", "ीं", "ती", "ता", "ाँ", "ां", "ों", "ें",
	"ो", "े", "ू", "ु", "ी", "ि", "ा",
}

// stemHindi takes off the longest ending that leaves two characters.
func stemHindi(word string) string {
	for _, ending := range hindiEndings {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) >= 6 {
			return stem
		}
	}
	return word
}

// compounding are the languages that write compounds as one word.
var compounding = []Language{"de", "nl", "sv", "da", "no", "fi"}

// Compounds reports whether the language writes compounds as one word.
func (l Language) Compounds() bool { return slices.Contains(compounding, l) }
