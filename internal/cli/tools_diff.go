package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// fieldDiff is one field as rules read it from the raw document, and as it is
// searched.
type fieldDiff struct {
	Field        string `json:"field"`
	By           string `json:"by"` // rules or model
	Rules        string `json:"rules"`
	Standardized string `json:"standardized"`
}

// documentDiff is what tools get --diff shows.
type documentDiff struct {
	ID           string         `json:"id"`
	Fields       []fieldDiff    `json:"fields"`
	Flags        []string       `json:"flags,omitempty"`
	Quarantined  bool           `json:"quarantined,omitempty"`
	Standardized *schema.Origin `json:"standardized,omitempty"`
}

// diff compares the document of an entity with what rules alone make of its
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

// printDiff shows equal fields once, others one above the other.
func (c *console) printDiff(d documentDiff) {
	c.printf("%s\n", oneLine(d.ID))
	for _, f := range d.Fields {
		if f.Rules == f.Standardized {
			c.printf("= %-32s %s\n", oneLine(f.Field), oneLine(f.Standardized))
			continue
		}
		c.printf("- %-32s %s\n", oneLine(f.Field), oneLine(cmp.Or(f.Rules, "(nothing)")))
		c.printf("+ %-32s %s\n", f.By, oneLine(cmp.Or(f.Standardized, "(nothing)")))
	}
	c.printFindings(d.Flags, d.Quarantined, d.Standardized)
}

// printFindings prints what the standardizer found in a document, and what the language
// model made of it, if it was asked.
func (c *console) printFindings(flags []string, quarantined bool, o *schema.Origin) {
	for _, f := range flags {
		c.printPairs("flag", f)
	}
	if quarantined {
		c.printPairs("quarantined", "not in answers until it is released: toolstream tools release, or providers release")
	}
	if o == nil {
		return
	}
	repaired := ""
	if o.Repaired {
		repaired = "at the second attempt"
	}
	c.printPairs("model", o.Model+", prompt "+o.Prompt, "repaired", repaired, "by rules", string(o.Fallback))
	for _, field := range o.Missing {
		c.printPairs("left out", field)
	}
	for _, v := range o.Violations {
		c.printPairs("violation", v)
	}
	c.printPairs("refused", o.Refused)
}
