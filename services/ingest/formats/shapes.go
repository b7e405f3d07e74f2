package formats

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
)

// shape is a format whose objects hold several tools, and which a reader of its own
// splits.
type shape struct {
	format string
	what   string // in messages
	is     func(m map[string]any) bool
	read   func(s *session, n node, h head)
}

func shapes() []shape {
	return []shape{
		{OpenAPI, "OpenAPI document or operation", isDocument, (*session).openapi},
		{A2A, "A2A agent card", isAgentCard, (*session).agentCard},
		{GraphQL, "GraphQL schema, in SDL or as introspection answers it", isIntrospection, (*session).introspection},
		{Protobuf, "protobuf file or descriptor set", isDescriptorJSON, (*session).descriptorJSON},
		{Postman, "Postman collection", isPostman, (*session).postman},
	}
}

// shaped reads an object that one of the shapes is, and reports whether one is.
func (s *session) shaped(n node, h head) bool {
	for _, c := range shapes() {
		if s.mayBe(c.format) && c.is(n.object()) {
			c.read(s, n, h)
			return true
		}
	}
	return false
}

// mayBe reports whether the caller leaves it open that a document has the format, or
// says that it has.
func (s *session) mayBe(format string) bool {
	f := s.opt.Format
	return f == "" || f == Auto || f == format
}

// forced returns the format that the caller says, "" where it is to be recognised.
func (s *session) forced() string {
	if s.opt.Format == Auto {
		return ""
	}
	return s.opt.Format
}

// declares reads a text that is a schema of several tools, and reports whether it is one.
func (s *session) declares(text, path string, h head) bool {
	switch {
	case s.isProto(text):
		s.proto(text, path, h)
	case s.isSDL(text):
		s.sdl(text, path, h)
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
	line  int            // in the input, 0 where it is not known
	value map[string]any // the tool
	head  map[string]any // what it repeats of the document; no part of its hash
	own   string         // what it is of where that is not the whole document
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

// toolName is a name where it can be one, and otherwise one made of local.
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

// distinct makes the local names of the pieces differ, where they can: what else tells
// one from others of its name is added to all of these.
func distinct(all []piece, more func(i int) string) {
	count := map[string]int{}
	for _, p := range all {
		count[p.local]++
	}
	for i := range all {
		if count[all[i].local] > 1 {
			all[i].local += " " + more(i)
		}
	}
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

// unlike refuses a document that is not what the caller says it is.
func (s *session) unlike(h head, path string) {
	what := map[string]string{
		Skill: "SKILL.md: it begins with front matter that has a name and a description", LangChain: "serialised LangChain tool",
		Hosted: "server tool of Anthropic or OpenAI",
	}
	for _, c := range shapes() {
		what[c.format] = c.what
	}
	s.refuse(h, path, UnknownFormat, "this is no "+what[s.opt.Format])
}

// Names returns what may stand as Format in Options, Auto first.
func Names() []string {
	return []string{Auto, MCP, OpenAPI, Function, RapidAPI, Card, A2A, Skill, LangChain, Hosted, Postman, GraphQL, Protobuf, Python, JSON, Text, Provider}
}

// ownFormat reports a format whose documents only their content makes: a document that
// does not look like one is none, whatever the caller says.
func ownFormat(f string) bool {
	return slices.Contains([]string{OpenAPI, A2A, Skill, LangChain, Hosted, Postman, GraphQL, Protobuf}, f)
}

// textual reports a format of which some documents are text and no YAML.
func textual(f string) bool { return f == GraphQL || f == Protobuf }

// written reports whether a body of the format that begins so is text and no JSON. Prose
// may begin with a bracket, as of a badge; of Python source and skills, envelopes do.
func written(f string, first byte) bool {
	return f == Text || (f == Python || f == Skill) && first != '{' && first != '['
}

// foreign names what an object is that is no tool document: what it looks like and what
// to do. It is "" where nothing is known against the object.
func foreign(m map[string]any) string {
	for _, key := range slices.Sorted(maps.Keys(unsupported)) {
		if has(m, key) && !has(m, "inputSchema", "input_schema", "parameters") {
			return "looks like " + unsupported[key] + ", which is not supported"
		}
	}
	if namesServers(m) {
		return "it names MCP servers, not tools: import what a server answers to tools/list; a source is to read the servers themselves"
	}
	if has(m, "lc") && isArray(m["id"]) {
		return "looks like a serialised LangChain object that is no tool"
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

// refuseText refuses a text that is no tool in a known format.
func (s *session) refuseText(text, path string, h head) {
	if f := s.forced(); f != "" && f != Text {
		s.refuse(h, path, UnknownFormat, "a document of the format "+f+" is a JSON or YAML object, and this is text")
		return
	}
	s.refuse(h, path, UnknownFormat, foreignText(text))
}

// meansProse reports whether a text that is nothing else is prose by the caller's word:
// the format, the name of the file, or the envelope.
func (s *session) meansProse(h head) bool {
	switch extension(s.opt.Source) {
	case ".md", ".markdown", ".rst", ".txt":
		return s.forced() == "" || s.forced() == Text
	}
	return s.forced() == Text || h.wrapped && s.forced() == ""
}

// namesServers recognises the files that name MCP servers: what a client is configured
// with, the server.json of a registry and the registry's list, and the server tools of
// OpenAI and Anthropic that stand for one.
func namesServers(m map[string]any) bool {
	if isObject(m["mcpServers"]) {
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
			if s, ok := v.(map[string]any); ok && has(s, "command", "url") && !has(m, "paths", "info") {
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
