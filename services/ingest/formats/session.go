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
	in    *input
	base  string // default provider of files with several tools
	yield func(Item, *Problem) bool
	done  bool // the caller has stopped reading, or the input has ended
	line  int  // of the document being read, 0 where input is not line-based
	given bool // opt.ID has been given away

	// seen has the hash of every id so far; nil where order decides.
	seen map[identity]string
}

// emptyBody is the detail of the problem with an empty input.
const emptyBody = "body is empty"

type identity struct {
	kind schema.Kind
	id   string
}

func (s *session) problem(p *Problem) {
	if s.done {
		return
	}
	p.Source = s.opt.Source
	p.Line = cmp.Or(p.Line, s.line)
	s.done = !s.yield(Item{}, p)
}

// refuse reports a problem with a document.
func (s *session) refuse(h head, path, reason, detail string) {
	s.problem(&Problem{ID: h.id, Path: path, Reason: reason, Detail: detail})
}

// emit adds source and line to an item and yields it.
func (s *session) emit(it Item) {
	if s.done {
		return
	}
	it.Source = s.opt.Source
	it.Line = cmp.Or(it.Line, s.line)
	if s.opt.ID != "" && s.given {
		s.problem(&Problem{ID: s.opt.ID, Path: it.Path, Line: it.Line, Reason: SeveralTools, Detail: oneID})
		s.done = true
		return
	}
	s.given = true
	if s.repeats(it) {
		return
	}
	// An item may be kept for long; its document's text is not to stay with it.
	it.ID, it.Provider, it.Name = strings.Clone(it.ID), strings.Clone(it.Provider), strings.Clone(it.Name)
	s.done = !s.yield(it, nil)
}

// oneID is the detail of the problem with several tools for one id.
const oneID = "there is one id for them"

// repeats folds exact duplicates and reports different ones.
func (s *session) repeats(it Item) bool {
	if s.seen == nil {
		return false
	}
	k := identity{it.Kind, it.ID}
	hash, twice := s.seen[k]
	if !twice {
		s.seen[identity{it.Kind, strings.Clone(it.ID)}] = it.Hash + it.Provider
		return false
	}
	if hash != it.Hash+it.Provider {
		s.problem(&Problem{ID: it.ID, Path: it.Path, Line: it.Line, Reason: DuplicateID, Detail: "another document has it already"})
	}
	return true
}

// jsonLimits are the limits of what is read as a whole.
func (s *session) jsonLimits() jsondoc.Limits {
	return jsondoc.Limits{Bytes: s.opt.Limits.File, Nodes: maxNodes}
}

// unreadable reports what jsondoc refused. In line-based input the line is
// that of the input; in an array only the path is known.
func (s *session) unreadable(err error, path string) {
	e := *err.(*jsondoc.Error) // package jsondoc gives no other
	p := &Problem{Path: path + e.Path, Reason: e.Reason, Line: e.Line, Column: e.Column}
	switch {
	case s.line > 0:
		p.Line, p.Column, e.Line = s.line, 0, 0
	case path != "":
		p.Line, p.Column, e.Line, e.Offset = 0, 0, 0, -1
	}
	p.Detail = e.Text()
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
		s.refuse(h, n.path, jsondoc.Empty, "null is no document")
	default:
		s.refuse(h, n.path, NotATool, "a number or truth value is no document")
	}
}

