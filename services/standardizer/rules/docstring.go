package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// entry is one parameter as prose describes it.
type entry struct {
	name, note, text string // note is what stands in parentheses: "string, required"
}

// sections is a documentation text taken apart at its headings.
type sections struct {
	body       string // what is in no section of its own
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
	// restField and tagField are the fields of reST (":param int x: …") and of
	// Javadoc ("@param {int} x …"), with the lines that continue them.
	restField = regexp.MustCompile(`(?m)^[ \t]*:(param|parameter|arg|argument|type|returns?|rtype|raises?)\b[ \t]*([^:\n]*):[ \t]*([^\n]*(?:\n[ \t]+[^:@\s][^\n]*)*)$`)
	tagField  = regexp.MustCompile(`(?m)^[ \t]*@(param|arg|returns?|throws)\b[ \t]*(?:\{([^}\n]*)\}[ \t]*)?([^\n]*(?:\n[ \t]+[^:@\s][^\n]*)*)$`)
)

const (
	marked = `Args|Arguments|Parameters|Params|Input Parameters|Required Parameters|Optional Parameters|Keyword Args|Keyword Arguments|` +
		`Returns|Yields|Return Value|Raises|Examples?|Example [Rr]equests|Example [Qq]ueries|Sample [Qq]ueries|Usage Examples?|Prompt Examples?|` +
		`Notes?|Usage|Warnings?|Important|See Also|References|Best for|Not recommended for|Common mistakes`
	plainly = `Inputs?|Return|Response|Outputs?|Throws|Errors|Exceptions`
)

// takeApart finds the sections of a documentation text in Google, NumPy, reST
// and Markdown form, on lines of their own or run together.
func takeApart(s string) sections {
	s, doc := takeFields(s)
	if !strings.ContainsAny(s, ":\n") {
		doc.body = s
		return doc
	}
	marks := withoutAsides(s, heading.FindAllStringSubmatchIndex(s, 64))
	if len(marks) == 0 {
		doc.body = s
		return doc
	}
	doc.body = s[:marks[0][0]]
	for i, m := range marks {
		end := len(s)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		doc.add(title(s, m), s[m[0]:m[1]], s[m[1]:end])
	}
	return doc
}

