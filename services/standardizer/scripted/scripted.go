// Package scripted answers the questions of the standardizer without understanding them, for
// tests and for trials without a language model: it repeats the document's own words.
package scripted

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
)

// Question is a prompt, read back.
type Question struct {
	Language string
	Name     string
	Known    []Parameter // that the rules found, if the prompt has them
	Document string
	Shape    prompts.Shape
}

// Parameter is a parameter that the rules found.
type Parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required"`
}

var errForm = errors.New("not a question of the standardizer")

// Read reads the user's part of a prompt or of a repair. The schema of the answer ends it.
func Read(user string) (*Question, error) {
	q := &Question{}
	head, rest, ok := strings.Cut(user, "=== ")
	at := strings.LastIndex(user, "\n{")
	if !ok || at < 0 || !q.readShape(user[at+1:]) {
		return nil, errForm
	}
	for line := range strings.SplitSeq(head, "\n") {
		if language, ok := strings.CutPrefix(line, "language: "); ok {
			q.Language = language
		}
	}
	mark, rest, _ := strings.Cut(rest, "\n")
	data, _, _ := strings.Cut(rest, "\n=== "+mark)
	known, document, ok := strings.Cut(data, "\n")
	var facts struct {
		Known []Parameter `json:"known"`
		Name  string      `json:"name"`
	}
	if err := json.Unmarshal([]byte(known), &facts); err != nil || !ok {
		return nil, errForm
	}
	q.Name, q.Known, q.Document = facts.Name, facts.Known, document
	return q, nil
}

// readShape derives the requested fields from the schema of the answer.
func (q *Question) readShape(schema string) bool {
	type object struct {
		Properties map[string]json.RawMessage
		Items      struct{ Properties map[string]json.RawMessage }
	}
	var all, parameters object
	if json.Unmarshal([]byte(schema), &all) != nil || len(all.Properties) == 0 {
		return false
	}
	asked := func(field string) bool { return all.Properties[field] != nil }
	q.Shape = prompts.Shape{Description: asked("description"), Response: asked("response"), Examples: asked("examples")}
	if !asked("parameters") {
		return true
	}
	if json.Unmarshal(all.Properties["parameters"], &parameters) != nil {
		return false
	}
	one := parameters.Items
	q.Shape.Find = one.Properties != nil
	q.Shape.Parameters = slices.Sorted(maps.Keys(parameters.Properties))
	if !q.Shape.Find && json.Unmarshal(parameters.Properties[q.Shape.Parameters[0]], &one) != nil {
		return false
	}
	q.Shape.Types = one.Properties["type"] != nil
	return true
}

// Answer returns an answer that says nothing that the document does not.
func (q *Question) Answer() *prompts.Answer {
	a := &prompts.Answer{Description: first(describing(q.Document))}
	for _, name := range q.Shape.Parameters {
		p := prompts.Parameter{Name: name}
		if i := slices.IndexFunc(q.Known, func(k Parameter) bool { return k.Name == name }); i >= 0 {
			p.Type, p.Required = q.Known[i].Type, &q.Known[i].Required
		}
		a.Parameters = append(a.Parameters, p)
	}
	if q.Language == "en" {
		a.Response = "What was asked for, or why it could not be done."
		a.Examples = []string{"I would like to have this done."}
	}
	return a
}

// JSON returns Answer as a model gives it.
func (q *Question) JSON() (string, error) {
	raw, err := q.Shape.JSON(q.Answer())
	return string(raw), err
}

// describing returns the text of a document that describes it.
func describing(document string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(document), &fields) != nil {
		return document
	}
	for _, key := range []string{"description", "summary", "functionality"} {
		if s, ok := fields[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// first returns the first sentence of a text.
func first(s string) string {
	all := text.Sentences(text.Clean(text.Truncate(s, 2<<10)))
	if len(all) == 0 {
		return ""
	}
	return text.Truncate(all[0], 600)
}
