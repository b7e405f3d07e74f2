package formats

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds of what every operation of a document repeats from its head.
const (
	maxHeadText = 1 << 10 // bytes of the API's description
	maxServers  = 4 << 10 // bytes of the list of servers; a longer one is left out
)

// api is one OpenAPI or Swagger document.
type api struct {
	doc  map[string]any
	refs *refs
	head map[string]any // title, description and version, for Raw
	path string         // JSON pointer to the document in its input
}

// openapi splits a document into its operations.
func (s *session) openapi(n node, h head) {
	doc := n.object()
	if p := checkVersion(doc); p != nil {
		p.Path = n.path + p.Path
		s.problem(p)
		return
	}
	info, _ := doc["info"].(map[string]any)
	a := &api{doc: doc, refs: newRefs(doc), head: headOf(info), path: n.path}
	operations, refused := s.operations(a)
	switch {
	case len(operations) == 0 && !refused:
		s.problem(&Problem{Path: n.path + "/paths", Reason: jsondoc.Empty, Detail: "the document has no operations"})
		return
	case len(operations) > 1 && s.identified(h):
		s.problem(&Problem{ID: h.id, Path: n.path + "/paths", Reason: SeveralTools, Detail: "there is one id for them"})
		return
	}
	o := origin{head: h, own: slug(str(info, "title")), several: true}
	if _, p := s.owner(h, o.own, true); p != nil {
		s.problem(p)
		return
	}
	for i, op := range operations {
		if s.done {
			return
		}
		if i == s.opt.Limits.Operations {
			s.problem(&Problem{Path: op.at, Reason: TooManyOperations, Detail: fmt.Sprintf("%d, at most %d", len(operations), i)})
			return
		}
		s.operation(a, op, o)
	}
}

// operations lists the operations of a document, by path and method. Refused
// says that a problem with some of them has been reported.
func (s *session) operations(a *api) (out []operation, refused bool) {
	paths, _ := a.doc["paths"].(map[string]any)
	for _, p := range jsondoc.Keys(paths) {
		if strings.HasPrefix(p, "x-") {
			continue
		}
		item, problem := a.pathItem(paths[p], jsondoc.Pointer(a.path+"/paths", p))
		if problem != nil {
			s.problem(problem)
			refused = true
			continue
		}
		out = append(out, a.methods(p, item)...)
	}
	return out, refused
}

func checkVersion(doc map[string]any) *Problem {
	for _, key := range []string{"openapi", "swagger"} {
		v, there := doc[key]
		if !there {
			continue
		}
		version := strings.Trim(string(jsondoc.Canonical(v)), `"`)
		if version == "2" || strings.HasPrefix(version, "2.") || version == "3" || strings.HasPrefix(version, "3.") {
			return nil
		}
		return &Problem{Path: "/" + key, Reason: UnsupportedVersion, Detail: schema.Quote(version) + " is neither 2.0 nor 3.x"}
	}
	return nil
}

func headOf(info map[string]any) map[string]any {
	out := map[string]any{}
	for _, k := range []string{"title", "version"} {
		if v := str(info, k); v != "" {
			out[k] = cut(v, maxHeadText)
		}
	}
	if d := str(info, "description"); d != "" {
		out["description"] = cut(d, maxHeadText)
	}
	return out
}

// operation is one method of one path.
type operation struct {
	method, path string
	value        any
	item         map[string]any // its path item
	at           string
}

// pathItem returns a path item, with what it refers to; what stands beside the
// reference wins.
func (a *api) pathItem(v any, at string) (map[string]any, *Problem) {
	item, ok := v.(map[string]any)
	if !ok {
		return nil, &Problem{Path: at, Reason: WrongType, Detail: "a path item is an object"}
	}
	return a.deref(item, at)
}

// deref follows the reference of an object that is not a schema.
func (a *api) deref(m map[string]any, at string) (map[string]any, *Problem) {
	ref, ok := reference(m, false)
	if !ok {
		return m, nil
	}
	c := a.refs.component(ref)
	if c.outward {
		return nil, outward(exit{at + "/$ref", ref})
	}
	target, ok := c.value.(map[string]any)
	if !ok {
		return nil, &Problem{Path: at + "/$ref", Reason: Required, Detail: "the reference leads nowhere"}
	}
	return overlay(target, m), nil
}

// methods lists the operations of a path item in a fixed order.
func (a *api) methods(path string, item map[string]any) []operation {
	at := jsondoc.Pointer(a.path+"/paths", path)
	var out []operation
	for _, m := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"} {
		if v, there := item[m]; there {
			out = append(out, operation{strings.ToUpper(m), path, v, item, at + "/" + m})
		}
	}
	more, _ := item["additionalOperations"].(map[string]any) // OpenAPI 3.2
	for _, m := range jsondoc.Keys(more) {
		out = append(out, operation{m, path, more[m], item, jsondoc.Pointer(at+"/additionalOperations", m)})
	}
	return out
}

func outward(e exit) *Problem {
	return &Problem{Path: e.at, Reason: ExternalRef, Detail: e.at + " leads to " + schema.Quote(e.ref)}
}

