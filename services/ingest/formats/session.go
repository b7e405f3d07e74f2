package formats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// session is the reading of one input.
type session struct {
	opt   Options
	base  string // default agent of files with several tools
	yield func(Item, *Problem) bool
	done  bool // the consumer wants no more, or nothing more can come
	line  int  // of the document being read, 0 where input is not line-based
	given bool // opt.ID has been given away

	// seen has the hash of every id so far; nil where order decides.
	seen map[identity]string
}

// emptyBody is what an input without anything is told.
const emptyBody = "body is empty"

type identity struct {
	kind schema.Kind
	id   string
}

func newSession(opt Options, yield func(Item, *Problem) bool) *session {
	opt.Limits = opt.Limits.withDefaults()
	return &session{opt: opt, base: baseName(opt.Source), yield: yield, seen: map[identity]string{}}
}

func (s *session) problem(p *Problem) {
	if s.done {
		return
	}
	p.Source = s.opt.Source
	if p.Line == 0 {
		p.Line = s.line
	}
	s.done = !s.yield(Item{}, p)
}

// emit hands over an item that is whole but for its source and line.
func (s *session) emit(it Item) {
	if s.done {
		return
	}
	it.Source = s.opt.Source
	if it.Line == 0 {
		it.Line = s.line
	}
	if s.opt.ID != "" && s.given {
		s.problem(&Problem{ID: s.opt.ID, Path: it.Path, Line: it.Line, Reason: SeveralTools, Detail: "there is one id for them"})
		s.done = true
		return
	}
	s.given = true
	if s.repeats(it) {
		return
	}
	// An item may be kept for long; its document's text is not to stay with it.
	it.ID, it.Agent, it.Name = strings.Clone(it.ID), strings.Clone(it.Agent), strings.Clone(it.Name)
	s.done = !s.yield(it, nil)
}

// repeats folds exact duplicates and reports different ones.
func (s *session) repeats(it Item) bool {
	if s.seen == nil {
		return false
	}
	k := identity{it.Kind, it.ID}
	hash, twice := s.seen[k]
	if !twice {
		s.seen[identity{it.Kind, strings.Clone(it.ID)}] = it.Hash + it.Agent
		return false
	}
	if hash != it.Hash+it.Agent {
		s.problem(&Problem{ID: it.ID, Path: it.Path, Line: it.Line, Reason: DuplicateID, Detail: "another document has it already"})
	}
	return true
}

// jsonLimits are the limits of what is read as a whole.
func (s *session) jsonLimits() jsondoc.Limits {
	l := s.opt.Limits
	return jsondoc.Limits{Bytes: l.File, Depth: l.Depth, Nodes: l.Nodes}
}

// unreadable reports what jsondoc refused. In line-based input the line is
// that of the input.
func (s *session) unreadable(err error, path string) {
	e, ok := err.(*jsondoc.Error) // package jsondoc gives no other
	if !ok {
		s.problem(&Problem{Path: path, Reason: Unreadable, Cause: err, Detail: err.Error()})
		return
	}
	p := &Problem{Path: path + e.Path, Reason: e.Reason, Detail: e.Detail, Line: e.Line}
	if s.line > 0 {
		p.Line = s.line + max(e.Line-1, 0)
	}
	if e.Reason == jsondoc.Empty {
		p.Detail = emptyBody
	} else {
		p.Detail = fmt.Sprintf("%s at byte %d", e.Reason, e.Offset)
		if s.line == 0 && e.Line > 1 {
			p.Detail += fmt.Sprintf(", line %d", e.Line)
		}
		if e.Detail != "" {
			p.Detail += ": " + e.Detail
		}
	}
	s.problem(p)
}

// document takes one value of the input: a tool, or something that holds
// several. Several says that it is one among others.
func (s *session) document(n node, h head, several bool) {
	switch v := n.value.(type) {
	case map[string]any:
		s.object(n, h, several)
	case []any:
		s.array(n, h)
	case string:
		s.prose(v, n.path, h, several)
	case nil:
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: jsondoc.Empty, Detail: "null is no document"})
	default:
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: NotATool, Detail: "a number or truth value is no document"})
	}
}

