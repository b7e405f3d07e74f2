package provenance

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Where returns the JSON pointer to the origin of a document part in a decoded source, and
// whether it is known. The part is a JSON pointer in the document: /description,
// /examples/0, /parameters/3 or /parameters/3/description.
func Where(source any, doc *schema.Document, part string) (pointer string, known bool) {
	text, parameter := textAt(doc, part)
	var found []string
	start := Sentences(text)
	NewSource(source).Strings(func(string) {}, func(path []string, s string) {
		if !known && text != "" && startsIn(s, text, start) {
			found, known = slices.Clone(path), true
		}
	})
	if !known && parameter != "" {
		found, known = declared(source, parameter)
	}
	return jsondoc.Pointer("", found...), known
}

// textAt returns the text of a part of a document, and the name of the parameter if the
// part belongs to one.
func textAt(d *schema.Document, part string) (text, parameter string) {
	steps := strings.Split(strings.TrimPrefix(part, "/"), "/")
	at := -1
	if len(steps) > 1 {
		at, _ = strconv.Atoi(steps[1])
	}
	switch {
	case steps[0] == "name":
		return d.Name, ""
	case steps[0] == "title":
		return d.Title, ""
	case steps[0] == "description":
		return d.Description, ""
	case steps[0] == "response":
		return d.Response, ""
	case steps[0] == "examples" && at >= 0 && at < len(d.Examples):
		return d.Examples[at], ""
	case steps[0] == "parameters" && at >= 0 && at < len(d.Parameters):
		p := d.Parameters[at]
		return p.Description, p.Name
	}
	return "", ""
}

// startsIn reports whether a text of a document, given with its sentences, starts in a text of
// its source.
func startsIn(source, text string, sentences []string) bool {
	if len(sentences) == 0 {
		return source == text
	}
	want := FoldWords(sentences[0])
	return slices.ContainsFunc(Sentences(source), func(s string) bool { return FoldWords(s) == want })
}

// declared returns the path of the declaration of a parameter: the member with its name,
// or the object whose "name" it is. A parameter inside others is found by the end of its
// name.
func declared(source any, name string) (at []string, known bool) {
	name = name[strings.LastIndexByte(name, '.')+1:]
	NewSource(source).Strings(func(string) {}, func(path []string, s string) {
		last := len(path) - 1
		switch i := slices.Index(path, name); {
		case known:
		case i > 0:
			at, known = slices.Clone(path[:i+1]), true
		case last > 0 && path[last] == "name" && s == name:
			at, known = slices.Clone(path[:last]), true
		}
	})
	return at, known
}
