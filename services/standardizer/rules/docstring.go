package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// entry is one parameter as prose describes it.
type entry struct {
	name, note, text string // note is the text in parentheses: "string, required"
}

// sections is a documentation text taken apart at its headings.
type sections struct {
	body       string // everything outside the other sections
	parameters string
	returns    string
	examples   string
}

// The conventions of headings: "Args:" within a line or on its own, with
// Markdown emphasis around it, or as a Markdown or underlined heading. Words
// that also occur within sentences count at the beginning of a line only.
var (
	heading = regexp.MustCompile(`(?m)(?:^|[ \t])[ \t]*(?:[*_]{1,2})?(` + marked + `)(?:[*_]{1,2})?[ \t]*:(?:[*_]{1,2})?(?:[ \t]|$)` +
		`|^[ \t]*(?:[*_]{1,2})?(` + plainly + `)(?:[*_]{1,2})?[ \t]*:(?:[*_]{1,2})?(?:[ \t]|$)` +
		`|^[ \t]*#{1,6}[ \t]*(` + marked + `|` + plainly + `)[ \t]*:?[ \t]*#*[ \t]*$` +
		`|^[ \t]*(?:[*_]{2})(` + marked + `|` + plainly + `)(?:[*_]{2})[ \t]*$` +
		`|^[ \t]*(` + marked + `|` + plainly + `)[ \t]*:?[ \t]*\r?\n[ \t]*[-=~]{3,}[ \t]*$`)
	// restField is a field of reST (":param int x: …") with the lines that continue it.
	restField = regexp.MustCompile(`(?m)^[ \t]*:(param|parameter|arg|argument|type|returns?|rtype|raises?)\b[ \t]*([^:\n]*):[ \t]*([^\n]*(?:\n[ \t]+[^:@\s][^\n]*)*)$`)
	// The tags of Javadoc: "@param {int} x …", "@returns {int} …".
	paramTag   = regexp.MustCompile(`(?m)^([ \t]*)@(?:param|arg)\b[ \t]*(?:\{([^}\n]*)\}[ \t]*)?\[?([\w.$]+)\]?[ \t-]*`)
	returnsTag = regexp.MustCompile(`(?m)^([ \t]*)@returns?\b[ \t]*(?:\{[^}\n]*\}[ \t]*)?`)
)

const (
	marked = `Args|Arguments|Parameters|Params|Input Parameters|Required Parameters|Optional Parameters|Keyword Args|Keyword Arguments|` +
		`Returns|Yields|Return Value|Raises|Examples?|Example [Rr]equests|Example [Qq]ueries|Sample [Qq]ueries|Usage Examples?|Prompt Examples?|` +
		`Notes?|Usage|Warnings?|Important|See Also|References|Best for|Not recommended for|Common mistakes`
	plainly = `Inputs?|Return|Response|Outputs?|Throws|Errors|Exceptions`
)

// parseSections finds the sections of a documentation text in Google, NumPy, reST
// and Markdown form, on lines of their own or run together.
func parseSections(s string) sections {
	s, doc := parseFields(s)
	var marks [][]int
	if mayHaveHeading(s) {
		marks = withoutAsides(s, heading.FindAllStringSubmatchIndex(s, 64))
	}
	if len(marks) == 0 {
		doc.body = s
		return doc
	}
	doc.body = s[:marks[0][0]]
	for i, m := range marks {
		doc.add(title(s, m), s[m[0]:m[1]], s[m[1]:endOf(s, marks, i)])
	}
	return doc
}

// endOf returns the end of the text of the i-th mark: the start of the next one.
func endOf(s string, marks [][]int, i int) int {
	if i+1 < len(marks) {
		return marks[i+1][0]
	}
	return len(s)
}

// headingEnds are the last words of headings.
var headingEnds = func() map[string]bool {
	ends := map[string]bool{"requests": true, "queries": true}
	for title := range strings.SplitSeq(marked+"|"+plainly, "|") {
		last := strings.ToLower(title[strings.LastIndexByte(title, ' ')+1:])
		ends[strings.TrimSuffix(last, "?")] = true
		ends[strings.TrimSuffix(last, "s?")] = true
	}
	return ends
}()

