package formats

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// shape is a format whose objects hold several tools, and which a reader of its own
// splits.
type shape struct {
	format string
	is     func(m map[string]any) bool
	read   func(s *session, n node, h head)
}

func shapes() []shape {
	return []shape{
		{tooldoc.OpenAPI, isDocument, splitOpenAPI},
		{tooldoc.OpenAPI, isDiscovery, splitDiscovery},
		{tooldoc.A2A, isAgentCard, splitAgentCard},
		{tooldoc.GraphQL, isIntrospection, splitIntrospection},
		{tooldoc.Protobuf, isDescriptorJSON, splitDescriptorJSON},
		{tooldoc.Postman, isPostman, splitPostman},
	}
}

// splitSchemaText reads a text that is a schema of several tools, and reports whether it is one.
func splitSchemaText(s *session, text, path string, h head) bool {
	switch {
	case isProto(s, text):
		splitProto(s, text, path, h)
	case isSDL(s, text):
		splitSDL(s, text, path, h)
	default:
		return false
	}
	return true
}

// piece is one tool of a document that holds several.
type piece struct {
	local string         // what tells it apart within its provider
	name  string         // as the source has it
	at    string         // JSON pointer in the input; "" for the whole
	line  int            // in the input, 0 if unknown
	value map[string]any // the tool
	head  map[string]any // the part of the document that it repeats, outside its hash
	own   string         // its owner, if not the whole document
	refs  *references    // what the references in value point into; nil: it has none
}

// pieces hands over the tools of a document in a format, and the provider that they are
// of. Own is what the document calls itself.
func (s *session) pieces(h head, at, format, own string, all []piece) {
	switch {
	case len(all) == 0:
		s.refuse(h, at, jsondoc.Empty, "the document has no tools")
		return
	case len(all) > 1 && s.identified(h):
		s.refuse(h, at, SeveralTools, oneID)
		return
	case len(all) > maxOperations:
		s.refuse(h, at, TooManyOperations, fmt.Sprintf("%d, at most %d", len(all), maxOperations))
		return
	}
	for _, t := range all {
		if s.done {
			return
		}
		o := origin{head: h, own: cmp.Or(t.own, own), local: t.local, several: true}
		provider, p := s.provider(o)
		if p != nil {
			s.problem(p)
			return
		}
		it := Item{Kind: s.kind(h), Format: format, Path: t.at, Line: t.line, Name: toolName(t.name, t.local)}
		if it.Raw, it.Hash, p = t.encode(s.opt.Limits.Document); p == nil {
			p = check(format, t.value)
		}
		if p != nil {
			p.ID = makeID(provider, t.local)
			p.Path = t.at + strings.TrimPrefix(p.Path, t.at)
			s.problem(p)
			continue
		}
		s.finish(it, o)
	}
}

// toolName is name if it is usable, and otherwise made of local.
func toolName(name, local string) string {
	if name = clean(name); name != "" {
		return name
	}
	return makeID("", local)
}

// encode returns the document of a tool, with references in place unless that makes it
// larger than limit, and the hash of all but the head.
func (t *piece) encode(limit int) (raw []byte, hash string, p *Problem) {
	text := jsondoc.Canonical(t.value)
	if t.refs != nil {
		whole, p := t.refs.operationText(t.value, t.at)
		if p != nil {
			return nil, "", p
		}
		if len(whole) <= limit {
			text = whole
		}
	}
	sum := sha256.Sum256(text)
	if len(t.head) > 0 {
		members := jsondoc.Canonical(t.head)
		text = slices.Concat(text[:len(text)-1], []byte{','}, members[1:])
	}
	return text, hex.EncodeToString(sum[:]), nil
}

// headed returns the members of a document's head that are texts, bounded.
func headed(m map[string]any, keys ...string) map[string]any {
	out := map[string]any{}
	for _, k := range keys {
		if v := str(m, k); v != "" {
			out[k] = cut(v, maxHeadText)
		}
	}
	return out
}

// Names returns what may stand as Format in Options, Auto first.
func Names() []string {
	names := []string{Auto}
	for _, f := range tooldoc.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// foreign explains why an object is not a tool document: what kind of document it is, and what
// to do. It returns "" for any other object.
func foreign(m map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(unsupported)) {
		if has(m, key) && !has(m, "inputSchema", "input_schema", "parameters") {
			return "looks like " + unsupported[key] + ", which is not supported"
		}
	}
	if why := exported(m); why != "" {
		return why
	}
	if namesServers(m) {
		return "it names MCP servers, not tools: import what a server answers to tools/list; a source is to read the servers themselves"
	}
	if has(m, "lc") && isArray(m["id"]) {
		return "looks like a serialised LangChain object that is no tool"
	}
	return ""
}

