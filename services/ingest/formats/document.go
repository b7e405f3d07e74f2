package formats

import (
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// document takes one value of the input: a tool, or something that holds
// several. Several says that it is one among others.
func (s *session) document(n node, h head, several bool) {
	switch v := n.value.(type) {
	case map[string]any:
		s.object(n, h, several)
	case []any:
		if len(v) == 0 {
			s.refuse(h, n.path, jsondoc.Empty, "an empty array")
		}
		for e := range n.elements() {
			switch {
			case s.done:
				return
			case isArray(e.value):
				s.refuse(h, e.path, NotATool, "an array in an array")
			default:
				s.document(e, h, true)
			}
		}
	case string:
		readProse(s, v, n.path, h, several)
	case nil:
		s.refuse(h, n.path, jsondoc.Empty, "null is no document")
	default:
		s.refuse(h, n.path, NotATool, "a number or truth value is no document")
	}
}

func (s *session) object(n node, h head, several bool) {
	m := n.object()
	if len(m) == 0 {
		s.refuse(h, n.path, jsondoc.Empty, "an empty object")
		return
	}
	if s.opt.Kept {
		format := s.format(m)
		if s.kind(h) == schema.KindProvider {
			format = tooldoc.Provider
		}
		readSingle(s, n, h, format, false)
		return
	}
	if _, named := m["part"].(string); several && !h.wrapped && named && has(m, "value") && len(m) == 2 {
		return // a part of an exported tenant other than a document
	}
	if key, ok := envelopeOf(m); ok && !h.wrapped {
		openEnvelope(s, n, key, several)
		return
	}
	switch forced := s.opt.Format; {
	case s.kind(h) == schema.KindProvider:
		readSingle(s, n, h, tooldoc.Provider, several)
	case forced == tooldoc.Text:
		s.refuse(h, n.path, NotATool, "prose is wanted, and this is an object")
	case forced == tooldoc.JSON:
		readSingle(s, n, h, tooldoc.JSON, several)
	default:
		s.recognised(n, h, several)
	}
}

// recognised takes an object that only its content identifies.
func (s *session) recognised(n node, h head, several bool) {
	m := n.object()
	if has(m, "jsonrpc") || has(m, "result") && len(m) == 1 { // as a recorded tools/list is
		result := n.at("result")
		if !isObject(result.value) {
			s.refuse(h, n.path, NotATool, "a JSON-RPC message without a result")
			return
		}
		s.recognised(result, h, true)
		return
	}
	for _, c := range shapes() {
		if s.opt.mayBe(c.format) && c.is(m) {
			c.read(s, n, h)
			return
		}
	}
	if l, ok := isList(m); ok {
		splitList(s, n, h, l)
		return
	}
	if tools := collectionOf(&s.opt, n); len(tools) > 0 {
		splitCollection(s, n, h, tools)
		return
	}
	if why := foreign(m); why != "" && s.opt.forced() == "" && recognise(m) == tooldoc.JSON {
		s.refuse(h, n.path, NotATool, why)
		return
	}
	format := s.format(m)
	if only := tooldoc.FormatOf(format).Only; only != "" && recognise(m) != format {
		s.refuse(h, n.path, UnknownFormat, "this is no "+only)
		return
	}
	if format == tooldoc.JSON && IsProvidersFile(s.opt.Source) && !h.wrapped {
		format = tooldoc.Provider
	}
	if format == tooldoc.JSON {
		if at := unreadTools(m, n.path); at != "" {
			s.refuse(h, at, NotATool, "several tools in a form that is not known: import them as an array, or as MCP's tools/list has them")
			return
		}
	}
	readSingle(s, n, h, format, several)
}

// format returns the format of a single object: what the caller says, or what
// its content says.
func (s *session) format(m map[string]any) string {
	if f := s.opt.forced(); f != "" {
		return f
	}
	return recognise(m)
}
