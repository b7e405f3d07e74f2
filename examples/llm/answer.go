package main

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/testing/llmtest"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/scripted"
)

// rule answers the two questions of toolstream, which it tells apart by their
// content.
func rule(r llmtest.Request) llmtest.Reply {
	if q, err := scripted.Read(r.User); err == nil {
		raw, err := q.Shape.JSON(described(q))
		if err != nil {
			return llmtest.Reply{Refusal: err.Error()}
		}
		return reply(raw)
	}
	var search struct {
		Query *string `json:"query"`
	}
	if json.NewDecoder(strings.NewReader(r.User)).Decode(&search) == nil && search.Query != nil {
		// A need of each clause, and an argument of each kind of value that its spelling tells.
		query := *search.Query
		clauses := text.Clauses(query)
		if len(clauses) == 0 {
			clauses = []string{query}
		}
		needs := []need{}
		for _, clause := range clauses[:min(len(clauses), maxNeeds)] {
			clause = strings.TrimSpace(strings.TrimRight(clause, ".?!,; "))
			needs = append(needs, need{clause, clause, "What comes of this: " + inside(clause)})
		}
		found := []argument{}
		for _, k := range kinds() {
			if k.written.MatchString(query) {
				found = append(found, k.argument)
			}
		}
		return reply(map[string]any{"needs": needs, "arguments": found})
	}
	return llmtest.Reply{Refusal: "This server knows the two questions of toolstream only."}
}

func reply(v any) llmtest.Reply {
	b, err := json.Marshal(v)
	if err != nil {
		return llmtest.Reply{Refusal: err.Error()}
	}
	return llmtest.Reply{Content: string(b)}
}

// described is what the document says of itself, in sentences. Nothing is said
// in English of a document in another language.
func described(q *scripted.Question) *prompts.Answer {
	a := q.Answer()
	if a.Response, a.Examples = "", nil; a.Description == "" {
		a.Description = within(q.Document)
	}
	if q.Language != "en" {
		return a
	}
	for i := range a.Parameters {
		if p := &a.Parameters[i]; p.Description == "" {
			p.Description = "The " + strings.ToLower(text.Split(p.Name)) + "."
		}
	}
	if does := strings.TrimRight(a.Description, ". "); does != "" {
		a.Response = response(does)
		a.Examples = []string{"I need something for this: " + inside(does) + "."}
	}
	return a
}

// within returns the first sentence of the description of an operation or function
// in the document.
func within(document string) string {
	type self struct {
		Description string `json:"description"`
		Summary     string `json:"summary"`
	}
	var d struct {
		Operation self `json:"operation"`
		Function  self `json:"function"`
	}
	if json.Unmarshal([]byte(document), &d) != nil {
		return ""
	}
	says := cmp.Or(d.Operation.Description, d.Operation.Summary, d.Function.Description)
	for _, sentence := range text.Sentences(text.Clean(says)) {
		return text.Truncate(sentence, maxSentence)
	}
	return ""
}

const maxSentence = 600 // bytes

// asking are the beginnings of descriptions of tools that tell something; all
// others do something.
var asking = regexp.MustCompile(`(?i)^(gets?|lists?|search(es)?|finds?|returns?|reads?|shows?|looks? up|fetch(es)?|retrieves?|computes?|converts?|checks?|estimates?)\s`)

func response(does string) string {
	if verb := asking.FindString(does); verb != "" {
		return "What was asked for: " + strings.TrimSpace(does[len(verb):]) + "."
	}
	return "Whether this was done: " + inside(does) + "."
}

// inside returns a sentence as it stands within another one.
func inside(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[size:]); unicode.IsUpper(second) {
		return s // an abbreviation
	}
	return string(unicode.ToLower(r)) + s[size:]
}

type need struct {
	Intent   string `json:"user_intent"`
	Tool     string `json:"tool_description"`
	Response string `json:"expected_response"`
}

type argument struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Meaning string `json:"meaning"`
}

const maxNeeds = 5

type kind struct {
	argument
	written *regexp.Regexp
}

func kinds() []kind {
	return []kind{
		{argument{"email", "string", "The e-mail address."}, regexp.MustCompile(`\S@\S+\.\S`)},
		{argument{"url", "string", "The web address."}, regexp.MustCompile(`\bhttps?://\S`)},
		{argument{"date", "string", "The day."}, regexp.MustCompile(`(?i)\b(\d{4}-\d\d-\d\d|today|tomorrow|(mon|tues|wednes|thurs|fri|satur|sun)day)\b`)},
		{argument{"time", "string", "The time of day."}, regexp.MustCompile(`(?i)\b\d{1,2}(:\d\d| ?[ap]m)\b`)},
		{argument{"amount", "number", "The amount of money."}, regexp.MustCompile(`[$€£]\s?\d|\b\d+ (dollars|euros|pounds)\b`)},
	}
}