// mayHaveHeading reports whether a line, or its part before a colon, ends as headings do.
// Most texts have no heading, and searching for headings is the costliest part of reading.
func mayHaveHeading(s string) bool {
	for at := 0; at < len(s); {
		n := strings.IndexAny(s[at:], ":\n")
		if n < 0 {
			n = len(s) - at
		}
		part := strings.TrimRight(s[at:at+n], "*_# \t\r")
		if headingEnds[strings.ToLower(part[strings.LastIndexAny(part, "*_# \t")+1:])] {
			return true
		}
		at += n + 1
	}
	return false
}

// aside is a heading that also occurs within the text of a parameter.
var aside = regexp.MustCompile(`^(?:example|note|usage|warning|important)s?$`)

// withoutAsides drops headings inside the text of a parameter, as in "Name of the city.
// Example: Paris": headings amid a line, below which the list of parameters continues.
func withoutAsides(s string, marks [][]int) (out [][]int) {
	for i, m := range marks {
		before := s[strings.LastIndexByte(s[:m[0]], '\n')+1 : m[0]]
		_, below, _ := strings.Cut(s[m[1]:endOf(s, marks, i)], "\n")
		if len(out) > 0 && listsParameters(title(s, out[len(out)-1])) && aside.MatchString(title(s, m)) &&
			strings.Trim(before, " \t-*•+") != "" && lineEntry.MatchString(below) {
			continue
		}
		out = append(out, m)
	}
	return out
}

func listsParameters(title string) bool {
	switch strings.TrimSuffix(title, "s") {
	case "arg", "argument", "parameter", "param", "input", "input parameter", "required parameter", "optional parameter",
		"keyword arg", "keyword argument":
		return true
	}
	return false
}

// parseFields removes the fields of reST and Javadoc and returns them in their sections.
// Parameters are written in a form that entries reads.
func parseFields(s string) (rest string, doc sections) {
	if strings.Contains(s, "@") {
		s = returnsTag.ReplaceAllString(paramTag.ReplaceAllString(s, "$1:param $2 $3: "), "$1:returns: ")
	}
	words := []string{":param", ":arg", ":type", ":return", ":rtype", ":raise"}
	if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) }) {
		return s, doc
	}
	types := map[string]string{}
	for _, m := range restField.FindAllStringSubmatch(s, maxCollected) {
		if m[1] == "type" {
			types[strings.TrimSpace(m[2])] = m[3]
		}
	}
	rest = restField.ReplaceAllStringFunc(s, func(f string) string {
		m := restField.FindStringSubmatch(f)
		said := strings.Join(strings.Fields(m[3]), " ")
		typ, name := "", strings.TrimSpace(m[2])
		if i := strings.LastIndexAny(name, " \t"); i >= 0 {
			typ, name = strings.TrimSpace(name[:i]), name[i+1:]
		}
		switch {
		case strings.HasPrefix(m[1], "return"):
			doc.returns = paragraphs(doc.returns, said)
		case name != "" && (strings.HasPrefix(m[1], "param") || strings.HasPrefix(m[1], "arg")):
			if typ = cmpOr(typ, types[name]); typ != "" {
				name += " (" + typ + ")"
			}
			doc.parameters += "\n" + name + ": " + said
		}
		return ""
	})
	return rest, doc
}

func title(s string, m []int) string {
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			return strings.ToLower(s[m[g]:m[g+1]])
		}
	}
	return ""
}

