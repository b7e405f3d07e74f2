package formats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
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

func newSession(opt Options, in io.Reader, yield func(Item, *Problem) bool) *session {
	piece := int64(opt.Limits.File)
	return &session{
		opt: opt, in: &input{r: in, left: opt.Limits.Stream, piece: piece, max: piece, over: errTooMuch},
		base: sourceName(opt.Source), yield: yield, seen: map[identity]string{},
	}
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
	// An item may be kept for long, and must not keep the text of its document in memory.
	it.ID, it.Provider, it.Name = strings.Clone(it.ID), strings.Clone(it.Provider), strings.Clone(it.Name)
	if s.seen != nil {
		k := identity{it.Kind, it.ID}
		content := it.Hash + it.Provider
		switch before, twice := s.seen[k]; {
		case !twice:
			s.seen[k] = content
		case before == content: // an exact duplicate
			return
		default:
			s.problem(&Problem{ID: it.ID, Path: it.Path, Line: it.Line, Reason: DuplicateID, Detail: "another document has it already"})
			return
		}
	}
	s.done = !s.yield(it, nil)
}

// oneID is the detail of the problem with several tools for one id.
const oneID = "there is one id for them"

// jsonLimits are the limits of a piece that is read as a whole.
func (o *Options) jsonLimits() jsondoc.Limits {
	return jsondoc.Limits{Bytes: o.Limits.File, Nodes: maxNodes}
}

// unreadable reports an error of jsondoc. For line-based input the line is the
// line of the input; for an array only the path is known.
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

func (s *session) kind(h head) schema.Kind {
	if h.kind == schema.KindProvider || s.opt.Kind == schema.KindProvider || s.opt.Format == tooldoc.Provider {
		return schema.KindProvider
	}
	return schema.KindTool
}

// origin holds the parts of an id.
type origin struct {
	head
	own     string // the provider that the document itself names
	local   string // identifies the tool within its provider
	several bool
}

// provider is the owner that the caller names, the envelope, the document, or
// for files with several tools the file's name, also instead of a vague name in the document.
func (s *session) provider(o origin) (string, *Problem) {
	provider := cmp.Or(s.opt.Provider, o.provider)
	if provider == "" {
		provider = o.own
		if o.several && !o.wrapped && (provider == "" || vague[slug(provider)] && s.base != "" && !vague[slug(s.base)]) {
			provider = s.base
		}
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

// identify sets an item's provider and id. The id is given by the caller or an envelope, or the
// item has one already, or it is made of the origin.
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

// finish completes an item with its id, provider and version, and hands it over.
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

// mayBe reports whether the caller leaves it open that a document has the format, or
// says that it has.
func (o *Options) mayBe(format string) bool {
	f := o.forced()
	return f == "" || f == format
}

// forced returns the format that the caller gives, "" if it is to be recognised.
func (o *Options) forced() string {
	if o.Format == Auto {
		return ""
	}
	return o.Format
}
