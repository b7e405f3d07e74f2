package formats

import (
	"cmp"
	"slices"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// list is an object that holds tools: the member that lists them and what the
// collection calls itself.
type list struct {
	key   string
	owner string
}

// listKeys are the members that list tools.
var listKeys = []string{"tools", "functions", "functionDeclarations", "function_declarations", "api_list"}

func isListKey(key string) bool { return slices.Contains(listKeys, key) }

// isList recognises lists of tools.
func isList(m map[string]any) (list, bool) {
	for _, key := range listKeys {
		tools, ok := m[key].([]any)
		if ok && (len(tools) == 0 || isObject(tools[0])) {
			return list{key, ownerID(collection(m))}, true
		}
	}
	return list{}, false
}

// collection returns the name of the server or collection that a list of tools
// is of.
func collection(m map[string]any) string {
	for _, key := range []string{"serverInfo", "server", "server_info"} {
		if s, ok := m[key].(map[string]any); ok && str(s, "name") != "" {
			return str(s, "name")
		}
	}
	return str(m, "provider", "agent", "server", "server_name", "tool_name", "name", "title")
}

func splitList(s *session, n node, h head, l list) {
	h.provider = cmp.Or(h.provider, l.owner)
	if h.id != "" {
		s.refuse(h, n.path, SeveralTools, oneID)
		return
	}
	tools := n.at(l.key)
	if len(tools.value.([]any)) == 0 {
		s.refuse(h, tools.path, jsondoc.Empty, "an empty list")
	}
	for e := range tools.elements() {
		switch m := e.object(); {
		case s.done:
			return
		case m == nil:
			s.refuse(h, e.path, NotATool, "an object is wanted")
		case l.key == "api_list":
			readSingle(s, inCollection(e, n.object()), h, tooldoc.RapidAPI, true)
		default:
			readListed(s, e, h, l)
		}
	}
}

// readListed reads a tool out of a list; only what says nothing about itself has
// the format that the list's name suggests.
func readListed(s *session, n node, h head, l list) {
	if inner, ok := isList(n.object()); ok && !has(n.object(), "name") { // Gemini lists lists
		splitList(s, n, h, inner)
		return
	}
	if tools := collectionOf(&s.opt, n); len(tools) > 0 {
		splitCollection(s, n, h, tools)
		return
	}
	format := s.format(n.object())
	if format == tooldoc.JSON && s.opt.Format != tooldoc.JSON && has(n.object(), "name") {
		format = tooldoc.Function
		if l.key == "tools" {
			format = tooldoc.MCP
		}
	}
	readSingle(s, n, h, format, true)
}

// inCollection adds to an endpoint what only its collection says: whose it is.
// An endpoint called "search" says nothing without it.
func inCollection(n node, collection map[string]any) node {
	m := overlay(n.object(), nil)
	for key, from := range map[string][]string{"tool_name": {"tool_name", "name", "title"}, "category_name": {"category_name", "category"}} {
		if v := str(collection, from...); v != "" && !has(m, key) {
			m[key] = v
		}
	}
	return node{value: m, path: n.path}
}
