package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// fieldDiff is a field as the rules read it from the raw document, and as searches see it.
type fieldDiff struct {
	Field        string `json:"field"`
	By           string `json:"by"` // rules or model
	Rules        string `json:"rules"`
	Standardized string `json:"standardized"`
}

// documentDiff is the output of tools get --diff.
type documentDiff struct {
	ID           string         `json:"id"`
	Fields       []fieldDiff    `json:"fields"`
	Flags        []string       `json:"flags,omitempty"`
	Quarantined  bool           `json:"quarantined,omitempty"`
	Standardized *schema.Origin `json:"standardized,omitempty"`
}

// diff compares the document of an entity with the document that the rules alone make of its
// raw document.
func diff(e entityView) (documentDiff, error) {
	byRules, err := rules.Standardize(e.Format, e.ID, e.Raw)
	if err != nil {
		return documentDiff{}, fmt.Errorf("the raw document: %w", err)
	}
	d := documentDiff{ID: e.ID, Flags: e.Document.Flags, Quarantined: e.Document.Quarantined, Standardized: e.Document.Standardized}
	var written []string
	if o := e.Document.Standardized; o != nil {
		written = o.Fields
	}
	add := func(field, before, after string) {
		if before == "" && after == "" {
			return
		}
		by := "rules"
		if slices.Contains(written, field) {
			by = "model"
		}
		d.Fields = append(d.Fields, fieldDiff{field, by, before, after})
	}
	add("name", byRules.Name, e.Document.Name)
	add("description", byRules.Description, e.Document.Description)
	for _, p := range e.Document.Parameters {
		diffParameter(add, byRules.Parameters, p)
	}
	add("response", byRules.Response, e.Document.Response)
	add("examples", strings.Join(byRules.Examples, "\n"), strings.Join(e.Document.Examples, "\n"))
	return d, nil
}

func diffParameter(add func(field, before, after string), known []schema.Parameter, p schema.Parameter) {
	var before schema.Parameter
	if i := slices.IndexFunc(known, func(q schema.Parameter) bool { return q.Name == p.Name }); i >= 0 {
		before = known[i]
	}
	at := "parameters/" + p.Name + "/"
	add(at+"type", before.Type, p.Type)
	add(at+"required", fmt.Sprint(before.Required), fmt.Sprint(p.Required))
	add(at+"description", before.Description, p.Description)
	add(at+"default", before.Default, p.Default)
	add(at+"enum", strings.Join(before.Enum, ", "), strings.Join(p.Enum, ", "))
	add(at+"example", before.Example, p.Example)
}

// printFindings prints the findings of the standardizer in a document, and the result of the
// language model, if it was asked.
func printFindings(con *console, flags []string, quarantined bool, o *schema.Origin) {
	for _, f := range flags {
		con.PrintPairs("flag", f)
	}
	if quarantined {
		con.PrintPairs("quarantined", "not in answers until it is released: toolstream tools release, or providers release")
	}
	if o == nil {
		return
	}
	repaired := ""
	if o.Repaired {
		repaired = "at the second attempt"
	}
	con.PrintPairs("model", o.Model+", prompt "+o.Prompt, "repaired", repaired, "by rules", string(o.Fallback))
	for _, field := range o.Missing {
		con.PrintPairs("left out", field)
	}
	for _, v := range o.Violations {
		con.PrintPairs("violation", v)
	}
	con.PrintPairs("refused", o.Refused)
}