// add files a section under its heading. It drops errors, which say nothing about the
// purpose of a tool.
func (d *sections) add(title, mark, content string) {
	if listsParameters(title) {
		blocks := blankLine.Split(strings.TrimLeft(content, "\r\n"), -1)
		n := 1 // blocks before the first without entries
		for n < len(blocks) && (strings.TrimSpace(blocks[n-1]) == "" || lineEntry.MatchString(blocks[n])) {
			n++
		}
		d.parameters += "\n" + strings.Join(blocks[:n], "\n\n")
		d.body = paragraphs(d.body, strings.Join(blocks[n:], "\n\n"))
		return
	}
	switch strings.TrimSuffix(title, "s") {
	case "return", "yield", "response", "output", "return value":
		first, rest := firstParagraph(content)
		_, said := leadingType(first)
		d.returns = paragraphs(d.returns, said)
		d.body = paragraphs(d.body, rest)
	case "raise", "throw", "error", "exception":
		_, rest := firstParagraph(content)
		d.body = paragraphs(d.body, rest)
	case "example", "example request", "example querie", "sample querie", "usage example", "prompt example":
		d.examples = paragraphs(d.examples, content)
	default:
		d.body += mark + content
	}
}

var blankLine = regexp.MustCompile(`\n[ \t\r]*\n`)

// firstParagraph cuts a section at its first empty line: the rest is about something else.
func firstParagraph(s string) (first, rest string) {
	s = strings.TrimLeft(s, " \t\r\n")
	if m := blankLine.FindStringIndex(s); m != nil {
		return s[:m[0]], s[m[1]:]
	}
	return s, ""
}

// leadingType splits off a type at the start of a text, on a line of its own or before a
// colon.
func leadingType(s string) (typ, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, ":\n")
	if i <= 0 || i > maxType || !isTypeText(splitTop(s[:i], ',')[0]) && !parametrized.MatchString(s[:i]) {
		return "", s
	}
	return s[:i], strings.TrimSpace(s[i+1:])
}

var (
	lineEntry = regexp.MustCompile(`(?m)^([ \t]*)(?:[-*•+]|\d+\.)?[ \t]*(?:\*\*|__)?[` + "`" + `"']?(\*{0,2}[A-Za-z_$][\w$.\[\]-]*)[` + "`" + `"']?(?:\*\*|__)?[ \t]*(?:[(\[]([^()\[\]\n]*(?:[(\[][^()\[\]\n]*[)\]][^()\[\]\n]*)*)[)\]])?(?:\*\*)?[ \t]*(?::|[ \t][–—-]+[ \t]|=>|→)(?:\*\*)?[ \t]*(.*)$`)
	// inlineEntry matches entries that follow each other in one line, too.
	inlineEntry = regexp.MustCompile(`(?:^|\s)(?:[-*•][ \t]*)?[` + "`" + `"']?([A-Za-z_$][\w$.\[\]-]*)[` + "`" + `"']?(?:[ \t]*\(([^()\n]*)\))?[ \t]*:(?:\s|$)`)
)

// entries finds the descriptions of parameters in a section. If the names are known, it
// looks only for these, which may also follow each other in one line or be in a table.
func entries(s string, known map[string]bool) []entry {
	var out []entry
	several := strings.Contains(strings.TrimSpace(s), "\n")
	if known != nil || !several {
		out = inlineEntries(s, known)
	}
	if several {
		for _, found := range [][]entry{lineEntries(s), tableEntries(s)} {
			if known != nil {
				found = slices.DeleteFunc(found, func(e entry) bool { return !known[e.name] })
			}
			if len(found) > len(out) && (known != nil || out == nil) {
				out = found
			}
		}
	}
	for i, e := range out {
		if typ, rest := leadingType(e.text); e.note == "" && typ != "" {
			out[i].note, out[i].text = typ, rest
		}
	}
	return out
}

// lineEntries takes lines that begin with an entry, with the lines below each. A line that
// is indented deeper than the first entry belongs to the entry before it.
func lineEntries(s string) []entry {
	var out []entry
	marks := lineEntry.FindAllStringSubmatchIndex(s, maxCollected)
	indent := 0
	if len(marks) > 0 {
		indent = marks[0][3] - marks[0][2]
	}
	marks = slices.DeleteFunc(marks, func(m []int) bool { return m[3]-m[2] > indent })
	for i, m := range marks {
		text, _, _ := strings.Cut(strings.ReplaceAll(s[m[8]:endOf(s, marks, i)], "\r", ""), "\n\n") // the next paragraph describes no parameter
		out = append(out, entry{name: strings.TrimLeft(s[m[4]:m[5]], "*"), note: group(s, m, 3), text: text})
	}
	return out
}

