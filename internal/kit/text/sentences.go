package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences returns the sentences of s in order, trimmed, none empty; together they hold all of s
// except white space. The rules are UAX #29 with two differences: a line break ends a sentence,
// and a full stop after a common abbreviation, a single letter or a short number does not.
func Sentences(s string) []string {
	var out []string
	start := 0
	for _, end := range sentenceEnds(s) {
		if sentence := strings.TrimSpace(s[start:end]); sentence != "" {
			out = append(out, sentence)
		}
		start = end
	}
	return out
}

// sentenceEnds returns the end of each sentence in s; the last is len(s).
func sentenceEnds(s string) []int {
	var ends []int
	end := 0
	for i, r := range s {
		if i < end || !isTerminator(r) {
			continue
		}
		end = i + closing(s[i:])
		if end < len(s) && endsSentence(s, i, end, r) {
			ends = append(ends, end)
		}
	}
	return append(ends, len(s))
}

func isTerminator(r rune) bool {
	switch r {
	case '.', '!', '?', '\n', '…', '。', '！', '？', '．', '｡', '؟', '۔', '।', '॥':
		return true
	}
	return false
}

// closing returns how many bytes from a terminator on belong to the sentence
// that it ends: further terminators, and closing quotes and brackets.
func closing(s string) int {
	for i, r := range s {
		if !isTerminator(r) && !unicode.In(r, unicode.Pe, unicode.Pf) && r != '"' && r != '\'' {
			return i
		}
	}
	return len(s)
}

// endsSentence reports whether the terminator r at i, which with all that
// closes ends at end, before the end of s, is the end of a sentence.
func endsSentence(s string, i, end int, r rune) bool {
	if r == '\n' || strings.Contains(s[i:end], "\n") {
		return true
	}
	if strings.ContainsRune("。！？．｡", r) {
		return true
	}
	next := strings.TrimLeftFunc(s[end:], unicode.IsSpace)
	if len(next) == len(s)-end {
		return r != '.' && isUnspaced(firstRune(next))
	}
	if r == '.' && end == i+1 && isAbbreviation(s[:i]) {
		return false
	}
	return !unicode.IsLower(firstRune(next)) || r != '.' && r != '…'
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// isAbbreviation reports whether the text before a full stop ends in
// something that a full stop abbreviates or numbers.
func isAbbreviation(before string) bool {
	word := before[strings.LastIndexFunc(before, func(r rune) bool {
		return unicode.IsSpace(r) || r == '(' || r == '"'
	})+1:]
	if n := utf8.RuneCountInString(word); n == 1 || n <= 2 && strings.Trim(word, "0123456789") == "" {
		return true
	}
	switch strings.ToLower(word) {
	case "dr", "mr", "mrs", "ms", "prof", "sr", "sra", "srta", "jr", "st", "vs", "etc", "e.g", "i.e", "approx",
		"no", "nr", "inc", "ltd", "co", "fig", "ca", "bzw", "usw", "evtl", "ggf", "inkl", "z.b", "d.h", "u.a",
		"o.ä", "str", "tel", "ej", "p.ej", "ud", "uds", "av", "jan", "feb", "mar", "apr", "jun", "jul", "aug",
		"sep", "sept", "oct", "nov", "dec":
		return true
	}
	return false
}

const (
	maxClauses = 8
	// minClause is the length below which a piece is too short to mean much by itself: in words, a
	// character of an unspaced script counting as half a word.
	minClause = 3
)

// Clauses returns the pieces of a query that may each be a need of its own: its sentences, cut
// further at semicolons, commas and conjunctions (English, German, Spanish, French, Chinese,
// Japanese). Pieces too short to mean anything are joined to their neighbour. There are 2 to 8
// pieces, or none if s cannot be cut: never s itself.
func Clauses(s string) []string {
	var pieces []piece
	start := 0
	for _, end := range sentenceEnds(s) {
		pieces = append(pieces, joinShort(cutClauses(s, start, end))...)
		start = end
	}
	pieces = group(joinShort(pieces), maxClauses)
	if len(pieces) < 2 {
		return nil
	}
	out := make([]string, len(pieces))
	for i, p := range pieces {
		out[i] = strings.TrimSpace(s[p.start:p.end])
	}
	return out
}

// piece is a part of a text and its size in words.
type piece struct {
	start, end int
	size       float64
}

// cutClauses cuts the sentence from start to end wherever a clause can begin.
func cutClauses(s string, start, end int) []piece {
	var out []piece
	cut := func(at int) {
		out = append(out, piece{start, at, size(s[start:at])})
		start = at
	}
	sentence, first := s[start:end], start
	commas := strings.ContainsFunc(sentence, func(r rune) bool { return unicode.Is(unicode.Hiragana, r) })
	for i, r := range sentence {
		rest := sentence[i:]
		inNumber := r == ',' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9' // 1,000 and 3,5 stay whole
		switch {
		case first+i <= start:
		case strings.ContainsRune(";；,，", r) && !inNumber, r == '、' && commas:
			cut(first + i + utf8.RuneLen(r))
		case r == ' ' && conjunction(rest[1:]) || conjunctionUnspaced(rest):
			cut(first + i)
		}
	}
	if start < end {
		cut(end)
	}
	return out
}

// conjunction reports whether s begins with a word that can begin a clause.
func conjunction(s string) bool {
	end := strings.IndexByte(s, ' ')
	if end < 1 || end > 9 {
		return false
	}
	switch strings.ToLower(s[:end]) {
	case "and", "then", "but", "also", "plus", "afterwards", "finally",
		"und", "dann", "sowie", "danach", "außerdem",
		"y", "luego", "después", "además",
		"et", "puis", "ensuite":
		return true
	}
	return false
}

func conjunctionUnspaced(s string) bool {
	for _, word := range [...]string{"然后", "然後", "并且", "並且", "而且", "同时", "另外", "接着", "そして", "それから"} {
		if strings.HasPrefix(s, word) {
			return true
		}
	}
	return false
}

// joinShort joins neighbouring pieces that are too short: to the piece before,
// or at the beginning to the piece after.
func joinShort(pieces []piece) []piece {
	var out []piece
	for _, p := range pieces {
		if last := len(out) - 1; last >= 0 && (p.size < minClause || last == 0 && out[0].size < minClause) {
			out[last].end = p.end
			out[last].size += p.size
			continue
		}
		out = append(out, p)
	}
	return out
}

// size measures a piece in words.
func size(s string) float64 {
	var n float64
	inWord := false
	for _, r := range s {
		switch {
		case isUnspaced(r):
			n += 0.5
			inWord = false
		case !IsWordRune(r):
			inWord = false
		case !inWord:
			n++
			inWord = true
		}
	}
	return n
}

// group joins neighbours so that at most n pieces remain, all of about the
// same number of the given ones.
func group(pieces []piece, n int) []piece {
	if len(pieces) <= n {
		return pieces
	}
	out := make([]piece, n)
	for i := range out {
		first, last := pieces[i*len(pieces)/n], pieces[(i+1)*len(pieces)/n-1]
		out[i] = piece{start: first.start, end: last.end}
	}
	return out
}

// Truncate returns the longest beginning of s that has at most maxBytes bytes
// and cuts neither a character nor the marks off their letter.
func Truncate(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	end := max(maxBytes, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	for end > 0 && unicode.IsMark(firstRune(s[end:])) {
		_, size := utf8.DecodeLastRuneInString(s[:end])
		end -= size
	}
	return s[:end]
}
