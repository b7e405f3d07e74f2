package kubernetes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/text"
)

// server is a server that an object describes.
type server struct {
	name        string // of the object, after its namespace and kind, and the item in it
	kind        string // of the source
	address     string // empty: the address of the reference, at the path
	ref         reference
	path        string
	description string
	title       string
	problem     string
}

// reference names the object that serves a server.
type reference struct{ kind, namespace, name, port string }

// entry is the content of an object that matters.
type entry struct {
	servers []server
	target  reference // object that references to it resolve to
}

// read returns the servers of an object. Annotations of other projects are read as these
// document them.
func (k kind) read(o *unstructured.Unstructured) entry {
	var e entry
	switch len(k.target) {
	case 1:
		e.target = referenceOf(within(o.Object, k.target[0]), o.GetNamespace())
	case 2:
		e.target = reference{kind: "Hostname", name: field(o.Object, k.target[0]), port: field(o.Object, k.target[1])}
	}
	items := []any{o.Object}
	if k.each != "" {
		items, _ = within(o.Object, k.each).([]any)
	}
	for _, item := range items {
		fields, _ := item.(map[string]any)
		if s, is := k.server(o, fields); is {
			e.servers = append(e.servers, s)
		}
	}
	return e
}

// server reads one server, if there is one.
func (k kind) server(o *unstructured.Unstructured, fields map[string]any) (server, bool) {
	notes := o.GetAnnotations()
	s := server{name: path.Join(o.GetNamespace(), k.String(), o.GetName()), kind: source.MCP, description: first(fields, k.description)}
	if k.each != "" {
		s.name = path.Join(s.name, field(fields, "name"))
	}
	external := ""
	for _, domain := range exports {
		s.title, s.description = cmp.Or(s.title, notes[domain+"title"]), cmp.Or(s.description, notes[domain+"description"])
		if notes[domain+"export"] == "true" {
			external = cmp.Or(external, notes[domain+"url"])
		}
	}
	scheme, speaks := "", mcpPort(fields, k.ports) != nil
	if rest, is := strings.CutPrefix(notes[teleportProtocol], "mcp+"); is && rest != "stdio" {
		scheme, speaks = rest[strings.LastIndexByte(rest, '+')+1:], true
	}
	if kind := notes[ownSource]; kind != "" {
		s.kind = kind
	} else if k.annotated && !speaks && external == "" {
		return server{}, false
	}
	if k.each != "" && k.ref == "" && within(fields, k.host) == nil {
		return server{}, false // it is found by labels, as a Service of its own
	}
	switch {
	case s.kind != source.MCP && s.kind != source.OpenAPI:
		s.problem = fmt.Sprintf("%s is %s: it must be mcp or openapi", ownSource, text.Truncate(s.kind, 64))
	case slices.ContainsFunc(k.wants, func(at string) bool { return set(within(fields, at)) }):
		s.problem = "it wants headers or certificates that only the cluster has: add it as a source of its own, with a credential"
	}
	s.address = cmp.Or(first(fields, k.url), external)
	if s.address != "" || k.url != nil && k.port == nil {
		return s, true
	}
	s.path = k.pathOf(fields, notes, s.kind)
	switch {
	case k.ref == ".":
		s.ref = referenceOf(fields, o.GetNamespace())
	case k.ref != "":
		s.ref = referenceOf(within(fields, k.ref), o.GetNamespace())
	default:
		s.locate(k, o, fields, notes, scheme)
	}
	return s, true
}

// mcpPort returns the port of a Service that declares MCP.
func mcpPort(fields map[string]any, ports string) map[string]any {
	return findPort(fields, ports, func(p map[string]any) bool { return slices.Contains(mcpProtocols, field(p, "appProtocol")) })
}

func findPort(fields map[string]any, ports string, is func(map[string]any) bool) map[string]any {
	if ports == "" {
		return nil
	}
	list, _ := within(fields, ports).([]any)
	for _, item := range list {
		if p, ok := item.(map[string]any); ok && is(p) {
			return p
		}
	}
	return nil
}

// locate finds the address of a server by its host, port and path.
func (s *server) locate(k kind, o *unstructured.Unstructured, fields map[string]any, notes map[string]string, scheme string) {
	host := o.GetName() + "." + o.GetNamespace() + ".svc"
	if k.host != "" {
		host = field(fields, k.host)
	}
	if name := field(fields, "spec.externalName"); k.ports != "" && name != "" {
		host = name
	}
	port := cmp.Or(note(notes, portAnnotations), first(fields, k.port))
	if k.ports != "" {
		port, scheme = servicePort(fields, k.ports, port, scheme)
	}
	if port == "" && k.standardPort > 0 {
		port = strconv.Itoa(k.standardPort)
	}
	if slices.ContainsFunc(k.secure, func(at string) bool { return set(within(fields, at)) }) {
		scheme = "https"
	}
	switch {
	case host == "" || strings.Contains(host, "*"):
		s.problem = cmp.Or(s.problem, "it names no host")
	case port == "" && k.host == "":
		s.problem = cmp.Or(s.problem, "it has no such port")
	default:
		s.address = addressOf(scheme, host, port, s.path)
	}
}

