package rewriting

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/schema"
)

// leastShared is the minimum cosine for a text without a common word to count as similar to
// a query. On three sets, .3 to 2.9 % of the descriptions of relevant tools are below it and
// share no word, and about half of all descriptions.
const leastShared = 0.2

var instructed = llm.TrigramsOf(instructions)

// How many runs of three words repeat the instructions: in a text, and in an argument,
// which may be the example.
const (
	repeated         = 3
	repeatedArgument = 2
)

// grounds are texts that support others.
type grounds struct {
	vectors  llm.Vectors
	language text.Language
	texts    []string
	topic    *llm.Reference
}

// groundsOf returns the grounds of a query: its clauses and the whole of it.
func groundsOf(v llm.Vectors, query string) grounds {
	language := text.Guess(query)
	if language == "" {
		language = text.English
	}
	return grounds{vectors: v, language: language}.with(append(text.Clauses(query), query)...)
}

// with adds texts that have grounds themselves.
func (g grounds) with(texts ...string) grounds {
	g.texts = slices.Concat(g.texts, texts)
	g.topic = llm.NewReference(g.vectors, g.language, strings.Join(g.texts, "\n"), g.texts...)
	return g
}

// support reports whether the grounds support a text: it says something, and on their topic.
// One in another language cannot be compared.
func (g grounds) support(said string) bool {
	if instructed.Repeats(said, repeated) {
		return false
	}
	if l := text.Guess(said); l != "" && l != g.language {
		return true
	}
	return len(g.topic.Stems(said)) > 0 && !g.topic.Unrelated(said, leastShared, 0)
}

// supported returns the needs and arguments that a query supports.
func (g grounds) supported(needs []schema.Need, arguments []Argument) ([]schema.Need, []Argument) {
	about := g
	for i := range needs {
		about = about.with(g.need(&needs[i])...)
	}
	needs = slices.DeleteFunc(needs, func(n schema.Need) bool { return n == schema.Need{} })
	arguments = slices.DeleteFunc(arguments, func(a Argument) bool {
		said, by := index.ArgumentText(a.Name, a.Meaning), about
		if instructed.Repeats(said, repeatedArgument) { // the example has to be asked for
			by = g
		}
		return !by.support(said)
	})
	return needs, arguments
}

// need empties the texts of a need that neither the query nor a supported text of the same need
// supports. It returns the others.
func (g grounds) need(n *schema.Need) (kept []string) {
	texts := []*string{&n.UserIntent, &n.ToolDescription, &n.ExpectedResponse}
	with := func(g grounds) (kept []string) {
		for _, s := range texts {
			if g.support(*s) {
				kept = append(kept, *s)
			}
		}
		return kept
	}
	if kept = with(g); len(kept) > 0 {
		kept = with(g.with(kept...))
	}
	for _, s := range texts {
		if !slices.Contains(kept, *s) {
			*s = ""
		}
	}
	return kept
}
