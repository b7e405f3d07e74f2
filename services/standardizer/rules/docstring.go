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
		end := len(s)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		doc.add(title(s, m), s[m[0]:m[1]], s[m[1]:end])
	}
	return doc
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

// mayHaveHeading reports whether a line or what stands before a colon ends as headings do:
// most texts have none, and to search them costs most of what reading them does.
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

// withoutAsides drops the headings within the text of a parameter, as in "Name of the
// city. Example: Paris": those amid a line, below which the list of parameters goes on.
func withoutAsides(s string, marks [][]int) (out [][]int) {
	for i, m := range marks {
		end := len(s)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		before := s[strings.LastIndexByte(s[:m[0]], '\n')+1 : m[0]]
		_, below, _ := strings.Cut(s[m[1]:end], "\n")
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

// parseFields removes the fields of reST and Javadoc and returns them in their
// sections: parameters in the form in which entries finds them again.
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
		_, said := leadingType(first)
		d.returns = paragraphs(d.returns, said)
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
	blocks := blankLine.Split(strings.TrimLeft(s, "\r\n"), -1)
	n := 1
	for n < len(blocks) && (strings.TrimSpace(blocks[n-1]) == "" || lineEntry.MatchString(blocks[n])) {
		n++
	}
	return strings.Join(blocks[:n], "\n\n"), strings.Join(blocks[n:], "\n\n")
}

// leadingType splits off the type that a text begins with, on a line of its own
// or before a colon.
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

// lineEntries takes the lines that begin with an entry, with those below. What
// is indented deeper than the first belongs to the one before.
func lineEntries(s string) []entry {
	var out []entry
	marks := lineEntry.FindAllStringSubmatchIndex(s, maxCollected)
	indent := 0
	if len(marks) > 0 {
		indent = marks[0][3] - marks[0][2]
	}
	marks = slices.DeleteFunc(marks, func(m []int) bool { return m[3]-m[2] > indent })
	for i, m := range marks {
		end := len(s)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		text, _, _ := strings.Cut(strings.ReplaceAll(s[m[8]:end], "\r", ""), "\n\n") // what is below describes no parameter
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

// addDocumentation adds to a document what its documentation text says: the
// descriptions of parameters that have none, the response, the examples. The
// text without what found its place becomes the description. Parameters are
// taken from it only where the source lists none.
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

// cut bounds a documentation text before it is searched.
func cut(s string) string { return text.Truncate(s, maxProse) }

// describeParameters hands out the descriptions in a section to the parameters that have
// none, and reports whether all of the section found a place.
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