// overlay returns target with the members of over, except its reference.
func overlay(target, over map[string]any) map[string]any {
	out := make(map[string]any, len(target)+len(over))
	for k, v := range target {
		out[k] = v
	}
	for k, v := range over {
		if k != "$ref" {
			out[k] = v
		}
	}
	return out
}

func (s *session) operation(a *api, op operation, o origin) {
	agent, _ := s.owner(o.head, o.own, true) // has been read before
	o.local = op.method + " " + op.path
	it := Item{Kind: schema.KindTool, Format: OpenAPI, Path: op.at}
	value, p := a.whole(op)
	if p == nil {
		it.Hash, p = a.hash(op, value)
	}
	if p == nil {
		if p = s.check(OpenAPI, map[string]any{"operation": value}); p != nil {
			p.Path = op.at + strings.TrimPrefix(p.Path, "/operation")
		}
	}
	if p != nil {
		p.ID = makeID(agent, o.local)
		s.problem(p)
		return
	}
	it.Name = operationName(map[string]any{"method": op.method, "path": op.path, "operation": value})
	it.Raw = a.raw(op, value, s.opt.Limits.Document)
	s.finish(it, o)
}

// endpoint is what identifies an operation within its API.
func endpoint(m map[string]any) string {
	return strings.ToUpper(str(m, "method")) + " " + str(m, "path")
}

// operationName is the operationId, or method and path where there is none
// that can be a name.
func operationName(m map[string]any) string {
	op, _ := m["operation"].(map[string]any)
	if id := strings.TrimSpace(str(op, "operationId")); id != "" && len(id) <= maxName && !strings.ContainsFunc(id, unicode.IsControl) {
		return id
	}
	return makeID("", endpoint(m))
}

// whole returns the operation with its path's parameters and, where it says nothing of
// itself, with what its path says, references as they stand.
func (a *api) whole(op operation) (map[string]any, *Problem) {
	value, ok := op.value.(map[string]any)
	if !ok {
		return nil, &Problem{Path: op.at, Reason: WrongType, Detail: "an operation is an object"}
	}
	value, p := a.deref(value, op.at)
	if p != nil {
		return nil, p
	}
	inherited := map[string]any{}
	if str(value, "summary", "description") == "" {
		for _, key := range []string{"summary", "description"} {
			if text := str(op.item, key); text != "" {
				inherited[key] = text
			}
		}
	}
	if shared, _ := op.item["parameters"].([]any); len(shared) > 0 {
		own, _ := value["parameters"].([]any)
		inherited["parameters"] = a.merge(shared, own)
	}
	if len(inherited) == 0 {
		return value, nil
	}
	return overlay(value, inherited), nil
}

// merge puts the path's parameters before the operation's, except those that
// the operation gives itself.
func (a *api) merge(shared, own []any) []any {
	var keys []string
	for _, p := range own {
		keys = append(keys, a.parameterKey(p))
	}
	out := make([]any, 0, len(shared)+len(own))
	for _, p := range shared {
		if k := a.parameterKey(p); k == "" || !slices.Contains(keys, k) {
			out = append(out, p)
		}
	}
	return append(out, own...)
}

// parameterKey identifies a parameter by place and name, as OpenAPI does.
func (a *api) parameterKey(v any) string {
	m, _ := v.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		m, _ = a.refs.component(ref).value.(map[string]any)
	}
	if str(m, "name") == "" {
		return ""
	}
	return str(m, "in") + " " + str(m, "name")
}

// raw builds the document of an operation: with references in place, or if
// that is too large as it stands.
func (a *api) raw(op operation, value map[string]any, limit int) []byte {
	out := map[string]any{"method": op.method, "path": op.path, "operation": value}
	if len(a.head) > 0 {
		out["api"] = a.head
	}
	if servers := a.servers(op, value); servers != nil {
		out["servers"] = servers
	}
	raw := appendObject(nil, out, func(b []byte, k string) []byte {
		if k == "operation" {
			return a.refs.appendOperation(b, value)
		}
		return jsondoc.Append(b, out[k])
	})
	if len(raw) <= limit {
		return raw
	}
	return jsondoc.Canonical(out)
}

// servers returns where the operation is called: its own servers, its path's
// or the document's, nil if there are none or too many to repeat.
func (a *api) servers(op operation, value map[string]any) any {
	for _, m := range []map[string]any{value, op.item, a.doc} {
		list, _ := m["servers"].([]any)
		if len(list) > 0 && len(jsondoc.Canonical(list)) <= maxServers {
			return list
		}
	}
	host := str(a.doc, "host")
	if host == "" {
		return nil
	}
	scheme := "https"
	if schemes, _ := a.doc["schemes"].([]any); len(schemes) > 0 && !slices.Contains(schemes, any("https")) {
		scheme = fmt.Sprint(schemes[0])
	}
	return []any{map[string]any{"url": cut(scheme+"://"+host+str(a.doc, "basePath"), maxServers)}}
}
