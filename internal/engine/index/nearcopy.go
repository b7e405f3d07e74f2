package index

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// How much of a tool is compared.
const (
	maxParameters = 64
	maxName       = 16  // words; and of the tags
	maxWords      = 128 // of the description of a copy
	mustStand     = 64  // words of the description that a copy has to repeat
	telling       = 13  // words of a description that identifies a tool under any name
)

// How much a copy may differ.
const (
	wordsToAnEdit = 6  // an edit in so many words of a sentence,
	leastEdited   = 3  // and one in a sentence of so many, of a tool of the same name
	kept          = .8 // share of the words in sentences that the copy repeats, at least
)

// Sketch is the parameters, the name, the tags and the description of a tool as hashes of words,
// two bytes each. The first three bytes are the counts of the first three. In the description a
// zero ends each sentence, and the lowest bits mark the words that identify the tool.
type Sketch []byte

const (
	header = 3
	named  = 1 // the name has the word, or another word of its stem; or the word comes first, as verbs do
	owned  = 2 // a tag or the provider's id has it
	marks  = named | owned
)

// SketchOf returns the sketch of a tool.
func SketchOf(doc *schema.Document, provider string) Sketch {
	var parameters []uint16
	for i := range doc.Parameters[:min(len(doc.Parameters), maxParameters)] {
		parameters = append(parameters, hash(strings.Join(words(doc.Parameters[i].Name), " ")))
	}
	slices.Sort(parameters)
	parameters = slices.Compact(parameters)
	name, tags := words(doc.Name), words(strings.Join(doc.Tags, " "))
	names, labels := distinct(name), distinct(tags)
	s := Sketch{byte(len(parameters)), byte(len(names)), byte(len(labels))}
	s = s.append(parameters...).append(names...).append(labels...)
	return s.describe(doc.Description, strings.Join(name, ""), strings.Join(append(tags, words(provider)...), ""))
}

// describe adds the description of a tool that is called so and belongs so.
func (s Sketch) describe(description, name, owner string) Sketch {
	n := 0
	for _, sentence := range text.Sentences(description) {
		all := words(sentence)
		all = all[:min(len(all), maxWords-n)]
		for i, word := range all {
			h := hash(word)
			if len(word) > 2 && !text.StopWord(word) {
				if n+i == 0 || strings.Contains(name, text.Stem(word)) {
					h |= named
				}
				if strings.Contains(owner, word) {
					h |= owned
				}
			}
			s = s.append(h)
		}
		if n += len(all); len(all) > 0 {
			s = s.append(0)
		}
	}
	return s
}

// words returns the words of a text unstemmed, since "user" and "users" may be
// the tools of one and of all; identifiers are split.
func words(s string) []string { return text.Tokens(text.Split(s)) }

