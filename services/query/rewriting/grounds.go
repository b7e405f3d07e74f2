package rewriting

import (
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/pkg/schema"
)

// leastShared is the cosine from which on a text is about the same as a query without a
// word of it. On three sets .3 to 2.9 % of the descriptions of right tools are below it
// and share no word, and about half of those of any tools.
const leastShared = 0.2

var instructed = topic.PromptOf(instructions)

// How many runs of three words repeat the instructions: in a text, and in an argument,
// which may be the example.
const (
	repeated         = 3
	repeatedArgument = 2
)

// grounds are texts that give reason for others.
type grounds struct {
	vectors  topic.Vectors
	language text.Language
	texts    []string
	topic    *topic.Topic
}

// groundsOf returns those of a query: it as a whole, and its clauses.
func groundsOf(v topic.Vectors, query string) grounds {
	language := text.Guess(query)
	if language == "" {
		language = text.English
	}
	return grounds{vectors: v, language: language}.with(append(text.Clauses(query), query)...)
}

// with adds texts that have grounds themselves.
func (g grounds) with(texts ...string) grounds {
	g.texts = slices.Concat(g.texts, texts)
	g.topic = topic.New(g.vectors, g.language, strings.Join(g.texts, "\n"), g.texts...)
	return g
}

// reason reports whether a text says something, and not of something else altogether.
// One in another language cannot be compared.
func (g grounds) reason(said string) bool {
	if instructed.Repeats(said, repeated) {
		return false
	}
	if l := text.Guess(said); l != "" && l != g.language {
		return true
	}
	return len(g.topic.Stems(said)) > 0 && !g.topic.Strange(said, leastShared, 0)
}

// of returns the needs and arguments for which a query gives reason.
func (g grounds) of(needs []schema.Need, arguments []Argument) ([]schema.Need, []Argument) {
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
		return !by.reason(said)
	})
	return needs, arguments
}

// need empties the texts of a need for which neither the query nor a text of the need
// with reason in the query gives any. It returns the others.
func (g grounds) need(n *schema.Need) (kept []string) {
	texts := []*string{&n.UserIntent, &n.ToolDescription, &n.ExpectedResponse}
	with := func(g grounds) (kept []string) {
		for _, s := range texts {
			if g.reason(*s) {
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
