package lexical

import (
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/text"
)

const (
	// minHeld is how many characters make a name that says something: x, id and
	// q are in too many texts by chance.
	minHeld = 3
	// maxHolding bounds the lists that Holding goes through: words that are all
	// more common do not stand together in a few documents only.
	maxHolding = 2000
)

// Holding returns the slots, rising within a part, of the documents whose field
// holds every word of an identifier, and whether these are all: there are at
// most limit of them, and the words are rare enough to be looked for. An
// identifier with a stop word, or of one or two characters, is looked for
// nowhere.
func (s *Snapshot) Holding(f Field, identifier string, limit int) (slots []uint32, all bool) {
	name := text.Split(identifier)
	if utf8.RuneCountInString(name) < minHeld {
		return nil, true
	}
	words := s.config.words(name)
	for i := range words {
		if text.StopWord(words[i].Text) {
			return nil, true
		}
	}
	if len(words) == 0 {
		return nil, true
	}
	for i := range s.parts {
		found, all := s.parts[i].holding(f, words, limit-len(slots))
		if slots = append(slots, found...); !all {
			return nil, false
		}
	}
	return slots, true
}

func (p *part) holding(f Field, words []text.Word, limit int) (slots []uint32, all bool) {
	lists := make([][]posting, len(words))
	shortest := 0
	for i := range words {
		term := p.terms.find(words[i].Text)
		if term < 0 {
			return nil, true
		}
		lists[i] = p.fields[f].of(term)
		if len(lists[i]) < len(lists[shortest]) {
			shortest = i
		}
	}
	if len(lists[shortest]) > maxHolding {
		return nil, false
	}
	for _, posting := range lists[shortest] {
		slot := posting.slot()
		if p.dead.has(slot) || !inAll(lists, slot) {
			continue
		}
		if len(slots) == limit {
			return nil, false
		}
		slots = append(slots, slot)
	}
	return slots, true
}

func inAll(lists [][]posting, slot uint32) bool {
	for _, list := range lists {
		if at := search(list, slot); at == len(list) || list[at].slot() != slot {
			return false
		}
	}
	return true
}
