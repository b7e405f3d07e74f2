package rules

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// failures finds what a text says about errors.
var failures = regexp.MustCompile(`^(?:Raises|Throws|Errors|Exceptions)\b`)

// remainder puts what the reader of a format left of its source into the fields: what
// stands below a parameter into the parameter's text, what stands below a response
// into the response, and all else into the description.
type remainder struct {
	doc         *schema.Document
	source      *provenance.Source
	find        *provenance.Finder
	places      *places // nil until something is left
	words, lost int
}

func newRemainder(d *schema.Document, source *provenance.Source) *remainder {
	return &remainder{doc: d, source: source, find: provenance.NewFinder(d)}
}

// uncovered is the share of the words for which there was no room, in hundredths.
func (r *remainder) uncovered() float64 {
	if r.lost == 0 {
		return 0
	}
	return min(1, math.Ceil(100*float64(r.lost)/float64(r.words))/100)
}

// add puts the string at a path into a field, if it says something that stands in none.
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
	if r.places == nil {
		r.places = newPlaces(r.doc, r.source)
	}
	place, limit := r.places.of(path)
	for _, sentence := range missing {
		field, limit := place, limit
		if failures.MatchString(sentence) {
			field, limit = &r.doc.Response, maxResponse
		}
		added := withSentence(*field, sentence)
		if len(added) > limit {
			r.lost += provenance.CountWords(sentence)
			continue
		}
		*field = added
		r.find.Add(sentence)
	}
}

// withSentence returns a text with a sentence behind it.
func withSentence(s, sentence string) string {
	switch {
	case s == "":
		return sentence
	case strings.ContainsAny(s[len(s)-1:], ".!?:;"):
		return s + " " + sentence
	}
	return s + ". " + sentence
}

// places finds the field that a path of the source belongs to.
type places struct {
	doc        *schema.Document
	source     *provenance.Source
	parameters map[string]int  // by name
	prefixes   map[string]bool // of the names of parameters inside others
}

func newPlaces(d *schema.Document, source *provenance.Source) *places {
	p := &places{doc: d, source: source, parameters: map[string]int{}, prefixes: map[string]bool{}}
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

// of returns the text that what stands at path belongs to, and how long that may get.
func (p *places) of(path []string) (field *string, limit int) {
	field, limit = &p.doc.Description, maxDescription
	v, at, input := p.source.At(nil), "", false
	for _, key := range path {
		_, element := v.([]any)
		if v = provenance.Child(v, key); element {
			key = itemName(object(v))
		}
		folded := fold(key)
		switch {
		case input:
			name, ok := p.inside(at, key)
			if ok {
				at = name
			}
			if i, known := p.parameters[name]; ok && known {
				field, limit = &p.doc.Parameters[i].Description, maxParameterText
			}
		case slices.Contains(outputKeys, folded):
			return &p.doc.Response, maxResponse
		case folded == "requestbody" || strings.HasSuffix(folded, "parameters") || namesInputs(folded) || folded != "properties" && slices.Contains(inputKeys, folded):
			input = true
		}
	}
	return field, limit
}

// inside returns the full name of the parameter key within the parameter at.
func (p *places) inside(at, key string) (name string, ok bool) {
	candidates := []string{key}
	if at != "" {
		candidates = []string{at + "." + key, at + "[]." + key}
	}
	for _, name := range candidates {
		if _, known := p.parameters[name]; known || p.prefixes[name] {
			return name, true
		}
	}
	return "", false
}
