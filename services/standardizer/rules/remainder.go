package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// failures matches sentences about errors.
var failures = regexp.MustCompile(`^(?:Raises|Throws|Errors|Exceptions)\b`)

// remainder puts the texts of the source that its rule left out into the fields: a text
// below a parameter into the parameter's description, a text below a response into the
// response, and all others into the description.
type remainder struct {
	doc         *schema.Document
	source      *provenance.Source
	find        *provenance.Finder
	owners      *owners // nil until a text is left
	words, lost int
}

// add puts the string at a path into a field unless a field has it already.
func (r *remainder) add(path []string, s string) {
	if !provenance.Says(s) {
		return
	}
	words, found := r.find.Count(s)
	if found {
		r.words += words
		return
	}
	if r.source.ReasonAt(path) != "" || provenance.ReasonOf(s) != "" {
		return
	}
	missing := r.find.Missing(s)
	if r.words += words; len(missing) == 0 {
		return
	}
	if r.owners == nil {
		r.owners = newOwners(r.doc, r.source)
	}
	owner, ownerLimit := r.owners.at(path)
	for _, sentence := range missing {
		field, limit := owner, ownerLimit
		if failures.MatchString(sentence) {
			field, limit = &r.doc.Response, maxResponse
		}
		added := *field + ". " + sentence
		if *field == "" {
			added = sentence
		} else if strings.ContainsAny((*field)[len(*field)-1:], ".!?:;") {
			added = *field + " " + sentence
		}
		if len(added) > limit {
			r.lost += provenance.CountWords(sentence)
			continue
		}
		*field = added
		r.find.Add(sentence)
	}
}

// owners maps paths of the source to fields.
type owners struct {
	doc        *schema.Document
	source     *provenance.Source
	parameters map[string]int  // by name
	prefixes   map[string]bool // of the names of parameters inside others
}

func newOwners(d *schema.Document, source *provenance.Source) *owners {
	p := &owners{doc: d, source: source, parameters: map[string]int{}, prefixes: map[string]bool{}}
	for i := range d.Parameters {
		name := d.Parameters[i].Name
		p.parameters[name] = i
		for j, c := range name {
			if c == '.' {
				p.prefixes[strings.TrimSuffix(name[:j], "[]")] = true
			}
		}
	}
	return p
}

// at returns the field that owns the value at path, and the maximum length of the field.
func (p *owners) at(path []string) (field *string, limit int) {
	field, limit = &p.doc.Description, maxDescription
	v, parameter, input := p.source.At(nil), "", false
	for _, key := range path {
		_, element := v.([]any)
		if v = provenance.Child(v, key); element {
			key = itemName(object(v))
		}
		folded := provenance.Fold(key)
		switch {
		case input:
			names := []string{key}
			if parameter != "" {
				names = []string{parameter + "." + key, parameter + "[]." + key}
			}
			for _, name := range names {
				i, known := p.parameters[name]
				if known {
					field, limit = &p.doc.Parameters[i].Description, maxParameterText
				}
				if known || p.prefixes[name] {
					parameter = name
					break
				}
			}
		case slices.Contains(outputKeys, folded):
			return &p.doc.Response, maxResponse
		case folded == "requestbody" || strings.HasSuffix(folded, "parameters") || namesInputs(folded) || folded != "properties" && slices.Contains(inputKeys, folded):
			input = true
		}
	}
	return field, limit
}
