package formats

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// collected is the tools in an object that is not a tool itself, such as a map of servers.
type collected struct {
	tools []owned
}

// owned is a tool of a collection and its owner, "" if the collection does not name one.
type owned struct {
	node
	key   string // member that holds the tool or its list
	owner string
}

// collectionOf returns the tools in an object of no known format, nil if it has none.
func collectionOf(opt *Options, n node) []owned {
	if recognise(n.object()) != tooldoc.JSON || !opt.mayBe(tooldoc.MCP) && !opt.mayBe(tooldoc.Function) {
		return nil
	}
	return collect(n)
}

// collect returns the tools in an object of no known format: in lists, in maps from names
// to tools, and in rows that name a server and its tool.
func collect(n node) []owned {
	c := collected{}
	c.value(node{value: n.value}, "", "")
	if n.text == nil && n.path == "" || len(c.tools) == 0 {
		return c.tools
	}
	c.tools = nil // again with the texts, which only few documents need
	c.value(n, "", "")
	return c.tools
}

// value collects the tools in the value of a member.
func (c *collected) value(n node, key, owner string) {
	switch v := n.value.(type) {
	case []any:
		isTools := slices.ContainsFunc(v, func(e any) bool {
			m, _ := e.(map[string]any)
			return isSchemaTool(e) || isListKey(key) && key != "api_list" && str(m, "name") != ""
		})
		for e := range n.elements() {
			if isTools && !hasCollection(e.object()) { // a list of tools may hold tools without a schema
				c.tools = append(c.tools, owned{e, key, cmp.Or(rowOwner(e.object()), owner)})
			} else {
				c.value(e, key, owner)
			}
		}
	case map[string]any:
		c.object(n, key, owner)
	}
}

func (c *collected) object(n node, key, owner string) {
	m := n.object()
	if name := str(m, "tool"); name != "" && isSchemaTool(named(m, name)) {
		n = node{value: named(m, name), path: n.path}
		m = n.object()
	}
	if isSchemaTool(m) {
		c.tools = append(c.tools, owned{n, key, cmp.Or(rowOwner(m), owner)})
		return
	}
	owner = cmp.Or(ownerID(collection(m)), owner)
	isTools, isServers := isToolMap(m, key), isServerMap(m, key)
	for k, member := range n.members() {
		inner := member.object()
		switch {
		case isTools && inner != nil:
			if str(inner, "name") == "" {
				member = node{value: named(inner, k), path: member.path}
			}
			c.tools = append(c.tools, owned{member, "tools", owner})
		case isServers && inner != nil:
			c.value(member, k, ownerID(k))
		case !isSchemaKey(k):
			c.value(member, k, owner)
		}
	}
}

// named returns a tool with a name, unless it has one.
func named(tool map[string]any, name string) map[string]any {
	return overlay(map[string]any{"name": name}, tool)
}

// isSchemaTool reports whether a value is a tool that states its name and its schema.
func isSchemaTool(v any) bool {
	m, _ := v.(map[string]any)
	switch recognise(m) {
	case tooldoc.MCP, tooldoc.Function:
		name, _ := nameOf(recognise(m), m)
		return name != ""
	}
	return false
}

// isToolMap reports whether an object is a map from names to tools: two or more of its members
// have a description and a schema, or one in a member that is called tools.
func isToolMap(m map[string]any, key string) bool {
	n := 0
	for k, v := range m {
		inner, _ := v.(map[string]any)
		if str(inner, "description") != "" && !isSchemaKey(k) && isSchemaTool(named(inner, k)) {
			n++
		}
	}
	return n > 1 || n == 1 && isListKey(key)
}

// isServerMap reports whether an object is a map from the names of servers to objects with
// their tools: it has two or more of these, or is called servers.
func isServerMap(m map[string]any, key string) bool {
	n := 0
	for _, v := range m {
		if inner, _ := v.(map[string]any); hasCollection(inner) {
			n++
		}
	}
	return n > 1 || n == 1 && strings.HasSuffix(strings.ToLower(key), "servers")
}

// hasCollection reports whether an object has a list or a map of tools.
func hasCollection(m map[string]any) bool {
	for k, v := range m {
		if list, _ := v.([]any); isListKey(k) && (isObject(v) || len(list) > 0 && isObject(list[0])) {
			return true
		}
	}
	return false
}

// rowOwner returns the owner of a tool in a table, which also names its server.
func rowOwner(m map[string]any) string { return ownerID(str(m, "server", "server_name")) }

// isSchemaKey reports members that describe parameters and results, not tools.
func isSchemaKey(key string) bool {
	return isData(key) || isMap(key) || slices.Contains([]string{"inputSchema", "input_schema", "outputSchema", "parameters", "schema", "items"}, key)
}

// unreadTools returns the JSON pointer to a list or map of two or more objects that look like
// tools without a schema, "" if a value has none.
func unreadTools(v any, at string) string {
	n, found := 0, ""
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if m, _ := e.(map[string]any); str(m, "name", "id", "title") != "" && takesArguments(m) {
				n++
			}
			found = cmp.Or(found, unreadTools(e, at+"/"+strconv.Itoa(i)))
		}
	case map[string]any:
		for _, k := range jsondoc.Keys(v) {
			if isSchemaKey(k) {
				continue
			}
			if m, _ := v[k].(map[string]any); takesArguments(m) {
				n++
			}
			found = cmp.Or(found, unreadTools(v[k], jsondoc.Pointer(at, k)))
		}
	}
	if n > 1 {
		return at
	}
	return found
}

// takesArguments reports whether an object has a description and arguments or an HTTP method.
func takesArguments(m map[string]any) bool {
	return str(m, "description") != "" && has(m, "parameters", "params", "args", "arguments", "inputs", "method", "httpMethod")
}

// splitCollection reads each tool of a collection.
func splitCollection(s *session, n node, h head, tools []owned) {
	switch {
	case len(tools) > 1 && s.identified(h):
		s.refuse(h, n.path, SeveralTools, oneID)
		return
	case len(tools) > maxOperations:
		s.refuse(h, n.path, TooManyOperations, fmt.Sprintf("%d, at most %d", len(tools), maxOperations))
		return
	}
	for _, t := range tools {
		switch of := h; {
		case s.done:
			return
		case t.object() == nil:
			s.refuse(h, t.path, NotATool, "an object is wanted")
		default:
			of.provider = cmp.Or(h.provider, t.owner)
			readListed(s, t.node, of, list{key: t.key})
		}
	}
}

// members yields the members of an object, in the order of the source if it has one.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		m := n.object()
		if n.text == nil {
			for _, k := range jsondoc.Keys(m) {
				if !yield(k, node{value: m[k], path: jsondoc.Pointer(n.path, k)}) {
					return
				}
			}
			return
		}
		for k, text := range jsondoc.Members(n.text) {
			if !yield(k, node{value: m[k], text: text, path: jsondoc.Pointer(n.path, k)}) {
				return
			}
		}
	}
}