// servicePort chooses the port of a Service: by the wanted name or number, else a port that
// declares MCP, else the first port.
func servicePort(fields map[string]any, ports, wanted, scheme string) (port, as string) {
	p := mcpPort(fields, ports)
	switch {
	case wanted != "":
		p = findPort(fields, ports, func(p map[string]any) bool { return field(p, "port") == wanted || field(p, "name") == wanted })
	case p == nil:
		p = findPort(fields, ports, func(map[string]any) bool { return true })
	}
	if scheme == "" && (field(p, "appProtocol") == "https" || field(p, "name") == "https") {
		scheme = "https"
	}
	return field(p, "port"), scheme
}

// pathOf returns the path of a server: of an annotation, else of the object, else the usual
// path.
func (k kind) pathOf(fields map[string]any, notes map[string]string, kind string) string {
	said, at := note(notes, pathAnnotations), first(fields, k.path)
	usual := "/mcp"
	p := mcpPort(fields, k.ports)
	if strings.Contains(notes[teleportProtocol], "+sse+") || strings.HasSuffix(field(p, "appProtocol"), "-sse") || field(fields, "static.protocol") == "SSE" {
		usual = "/sse"
	}
	switch {
	case said != "":
		return said
	case kind == source.OpenAPI:
		return path.Join("/", at, "openapi.json")
	case at == "" || at == "/":
		return usual
	}
	return at
}

// addressOf joins an address. Without a scheme it is https at the ports of TLS.
func addressOf(scheme, host, port, at string) string {
	if scheme == "" {
		scheme = "http"
		if port == "443" || port == "8443" {
			scheme = "https"
		}
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[scheme] {
		host = net.JoinHostPort(host, port)
	}
	u := url.URL{Scheme: scheme, Host: host, Path: "/" + strings.TrimPrefix(at, "/")}
	return u.String()
}

// referenceOf reads a reference as the Gateway API writes one.
func referenceOf(v any, namespace string) reference {
	fields, _ := v.(map[string]any)
	return reference{
		kind: cmp.Or(field(fields, "kind"), "Service"), name: field(fields, "name"),
		namespace: cmp.Or(field(fields, "namespace"), namespace), port: field(fields, "port"),
	}
}

// maxHops bounds references to references.
const maxHops = 3

// reach returns the host and port that a reference leads to. Targets are the objects behind
// references, by kind, namespace and name.
func (r reference) reach(targets map[reference]reference) (host, port string, found bool) {
	for range maxHops {
		switch {
		case r.name == "":
			return "", "", false
		case r.kind == "Service":
			return r.name + "." + r.namespace + ".svc", r.port, r.port != ""
		case r.kind == "Hostname":
			return r.name, r.port, true
		}
		r = targets[reference{kind: r.kind, namespace: r.namespace, name: r.name}]
	}
	return "", "", false
}

// found turns a server into a source of a listing.
func (s server) found(targets map[reference]reference) source.Found {
	f := source.Found{Name: s.name, Problem: s.problem, Spec: source.Spec{Kind: s.kind, URL: s.address}}
	if f.Spec.URL == "" && s.ref != (reference{}) {
		if host, port, ok := s.ref.reach(targets); ok {
			f.Spec.URL = addressOf("", host, port, s.path)
		} else if f.Problem == "" {
			f.Problem = fmt.Sprintf("there is no %s %s/%s that leads to a host", s.ref.kind, s.ref.namespace, s.ref.name)
		}
	}
	if f.Problem == "" && f.Spec.URL == "" {
		f.Problem = "it names no address yet"
	}
	if f.Problem == "" {
		if err := f.Spec.Validate(); err != nil {
			f.Problem = err.Error()
		}
	}
	if s.description != "" || s.title != "" {
		name := cmp.Or(s.title, s.name[strings.LastIndexByte(s.name, '/')+1:])
		f.Owner, _ = json.Marshal(map[string]string{"name": name, "description": text.Truncate(s.description, maxDescription)}) // texts always encode
	}
	return f
}

// maxDescription bounds the description of a server, in bytes.
const maxDescription = 4 << 10

// within returns the value at a path of an object, or nil.
func within(v any, at string) any {
	for name := range strings.SplitSeq(at, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// field returns the text or number at a path, "" for anything else.
func field(fields map[string]any, at string) string {
	switch v := within(fields, at).(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// first returns the text at the first path that has one.
func first(fields map[string]any, paths []string) string {
	for _, at := range paths {
		if s := field(fields, at); s != "" {
			return s
		}
	}
	return ""
}

func note(notes map[string]string, names []string) string {
	for _, name := range names {
		if v := notes[name]; v != "" {
			return v
		}
	}
	return ""
}

// set reports whether a field has a value.
func set(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return true
}
