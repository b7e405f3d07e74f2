// Package wordpiece turns text into the token ids of BERT-shaped models,
// exactly as the tokenizers library of Hugging Face does: the same cleaning,
// splitting and longest-match pieces (Wu et al. 2016, arXiv 1609.08144; Devlin
// et al. 2019, arXiv 1810.04805), down to the Unicode versions that the library
// mixes.
package wordpiece

import "unicode/utf8"

// DefaultMaxTokens is where texts are cut if nothing else is said, the marks at
// both ends included.
const DefaultMaxTokens = 256

// maxWordRunes bounds what a tokenizer may call a word; the usual bound is 100.
const maxWordRunes = 256

// Tokenizer encodes text. It never changes and may be used concurrently.
type Tokenizer struct {
	pieces    map[string]int64 // by text, those that begin a word
	tails     map[string]int64 // those that go on with one, without their prefix
	longest   int              // bytes of the longest of either
	added     []added          // tokens that are found in raw text, longest first
	starts    [256]bool        // first bytes of the added ones
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
	w := writer{t: t, ids: append(dst, t.open), limit: len(dst) + max(maxTokens, 2) - 1}
	for text != "" && !w.full() {
		at, token := t.nextAdded(text)
		w.text(text[:at])
		if token == nil {
			break
		}
		if !w.full() {
			w.ids = append(w.ids, token.id)
		}
		text = text[at+len(token.text):]
	}
	return append(w.ids, t.close)
}

// nextAdded returns the first added token in text and where it begins, or the
// length of text and nil.
func (t *Tokenizer) nextAdded(text string) (int, *added) {
	for i := range len(text) {
		if !t.starts[text[i]] {
			continue
		}
		for k := range t.added {
			a := &t.added[k]
			if len(text)-i >= len(a.text) && text[i:i+len(a.text)] == a.text {
				return i, a
			}
		}
	}
	return len(text), nil
}

// writer collects the letters of a word and appends its pieces. It lives on
// the stack of one call.
type writer struct {
	t     *Tokenizer
	ids   []int64
	limit int // of ids

	letters [maxWordRunes * utf8.UTFMax]byte // of the word so far
	n       int                              // bytes of letters
	runes   int                              // in the word so far, also those not kept
	run     int                              // where in letters the marks begin that may still be reordered
}

func (w *writer) full() bool { return len(w.ids) >= w.limit }

// text appends the ids of a text without added tokens, until there are enough.
func (w *writer) text(s string) {
	for i := 0; i < len(s) && !w.full(); {
		if s[i] < utf8.RuneSelf {
			w.ascii(s[i])
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		w.rune(r)
		i += n
	}
	w.endWord()
}

func (w *writer) ascii(c byte) {
	switch f := asciiTraits[c]; {
	case w.t.clean && f&drop != 0:
	case f&space != 0:
		w.endWord()
	case f&punct != 0:
		w.endWord()
		w.letter(rune(c))
		w.endWord()
	case w.t.lower && 'A' <= c && c <= 'Z':
		w.letter(rune(c) | 0x20)
	default:
		w.letter(rune(c))
	}
}

// rune takes the steps of the reference in its order: clean, isolate Chinese
// characters, decompose and drop marks, lower.
func (w *writer) rune(r rune) {
	f := traitsOf(r)
	if w.t.clean && f&drop != 0 {
		return
	}
	alone := w.t.chinese && f&cjk != 0
	if alone {
		w.endWord()
	}
	if w.t.accents {
		w.decomposed(r, f)
	} else {
		w.lowered(r, f)
	}
	if alone {
		w.endWord()
	}
}

// decomposed writes what is left of r without its non-spacing marks.
func (w *writer) decomposed(r rune, f trait) {
	switch {
	case f&mark != 0:
		if f&moves == 0 {
			w.run = w.n
		}
	case f&moves != 0:
		w.ordered(r)
	case isHangul(r):
		w.hangul(r)
	default:
		left := decompose(r)
		if left == "" {
			w.lowered(r, f)
			return
		}
		for _, x := range left {
			if g := traitsOf(x); g&moves != 0 {
				w.ordered(x)
			} else {
				w.lowered(x, g)
			}
		}
	}
}

// lowered writes r, which is decomposed already, in small letters.
func (w *writer) lowered(r rune, f trait) {
	if r < utf8.RuneSelf {
		w.ascii(byte(r))
		return
	}
	switch {
	case f&space != 0:
		w.endWord()
	case f&punct != 0:
		w.endWord()
		w.letter(r)
		w.endWord()
	case !w.t.lower:
		w.letter(r)
	case r == dottedI: // the only rune whose lower case is two
		w.letter('i')
		w.letter(dotAbove)
	default:
		w.letter(toLower(r))
	}
}

// letter adds r to the word. What no vocabulary can hold is counted and not
// kept.
func (w *writer) letter(r rune) {
	w.runes++
	if w.runes <= w.t.wordRunes {
		w.n += utf8.EncodeRune(w.letters[w.n:], r)
		w.run = w.n
	}
}

// ordered adds a spacing mark where canonical ordering puts it: before the
// marks of a higher class that directly precede it.
func (w *writer) ordered(r rune) {
	w.runes++
	if w.runes > w.t.wordRunes {
		return
	}
	at, class := w.n, classOf(r)
	for at > w.run {
		before, n := utf8.DecodeLastRune(w.letters[:at])
		if classOf(before) <= class {
			break
		}
		at -= n
	}
	n := utf8.RuneLen(r)
	copy(w.letters[at+n:], w.letters[at:w.n])
	utf8.EncodeRune(w.letters[at:], r)
	w.n += n
}

// endWord appends the pieces of the word, if there is one.
func (w *writer) endWord() {
	if w.runes > 0 && !w.full() {
		w.word()
	}
	w.n, w.runes, w.run = 0, 0, 0
}

// word appends the longest pieces that cover the word one after the other, or
// the unknown token where there is no such cover.
func (w *writer) word() {
	t, rest := w.t, w.letters[:w.n]
	if w.runes > t.wordRunes {
		w.ids = append(w.ids, t.unknown)
		return
	}
	begin := len(w.ids)
	pieces := t.pieces
	for len(rest) > 0 {
		id, n := longest(pieces, rest, t.longest)
		if n == 0 {
			w.ids = append(w.ids[:begin], t.unknown)
			return
		}
		w.ids = append(w.ids, id)
		rest, pieces = rest[n:], t.tails
	}
	w.ids = w.ids[:min(len(w.ids), w.limit)]
}

// longest returns the longest piece that s begins with, and its length: 0 for
// none.
func longest(pieces map[string]int64, s []byte, most int) (int64, int) {
	for n := min(len(s), most); n > 0; n-- {
		if n < len(s) && !utf8.RuneStart(s[n]) {
			continue
		}
		if id, ok := pieces[string(s[:n])]; ok {
			return id, n
		}
	}
	return 0, 0
}