// withoutAsides drops the marks that are words within the text of a parameter, as in
// "Name of the city. Example: Paris": those behind which the list of parameters goes on.
func withoutAsides(s string, marks [][]int) [][]int {
	out := marks[:0:0]
	for i, m := range marks {
		if len(out) > 0 && listsParameters(title(s, out[len(out)-1])) && aside(title(s, m)) && !beginsLine(s, m[0]) {
			end := len(s)
			if i+1 < len(marks) {
				end = marks[i+1][0]
			}
			if _, below, more := strings.Cut(s[m[1]:end], "\n"); more && lineEntry.MatchString(below) {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// aside reports headings that are words of sentences, too.
func aside(title string) bool {
	switch strings.TrimSuffix(title, "s") {
	case "example", "note", "usage", "warning", "important":
		return true
	}
	return false
}

// beginsLine reports whether nothing but space and list marks stands before i.
func beginsLine(s string, i int) bool {
	return strings.Trim(s[strings.LastIndexByte(s[:i], '\n')+1:i], " \t-*•+") == ""
}

func listsParameters(title string) bool {
	switch strings.TrimSuffix(title, "s") {
	case "arg", "argument", "parameter", "param", "input", "input parameter", "required parameter", "optional parameter",
		"keyword arg", "keyword argument":
		return true
	}
	return false
}

// takeFields removes the fields of reST and Javadoc and returns them in their
// sections.
func takeFields(s string) (rest string, doc sections) {
	if !strings.ContainsAny(s, ":@") {
		return s, doc
	}
	types := map[string]string{}
	for _, m := range restField.FindAllStringSubmatch(s, maxCollected) {
		if m[1] == "type" {
			types[strings.TrimSpace(m[2])] = strings.Join(strings.Fields(m[3]), " ")
		}
	}
	rest = restField.ReplaceAllStringFunc(s, func(f string) string {
		m := restField.FindStringSubmatch(f)
		head := strings.Fields(m[2])
		if len(head) == 0 {
			head = []string{""}
		}
		name, typ := head[len(head)-1], strings.Join(head[:len(head)-1], " ")
		doc.addField(m[1], name, cmpOr(typ, types[name]), m[3])
		return ""
	})
	rest = tagField.ReplaceAllStringFunc(rest, func(f string) string {
		m := tagField.FindStringSubmatch(f)
		if strings.HasPrefix(m[1], "return") {
			doc.addField(m[1], "", m[2], m[3])
			return ""
		}
		name, said, _ := strings.Cut(strings.TrimSpace(m[3]), " ")
		doc.addField(m[1], strings.Trim(name, "[]"), m[2], strings.TrimLeft(said, " -"))
		return ""
	})
	return rest, doc
}

// addField files one field in the form in which entries finds it again.
func (d *sections) addField(kind, name, typ, said string) {
	said = strings.Join(strings.Fields(said), " ")
	switch kind {
	case "param", "parameter", "arg", "argument":
		if name != "" {
			d.parameters += "\n" + name + noted(typ) + ": " + said
		}
	case "return", "returns":
		d.returns = paragraphs(d.returns, said)
	}
}

func noted(typ string) string {
	if typ == "" {
		return ""
	}
	return " (" + typ + ")"
}

func title(s string, m []int) string {
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			return strings.ToLower(s[m[g]:m[g+1]])
		}
	}
	return ""
}

// add files a section under what its heading says. Errors are left out: they
// tell what a tool is not for.
func (d *sections) add(title, mark, content string) {
	if listsParameters(title) {
		listed, rest := entryBlocks(content)
		d.parameters += "\n" + listed
		d.body = paragraphs(d.body, rest)
		return
	}
	switch strings.TrimSuffix(title, "s") {
	case "return", "yield", "response", "output", "return value":
		first, rest := firstBlock(content)
		d.returns = paragraphs(d.returns, afterType(first))
		d.body = paragraphs(d.body, rest)
	case "raise", "throw", "error", "exception":
		_, rest := firstBlock(content)
		d.body = paragraphs(d.body, rest)
	case "example", "example request", "example querie", "sample querie", "usage example", "prompt example":
		d.examples = paragraphs(d.examples, content)
	default:
		d.body += mark + content
	}
}

var blankLine = regexp.MustCompile(`\n[ \t\r]*\n`)

// firstBlock cuts a section at its first empty line: what follows is no longer
// about it.
func firstBlock(s string) (first, rest string) {
	s = strings.TrimLeft(s, " \t\r\n")
	if m := blankLine.FindStringIndex(s); m != nil {
		return s[:m[0]], s[m[1]:]
	}
	return s, ""
}

// entryBlocks cuts a section of entries before the first block without any.
func entryBlocks(s string) (listed, rest string) {
	s = strings.TrimLeft(s, "\r\n")
	for at := 0; ; {
		m := blankLine.FindStringIndex(s[at:])
		if m == nil {
			return s, ""
		}
		next := s[at+m[1]:]
		if end := blankLine.FindStringIndex(next); end != nil {
			next = next[:end[0]]
		}
		if strings.TrimSpace(s[:at+m[0]]) != "" && !lineEntry.MatchString(next) {
			return s[:at+m[0]], s[at+m[1]:]
		}
		at += m[1]
	}
}

// afterType drops the type that the text of a result begins with, on a line of
// its own or before a colon.
func afterType(s string) string {
	_, rest := leadingType(s)
	return rest
}

// leadingType splits a type off the beginning of a text.
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
	// inlineEntry also finds entries that run on in one line.
	inlineEntry = regexp.MustCompile(`(?:^|\s)(?:[-*•][ \t]*)?[` + "`" + `"']?([A-Za-z_$][\w$.\[\]-]*)[` + "`" + `"']?(?:[ \t]*\(([^()\n]*)\))?[ \t]*:(?:\s|$)`)
)

// entries finds the descriptions of parameters in a section. Where the names
// are known only these are looked for, and may run on in one line, or stand in a
// table.
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

// lineEntries takes the lines at the indentation of the first entry, with what
// is indented deeper.
func lineEntries(s string) []entry {
	var out []entry
	marks := lineEntry.FindAllStringSubmatchIndex(s, maxCollected)
	indent := -1
	for i, m := range marks {
		if depth := m[3] - m[2]; indent < 0 {
			indent = depth
		} else if depth > indent {
			continue
		}
		end := len(s)
		for _, next := range marks[i+1:] {
			if next[3]-next[2] <= indent {
				end = next[0]
				break
			}
		}
		out = append(out, entry{name: strings.TrimLeft(s[m[4]:m[5]], "*"), note: group(s, m, 3), text: untilBlank(s[m[8]:end])})
	}
	return out
}

// untilBlank cuts at the first empty line: what follows belongs to nobody.
func untilBlank(s string) string {
	if i := strings.Index(strings.ReplaceAll(s, "\r", ""), "\n\n"); i >= 0 {
		return s[:min(i, len(s))]
	}
	return s
}

func group(s string, m []int, g int) string {
	if m[2*g] < 0 {
		return ""
	}
	return s[m[2*g]:m[2*g+1]]
}

// inlineEntries takes every entry that does not stand in parentheses.
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
			opened, passed = 0, passed[i:] // "(0, 1]" would be open for ever
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

// typed splits what stands in parentheses into a type and whether the
// parameter is required; known says whether it tells.
func (e entry) typed() (typ string, required, known bool) {
	var types []string
	if len(e.note) > 4*maxType {
		return "", false, false // a remark, which closes what it likes
	}
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
			types = append(types, typeName(part))
		}
	}
	return strings.Join(types, " or "), required, known
}

// entryParameters makes parameters of entries where prose is all there is.
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

// documented adds to a document what its documentation text says: the
// descriptions of parameters that have none, the response, the examples. The
// text without what found its place becomes the description. Parameters are
// taken from it only where the source lists none.
func documented(d *schema.Document, said string) {
	doc := takeApart(cut(said))
	if doc.parameters != "" && !describe(d, doc.parameters) {
		doc.body = paragraphs(doc.body, doc.parameters)
	}
	d.Response = paragraphs(doc.returns, d.Response)
	asked, rest := requests(doc.examples)
	d.Examples = append(d.Examples, asked...)
	d.Description = paragraphs(d.Description, doc.body, rest)
}

// cut bounds a documentation text before it is searched.
func cut(s string) string { return text.Truncate(s, maxProse) }

// describe hands out the descriptions in a section to the parameters that have
// none, and reports whether all of the section found a place.
func describe(d *schema.Document, section string) bool {
	if len(d.Parameters) == 0 {
		d.Parameters = described(section)
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
