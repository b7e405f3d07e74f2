package index

import (
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds of the texts of one document, in bytes. Longer texts are cut: they would dilute an
// embedding and make one document match everything.
const (
	maxFlat  = 8 << 10
	maxField = 2 << 10
	maxRest  = 64 << 10
)

// Fields are the texts of a document as they are embedded and indexed: identifiers split into
// words, otherwise as standardized. A text is empty if the document lacks the field.
type Fields struct {
	Name        string   // "name words title. description [tags]"
	Flat        string   // everything in one
	Description string   //
	Response    string   //
	Examples    []string // one per example of the document, in its order
	Parameters  []string // one per parameter of the document, in its order: "name words (type): meaning"
}

// Texts returns the texts of a document. The embedder and the lexical index
// both read a document through it, so that they mean the same words.
func Texts(doc *schema.Document) Fields {
	s := join(". ", titled(doc), field(doc.Description))
	if tags := tagText(doc); tags != "" {
		s = join(" ", s, "["+tags+"]")
	}
	f := Fields{
		Name:        text.Truncate(s, maxField),
		Flat:        flatText(doc),
		Description: field(doc.Description),
		Response:    field(doc.Response),
		Examples:    make([]string, len(doc.Examples)),
		Parameters:  make([]string, len(doc.Parameters)),
	}
	for i, example := range doc.Examples {
		f.Examples[i] = field(example)
	}
	for i := range doc.Parameters {
		f.Parameters[i] = parameterText(&doc.Parameters[i])
	}
	return f
}

// Rest returns the whole texts of a document, and with them the texts of its source if the fields
// lack some; "" if Texts cuts nothing.
func Rest(doc *schema.Document, source []byte) string {
	texts := append([]string{doc.Description, doc.Response}, doc.Examples...)
	for i := range doc.Parameters {
		texts = append(texts, doc.Parameters[i].Name, doc.Parameters[i].Description)
	}
	size, cut := 0, doc.Uncovered > 0
	for _, s := range texts {
		size += len(s)
		cut = cut || len(s) > maxField
	}
	if !cut && size <= maxFlat {
		return ""
	}
	if doc.Uncovered > 0 {
		if root, err := provenance.Decode(source); err == nil {
			provenance.NewSource(root).Strings(func(string) {}, func(_ []string, s string) { texts = append(texts, s) })
		}
	}
	return text.Split(text.Truncate(strings.Join(texts, "\n"), maxRest))
}

// ArgumentText returns an argument of a query in the form of a parameter's
// text, so that the two compare: "name words (type): meaning". A meaning may
// begin with the type, see Typed.
func ArgumentText(name, meaning string) string {
	p := schema.Parameter{Name: name, Description: meaning}
	if first, rest, ok := strings.Cut(strings.TrimSpace(meaning), ")"); ok {
		if of, ok := strings.CutPrefix(first, "("); ok && isType(of) {
			p.Type, p.Description = of, rest
		}
	}
	return parameterText(&p)
}

// Typed returns the meaning of an argument with its type: "(type) meaning". A type that
// JSON does not have is left out.
func Typed(of, meaning string) string {
	if !isType(of) {
		return meaning
	}
	return join(" ", "("+of+")", meaning)
}

func isType(s string) bool {
	switch s {
	case "string", "integer", "number", "boolean", "object", "array":
		return true
	}
	return false
}

// maxLabel is how many words of a name are a label: more than names have.
const maxLabel = 16

// Label returns the words of a tool's name in lower case, separated by blanks, or the words of its
// title if the name is a path, such as GET /alerts/{id}.
func Label(doc *schema.Document) string {
	name := doc.Name
	if doc.Title != "" && strings.Contains(name, "/") {
		name = doc.Title
	}
	words := text.Tokens(field(name))
	return strings.Join(words[:min(len(words), maxLabel)], " ")
}

// flatText renders the whole document as prose, without the keys of any
// schema, which would be noise in every document alike.
func flatText(doc *schema.Document) string {
	var parameters []string
	for i := range doc.Parameters {
		p := &doc.Parameters[i]
		parameters = append(parameters, join(": ", field(p.Name), field(p.Description)))
	}
	parts := []string{titled(doc), field(doc.Description), tagText(doc)}
	if len(parameters) > 0 {
		parts = append(parts, "Parameters: "+strings.Join(parameters, "; "))
	}
	if doc.Response != "" {
		parts = append(parts, "Returns: "+field(doc.Response))
	}
	said := stems(join(" ", parts...))
	for _, example := range doc.Examples {
		example = field(example)
		words, shared := stems(example), 0
		for word := range words {
			if said[word] {
				shared++
			}
		}
		if 3*shared >= len(words) {
			parts = append(parts, example)
		}
	}
	return text.Truncate(join(". ", parts...), maxFlat)
}

// stems returns the stems of the meaningful words of a text.
func stems(s string) map[string]bool {
	out := map[string]bool{}
	for _, word := range text.Tokens(s) {
		if !text.StopWord(word) && !text.Filler(word) {
			out[text.Stem(word)] = true
		}
	}
	return out
}

// titled returns the words of the name, and the title if it adds any.
func titled(doc *schema.Document) string {
	name, title := field(doc.Name), field(doc.Title)
	if strings.EqualFold(name, title) {
		title = ""
	}
	return join(" ", name, title)
}

func tagText(doc *schema.Document) string {
	tags := make([]string, len(doc.Tags))
	for i, tag := range doc.Tags {
		tags[i] = field(tag)
	}
	return join(", ", tags...)
}

func parameterText(p *schema.Parameter) string {
	name := field(p.Name)
	if p.Type != "" {
		name = join(" ", name, "("+p.Type+")")
	}
	return text.Truncate(join(": ", name, field(p.Description)), maxField)
}

// field returns a text with its identifiers split, bounded before and after, so
// that no text costs more than its limit.
func field(s string) string {
	return text.Truncate(text.Split(text.Truncate(strings.TrimSpace(s), maxField)), maxField)
}

// join joins the parts that are not empty. A part that ends a sentence by
// itself gets no second full stop.
func join(sep string, parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		if part == "" {
			continue
		}
		if s := b.String(); s != "" {
			if sep == ". " && strings.ContainsAny(s[len(s)-1:], ".!?") {
				b.WriteString(" ")
			} else {
				b.WriteString(sep)
			}
		}
		b.WriteString(part)
	}
	return b.String()
}
