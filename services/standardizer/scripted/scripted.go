// Package scripted answers the questions of the standardizer without
// understanding them, for tests and for trying the path without a language
// model: it repeats what the document says of itself.
package scripted

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/services/standardizer/answer"
)

// Question is what a prompt asks, read back.
type Question struct {
	Language string
	Typed    bool // types and required flags are asked for
	Name     string
	Known    []Parameter
	Document string
}

// Parameter is one that the rules found.
type Parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
}

// errForm is the error for a text that is no question of the standardizer.
var errForm = errors.New("no question of the standardizer")

// Read reads the user's part of a prompt, the first or that of a repair.
func Read(user string) (*Question, error) {
	q := &Question{}
	head, rest, ok := strings.Cut(user, "=== ")
	if !ok {
		return nil, errForm
	}
	for line := range strings.SplitSeq(head, "\n") {
		if language, ok := strings.CutPrefix(line, "language: "); ok {
			q.Language = language
		}
		q.Typed = q.Typed || strings.HasPrefix(line, "ask: ")
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

// Answer returns an answer that says nothing that the document does not.
func (q *Question) Answer() *answer.Answer {
	a := &answer.Answer{Description: first(describing(q.Document)), Parameters: []answer.Parameter{}}
	for _, p := range q.Known {
		a.Parameters = append(a.Parameters, answer.Parameter{
			Name: p.Name, Type: p.Type, Required: &p.Required, Description: first(p.Description),
		})
	}
	if q.Language == "en" {
		a.Response = "What was asked for, or why it could not be done."
		a.Examples = []string{"I would like to have this done."}
	}
	return a
}

// JSON returns Answer as a model gives it.
func (q *Question) JSON() (string, error) {
	raw, err := q.Answer().JSON(q.Typed)
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