func (s *session) array(n node, h head) {
	if len(n.value.([]any)) == 0 {
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: jsondoc.Empty, Detail: "an empty array"})
	}
	for e := range n.elements() {
		if s.done {
			return
		}
		if isArray(e.value) {
			s.problem(&Problem{Path: e.path, Reason: NotATool, Detail: "an array in an array"})
			continue
		}
		s.document(e, h, true)
	}
}

func (s *session) object(n node, h head, several bool) {
	m := n.object()
	if len(m) == 0 {
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: jsondoc.Empty, Detail: "an empty object"})
		return
	}
	if key, ok := envelopeOf(m); ok && !h.wrapped {
		s.envelope(n, key, several)
		return
	}
	switch forced := s.opt.Format; {
	case h.kind == schema.KindAgent || s.opt.Kind == schema.KindAgent || forced == Agent:
		s.single(n, h, Agent, several)
	case forced == "" || forced == Auto:
		s.recognised(n, h, several)
	case forced == OpenAPI && !isDocument(m) && !isOperation(m):
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: UnknownFormat, Detail: "this is no OpenAPI document and no operation"})
	case forced == Text:
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: NotATool, Detail: "prose is wanted, and this is an object"})
	case forced == JSON:
		s.single(n, h, JSON, several)
	default:
		s.recognised(n, h, several)
	}
}

// recognised takes an object of which only the content says what it is.
func (s *session) recognised(n node, h head, several bool) {
	m := n.object()
	if has(m, "jsonrpc") || has(m, "result") && len(m) == 1 {
		s.answer(n, h)
		return
	}
	if isDocument(m) {
		s.openapi(n, h)
		return
	}
	if l, ok := isList(m); ok {
		s.list(n, h, l)
		return
	}
	format := recognise(m)
	if f := s.opt.Format; f != "" && f != Auto {
		format = f
	}
	if format == JSON && isAgentsFile(s.opt.Source) && !h.wrapped {
		format = Agent
	}
	s.single(n, h, format, several)
}

// answer takes the answer of a JSON-RPC call, as a recorded tools/list is.
func (s *session) answer(n node, h head) {
	result := n.at("result")
	if !isObject(result.value) {
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: NotATool, Detail: "a JSON-RPC message without a result"})
		return
	}
	s.recognised(result, h, true)
}

func (s *session) list(n node, h head, l list) {
	if h.agent == "" {
		h.agent = l.owner
	}
	if h.id != "" {
		s.problem(&Problem{ID: h.id, Path: n.path, Reason: SeveralTools, Detail: "there is one id for them"})
		return
	}
	tools := n.at(l.key)
	if len(tools.value.([]any)) == 0 {
		s.problem(&Problem{Path: tools.path, Reason: jsondoc.Empty, Detail: "an empty list"})
	}
	for e := range tools.elements() {
		switch m := e.object(); {
		case s.done:
			return
		case m == nil:
			s.problem(&Problem{Path: e.path, Reason: NotATool, Detail: "an object is wanted"})
		case l.key == "api_list":
			s.single(inCollection(e, n.object()), h, RapidAPI, true)
		default:
			s.listed(e, h, l)
		}
	}
}

