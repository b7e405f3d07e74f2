package search

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/engine/ranking"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// explain takes a score apart, bias and terms less the penalty, and says what moved the hit.
func explain(m *fusion.Model, q query, h ranking.Hit, ranked *ordered, matches []schema.ParameterMatch, doc *schema.Document, missing []string) *schema.Explanation {
	e := &schema.Explanation{
		Weights:    m.Version,
		Features:   h.By.Features.ByName(),
		Terms:      map[string]float64{},
		Bias:       m.Bias,
		Penalty:    h.By.Penalty,
		Parts:      m.Parts(&h.By.Features, h.By.Penalty),
		Parameters: matches,
	}
	for i, x := range h.By.Features {
		if term := m.Features[i] * x; term != 0 {
			e.Terms[fusion.Feature(i).String()] = term
		}
	}
	if move, ok := ranked.moves[h.By.Ref]; ok {
		e.Reranking = &move
	}
	if clicks, ok := ranked.clicks[h.By.Ref]; ok {
		e.Clicks = &clicks
	}
	e.Summary = sentences(q, h, doc, e, missing)
	return e
}

// maxSentences bounds the summary of an explanation, and maxNamed the words or
// parameters that a sentence names.
const (
	maxSentences = 5
	maxNamed     = 4
)

// sentences says in words, the most important first, why a hit is in the answer.
func sentences(q query, h ranking.Hit, doc *schema.Document, e *schema.Explanation, missing []string) []string {
	terms := map[string]float64{} // summed by kind
	for name, term := range e.Terms {
		for _, kind := range []string{".lexical.", ".dense."} {
			if strings.Contains(name, kind) {
				terms[kind] += term
			}
		}
	}
	out := []string{}
	say := func(holds bool, format string, args ...any) {
		if holds && len(out) < maxSentences {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	for _, c := range q.read {
		say(true, "read %s as %s", strconv.Quote(c.From), strconv.Quote(c.To))
	}
	var tools []string
	for _, tool := range h.Supporting {
		tools = append(tools, tool.ID)
	}
	say(h.By.HeldBack != "", "held back behind all others: flagged %s", h.By.HeldBack)
	say(len(tools) > 0, "found by its tools %s", enumerate(tools))
	if m := e.Reranking; m != nil && m.From != m.To {
		say(true, "moved from place %d to %d: %s", m.From, m.To, moved(m.Why))
	}
	if c := e.Clicks; c != nil && c.From != c.To {
		say(true, "moved from place %d to %d: %s", c.From, c.To, clicked(c.LogOdds))
	}
	say(e.Terms[fusion.RelatedKnown.String()] > 0, "has the name that the query asks for")
	say(e.Features[fusion.RelatedRare.String()] > 0 && h.By.Rare > .5, "is one of few with the words of the query")
	texts := []string{q.text}
	for _, n := range q.needs {
		texts = append(texts, whole(n))
	}
	fields := matchedWords(significant(strings.Join(texts, ". ")), doc)
	say(len(fields) > 0, "matches %s", strings.Join(fields, ", "))
	say(e.Features[fusion.RelatedProviderName.String()] > .5, "is of a provider that the query names")
	say(e.Terms[fusion.QueryVerb.String()] < 0, "does something else: by its name it is for another kind of action")
	say(terms[".dense."] > terms[".lexical."], "means about what the query asks for (similarity %.2f)", h.By.Similarity)
	if len(q.arguments) > 0 {
		say(len(missing) > 0, "needs %s, which you did not give", enumerate(quoted(missing)))
	} else {
		var required []string
		for _, p := range doc.Parameters {
			if p.Required {
				required = append(required, p.Name)
			}
		}
		say(len(required) > 0, "needs %s", enumerate(quoted(required)))
	}
	say(e.Terms[fusion.UsageSimilar.String()] > 0, "was used for queries like this one")
	say(e.Terms[fusion.UsageCoUse.String()] > 0, "is often used together with other results")
	say(e.Terms[fusion.UsagePrior.String()] > 0, "is used often")
	say(e.Terms[fusion.RelatedSupply.String()] > 0, "answers with what other results take as a parameter")
	say(len(fields) == 0 && len(tools) == 0 && e.Terms[fusion.RelatedOwner.String()] > 0 && e.Terms[fusion.RelatedSupply.String()] == 0, "a tool of its provider matches")
	return out
}

// moved says why a result was reordered.
func moved(why string) string {
	switch rerank.Why(why) {
	case rerank.ClearOwner, rerank.Extended:
		return "its provider has a clearly relevant tool"
	case rerank.Front:
		return "it is among the first of the tools like it"
	case "":
		return "by its judgement"
	case rerank.Beyond:
		return "enough tools like it come first"
	}
	return "others were moved"
}

// clicked says why users' clicks moved a result.
func clicked(logOdds float64) string {
	switch {
	case logOdds > 0:
		return "users of the same query used it"
	case logOdds < 0:
		return "users of the same query passed it over"
	}
	return "users of the same query moved others"
}

// enumerate joins a few items as a sentence does, and counts the others.
func enumerate(items []string) string {
	switch n := len(items); {
	case n == 0:
		return ""
	case n == 1:
		return items[0]
	case n > maxNamed:
		return strings.Join(items[:maxNamed], ", ") + fmt.Sprintf(" and %d more", n-maxNamed)
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "`" + name + "`"
	}
	return out
}

// matchedWords says which words of a query a document has, each in the field that comes
// first: `"rain" and "tomorrow" in its description`.
func matchedWords(query []string, doc *schema.Document) []string {
	fields := []struct {
		name string
		text string
	}{
		{"name", text.Split(doc.Name) + " " + doc.Title},
		{"description", doc.Description},
		{"parameters", strings.Join(index.Texts(doc).Parameters, " ")},
		{"examples", strings.Join(doc.Examples, " ")},
		{"response", doc.Response},
		{"tags", strings.Join(doc.Tags, " ")},
	}
	said := map[string]bool{} // stems
	var out []string
	for _, f := range fields {
		has := map[string]bool{} // stems
		for _, word := range significant(f.text) {
			has[text.Stem(word)] = true
		}
		var words []string
		for _, word := range query {
			if stem := text.Stem(word); has[stem] && !said[stem] {
				said[stem] = true
				words = append(words, strconv.Quote(word))
			}
		}
		if len(words) > 0 {
			out = append(out, enumerate(words)+" in its "+f.name)
		}
	}
	return out
}

// significant returns the words of a text that say something, as they were typed.
func significant(s string) []string {
	var words []string
	for _, token := range text.Tokens(s) {
		if !text.StopWord(token) && !text.Filler(token) {
			words = append(words, token)
		}
	}
	return words
}
