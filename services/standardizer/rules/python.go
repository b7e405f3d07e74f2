package rules

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/pkg/schema"
)

// python reads a function definition or a signature.
func python(raw any) schema.Document {
	code, ok := embedded(raw).(string)
	if !ok {
		return generic(raw)
	}
	f, ok := signature(code)
	if !ok {
		return prose(raw)
	}
	d := schema.Document{Name: f.name}
	f.complete(&d)
	return d
}

// pythonFunction is what a definition says.
type pythonFunction struct {
	name       string
	parameters []schema.Parameter
	annotation string // of the result
	docstring  string
}

var (
	definition = regexp.MustCompile(`(?:^|[\s` + "`" + `])def[ \t]+([A-Za-z_]\w*)[ \t]*\(`)
	callable   = regexp.MustCompile(`^[\s` + "`" + `]*([A-Za-z_][\w.]*)?\(`)
	argument   = regexp.MustCompile(`^\*{0,2}[A-Za-z_]\w*\s*(?::[^:]|=[^=]|$)`)
)

// signature finds a definition anywhere in a text, or a signature that is the
// whole of it.
func signature(s string) (pythonFunction, bool) {
	s = cut(s)
	if m := definition.FindStringSubmatchIndex(s); m != nil {
		return parseFunction(s, s[m[2]:m[3]], m[1]-1)
	}
	m := callable.FindStringSubmatchIndex(s)
	if m == nil {
		return pythonFunction{}, false
	}
	f, ok := parseFunction(s, group(s, m, 1), m[1]-1)
	return f, ok && f.docstring == ""
}

// parseFunction reads from the parenthesis at open on.
func parseFunction(s, name string, open int) (pythonFunction, bool) {
	end := closing(s, open)
	if end == open {
		return pythonFunction{}, false
	}
	f := pythonFunction{name: name}
	for _, part := range splitTop(s[open+1:end], ',') {
		part = strings.TrimSpace(comments.ReplaceAllString(part, ""))
		switch part {
		case "", "/", "*", "self", "cls":
			continue
		}
		if !argument.MatchString(part) {
			return pythonFunction{}, false
		}
		f.parameters = append(f.parameters, parseArgument(part))
	}
	rest := strings.TrimSpace(s[end+1:])
	if after, ok := strings.CutPrefix(rest, "->"); ok {
		f.annotation, rest = annotation(after)
	}
	rest = strings.Trim(rest, "` \t\r\n")
	body, isBody := strings.CutPrefix(rest, ":")
	if !isBody {
		return f, rest == "" || definition.MatchString(s)
	}
	f.docstring = docstring(body)
	return f, true
}

var comments = regexp.MustCompile(`(?m)#[^'"\n]*$`)

// annotation reads the type after an arrow, up to the colon or the line's end.
func annotation(s string) (typ, rest string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '(', '{', '"', '\'':
			i = closing(s, i)
		case ':', '\n', '`':
			return strings.TrimSpace(s[:i]), s[i:]
		}
	}
	return strings.TrimSpace(s), ""
}

func parseArgument(s string) schema.Parameter {
	p := schema.Parameter{Required: !strings.HasPrefix(s, "*")}
	if before, def, ok := cutTop(strings.TrimLeft(s, "*"), '='); ok {
		p.Required = false
		p.Default = literal(strings.TrimSpace(def))
		s = before
	}
	name, typ, _ := cutTop(strings.TrimLeft(s, "*"), ':')
	p.Name = strings.TrimSpace(name)
	p.Enum = literals(typ)
	p.Type = typeName(typ)
	if strings.Contains(typ, "=") { // what is left is no type
		p.Type = ""
	}
	return p
}

// cutTop is strings.Cut outside brackets and quotes.
func cutTop(s string, sep byte) (before, after string, found bool) {
	first := splitTop(s, sep)[0]
	if len(first) == len(s) {
		return s, "", false
	}
	return first, s[len(first)+1:], true
}

// literals returns the values that typing.Literal allows.
func literals(typ string) []string {
	_, inner, ok := strings.Cut(typ, "Literal[")
	if !ok {
		return nil
	}
	var out []string
	for _, v := range splitTop(inner[:max(0, strings.IndexByte(inner, ']'))], ',') {
		if v = strings.Trim(strings.TrimSpace(v), `"'`); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// literal returns the JSON text of a Python literal; None and expressions have
// none.
func literal(s string) string {
	switch s {
	case "True":
		return "true"
	case "False":
		return "false"
	case "None", "...":
		return ""
	}
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && closing(s, 0) == len(s)-1 {
		return jsonText(s[1 : len(s)-1])
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		if _, err := decode([]byte(s)); err == nil {
			return s
		}
	}
	return ""
}

// docstring returns the string that a body begins with.
func docstring(body string) string {
	body = strings.TrimLeft(strings.TrimSpace(body), "rRuU")
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if after, ok := strings.CutPrefix(body, quote); ok {
			if inner, _, closed := strings.Cut(after, quote); closed {
				return inner
			}
		}
	}
	return ""
}

// complete adds what the function says to a document.
func (f pythonFunction) complete(d *schema.Document) {
	if len(d.Parameters) == 0 {
		d.Parameters = f.parameters
	}
	if f.docstring != "" {
		documented(d, f.docstring)
	}
	if d.Response == "" {
		d.Response = f.returns()
	}
}

// returns tells the type of the result, which is all that a signature says.
func (f pythonFunction) returns() string {
	typ := typeName(f.annotation)
	if typ == "" || typ == "null" || typ == "Any" {
		return ""
	}
	return "Returns " + withArticle(typ) + "."
}