func group(s string, m []int, g int) string {
	if m[2*g] < 0 {
		return ""
	}
	return s[m[2*g]:m[2*g+1]]
}

// inlineEntries takes every entry outside parentheses.
func inlineEntries(s string, known map[string]bool) []entry {
	var out []entry
	opened, counted, begun := 0, 0, 0
	for at := 0; at <= len(s) && len(out) < maxCollected; {
		m := inlineEntry.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		start, name := at+m[0], group(s[at:], m, 1)
		passed := s[counted:start]
		if i := strings.LastIndexByte(passed, '\n'); i >= 0 {
			opened, passed = 0, passed[i:] // nothing closes "(0, 1]"
		}
		opened += strings.Count(passed, "(") - strings.Count(passed, ")")
		counted = start
		if (known == nil || known[name]) && opened <= 0 {
			if len(out) > 0 {
				out[len(out)-1].text = s[min(begun, start):start]
			}
			begun = at + m[1]
			out = append(out, entry{name: name, note: group(s[at:], m, 2), text: s[begun:]})
		}
		// The white space after the colon may begin the next entry.
		at += max(m[1]-1, m[0]+1)
	}
	return out
}

// typed splits the note into a type and the required flag; known is false if the note has
// no such flag.
func (e entry) typed() (typ string, required, known bool) {
	var types []string
	for _, part := range splitTop(e.note, ',') {
		switch word := strings.ToLower(strings.TrimSpace(part)); {
		case word == "":
		case word == "required" || word == "mandatory":
			required, known = true, true
		case strings.HasPrefix(word, "optional") && !strings.HasPrefix(word, "optional["):
			required, known = false, true
		case strings.HasPrefix(word, "default"):
			required, known = false, true
		case isTypeText(part):
			types = append(types, TypeName(part))
		}
	}
	return strings.Join(types, " or "), required, known
}

// entryParameters makes parameters of entries, for sources that have only prose.
func entryParameters(list []entry) []schema.Parameter {
	explicit := false
	for _, e := range list {
		_, required, _ := e.typed()
		explicit = explicit || required
	}
	var out []schema.Parameter
	for _, e := range list {
		typ, required, known := e.typed()
		if !known {
			required = !explicit && !optional.MatchString(e.text)
		}
		out = append(out, schema.Parameter{Name: e.name, Type: typ, Required: required, Description: e.text})
	}
	return out
}

// addDocumentation adds a documentation text to a document: descriptions of parameters
// that have none, the response, the examples, and the rest to the description. The text
// adds parameters only if the source lists none.
func addDocumentation(d *schema.Document, said string) {
	doc := parseSections(cut(said))
	if doc.parameters != "" && !describeParameters(d, doc.parameters) {
		doc.body = paragraphs(doc.body, doc.parameters)
	}
	d.Response = paragraphs(doc.returns, d.Response)
	asked, rest := requests(doc.examples)
	d.Examples = append(d.Examples, asked...)
	d.Description = paragraphs(d.Description, doc.body, rest)
}

// cut bounds a text before it is searched.
func cut(s string) string { return text.Truncate(s, maxProse) }

// describeParameters gives the descriptions in a section to the parameters that lack one,
// and reports whether the section has any of them.
func describeParameters(d *schema.Document, section string) bool {
	if len(d.Parameters) == 0 {
		d.Parameters = fromText(section)
		return len(d.Parameters) > 0
	}
	at := make(map[string]int, len(d.Parameters))
	known := make(map[string]bool, len(d.Parameters))
	for i, p := range d.Parameters {
		at[p.Name], known[p.Name] = i, true
	}
	found := entries(section, known)
	for _, e := range found {
		p := &d.Parameters[at[e.name]]
		if typ, _, _ := e.typed(); p.Type == "" {
			p.Type = typ
		}
		if strings.TrimSpace(p.Description) == "" {
			p.Description = e.text
		}
	}
	return len(found) > 0
}
