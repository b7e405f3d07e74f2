package grounding

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// Below these a text shares too little with the source, if it has no word of it
// either. They stand below what good answers of the corpus reach.
const (
	leastDescription = 0.35 // cosine of a description
	leastClause      = 0.3  // of a clause that adds something to it
)

// fewWords are too few to tell whether they are about something.
const fewWords = 3

// manyWords are enough to tell by words alone: a good description of a short
// source may have none of its.
const manyWords = 8

// readTopic finds what the source is about: its parts, one by one and together.
func (s *Source) readTopic(v topic.Vectors) {
	d := s.doc
	about := text.Split(d.Name) + ". " + d.Title + ". " + d.Description
	all := []string{about, d.Response}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		all = append(all, text.Split(p.Name)+": "+p.Description+" "+strings.Join(p.Enum, " "))
	}
	all = append(append(all, strings.Join(all, " ")), text.Sentences(d.Description)...)
	s.topic = topic.New(v, text.Language(d.Language), s.text+" "+text.Split(s.original), all...)
}

// and begins a clause that adds something.
var and = []string{"and ", "und ", "et ", "y ", "e ", "en ", "i ", "ve ", "oraz ", "还", "并", "同时", "また"}

// sharesTooLittle returns what a description says that the source, in the same
// language, has nothing of.
func (c *checker) sharesTooLittle(said string) string {
	s := c.source
	if languageOf(said, s.language()) != s.language() {
		return ""
	}
	if len(s.topic.Stems(s.doc.Description)) >= fewWords && s.topic.Strange(said, leastDescription, manyWords) {
		return said
	}
	for _, clause := range text.Clauses(said) {
		adds := slices.ContainsFunc(and, func(w string) bool { return strings.HasPrefix(strings.ToLower(clause), w) })
		if adds && len(s.topic.Stems(clause)) > fewWords && s.topic.Strange(clause, leastClause, fewWords+1) {
			return clause
		}
	}
	return ""
}

var instructed = topic.PromptOf(prompts.System())

// leastEcho is how many runs of words repeat the instructions.
const leastEcho = 3
