package formats

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Bounds of the parts of a document's head that every operation repeats.
const (
	maxHeadText = 1 << 10 // bytes of the API's description
	maxServers  = 4 << 10 // bytes of the list of servers; a longer one is left out
)

// api is one OpenAPI or Swagger document.
type api struct {
	doc  map[string]any
	refs *references
	head map[string]any // title, description and version, for Raw
	base *url.URL       // of the document; nil: it is not known
}

// operation is one method of one path.
type operation struct {
	method, path string
	value        any
	item         map[string]any // its path item
	at           string         // JSON pointer in the input
}

// splitOpenAPI splits a document into its operations.
func splitOpenAPI(s *session, n node, h head) {
	doc := n.object()
	if p := checkVersion(doc); p != nil {
		p.Path = n.path + p.Path
		s.problem(p)
		return
	}
	info, _ := doc["info"].(map[string]any)
	a := &api{doc: doc, refs: &references{doc: doc, sizes: map[uintptr]int{}}, head: headed(info, "title", "version", "description")}
	if base, err := url.Parse(s.opt.Base); err == nil && base.Host != "" {
		a.base = base
	}
	operations, refused := operationsOf(s, a, n.path+"/paths")
	if len(operations) == 0 && refused {
		return
	}
	splitOperations(s, a, operations, origin{head: h, own: slug(str(info, "title")), several: true}, n.path+"/paths")
}

// splitOperations hands over the operations of a document, which are at a place in the input.
func splitOperations(s *session, a *api, operations []operation, o origin, at string) {
	switch {
	case len(operations) == 0:
		s.problem(&Problem{Path: at, Reason: jsondoc.Empty, Detail: "the document has no operations"})
		return
	case len(operations) > 1 && s.identified(o.head):
		s.refuse(o.head, at, SeveralTools, oneID)
		return
	}
	if _, p := s.provider(o); p != nil {
		s.problem(p)
		return
	}
	for i, op := range operations {
		if s.done {
			return
		}
		if i == maxOperations {
			s.problem(&Problem{Path: op.at, Reason: TooManyOperations, Detail: fmt.Sprintf("%d, at most %d", len(operations), i)})
			return
		}
		readOperation(s, a, op, o)
	}
}

func checkVersion(doc map[string]any) *Problem {
	for _, key := range []string{"openapi", "swagger"} {
		v, there := doc[key]
		if !there {
			continue
		}
		version := strings.Trim(string(jsondoc.Canonical(v)), `"`)
		if major, _, _ := strings.Cut(version, "."); major != "2" && major != "3" {
			return &Problem{Path: "/" + key, Reason: UnsupportedVersion, Detail: schema.Quote(version) + " is neither 2.0 nor 3.x"}
		}
		break
	}
	return nil
}

// operationsOf lists the operations of a document, by path and in a fixed order
// of methods. Refused says that a problem with some of them has been reported.
func operationsOf(s *session, a *api, at string) (out []operation, refused bool) {
	paths, _ := a.doc["paths"].(map[string]any)
	for _, path := range jsondoc.Keys(paths) {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		at := jsondoc.Pointer(at, path)
		item, p := a.object(paths[path], at)
		if p != nil {
			s.problem(p)
			refused = true
			continue
		}
		for _, m := range []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"} {
			if v, there := item[m]; there {
				out = append(out, operation{strings.ToUpper(m), path, v, item, at + "/" + m})
			}
		}
		more, _ := item["additionalOperations"].(map[string]any) // OpenAPI 3.2
		for _, m := range jsondoc.Keys(more) {
			out = append(out, operation{m, path, more[m], item, jsondoc.Pointer(at+"/additionalOperations", m)})
		}
	}
	return out, refused
}

// object returns a path item or an operation with its reference resolved; members next to the
// reference win.
func (a *api) object(v any, at string) (map[string]any, *Problem) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &Problem{Path: at, Reason: WrongType, Detail: "an object is wanted"}
	}
	ref, ok := reference(m, false)
	if !ok {
		return m, nil
	}
	if isOutward(ref) {
		return nil, outward(at, ref)
	}
	target := a.refs.resolve(ref)
	if target == nil {
		return nil, &Problem{Path: at + "/$ref", Reason: Required, Detail: "the reference leads nowhere"}
	}
	return overlay(target, m), nil
}

// overlay returns target with the members of over, except its reference.
func overlay(target, over map[string]any) map[string]any {
	out := maps.Clone(target)
	for k, v := range over {
		if k != "$ref" {
			out[k] = v
		}
	}
	return out
}

