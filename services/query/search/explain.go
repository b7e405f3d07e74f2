package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/index"
	"github.com/toolstream/toolstream/internal/ranking"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/rerank"
	"github.com/toolstream/toolstream/pkg/schema"
)

// parameters names the candidate's matches. It names none where the hit is a provider,
// whose parameters they are not, or where the document changed between the index's
// answer and the catalogue's.
func (sr *search) parameters(q rewritten, h ranking.Hit, params []schema.Parameter) []schema.ParameterMatch {
	c := h.By.Candidate
	if h.Ref != c.Ref || len(c.Matches) > len(params) {
		return nil
	}
	out := make([]schema.ParameterMatch, 0, len(c.Matches))
	for i, m := range c.Matches {
		argument := ""
		if i < len(c.BestArg) && c.BestArg[i] >= 0 && c.BestArg[i] < len(q.arguments) {
			argument = q.arguments[c.BestArg[i]].name
		}
		out = append(out, schema.ParameterMatch{
			Name:     params[i].Name,
			Required: m.Required,
			Argument: argument,
			Match:    m.Score,
			Penalty:  sr.model.Missing(m, h.By.Unit),
		})
	}
	return out
}

// explain takes a score apart: bias and terms less the penalty are the score.
func (sr *search) explain(r *ranking.Ranked, matches []schema.ParameterMatch) *schema.Explanation {
	e := &schema.Explanation{
		Weights:    sr.model.Version,
		Features:   r.Features.ByName(),
		Terms:      map[string]float64{},
		Bias:       sr.model.Bias,
		Penalty:    r.Penalty,
		Parts:      sr.model.Parts(&r.Features, r.Penalty),
		Parameters: matches,
	}
	for i, x := range r.Features {
		if term := sr.model.Features[i] * x; term != 0 {
			e.Terms[fusion.Feature(i).String()] = term
		}
	}
	return e
}

// maxSentences bounds the summary of an explanation, and maxNamed the words or
// parameters that a sentence names.
const (
	maxSentences = 5
	maxNamed     = 4
)

// sentences says in words, the most important first, why a hit stands in the answer.
func sentences(q rewritten, h ranking.Hit, doc *schema.Document, e *schema.Explanation, missing []string) []string {
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
	fields := matchedWords(q.words(), doc)
	say(len(fields) > 0, "matches %s", strings.Join(fields, ", "))
	say(e.Features[fusion.RelatedProviderName.String()] > .5, "is of a provider that the query names")
	say(e.Terms[fusion.QueryVerb.String()] < 0, "does something else: by its name it is for another kind of action")
	say(terms[".dense."] > terms[".lexical."], "means about what the query asks for (similarity %.2f)", h.By.Similarity)
	if len(q.arguments) > 0 {
		say(len(missing) > 0, "needs %s, which you did not give", enumerate(quoted(missing)))
	} else {
		required := requiredOf(doc)
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

// placeByRef returns the place of each result of a ranking, from 1.
func placeByRef(rs []ranking.Ranked) map[schema.Ref]int {
	places := make(map[schema.Ref]int, len(rs))
	for i := range rs {
		places[rs[i].Ref] = i + 1
	}
	return places
}

// reordered reports whether two rankings of the same differ.
func reordered(before, after []ranking.Ranked) bool {
	for i := range before {
		if before[i].Ref != after[i].Ref {
			return true
		}
	}
	return false
}

// movedByClicks says how a ranking was reordered by clicks, from these places on.
func movedByClicks(from map[schema.Ref]int, after []ranking.Ranked, uses ranking.UsageStats) map[schema.Ref]schema.Clicks {
	out := map[schema.Ref]schema.Clicks{}
	for i := range after {
		c := schema.Clicks{From: from[after[i].Ref], To: i + 1}
		if after[i].Kind == schema.KindTool {
			c.LogOdds = uses.ClickLogOdds(after[i].ID)
		}
		if c.LogOdds != 0 || c.From != c.To {
			out[after[i].Ref] = c
		}
	}
	return out
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

func requiredOf(doc *schema.Document) (names []string) {
	for i := range doc.Parameters {
		if doc.Parameters[i].Required {
			names = append(names, doc.Parameters[i].Name)
		}
	}
	return names
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
		has := contentWords(f.text)
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

// words returns the words of a query that say something, each once and as they were
// typed, and after them those of its needs.
func (q rewritten) words() []string {
	texts := []string{q.text}
	for _, n := range q.needs {
		texts = append(texts, whole(n))
	}
	var words []string
	for _, token := range text.Tokens(strings.Join(texts, ". ")) {
		if !text.StopWord(token) && !text.Filler(token) && !slices.Contains(words, token) {
			words = append(words, token)
		}
	}
	return words
}

// contentWords returns the stems of a text's words, without words that say nothing.
func contentWords(s string) map[string]bool {
	words := map[string]bool{}
	for _, token := range text.Tokens(s) {
		if !text.StopWord(token) && !text.Filler(token) {
			words[text.Stem(token)] = true
		}
	}
	return words
}
