package prompts

import (
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Merged is a document by rules and an answer, and the origin of its fields.
type Merged struct {
	Document schema.Document
	Fields   []string // that the answer wrote: "description", "parameters/city/type"
	Missing  []string // that neither could fill
}

// Merge completes the document that the rules made with an answer. It replaces nothing of the
// source: the source's description follows the answer's, its examples come first, and its
// response and parameters stay. The answer fills empty fields. Package grounding has checked
// the answer before.
func Merge(byRules schema.Document, stated rules.Stated, a *Answer) Merged {
	m := merger{Merged: Merged{Document: byRules}, stated: stated}
	d := &m.Document
	if own := d.Description; a.Description != "" {
		d.Description = ""
		m.text("description", &d.Description, a.Description)
		d.Description, d.Quality = withNewSentences(a.Description, own), schema.QualityGood
	} else {
		m.text("description", &d.Description, "")
	}
	m.parameters(a.Parameters)
	m.text("response", &d.Response, a.Response)
	own := len(d.Examples)
	d.Examples = slices.Clone(d.Examples)
	for _, e := range a.Examples {
		if len(d.Examples) < MaxExamples && !slices.Contains(d.Examples, e) {
			d.Examples = append(d.Examples, e)
		}
	}
	switch {
	case len(d.Examples) > own:
		m.Fields = append(m.Fields, "examples")
	case own == 0:
		m.Missing = append(m.Missing, "examples")
	}
	return m.Merged
}

type merger struct {
	Merged
	stated rules.Stated
}

// text fills an empty field, and records its origin.
func (m *merger) text(field string, have *string, said string) {
	switch {
	case *have != "":
	case said != "":
		*have = said
		m.Fields = append(m.Fields, field)
	default:
		m.Missing = append(m.Missing, field)
	}
}

func (m *merger) parameters(about []Parameter) {
	d := &m.Document
	d.Parameters = slices.Clone(d.Parameters)
	if !m.stated.Names {
		for _, p := range about {
			d.Parameters = append(d.Parameters, schema.Parameter{Name: p.Name, Required: true})
		}
	}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		var said Parameter
		if at := slices.IndexFunc(about, func(q Parameter) bool { return q.Name == p.Name }); at >= 0 {
			said = about[at]
		}
		field := "parameters/" + p.Name
		if !m.stated.Types && said.Type != "" && said.Type != p.Type {
			p.Type = said.Type
			m.Fields = append(m.Fields, field+"/type")
		}
		if !m.stated.Required && said.Required != nil && p.Required && !*said.Required {
			p.Required = false
			m.Fields = append(m.Fields, field+"/required")
		}
		m.text(field+"/description", &p.Description, said.Description)
		if p.Example == "" && said.Example != "" {
			p.Example = said.Example
			isJSON := json.Valid([]byte(said.Example)) && (said.Example[0] == '"' || rules.TypeName(p.Type) != "string")
			if quoted, err := json.Marshal(said.Example); err == nil && !isJSON { // a bare string
				p.Example = string(quoted)
			}
			m.Fields = append(m.Fields, field+"/example")
		}
	}
}

// withNewSentences returns a text followed by sentences of another text that have a new word
// and do not instruct a model.
func withNewSentences(said, own string) string {
	has := map[string]bool{}
	for _, w := range text.Words(said) {
		has[w.Text] = true
	}
	for _, sentence := range text.Sentences(own) {
		lacks := func(w text.Word) bool { return !has[w.Text] && !text.StopWord(w.Text) }
		if slices.ContainsFunc(text.Words(sentence), lacks) && !injection.Suspicious(sentence) {
			said += " " + sentence
		}
	}
	return said
}
