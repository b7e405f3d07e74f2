package formats

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// readProse reads a text: Python source, or the description of one tool.
func readProse(s *session, text, path string, h head, several bool) {
	if strings.TrimSpace(text) == "" {
		s.problem(&Problem{ID: h.id, Path: path, Reason: jsondoc.Empty, Detail: "an empty text"})
		return
	}
	if splitSchemaText(s, text, path, h) || readSkill(s, text, path, h, several) {
		return
	}
	format := s.opt.Format
	if only := tooldoc.FormatOf(format).Only; only != "" {
		s.refuse(h, path, UnknownFormat, "this is no "+only)
		return
	}
	if format == tooldoc.Python || format != tooldoc.Text && looksLikePython(text) {
		splitPython(s, text, path, h, several)
		return
	}
	if !meansProse(s, h) {
		if f := s.opt.forced(); f != "" && f != tooldoc.Text {
			s.refuse(h, path, UnknownFormat, "a document of the format "+f+" is a JSON or YAML object, and this is text")
			return
		}
		s.refuse(h, path, UnknownFormat, foreignText(text))
		return
	}
	it := Item{Format: tooldoc.Text, Kind: s.kind(h), Path: path, Name: heading(text)}
	it.Raw, it.Hash = prosaic(text)
	local := slug(it.Name)
	if local == "" {
		local = s.base
	}
	if local == "" && !s.identified(h) {
		s.problem(&Problem{Path: path, Reason: Required, Detail: "the text has no heading and no name to make an id of"})
		return
	}
	s.finish(it, origin{head: h, local: local, several: several})
}

var markup = strings.NewReplacer("**", "", "__", "", "`", "")

// pictures are lines of nothing but badges.
var pictures = regexp.MustCompile(`^(?:\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*)+$`)

// heading returns the text's title, a heading of the first level, or its first line
// with a word in it, short enough for a name. Deeper headings name parts of it, as
// "Parameters", and what looks like one in a code block is a comment.
func heading(text string) string {
	first, inCode, code := "", "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			code = !code
			continue
		}
		title := clean(strings.TrimSpace(strings.Trim(line, "#")))
		switch {
		case slug(title) == "" || pictures.MatchString(line):
		case code:
			inCode = cmp.Or(inCode, title)
		case strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "##"):
			return title
		default:
			first = cmp.Or(first, title)
		}
	}
	return cmp.Or(first, inCode)
}

// clean makes one printable line of a heading.
func clean(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, markup.Replace(line))
	return strings.TrimSpace(cut(strings.Join(strings.Fields(line), " "), maxName))
}

var (
	defLine   = regexp.MustCompile(`^(?:async[ \t]+)?def[ \t]+([\p{L}_][\p{L}\p{N}_]*)[ \t]*[(\[]`)
	prelude   = regexp.MustCompile(`^(?:@|import |from )`) // lines that may precede the first def
	signature = regexp.MustCompile(`^([A-Za-z_][\w.]*)\((?:[^()]|\([^()]*\))*\)(?:[ \t]*->[ \t]*[^\n]+?)?:?[ \t]*(?:\n|$)`)
)

// looksLikePython recognises Python source by its first statement: a def,
// perhaps after decorators, imports and comments, or a bare signature.
func looksLikePython(text string) bool {
	text = unfenced(text)
	if signature.MatchString(text) {
		return true
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if defLine.MatchString(line) {
			return true
		}
		if line != "" && !prelude.MatchString(line) {
			return false
		}
	}
	return false
}

// unfenced returns the text without the Markdown fence around it.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "```") {
		return text
	}
	_, text, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
}

// pythonName returns the name of the function that the source defines first.
func pythonName(text string) string {
	text = unfenced(text)
	for line := range strings.Lines(text) {
		if m := defLine.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	if m := signature.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// splitPython takes Python source: every top-level function is a tool, except
// private ones next to public ones.
func splitPython(s *session, text, path string, h head, several bool) {
	defs := functions(text)
	if len(defs) == 0 {
		defs = []function{{name: pythonName(text), text: text}}
	}
	if len(defs) > 1 && s.identified(h) {
		defs = []function{{name: defs[0].name, text: text}} // one document by the id's say
	}
	for _, d := range defs {
		if s.done {
			return
		}
		if d.name == "" && !s.identified(h) {
			s.problem(&Problem{Path: path, Reason: Required, Detail: "no function is defined here"})
			continue
		}
		it := Item{Format: tooldoc.Python, Kind: s.kind(h), Path: path, Name: d.name}
		if s.line == 0 && path == "" {
			it.Line = d.line
		}
		it.Raw, it.Hash = prosaic(d.text)
		s.finish(it, origin{head: h, local: d.name, several: several || len(defs) > 1})
	}
}

// function is one def with its decorators and body.
type function struct {
	name, text string
	line       int
}

// functions returns the public top-level functions of the source, or all if
// none is public. One ends at the next line without indentation that neither
// an open docstring nor a closing bracket ties to it.
func functions(text string) []function {
	var all []function
	at, number, quote := 0, 0, ""
	decorators, decoratorLine := -1, 0 // where the decorators of the next function begin
	open := -1                         // where the function begins that is not at its end
	end := func() {
		if open >= 0 {
			all[len(all)-1].text = strings.TrimSpace(text[open:at])
			open = -1
		}
	}
	for line := range strings.Lines(text) {
		number++
		if quote == "" && strings.TrimSpace(line) != "" && !strings.ContainsAny(line[:1], " \t)]}'\"#`") {
			end()
			m := defLine.FindStringSubmatch(line)
			switch {
			case m != nil && decorators >= 0:
				open = decorators
				all = append(all, function{name: m[1], line: decoratorLine})
			case m != nil:
				open = at
				all = append(all, function{name: m[1], line: number})
			case line[0] == '@' && decorators < 0:
				decorators, decoratorLine = at, number
			}
			if line[0] != '@' {
				decorators = -1
			}
		}
		quote = openQuote(line, quote)
		at += len(line)
	}
	end()
	public := slices.DeleteFunc(slices.Clone(all), func(f function) bool { return strings.HasPrefix(f.name, "_") })
	if len(public) > 0 {
		return public
	}
	return all
}

// openQuote returns the triple quote that is open at the end of the line, ""
// if none is.
func openQuote(line, open string) string {
	for line != "" {
		switch {
		case open != "" && strings.HasPrefix(line, open):
			line, open = line[3:], ""
		case open == "" && (strings.HasPrefix(line, `"""`) || strings.HasPrefix(line, `'''`)):
			open, line = line[:3], line[3:]
		default:
			line = line[1:]
		}
	}
	return open
}