// listed takes a tool out of a list; only what says nothing about itself has
// the format that the list's name suggests.
func (s *session) listed(n node, h head, l list) {
	if inner, ok := isList(n.object()); ok && !has(n.object(), "name") { // Gemini lists lists
		s.list(n, h, inner)
		return
	}
	format := recognise(n.object())
	if f := s.opt.Format; f != "" && f != Auto {
		format = f
	} else if format == JSON && has(n.object(), "name") {
		format = map[string]string{"tools": MCP, "functions": Function, "functionDeclarations": Function, "function_declarations": Function}[l.key]
	}
	s.single(n, h, format, true)
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

func (s *session) envelope(n node, key string, several bool) {
	m := n.object()
	h, p := readHead(m, n.path)
	if p != nil {
		s.problem(p)
		return
	}
	if h.remove {
		s.remove(h, n.path)
		return
	}
	document := n.at(cmp.Or(key, "document"))
	if document.value == nil {
		s.problem(&Problem{ID: h.id, Path: document.path, Reason: Required, Detail: "an envelope without a document"})
		return
	}
	s.document(document, h, several)
}

func (s *session) remove(h head, path string) {
	it := Item{Kind: s.kind(h), Path: path, SourceVersion: h.version, Delete: true}
	var p *Problem
	if it.Agent, p = s.owner(h, "", false); p == nil {
		it.ID, p = s.explicit(h)
	}
	if p != nil {
		s.problem(p)
		return
	}
	if it.ID == "" {
		s.problem(&Problem{Path: path + "/id", Reason: Required, Detail: "a delete names what it deletes"})
		return
	}
	it.Name = it.ID
	if it.Kind == schema.KindAgent {
		it.Agent = ""
	}
	s.emit(it)
}

func (s *session) kind(h head) schema.Kind {
	if h.kind == schema.KindAgent || s.opt.Kind == schema.KindAgent || s.opt.Format == Agent {
		return schema.KindAgent
	}
	return schema.KindTool
}

// owner decides the agent: what the caller says, what an envelope says, what
// the document says, and for files with several tools the file's name.
func (s *session) owner(h head, own string, several bool) (string, *Problem) {
	agent := s.opt.Agent
	for _, a := range []string{h.agent, own} {
		if agent == "" {
			agent = a
		}
	}
	if agent == "" && several && !h.wrapped {
		agent = s.base
	}
	if agent == "" {
		return "", nil
	}
	id, err := normalID(agent)
	if err != nil {
		return "", &Problem{ID: h.id, Path: h.path + "/agent", Reason: InvalidID, Detail: err.Error()}
	}
	return id, nil
}

// explicit returns the id that the caller or an envelope gave, "" if neither
// did.
func (s *session) explicit(h head) (string, *Problem) {
	id := s.opt.ID
	if id == "" {
		id = h.id
	}
	if id == "" {
		return "", nil
	}
	normal, err := normalID(id)
	if err != nil {
		return "", &Problem{ID: cut(id, schema.MaxID), Path: h.path + "/id", Reason: InvalidID, Detail: err.Error()}
	}
	return normal, nil
}

// origin is what an id can be made of.
type origin struct {
	head
	own     string // what the document itself says of its agent
	local   string // what tells the tool apart within its agent
	several bool
}

// finish completes an item from what is known of it and hands it over.
func (s *session) finish(it Item, o origin) {
	agent, p := s.owner(o.head, o.own, o.several)
	if p == nil && it.Kind == schema.KindTool {
		it.Agent = agent
	}
	if p == nil && it.ID == "" {
		it.ID, p = s.explicit(o.head)
	}
	if p == nil && it.ID == "" {
		it.ID = makeID(it.Agent, o.local)
	}
	if p != nil {
		s.problem(p)
		return
	}
	if it.Name == "" {
		it.Name = it.ID
	}
	if len(it.Raw) > s.opt.Limits.Document {
		s.problem(tooLarge(it, len(it.Raw), s.opt.Limits.Document))
		return
	}
	it.SourceVersion = o.version
	s.emit(it)
}

// identified reports whether the caller or an envelope gives the id.
func (s *session) identified(h head) bool { return h.id != "" || s.opt.ID != "" }

func tooLarge(it Item, have, limit int) *Problem {
	return &Problem{ID: it.ID, Path: it.Path, Line: it.Line, Reason: jsondoc.TooLarge, Detail: fmt.Sprintf("%d bytes, at most %d", have, limit)}
}

// prosaic is a string as a document.
func prosaic(text string) (json.RawMessage, string) {
	return jsondoc.Canonical(text), jsondoc.Hash(text)
}
