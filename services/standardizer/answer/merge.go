package answer

import (
	"encoding/json"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Merged is a document of rules and answer, and who wrote what.
type Merged struct {
	Document schema.Document
	Fields   []string // what the answer wrote: "description", "parameters/city/type"
	Missing  []string // what neither could say
}

// Merge puts an answer beside the document that the rules made. Names, tags
// and what the source states of its parameters stay; texts of the answer
// replace those of the rules, an empty one leaves theirs. The parameters are
// those of the answer, in its order: that they are the source's is checked
// before, by package grounding.
func Merge(byRules schema.Document, stated rules.Stated, a *Answer) Merged {
	m := merger{Merged: Merged{Document: byRules}, stated: stated, known: map[string]schema.Parameter{}}
	for _, p := range byRules.Parameters {
		m.known[p.Name] = p
	}
	d := &m.Document
	m.text("description", &d.Description, a.Description)
	if a.Description != "" {
		d.Quality = schema.QualityGood
	}
	d.Parameters = make([]schema.Parameter, 0, len(a.Parameters))
	for i := range a.Parameters {
		d.Parameters = append(d.Parameters, m.parameter(&a.Parameters[i]))
	}
	m.text("response", &d.Response, a.Response)
	if len(a.Examples) > 0 {
		d.Examples = slices.Clone(a.Examples)
		m.Fields = append(m.Fields, "examples")
	} else if len(d.Examples) == 0 {
		m.Missing = append(m.Missing, "examples")
	}
	return m.Merged
}

type merger struct {
	Merged
	stated rules.Stated
	known  map[string]schema.Parameter
}

// text takes over what the answer says, and notes who said it.
func (m *merger) text(field string, have *string, said string) {
	switch {
	case said != "":
		*have = said
		m.Fields = append(m.Fields, field)
	case *have == "":
		m.Missing = append(m.Missing, field)
	}
}

func (m *merger) parameter(said *Parameter) schema.Parameter {
	p, known := m.known[said.Name]
	if !known {
		p = schema.Parameter{Name: said.Name, Required: true}
	}
	field := "parameters/" + said.Name
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
	return p
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
