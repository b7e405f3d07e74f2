package formats

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// isPostman recognises collections of Postman, v2.0 and v2.1, also as Postman's API
// answers them.
func isPostman(m map[string]any) bool {
	if inner, ok := m["collection"].(map[string]any); ok && len(m) == 1 {
		m = inner
	}
	info, _ := m["info"].(map[string]any)
	items, ok := m["item"].([]any)
	if !ok || info == nil {
		return false
	}
	if has(info, "_postman_id") || strings.Contains(str(info, "schema"), "postman.com/") {
		return true
	}
	return slices.ContainsFunc(items, func(v any) bool {
		item, _ := v.(map[string]any)
		return has(item, "request", "item")
	})
}

// splitPostman takes each request of a collection as a tool, named with its folders.
func splitPostman(s *session, n node, h head) {
	if isObject(n.object()["collection"]) {
		n = n.at("collection")
	}
	m := n.object()
	info, _ := m["info"].(map[string]any)
	c := collecting{s: s, h: h, head: described(info, "name", "version")}
	c.folder(m["item"], jsondoc.Pointer(n.path, "item"), nil, nil)
	// Pieces of one name also get the request line.
	count := map[string]int{}
	for _, p := range c.found {
		count[p.local]++
	}
	for i := range c.found {
		if count[c.found[i].local] > 1 {
			c.found[i].local += " " + requestLine(c.found[i].value)
		}
	}
	s.pieces(h, n.path+"/item", tooldoc.Postman, slug(str(info, "name")), c.found)
}

// collecting gathers the requests of a collection.
type collecting struct {
	s     *session
	h     head
	head  map[string]any
	found []piece
}

// folder adds the requests of a folder. Names and folders describe the folders around them,
// this one included; the depth of JSON bounds their number.
func (c *collecting) folder(items any, at string, names []string, folders []any) {
	list, _ := items.([]any)
	for i, v := range list {
		item, _ := v.(map[string]any)
		at := at + "/" + strconv.Itoa(i)
		name := str(item, "name")
		switch {
		case isArray(item["item"]):
			inside := append(folders[:len(folders):len(folders)], described(item, "name"))
			c.folder(item["item"], at+"/item", append(names[:len(names):len(names)], name), inside)
		case !has(item, "request"):
			c.s.refuse(c.h, at, NotATool, "neither a request nor a folder")
		default:
			c.add(item, name, at, names, folders)
		}
	}
}

func (c *collecting) add(item map[string]any, name, at string, names []string, folders []any) {
	head := map[string]any{"collection": c.head}
	if len(folders) > 0 {
		head["folders"] = folders
	}
	for k := range head {
		if has(item, k) {
			delete(head, k)
		}
	}
	if name == "" {
		name = requestLine(item)
	}
	local := strings.Join(append(names[:len(names):len(names)], name), "/")
	c.found = append(c.found, piece{local: local, name: name, at: at, value: item, head: head})
}

// described returns the members of a head with its description, which may be an object.
func described(m map[string]any, keys ...string) map[string]any {
	out := headed(m, append(keys, "description")...)
	if about, ok := m["description"].(map[string]any); ok && str(about, "content") != "" {
		out["description"] = cut(str(about, "content"), maxHeadText)
	}
	return out
}

// requestLine is the method and the path of an item's request.
func requestLine(item map[string]any) string {
	request, _ := item["request"].(map[string]any)
	method := strings.ToUpper(str(request, "method"))
	if method == "" {
		method = "GET"
	}
	address := str(item, "request") + str(request, "url")
	if u, ok := request["url"].(map[string]any); ok {
		address = str(u, "raw")
	}
	address, _, _ = strings.Cut(address, "?")
	if _, rest, ok := strings.Cut(address, "}}"); ok && strings.HasPrefix(address, "{{") { // a variable for where the API is
		address = rest
	} else if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Path
	}
	return strings.TrimSpace(method + " " + address)
}