// exported names the program that wrote an object, and what to import instead.
func exported(m map[string]any) string {
	api, _ := m["api"].(map[string]any)
	log, _ := m["log"].(map[string]any)
	switch {
	case has(m, "name_for_model") && str(api, "url") != "":
		return "it names the OpenAPI document " + schema.Quote(str(api, "url")) + ": import that document"
	case isArray(m["requests"]) && has(m, "order", "folders"):
		return "looks like a Postman collection of version 1: export the collection as v2.1"
	case str(m, "_type") == "export" && isArray(m["resources"]), strings.Contains(str(m, "type"), "insomnia.rest/"):
		return "looks like an Insomnia export: import the OpenAPI document of the API, or a Postman collection v2.1"
	case isArray(log["entries"]):
		return "looks like an HTTP archive (HAR) of recorded requests: import the OpenAPI document of the API"
	case isObject(m["operations"]) && isObject(m["shapes"]) && isObject(m["metadata"]):
		return "looks like an AWS service model, which is not supported: import an OpenAPI document of the service"
	case has(m, "smithy") && isObject(m["shapes"]):
		return "looks like a Smithy model, which is not supported: import the OpenAPI document that Smithy makes of it"
	}
	return ""
}

// unsupported are formats that are told by a member.
var unsupported = map[string]string{
	"asyncapi": "an AsyncAPI document", "openrpc": "an OpenRPC document", "arazzo": "an Arazzo document", "overlay": "an OpenAPI overlay",
	"swaggerVersion": "a Swagger 1 document", "resourceType": "a FHIR resource",
}

// foreignText is what foreign is for a text.
func foreignText(text string) string {
	text = strings.ToLower(strings.TrimSpace(text[:min(len(text), 4<<10)]))
	for _, f := range []struct{ begin, holds, what string }{
		{"<", "<html", "an HTML page"}, {"<!doctype html", "", "an HTML page"}, {"<", "wsdl", "a WSDL document"}, {"<", "http://wadl", "a WADL document"},
		{"<?xml", "", "an XML document"}, {"#%raml", "", "a RAML document"}, {"format: 1a", "", "an API Blueprint"},
	} {
		if strings.HasPrefix(text, f.begin) && strings.Contains(text, f.holds) {
			return "looks like " + f.what + ", which is not supported"
		}
	}
	return "the text is in no known format; prose is taken with format text, or from a .md or .txt file"
}

// meansProse reports whether a text that is nothing else is prose by the caller's word:
// the format, the name of the file, or the envelope.
func meansProse(s *session, h head) bool {
	switch extension(s.opt.Source) {
	case ".md", ".markdown", ".rst", ".txt":
		return s.opt.forced() == "" || s.opt.forced() == tooldoc.Text
	}
	return s.opt.forced() == tooldoc.Text || h.wrapped && s.opt.forced() == ""
}

// namesServers recognises files that name MCP servers: client configurations, the
// server.json of a registry, the list of a registry, ToolHive's too, and the server tools of OpenAI and
// Anthropic that represent a server.
func namesServers(m map[string]any) bool {
	if isObject(m["mcpServers"]) || isObject(m["remote_servers"]) {
		return true
	}
	if t := str(m, "type"); t == "mcp" && has(m, "server_url", "server_label", "connector_id") || t == "mcp_toolset" {
		return true
	}
	if strings.Contains(str(m, "$schema"), "modelcontextprotocol.io/schemas/") || has(m, "name") && launches(m) {
		return true
	}
	switch servers := m["servers"].(type) {
	case []any:
		first, _ := slices.Concat(servers, []any{nil})[0].(map[string]any)
		inner, _ := first["server"].(map[string]any)
		return launches(first) || launches(inner)
	case map[string]any:
		for _, v := range servers {
			if s, ok := v.(map[string]any); ok && has(s, "command", "url", "image") && !has(m, "paths", "info") {
				return true
			}
		}
	}
	return false
}

// launches recognises a server.json by how its server is started or reached.
func launches(m map[string]any) bool {
	for _, k := range []string{"packages", "remotes"} {
		all, _ := m[k].([]any)
		for _, v := range all {
			if p, ok := v.(map[string]any); ok && (has(p, "registryType", "registry_type", "registry_name") || has(p, "url") && has(p, "type", "transport_type")) {
				return true
			}
		}
	}
	return false
}
