package grounding

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// Below these similarities a text without a word of the source is about something else. Good
// answers of the corpus are above them.
const (
	leastDescription = 0.35 // cosine of a description
	leastClause      = 0.3  // of a clause that adds something to it
)

// fewWords are too few to have a subject.
const fewWords = 3

// manyWords are enough to decide by words alone: a good description of a short source may
// share no word with it.
const manyWords = 8

// readTopic finds the subjects of the source: of its parts one by one, and of all together.
func (s *Source) readTopic(v llm.Vectors) {
	d := s.doc
	about := text.Split(d.Name) + ". " + d.Title + ". " + d.Description
	all := []string{about, d.Response}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		all = append(all, text.Split(p.Name)+": "+p.Description+" "+strings.Join(p.Enum, " "))
	}
	all = append(append(all, strings.Join(all, " ")), text.Sentences(d.Description)...)
	s.topic = llm.NewReference(v, text.Language(d.Language), s.text+" "+text.Split(s.original), all...)
}

// additive lists words that begin an additional clause.
var additive = []string{"and ", "und ", "et ", "y ", "e ", "en ", "i ", "ve ", "oraz ", "还", "并", "同时", "また"}

// sharesTooLittle returns a part of a description that has nothing in common with the source,
// or "". Both must be in the same language.
func (c *checker) sharesTooLittle(said string) string {
	s := c.source
	if languageOf(said, s.language()) != s.language() {
		return ""
	}
	if len(s.topic.Stems(s.doc.Description)) >= fewWords && s.topic.Unrelated(said, leastDescription, manyWords) {
		return said
	}
	for _, clause := range text.Clauses(said) {
		adds := slices.ContainsFunc(additive, func(w string) bool { return strings.HasPrefix(strings.ToLower(clause), w) })
		if adds && len(s.topic.Stems(clause)) > fewWords && s.topic.Unrelated(clause, leastClause, fewWords+1) {
			return clause
		}
	}
	return ""
}

var instructed = llm.TrigramsOf(prompts.System())

// leastEcho is how many runs of words are a repetition of the instructions.
const leastEcho = 3
