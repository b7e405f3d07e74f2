package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
)

// prose reads a tool that is described in words: a heading or first sentence, sections,
// lists or tables of parameters, requests in quotes.
func prose(raw any) schema.Document {
	s, ok := jsondoc.Embedded(raw).(string)
	if !ok {
		return generic(raw)
	}
	s = cut(strings.ReplaceAll(s, "\r\n", "\n"))
	var d schema.Document
	var rest string
	d.Name, d.Title, rest = headline(s)
	about := s
	if m := heading.FindStringIndex(s); m != nil {
		about = s[:m[0]] // a definition further down is an example
	}
	if f, ok := signature(about); ok {
		d.Name = cmpOr(f.name, d.Name)
		d.Parameters = f.parameters
	}
	addDocumentation(&d, rest)
	if len(d.Parameters) == 0 {
		d.Parameters, d.Description = unsectioned(d.Description)
	}
	if len(d.Examples) == 0 {
		d.Examples = quotedRequests(d.Description)
	}
	return d
}

var (
	markdownTitle = regexp.MustCompile(`^\s*(?:#{1,6}\s+([^\n]+?)\s*#*|\*\*([^*\n]+)\*\*|([^\n]+)\n\s*(?:={3,}|-{3,}))[ \t]*(?:\n|$)`)
	labelled      = regexp.MustCompile(`^\s*(?i:(?:tool|function|api|endpoint|method)?\s*name|tool|function|api|endpoint)[ \t]*:[ \t]*([^\n]+)(?:\n|$)`)
	introduced    = regexp.MustCompile("^\\s*(?:`([^`\\n]+)`|([A-Za-z]\\w*(?:[_.-]\\w+)+|[a-z]+(?:[A-Z]\\w*)+))(?:\\([^\\n()]*\\))?[ \\t]*(?::|[–—-])[ \\t]+")
	identified    = regexp.MustCompile("`([^`\\s(]+)(?:\\([^`]*\\))?`|^([A-Za-z_][\\w.]*)\\(.*\\)$|^([A-Za-z]\\w*[_.]\\w+)$")
)

// maxHeadline bounds a name that is taken from a sentence.
const maxHeadline = 80

// headline finds the name of the tool that a text describes, its title if it differs, and
// the rest of the text.
func headline(s string) (name, heading, rest string) {
	if m := introduced.FindStringSubmatchIndex(s); m != nil {
		return cmpOr(group(s, m, 1), group(s, m, 2)), "", s[m[1]:]
	}
	if m := labelled.FindStringSubmatchIndex(s); m != nil {
		return strings.Trim(group(s, m, 1), "`*\" "), "", s[m[1]:]
	}
	if m := markdownTitle.FindStringSubmatchIndex(s); m != nil {
		heading = group(s, m, 1) + group(s, m, 2) + group(s, m, 3)
		if id := identified.FindStringSubmatch(heading); id != nil {
			return id[1] + id[2] + id[3], heading, s[m[1]:]
		}
		return line(heading, maxHeadline), "", s[m[1]:]
	}
	sentences := text.Sentences(paragraph(text.Truncate(s, maxExample), maxExample))
	if len(sentences) == 0 {
		return "", "", s
	}
	if name = strings.TrimRight(sentences[0], ".!?:;。！？ "); len(name) > maxHeadline {
		name = text.Truncate(name, maxHeadline)
		if i := strings.LastIndexByte(name, ' '); i > 0 {
			name = name[:i]
		}
	}
	return name, "", s
}

// unsectioned finds parameters in a table or a list outside any section, and returns the
// text without them. An entry of a list counts if its name is set as code or followed by a
// type.
func unsectioned(s string) ([]schema.Parameter, string) {
	if found := tableEntries(s); len(found) > 0 {
		return entryParameters(found), tableRow.ReplaceAllString(s, "")
	}
	var found []entry
	rest := looseEntry.ReplaceAllStringFunc(s, func(m string) string {
		e := lineEntries(m)
		if len(e) != 1 || e[0].note == "" && !strings.Contains(m, "`") {
			return m
		}
		if typ, _, known := e[0].typed(); typ == "" && !known && !strings.Contains(m, "`") {
			return m
		}
		found = append(found, e...)
		return ""
	})
	return entryParameters(found), rest
}

var (
	looseEntry = regexp.MustCompile(`(?m)^[ \t]*[-*•+][ \t]+[^\n]*(?::|[ \t][–—-]+[ \t])[^\n]*$`)
	tableRow   = regexp.MustCompile(`(?m)^[ \t]*\|.*\|[ \t]*$`)
	tableRule  = regexp.MustCompile(`^[\s|:-]*-[\s|:-]*$`)
)

