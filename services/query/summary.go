package query

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The bounds of a summary: what is read for it, and what it says.
const (
	summarised     = 64 // tools of an agent, the first by id
	summaryPhrases = 10
	maxPhrase      = 64 // bytes of one
	maxSummaries   = 20 // agents of an answer
)

// describe gives an agent that nobody described what its tools say of it. It is
// read from the catalogue when it is shown, so it follows every change of them.
func (s *Service) describe(ctx context.Context, sr *search, e *schema.Entity) {
	if e.Kind != schema.KindAgent || e.Document.Description != "" {
		return
	}
	tools, more, err := sr.view.Catalogue.List(ctx, e.Tenant, schema.KindTool, e.ID, "", summarised)
	if err != nil {
		sr.degrade(degradedCatalogue)
		return
	}
	var names []string
	for i := range tools {
		if !tools[i].Document.Quarantined { // what it says is kept out of answers
			names = append(names, tools[i].Document.Name)
		}
	}
	e.Document.Description = summary(names, more != "")
}

// summary says in a line what tools of these names do: the words of those that
// together hold most of what the names speak of, each word once for every tool
// that has it. There may be more tools than names.
func summary(names []string, more bool) string {
	phrases, common := phrasesOf(names)
	if len(phrases) == 0 {
		return ""
	}
	said, chosen := map[string]bool{}, []string{}
	for len(chosen) < summaryPhrases && len(phrases) > 0 {
		at := 0
		for i := range phrases {
			if news(phrases[i], common, said) > news(phrases[at], common, said) {
				at = i
			}
		}
		for _, word := range strings.Fields(phrases[at]) {
			said[word] = true
		}
		chosen = append(chosen, phrases[at])
		phrases = slices.Delete(phrases, at, at+1)
	}
	count := strconv.Itoa(len(names)) + " tools: "
	switch {
	case more:
		count = "more than " + count
	case len(names) == 1:
		count = "1 tool: "
	}
	if out := count + strings.Join(chosen, ", "); len(phrases) == 0 && !more {
		return out
	}
	return count + strings.Join(chosen, ", ") + " and others"
}

// phrasesOf returns the words of each name once, shortest first, and how many
// names have each word.
func phrasesOf(names []string) (phrases []string, common map[string]int) {
	common = map[string]int{}
	for _, name := range names {
		phrase := text.Truncate(strings.ToLower(strings.Join(strings.Fields(text.Split(name)), " ")), maxPhrase)
		if phrase != "" && !slices.Contains(phrases, phrase) {
			phrases = append(phrases, phrase)
		}
		words := strings.Fields(phrase)
		slices.Sort(words)
		for _, word := range slices.Compact(words) {
			common[word]++
		}
	}
	slices.SortFunc(phrases, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return phrases, common
}

// news counts what a phrase says that was not said yet.
func news(phrase string, common map[string]int, said map[string]bool) int {
	sum := 0
	for _, word := range strings.Fields(phrase) {
		if !said[word] {
			sum += common[word]
		}
	}
	return sum
}
