package answer

import (
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Merged is a document of rules and answer, and who wrote what.
type Merged struct {
	Document schema.Document
	Fields   []string // what the answer wrote: "description", "parameters/city/type"
	Missing  []string // what neither could say
}

// Merge puts an answer beside the document that the rules made. Nothing that
// the source says is replaced: its description follows that of the answer, its
// examples go before, and what it says of response and parameters stays. The
// answer fills what it leaves open. That the answer says nothing else is
// checked before, by package grounding.
func Merge(byRules schema.Document, stated rules.Stated, a *Answer) Merged {
	m := merger{Merged: Merged{Document: byRules}, stated: stated}
	d := &m.Document
	if own := d.Description; a.Description != "" {
		d.Description = ""
		m.text("description", &d.Description, a.Description)
		d.Description, d.Quality = beside(a.Description, own), schema.QualityGood
	} else {
		m.text("description", &d.Description, "")
	}
	m.parameters(a.Parameters)
	m.text("response", &d.Response, a.Response)
	m.examples(a.Examples)
	return m.Merged
}

type merger struct {
	Merged
	stated rules.Stated
}

// text fills what is empty, and notes who did.
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

func (m *merger) parameters(said []Parameter) {
	d := &m.Document
	d.Parameters = slices.Clone(d.Parameters)
	if !m.stated.Names {
		for _, p := range said {
			d.Parameters = append(d.Parameters, schema.Parameter{Name: p.Name, Required: true})
		}
	}
	for i := range d.Parameters {
		p := &d.Parameters[i]
		var about Parameter
		if at := slices.IndexFunc(said, func(q Parameter) bool { return q.Name == p.Name }); at >= 0 {
			about = said[at]
		}
		m.parameter(p, &about)
	}
}

func (m *merger) parameter(p *schema.Parameter, said *Parameter) {
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
		p.Example = exampleOf(said.Example, p.Type)
		m.Fields = append(m.Fields, field+"/example")
	}
}

// examples adds those of the answer to the source's own.
func (m *merger) examples(said []string) {
	d, own := &m.Document, len(m.Document.Examples)
	d.Examples = slices.Clone(d.Examples)
	for _, e := range said {
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
}

// beside returns a text, followed by the sentences of another that have a word
// that it lacks, but for those that instruct a model.
func beside(said, own string) string {
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

// exampleOf returns a value as JSON text. What is no JSON, and what is some
// other JSON where a string is wanted, is a bare string.
func exampleOf(s, typ string) string {
	if json.Valid([]byte(s)) && (s[0] == '"' || rules.TypeName(typ) != "string") {
		return s
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return "" // no string fails
	}
	return string(quoted)
}
