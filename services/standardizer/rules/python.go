package rules

import (
	"regexp"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// python reads a function definition or a signature.
func python(raw any) schema.Document {
	code, ok := jsondoc.Embedded(raw).(string)
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

// pythonFunction is a parsed definition.
type pythonFunction struct {
	name       string
	parameters []schema.Parameter
	annotation string // of the result
	docstring  string
}

var (
	definition = regexp.MustCompile(`(?:^|[\s` + "`" + `])def[ \t]+([\p{L}_][\p{L}\p{N}_]*)[ \t]*(?:\[[^\]\n]*\])?[ \t]*\(`)
	callable   = regexp.MustCompile(`^[\s` + "`" + `]*([A-Za-z_][\w.]*)?\(`)
	argument   = regexp.MustCompile(`^\*{0,2}[\p{L}_][\p{L}\p{N}_]*\s*(?::[^:]|=[^=]|$)`)
)

// signature finds a definition anywhere in a text, or a signature that is the whole text.
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
	s = s[:open] + uncommented(s[open:])
	end := closing(s, open)
	if end == open {
		return pythonFunction{}, false
	}
	f := pythonFunction{name: name}
	for _, part := range splitTop(s[open+1:end], ',') {
		part = strings.TrimSpace(part)
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

// quotedOrComment finds comments outside of string literals.
var quotedOrComment = regexp.MustCompile(`(?s)""".*?"""|'''.*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#[^\n]*`)

// uncommented removes comments, which may contain brackets and quotes.
func uncommented(s string) string {
	if !strings.Contains(s, "#") {
		return s
	}
	return quotedOrComment.ReplaceAllStringFunc(s, func(token string) string {
		if token[0] == '#' {
			return ""
		}
		return token
	})
}

// maxAnnotation bounds the type after an arrow, in bytes, if nothing closes a bracket.
const maxAnnotation = 1 << 10

// annotation reads the type after an arrow, up to the colon or the line's end.
func annotation(s string) (typ, rest string) {
	near := s[:min(len(s), maxAnnotation)]
	pairs := pairsOf(near, false)
	for i := 0; i < len(near); i = max(i, pairs[i]) + 1 {
		if c := s[i]; c == ':' || c == '\n' || c == '`' {
			return strings.TrimSpace(s[:i]), s[i:]
		}
	}
	return strings.TrimSpace(near), ""
}

func parseArgument(s string) schema.Parameter {
	p := schema.Parameter{Required: !strings.HasPrefix(s, "*")}
	if before, def, ok := cutTop(strings.TrimLeft(s, "*"), '='); ok {
		f := fieldOf(def)
		p.Required, p.Default, p.Description = f.required, literal(f.def), f.description
		s = before
	}
	name, typ, _ := cutTop(strings.TrimLeft(s, "*"), ':')
	p.Name = strings.TrimSpace(name)
	typ, said := annotated(typ)
	p.Description = cmpOr(p.Description, said)
	p.Enum = literals(typ)
	p.Type = TypeName(typ)
	if strings.Contains(typ, "=") { // not a type
		p.Type = ""
	}
	return p
}

// field is a default, or a call in its place that describes the parameter.
type field struct {
	def, description string
	required         bool
}

// fieldCall matches the calls that describe a parameter in Python libraries, as its default
// or next to its type.
var fieldCall = regexp.MustCompile(`^(?:\w+\.)*(?:Field|Query|Path|Body|Header|Param|Form)\(`)

// fieldOf reads a default, which may be a call that describes the parameter.
func fieldOf(def string) field {
	def = strings.TrimSpace(def)
	call := fieldCall.FindString(def)
	if call == "" || closing(def, len(call)-1) != len(def)-1 {
		return field{def: def}
	}
	f := field{required: true}
	for i, arg := range splitTop(def[len(call):len(def)-1], ',') {
		key, value, named := cutTop(arg, '=')
		switch key = strings.TrimSpace(key); {
		case key == "...", key == "":
		case !named && i == 0:
			f.def, f.required = key, false
		case key == "default":
			f.def = strings.TrimSpace(value)
			f.required = f.def == "..."
		case key == "default_factory":
			f.required = false
		case key == "description":
			f.description = stringOf(value)
		}
	}
	return f
}

var annotatedType = regexp.MustCompile(`^(?:\w+\.)*Annotated\[`)

// annotated takes a type and its description out of typing.Annotated.
func annotated(typ string) (inner, said string) {
	typ = strings.TrimSpace(typ)
	outer := annotatedType.FindString(typ)
	if outer == "" || !strings.HasSuffix(typ, "]") {
		return typ, ""
	}
	parts := splitTop(typ[len(outer):len(typ)-1], ',')
	for _, part := range parts[1:] {
		said = cmpOr(said, cmpOr(stringOf(part), fieldOf(part).description))
	}
	return parts[0], said
}

// stringOf returns the text of consecutive Python string literals, "" if s has anything
// else.
func stringOf(s string) string {
	var b strings.Builder
	for s = strings.Trim(s, " \t\r\n()"); s != ""; s = strings.TrimSpace(s) {
		s = strings.TrimLeft(s, "rRuUbBfF")
		if s == "" || s[0] != '"' && s[0] != '\'' {
			return ""
		}
		end := closing(s, 0)
		if end == 0 {
			return ""
		}
		b.WriteString(s[1:end])
		s = s[end+1:]
	}
	return b.String()
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

// literal returns the JSON text of a Python literal, "" for None and expressions.
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
	if v, err := decode([]byte(s)); err == nil && jsonType(v) == "integer" || jsonType(v) == "number" {
		return s
	}
	return ""
}

// docstring returns the string at the start of a body.
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

// complete adds the content of the function to a document.
func (f pythonFunction) complete(d *schema.Document) {
	if len(d.Parameters) == 0 {
		d.Parameters = f.parameters
	}
	if f.docstring != "" {
		addDocumentation(d, f.docstring)
	}
	if typ := TypeName(f.annotation); d.Response == "" && typ != "" && typ != "null" && typ != "Any" {
		d.Response = "Returns " + typePhrase(typ) + "."
	}
}
