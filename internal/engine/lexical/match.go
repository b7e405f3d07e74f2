package lexical

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/text"
)

const (
	// minName is the minimum length of a name in characters: x, id and q are in too many texts by
	// chance.
	minName = 3
	// maxName is how many bytes a name may have. A longer text is not a name and
	// would only keep a search busy.
	maxName = 128
	// maxMatched bounds the documents that MatchAll visits: words that are all more common do not
	// appear together in only a few documents.
	maxMatched = 2000
)

// MatchAll returns the slots, rising within a part, of the documents that are
// accepted and whose field, which must not be stemmed, holds every word of an
// identifier, and whether these are all: there are at most limit of them, and
// the words are rare enough to be looked for. An identifier that says too
// little is looked for nowhere: an identifier with a stop word, with fewer than
// three characters, or with a single character of a script without spaces.
func (s *Snapshot) MatchAll(f Field, identifier string, limit int, accept func(slot uint32) bool) (slots []uint32, all bool) {
	words := identifying(identifier)
	if len(words) == 0 {
		return nil, true
	}
	lists, rarest, documents := s.lists(f, words)
	if documents > maxMatched {
		return nil, false
	}
	for i := range s.parts {
		for _, posting := range lists[i][rarest] {
			slot := posting.slot()
			if s.parts[i].dead.has(slot) || !inAll(lists[i], slot) || !accept(slot) {
				continue
			}
			if len(slots) == limit {
				return nil, false
			}
			slots = append(slots, slot)
		}
	}
	return slots, true
}

// identifying returns the distinct words of an identifier, or nil if they are too unspecific.
func identifying(identifier string) []text.Word {
	if len(identifier) > maxName {
		return nil
	}
	words := text.Words(text.Split(identifier))
	slices.SortFunc(words, func(a, b text.Word) int { return cmp.Compare(a.Text, b.Text) })
	words = slices.CompactFunc(words, func(a, b text.Word) bool { return a.Text == b.Text })
	said := 0
	for i := range words {
		if text.StopWord(words[i].Text) {
			return nil // it is in no list
		}
		said += utf8.RuneCountInString(words[i].Text)
		if !words[i].Spaced() {
			said++ // a pair of characters is a word
		}
	}
	if said < minName {
		return nil
	}
	return words
}

// lists returns the lists of the words in every part, which of the words is the
// rarest in all of them together, and how many documents hold that one.
func (s *Snapshot) lists(f Field, words []text.Word) (lists [][][]posting, rarest, documents int) {
	lists = make([][][]posting, len(s.parts))
	held := make([]int, len(words))
	for i, p := range s.parts {
		lists[i] = make([][]posting, len(words))
		for w := range words {
			lists[i][w] = p.fields[f].find(hash(words[w].Text))
			held[w] += len(lists[i][w])
		}
	}
	documents = slices.Min(held)
	return lists, slices.Index(held, documents), documents
}

func inAll(lists [][]posting, slot uint32) bool {
	for _, list := range lists {
		if at := search(list, slot); at == len(list) || list[at].slot() != slot {
			return false
		}
	}
	return true
}
