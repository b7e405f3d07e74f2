package lexical

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/toolstream/toolstream/internal/text"
)

// pairTable holds the terms of Pairs in a segment, rising: their numbers are
// their positions. Most pairs stand in one document only, and there are several
// times as many of them as words. So they have a table of their own, with a
// hash of eight bytes for each: pairs that share one are harmless, and rare.
type pairTable []uint64

// find returns the number of a pair, or -1.
func (t pairTable) find(term string) int {
	if i, found := slices.BinarySearch(t, pairKey(term)); found {
		return i
	}
	return -1
}

// pairTerm returns the term that stands for two neighbouring words: the hash
// FNV-1a of both with a byte between that no word holds, highest byte first.
func pairTerm(first, second string) string {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for _, word := range [...]string{first, "\x00", second} {
		for i := range len(word) {
			hash = (hash ^ uint64(word[i])) * prime
		}
	}
	return string(binary.BigEndian.AppendUint64(nil, hash))
}

// pairKey returns the hash that a term of Pairs is.
func pairKey(term string) uint64 { return binary.BigEndian.Uint64([]byte(term)) }

// pairs calls found with every pair of neighbours among the words, less stop
// words. Words of scripts without spaces are pairs of characters already: they
// have no neighbours.
func (c *Config) pairs(words []text.Word, stem func(*text.Word) string, found func(term string)) {
	before := ""
	for i := range words {
		w := &words[i]
		if !c.KeepStopWords && text.StopWord(w.Text) {
			continue
		}
		own := ""
		switch {
		case !w.Spaced():
		case c.Stemmed[Pairs]:
			own = stem(w)
		default:
			own = w.Text
		}
		if before != "" && own != "" {
			found(pairTerm(before, own))
		}
		before = own
	}
}

// mergePairs appends the pairs of all parts, as mergeWords does words.
func (m *segment) mergePairs(ctx context.Context, parts []part) error {
	total := 0
	for _, p := range parts {
		total += len(p.pairs)
	}
	own := &m.fields[Pairs]
	m.pairs, own.start = make(pairTable, 0, total), append(make([]uint32, 0, total+1), 0)
	cursors := make([]int, len(parts))
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return fmt.Errorf("lexical: merge: %w", ctx.Err())
		}
		pair, left := leastPair(parts, cursors)
		if !left {
			break
		}
		begin := len(own.list)
		for i, p := range parts {
			if at := cursors[i]; at < len(p.pairs) && p.pairs[at] == pair {
				m.mergeList(Pairs, p, at)
				cursors[i]++
			}
		}
		if len(own.list) > begin {
			m.pairs, own.start = append(m.pairs, pair), append(own.start, uint32(len(own.list)))
		}
	}
	m.pairs, own.start = trim(m.pairs), trim(own.start)
	return nil
}

// leastPair returns the lowest pair that any cursor stands at, if there is one.
func leastPair(parts []part, cursors []int) (pair uint64, left bool) {
	for i, p := range parts {
		if at := cursors[i]; at < len(p.pairs) && (!left || p.pairs[at] < pair) {
			pair, left = p.pairs[at], true
		}
	}
	return pair, left
}