func readOperation(s *session, a *api, op operation, o origin) {
	o.local = op.method + " " + op.path
	it := Item{Kind: schema.KindTool, Format: tooldoc.OpenAPI, Path: op.at}
	value, p := a.whole(op)
	if p == nil {
		it.Name = operationName(map[string]any{"method": op.method, "path": op.path, "operation": value})
		if p = check(tooldoc.OpenAPI, map[string]any{"operation": value}); p != nil {
			p.Path = op.at + strings.TrimPrefix(p.Path, "/operation")
		}
	}
	if p == nil {
		it.Raw, it.Hash, p = a.encode(op, value, s.opt.Limits.Document)
	}
	if p != nil {
		provider, _ := s.provider(o) // has been read before
		p.ID = makeID(provider, o.local)
		s.problem(p)
		return
	}
	s.finish(it, o)
}

// endpoint identifies an operation within its API.
func endpoint(m map[string]any) string {
	return strings.ToUpper(str(m, "method")) + " " + str(m, "path")
}

// operationName is the operationId, or method and path if the operationId cannot be a name.
func operationName(m map[string]any) string {
	op, _ := m["operation"].(map[string]any)
	if id := strings.TrimSpace(str(op, "operationId")); id != "" && len(id) <= maxName && !strings.ContainsFunc(id, unicode.IsControl) {
		return id
	}
	return makeID("", endpoint(m))
}

// whole returns the operation with its path's parameters and, if it has no description, with
// the description of its path. References stay as they are.
func (a *api) whole(op operation) (map[string]any, *Problem) {
	value, p := a.object(op.value, op.at)
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
		redefined := map[string]bool{}
		for _, p := range own {
			redefined[a.parameterKey(p)] = true
		}
		kept := slices.DeleteFunc(slices.Clone(shared), func(p any) bool {
			k := a.parameterKey(p)
			return k != "" && redefined[k]
		})
		inherited["parameters"] = append(kept, own...)
	}
	return overlay(value, inherited), nil
}

// parameterKey identifies a parameter by place and name, as OpenAPI does.
func (a *api) parameterKey(v any) string {
	m, _ := v.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		m = a.refs.resolve(ref)
	}
	if str(m, "name") == "" {
		return ""
	}
	return str(m, "in") + " " + str(m, "name")
}

// encode returns the document of an operation, with references in place unless
// that makes it larger than limit, and the hash of all but the head.
func (a *api) encode(op operation, value map[string]any, limit int) (raw []byte, hash string, p *Problem) {
	text, p := a.refs.operationText(value, op.at)
	if p != nil {
		return nil, "", p
	}
	if len(text) > limit {
		text = jsondoc.Canonical(value)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", op.method, op.path, text))
	out := map[string]any{"method": op.method, "path": op.path, "operation": nil}
	if len(a.head) > 0 {
		out["api"] = a.head
	}
	if servers := a.servers(op, value); servers != nil {
		out["servers"] = servers
	}
	raw = appendObject(make([]byte, 0, len(text)+2<<10), out, func(b []byte, k string) []byte {
		if k == "operation" {
			return append(b, text...)
		}
		return jsondoc.Append(b, out[k])
	})
	return raw, hex.EncodeToString(sum[:]), nil
}

// servers returns where the operation is called: its own servers, its path's
// or the document's, nil if they are missing or too many to repeat. Servers without an address
// are at the document's address, if known.
func (a *api) servers(op operation, value map[string]any) any {
	for _, m := range []map[string]any{value, op.item, a.doc} {
		list, _ := m["servers"].([]any)
		if len(list) > 0 && len(jsondoc.Canonical(list)) <= maxServers {
			return a.absolute(list)
		}
	}
	host := str(a.doc, "host")
	switch {
	case host == "" && a.base == nil:
		return nil
	case host == "":
		at := a.base.Scheme + "://" + a.base.Host + cmp.Or(str(a.doc, "basePath"), "/")
		return []any{map[string]any{"url": cut(at, maxServers)}}
	}
	scheme := "https"
	if schemes, _ := a.doc["schemes"].([]any); len(schemes) > 0 && !slices.Contains(schemes, any("https")) {
		scheme = fmt.Sprint(schemes[0])
	}
	return []any{map[string]any{"url": cut(scheme+"://"+host+str(a.doc, "basePath"), maxServers)}}
}

// absolute returns servers with their addresses resolved against the document's. One with
// variables is resolved if it begins with a path.
func (a *api) absolute(list []any) []any {
	if a.base == nil {
		return list
	}
	out := make([]any, len(list))
	for i, server := range list {
		out[i] = server
		m, _ := server.(map[string]any)
		address, _ := m["url"].(string)
		if m == nil || strings.Contains(address, "://") || strings.HasPrefix(address, "{") {
			continue
		}
		root := a.base.Scheme + "://" + a.base.Host
		if !strings.HasPrefix(address, "/") {
			address = path.Join("/", path.Dir(a.base.Path), address)
		}
		out[i] = overlay(m, map[string]any{"url": root + address})
	}
	return out
}