func (s *session) array(n node, h head) {
	if len(n.value.([]any)) == 0 {
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
}

func (s *session) object(n node, h head, several bool) {
	m := n.object()
	if len(m) == 0 {
		s.refuse(h, n.path, jsondoc.Empty, "an empty object")
		return
	}
	if s.opt.Kept {
		s.kept(n, h)
		return
	}
	if several && !h.wrapped && isPart(m) {
		return
	}
	if key, ok := envelopeOf(m); ok && !h.wrapped {
		s.envelope(n, key, several)
		return
	}
	switch forced := s.opt.Format; {
	case s.kind(h) == schema.KindProvider:
		s.single(n, h, Provider, several)
	case forced == Text:
		s.refuse(h, n.path, NotATool, "prose is wanted, and this is an object")
	case forced == JSON:
		s.single(n, h, JSON, several)
	default:
		s.recognised(n, h, several)
	}
}

// kept takes an object that has the form of Item.Raw.
func (s *session) kept(n node, h head) {
	format := s.format(n.object())
	if s.kind(h) == schema.KindProvider {
		format = Provider
	}
	s.single(n, h, format, false)
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
	if s.shaped(n, h) {
		return
	}
	if l, ok := isList(m); ok {
		s.list(n, h, l)
		return
	}
	if why := foreign(m); why != "" && s.forced() == "" && recognise(m) == JSON {
		s.refuse(h, n.path, NotATool, why)
		return
	}
	format := s.format(m)
	if ownFormat(format) && recognise(m) != format {
		s.unlike(h, n.path)
		return
	}
	if format == JSON && IsProvidersFile(s.opt.Source) && !h.wrapped {
		format = Provider
	}
	s.single(n, h, format, several)
}

// format returns the format of a single object: what the caller says, or what
// its content says.
func (s *session) format(m map[string]any) string {
	if f := s.opt.Format; f != "" && f != Auto {
		return f
	}
	return recognise(m)
}

func (s *session) list(n node, h head, l list) {
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
	format := s.format(n.object())
	if format == JSON && s.opt.Format != JSON && has(n.object(), "name") {
		format = Function
		if l.key == "tools" {
			format = MCP
		}
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
	h, p := readHead(n.object(), n.path)
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
		s.refuse(h, document.path, Required, "an envelope without a document")
		return
	}
	s.document(document, h, several)
}

func (s *session) remove(h head, path string) {
	it := Item{Kind: s.kind(h), Path: path, SourceVersion: h.version, Delete: true}
	if p := s.identify(&it, origin{head: h}); p != nil {
		s.problem(p)
		return
	}
	if it.ID == "" {
		s.refuse(h, path+"/id", Required, "a delete names what it deletes")
		return
	}
	it.Name = it.ID
	s.emit(it)
}

func (s *session) kind(h head) schema.Kind {
	if h.kind == schema.KindProvider || s.opt.Kind == schema.KindProvider || s.opt.Format == Provider {
		return schema.KindProvider
	}
	return schema.KindTool
}

// origin is what an id can be made of.
type origin struct {
	head
	own     string // what the document itself says of its provider
	local   string // what tells the tool apart within its provider
	several bool
}

// provider is the owner that the caller names, the envelope, the document, or
// for files with several tools the file's name.
func (s *session) provider(o origin) (string, *Problem) {
	provider := cmp.Or(s.opt.Provider, o.provider, o.own)
	if provider == "" && o.several && !o.wrapped {
		provider = s.base
	}
	if s.opt.Below != "" {
		provider = strings.TrimSuffix(s.opt.Below+"/"+provider, "/")
	}
	if provider == "" {
		return "", nil
	}
	id, err := normalID(provider)
	if err != nil {
		return "", &Problem{ID: o.id, Path: o.path + "/provider", Reason: InvalidID, Detail: err.Error()}
	}
	return id, nil
}

// identify sets an item's provider and id. The id is that of the caller or an
// envelope, the one that the item has already, or one made of its origin.
func (s *session) identify(it *Item, o origin) *Problem {
	provider, p := s.provider(o)
	if p != nil {
		return p
	}
	if it.Kind == schema.KindTool {
		it.Provider = provider
	}
	if id := cmp.Or(s.opt.ID, o.id); id != "" {
		normal, err := normalID(id)
		if err != nil {
			return &Problem{ID: cut(id, schema.MaxID), Path: o.path + "/id", Reason: InvalidID, Detail: err.Error()}
		}
		it.ID = normal
	} else if it.ID == "" && o.local != "" {
		it.ID = makeID(it.Provider, o.local)
	}
	return nil
}

// finish completes an item from what is known of it and hands it over.
func (s *session) finish(it Item, o origin) {
	p := s.identify(&it, o)
	it.Name = cmp.Or(it.Name, it.ID)
	if p == nil && len(it.Raw) > s.opt.Limits.Document {
		p = tooLarge(it, len(it.Raw), s.opt.Limits.Document)
	}
	if p != nil {
		s.problem(p)
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

// prosaic returns a text as a JSON document, and its hash.
func prosaic(text string) (json.RawMessage, string) {
	return jsondoc.Canonical(text), jsondoc.Hash(text)
}
