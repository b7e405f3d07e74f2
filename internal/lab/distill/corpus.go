package distill

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// How much of a text is learned, in words: the rest adds little to the meaning of the whole
// and much to the teacher's work.
const (
	maxWords         = 70
	maxSentenceWords = 40
)

// Text is a text to learn.
type Text struct {
	Text string
	// Group is the vendor or author of the text. A word that only one group uses is likely a name.
	// Empty: no group, as for a text made of others.
	Group string
	// General marks general language, not of tools.
	General bool
}

// Corpus gathers the texts to learn, each once. The zero value is empty and ready. The texts
// of a document depend on the document alone, so a corpus that has grown asks the teacher only
// for the new texts.
type Corpus struct {
	// PerGroup bounds the documents that are taken of one group; 0: all.
	PerGroup int
	// Latin leaves out texts with letters of another script.
	Latin bool

	texts    []Text
	seen     map[string]bool
	groups   map[string]int
	requests []string
	lemmas   []string
}

// AddLine adds a text as it is, cut to 70 words.
func (c *Corpus) AddLine(group, line string) {
	c.add(group, firstWords(text.Clean(line), maxWords))
}

// AddDocument adds the texts of a document as the embedder reads them, and
// requests that it would answer. It reports whether the group still had room.
func (c *Corpus) AddDocument(group string, doc *schema.Document) bool {
	if c.groups == nil {
		c.groups = map[string]int{}
	}
	if c.PerGroup > 0 && group != "" && c.groups[group] >= c.PerGroup {
		return false
	}
	c.groups[group]++
	f := index.Texts(doc)
	dice := diceFor(f.Name)
	sentences := text.Sentences(f.Description)
	c.add(group, firstWords(f.Name, maxWords))
	if len(sentences) > 0 {
		c.addSentences(group, f.Description, sentences, dice)
	}
	if dice.Float64() < 0.15 {
		c.add(group, text.Split(doc.Name))
	}
	if len(f.Parameters) > 0 && dice.Float64() < 0.3 {
		c.add(group, firstWords(f.Parameters[dice.IntN(len(f.Parameters))], maxSentenceWords))
	}
	if dice.Float64() < 0.1 {
		c.add(group, firstWords(f.Response, maxSentenceWords))
	}
	for _, example := range f.Examples {
		c.add(group, firstWords(example, maxWords))
	}
	return true
}

// addSentences adds parts of a description and a request made of it.
func (c *Corpus) addSentences(group, description string, sentences []string, dice *rand.Rand) {
	first := firstWords(sentences[0], maxSentenceWords)
	if dice.Float64() < 0.4 {
		c.add(group, first)
	}
	if len(sentences) > 2 && dice.Float64() < 0.15 {
		c.add(group, firstWords(strings.Join(sentences[1:3], " "), maxSentenceWords))
	}
	if order := imperative(first); order != "" {
		c.requests = append(c.requests, order)
		if dice.Float64() < 0.6 {
			c.add(group, fmt.Sprintf(pick(dice, askings[:]), order))
		}
	}
}

// link is an address in a text. From it, https would learn what the teacher makes of the letters.
var link = regexp.MustCompile(`\b(?:https?://|www\.)[^\s()]+`)

func otherScript(r rune) bool {
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Common)
}

// add keeps a text that has not been seen, whatever its case, without links.
func (c *Corpus) add(group, s string) { c.keep(group, s, false) }

func (c *Corpus) keep(group, s string, general bool) {
	s = strings.TrimSpace(link.ReplaceAllString(s, ""))
	key := strings.ToLower(s)
	if utf8.RuneCountInString(s) < 3 || c.seen[key] || c.Latin && strings.ContainsFunc(s, otherScript) {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[key] = true
	c.texts = append(c.texts, Text{Text: s, Group: group, General: general})
}

// Texts returns the texts in an order that depends on the texts alone.
func (c *Corpus) Texts() []Text {
	out := slices.Clone(c.texts)
	slices.SortFunc(out, func(a, b Text) int {
		return cmp.Or(cmp.Compare(hash64(a.Text), hash64(b.Text)), strings.Compare(a.Text, b.Text))
	})
	return out
}

// Lemmas returns the words of the dictionary that was added; some of them twice.
func (c *Corpus) Lemmas() []string { return c.lemmas }

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(n, len(words))], " ")
}

func hash64(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash takes everything
	x := h.Sum64()
	// FNV's high bits are weak for short texts: finish as MurmurHash3 does.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// diceFor returns random numbers that depend on s alone.
func diceFor(s string) *rand.Rand { return rand.New(rand.NewPCG(hash64(s), 1)) }