// tableEntries reads a Markdown table one of whose columns names parameters.
func tableEntries(s string) []entry {
	rows := tableRow.FindAllString(s, maxParameters+2)
	if len(rows) < 3 || !tableRule.MatchString(rows[1]) {
		return nil
	}
	columns := map[string]int{}
	for i, head := range cells(rows[0]) {
		columns[columnKind(head)] = i
	}
	if _, ok := columns["name"]; !ok {
		return nil
	}
	var out []entry
	for _, row := range rows[2:] {
		c := cells(row)
		at := func(kind string) string {
			if i, ok := columns[kind]; ok && i < len(c) {
				return c[i]
			}
			return ""
		}
		e := entry{name: strings.Trim(at("name"), "`*\" "), text: at("text")}
		e.note = strings.Trim(strings.Trim(at("type"), "`*")+", "+requiredNote(at("required")), ", ")
		if e.name != "" && !tableRule.MatchString(row) {
			out = append(out, e)
		}
	}
	return out
}

func cells(row string) []string {
	parts := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func columnKind(head string) string {
	switch provenance.Fold(head) {
	case "name", "parameter", "parameters", "param", "argument", "field", "input", "key", "option", "property":
		return "name"
	case "description", "meaning", "details", "notes", "explanation", "purpose":
		return "text"
	case "type", "datatype":
		return "type"
	case "required", "mandatory", "requiredoptional":
		return "required"
	}
	return ""
}

func requiredNote(cell string) string {
	switch provenance.Fold(cell) {
	case "yes", "true", "required", "y", "mandatory", "✓", "✔":
		return "required"
	case "":
		return ""
	}
	return "optional"
}

var (
	quotation = regexp.MustCompile(`"([^"\n]{8,400})"|“([^”\n]{8,400})”|«([^»\n]{8,400})»|「([^」\n]{4,200})」`)
	listMark  = regexp.MustCompile(`^[ \t]*(?:[-*•+>]|\d+[.)])[ \t]+`)
)

func quotedRequests(s string) []string {
	var out []string
	for _, m := range quotation.FindAllStringSubmatch(s, 4*maxExamples) {
		if q := m[1] + m[2] + m[3] + m[4]; isRequest(q) {
			out = append(out, q)
		}
	}
	return out
}

// requests takes the requests out of a section of examples: quotations, entries of a list
// and questions, up to a line that announces something else. The rest is prose; code is
// dropped.
func requests(section string) (found []string, rest string) {
	var left []string
	fenced, begun, over := false, false, false
	for l := range strings.SplitSeq(section, "\n") {
		trimmed := strings.TrimSpace(l)
		if strings.HasPrefix(trimmed, "```") {
			fenced = !fenced
			continue
		}
		bare := strings.TrimSpace(listMark.ReplaceAllString(l, ""))
		over = over || begun && bare == trimmed && strings.HasSuffix(trimmed, ":")
		begun = begun || trimmed != ""
		lines := requestLine(bare, bare != trimmed)
		switch {
		case fenced || trimmed == "":
		case len(lines) > 0 && !over:
			found = append(found, lines...)
		case isProse(trimmed):
			left = append(left, trimmed)
		}
	}
	return found, strings.Join(left, "\n")
}

// requestLine returns the requests in a line of examples.
func requestLine(s string, listed bool) []string {
	if quoted := quotedRequests(s); len(quoted) > 0 && !strings.ContainsFunc(quotation.ReplaceAllString(s, ""), unicode.IsLetter) {
		return quoted
	}
	if m := quotation.FindStringIndex(s); m != nil && m[0] == 0 {
		return quotedRequests(s[:m[1]])
	}
	if isRequest(s) && (strings.HasSuffix(s, "?") || listed && !strings.Contains(s, ":")) {
		return []string{s}
	}
	return nil
}

// exampleRequests reads requests from structured examples: texts, or objects that have one.
// It skips calls and code.
func exampleRequests(v any) []string {
	var out []string
	items := list(jsondoc.Embedded(v))
	if items == nil {
		items = []any{jsondoc.Embedded(v)}
	}
	for _, item := range items {
		s := str(item)
		if m := object(item); m != nil {
			s = foldKeys(m).text("userintent", "query", "userquery", "question", "request", "prompt", "utterance", "instruction", "input", "text", "intent")
		}
		if isRequest(s) && len(out) < 4*maxExamples {
			out = append(out, s)
		}
	}
	return out
}

// isRequest reports whether a text reads like a request. Requests hold dates and
// numbers, and hardly any code.
func isRequest(s string) bool {
	words := strings.Fields(s)
	n := len(words)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, "¿¡ "))
	if !unicode.IsLetter(first) && !unicode.IsDigit(first) || len(s) > 2*maxExample || n > 80 || n < 3 && wideLetters(s) < 4 {
		return false
	}
	for _, code := range []string{"{", "}", "=", "<", ">", "|", "()", "://", " -"} {
		if strings.Contains(s, code) {
			return false
		}
	}
	plain := slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w, "_\\`") })
	return len(plain)*5 >= n*4
}