// distinct returns the hashes of the first words.
func distinct(words []string) (out []uint16) {
	for _, word := range words {
		if h := hash(word); len(out) < maxName && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// hash is never 0, and its lowest bits are.
func hash(word string) uint16 {
	h := fnv.New32a()
	h.Write([]byte(word))
	return cmp.Or(uint16(h.Sum32()^h.Sum32()>>16)&^marks, marks+1)
}

func (s Sketch) append(hashes ...uint16) Sketch {
	for _, h := range hashes {
		s = binary.LittleEndian.AppendUint16(s, h)
	}
	return s
}

func (s Sketch) len() int        { return len(s) / 2 }
func (s Sketch) at(i int) uint16 { return binary.LittleEndian.Uint16(s[2*i:]) }

// has reports whether a word is in s.
func (s Sketch) has(word uint16) bool {
	for i := range s.len() {
		if s.at(i)&^marks == word&^marks {
			return true
		}
	}
	return false
}

// sentence cuts the first sentence off.
func (s Sketch) sentence() (first, rest Sketch) {
	for i := range s.len() {
		if s.at(i) == 0 {
			return s[:2*i], s[2*i+2:]
		}
	}
	return s, nil
}

// edits returns how many edits of words turn s into t (Levenshtein), or a number above limit.
func (s Sketch) edits(t Sketch, limit int) int {
	if t.len() > s.len()+limit || s.len() > t.len()+limit {
		return limit + 1
	}
	var row [maxWords + 1]int
	for j := range t.len() + 1 {
		row[j] = j
	}
	for i := range s.len() {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range t.len() {
			cost := diagonal
			if (s.at(i)^t.at(j))&^marks != 0 {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
			least = min(least, row[j+1])
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[t.len()]
}

// Sketched is a sketch prepared for many comparisons. The tool of an empty sketch is not a copy and
// has no copies.
type Sketched struct {
	parameters, name, tags, text Sketch
	words                        [16]uint64 // of the last three: bits of their hashes
}

// Tool returns the tool of a sketch.
func (s Sketch) Tool() (t Sketched) {
	if len(s) < header {
		return t
	}
	parameters := header + 2*int(s[0])
	name := parameters + 2*int(s[1])
	tags := name + 2*int(s[2])
	t = Sketched{parameters: s[header:parameters], name: s[parameters:name], tags: s[name:tags], text: s[tags:]}
	for _, part := range []Sketch{t.name, t.tags, t.text} {
		for i := range part.len() {
			word, bit := bitOf(part.at(i))
			t.words[word] |= bit
		}
	}
	return t
}

// bitOf returns the bit of a hash in Sketched.words.
func bitOf(hash uint16) (word int, bit uint64) { return int(hash >> 12), 1 << (hash >> 6 % 64) }

// CopiedBy reports whether another tool is a copy of t: it takes the same parameters, or more; it
// has half of the name's words, if the description is short; and it has four fifths of the
// sentences of the description, counted in words, with at most one word in six changed, left out
// or added. A tool of the same name may change one word of a shorter sentence. The other tool has
// all words that identify t, and no change may add a word that identifies the other tool, unless
// all words of the sentence stay. Its remaining text does not matter.
func (t *Sketched) CopiedBy(other *Sketched) bool {
	return len(t.name) > 0 && among(t.parameters, other.parameters) && t.nameStandsIn(other) && t.textStandsIn(other)
}

// among reports whether all of few are in many; both rise.
func among(few, many Sketch) bool {
	if few.len() > many.len() {
		return false
	}
	at := 0
	for i := range few.len() {
		for at < many.len() && many.at(at) < few.at(i) {
			at++
		}
		if at == many.len() || many.at(at) != few.at(i) {
			return false
		}
	}
	return true
}

// nameStandsIn reports whether half of the name's words are in the name and the description of
// another tool, which a long description makes unnecessary. Without a description, the names and
// the parameters have to be the same.
func (t *Sketched) nameStandsIn(other *Sketched) bool {
	if len(t.text) == 0 {
		return len(other.text) == 0 && t.isNamed(other) && len(t.parameters) == len(other.parameters)
	}
	missing := 0
	for i := range t.name.len() {
		if !other.says(t.name.at(i)) {
			missing++
		}
	}
	return 2*missing <= t.name.len() || t.text.len() >= telling
}

// isNamed reports whether the names are of the same words.
func (t *Sketched) isNamed(other *Sketched) bool {
	for i := range t.name.len() {
		if !other.name.has(t.name.at(i)) {
			return false
		}
	}
	return len(t.name) == len(other.name)
}

// says reports whether the name, a tag or the description has a word.
func (t *Sketched) says(hash uint16) bool {
	word, bit := bitOf(hash)
	return t.words[word]&bit != 0 && (t.name.has(hash) || t.tags.has(hash) || t.text.has(hash))
}

// lacks reports whether the tool lacks a word that identifies the sentence's tool. Words of the
// name count only if the names differ.
func (t *Sketched) lacks(sentence Sketch, sameName bool) bool {
	which := uint16(marks)
	if sameName {
		which = owned
	}
	for i := range sentence.len() {
		if word := sentence.at(i); word&which != 0 && !t.says(word) {
			return true
		}
	}
	return false
}

// textStandsIn reports whether another tool repeats the description.
func (t *Sketched) textStandsIn(other *Sketched) bool {
	sameName := t.isNamed(other)
	rest := t.text
	total, repeated := 0, 0
	for len(rest) > 0 && total < mustStand {
		var sentence Sketch
		if sentence, rest = rest.sentence(); other.lacks(sentence, sameName) {
			return false
		}
		total += sentence.len()
		if t.repeats(sentence, other, sameName) {
			repeated += sentence.len()
		}
	}
	return float64(repeated) >= kept*float64(total)
}

// repeats reports whether another tool has a sentence of t, within the allowed edits.
func (t *Sketched) repeats(sentence Sketch, other *Sketched, sameName bool) bool {
	usual := sentence.len() / wordsToAnEdit
	limit := usual
	if sameName && sentence.len() >= leastEdited {
		limit = max(1, usual)
	}
	for rest := other.text; len(rest) > 0; {
		var candidate Sketch
		candidate, rest = rest.sentence()
		edits := sentence.edits(candidate, limit)
		putIn := edits <= usual && edits == candidate.len()-sentence.len()
		if edits <= limit && (putIn || !t.lacks(candidate, sameName)) {
			return true
		}
	}
	return false
}
