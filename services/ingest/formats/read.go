package formats

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Parse reads the whole of data and returns what it holds, each in the order
// of the input.
func Parse(data []byte, opt Options) (items []Item, problems []Problem) {
	for it, p := range Read(bytes.NewReader(data), opt) {
		if p != nil {
			problems = append(problems, *p)
		} else {
			items = append(items, it)
		}
	}
	return items, problems
}

// Read yields what the input holds, one item or problem at a time; the item
// counts where the problem is nil. A problem concerns one document; only one
// that ends the input (unreadable, over a limit as a whole, broken as a whole)
// is the last. JSON Lines and JSON arrays are read piece by piece: memory is
// bounded by the largest piece, plus a hash for each id of an array. All else
// is read whole, up to Limits.File. Gzip is recognised by its first bytes.
func Read(r io.Reader, opt Options) iter.Seq2[Item, *Problem] {
	return func(yield func(Item, *Problem) bool) {
		s := newSession(opt, yield)
		if !KnownFormat(s.opt.Format) {
			s.problem(&Problem{Reason: UnknownFormat, Detail: schema.Quote(s.opt.Format)})
			return
		}
		s.read(r)
	}
}

// KnownFormat reports whether f may stand as Format in Options.
func KnownFormat(f string) bool {
	switch f {
	case "", Auto, MCP, OpenAPI, Function, RapidAPI, Card, Python, JSON, Text, Agent:
		return true
	}
	return false
}

// sniff is how far the input is looked into to tell JSON Lines from one
// document.
const sniff = 64 << 10

func (s *session) read(r io.Reader) {
	in := bufio.NewReaderSize(r, sniff)
	packed := false
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			s.broken(err)
			return
		}
		in, packed = bufio.NewReaderSize(z, sniff), true
	}
	c := &counter{in: in, left: s.opt.Limits.Stream, packed: packed}
	s.container(c)
}

// container decides how the input is cut up.
func (s *session) container(c *counter) {
	first := c.skipSpace()
	prose := s.opt.Format == Text || s.opt.Format == Python
	switch {
	case c.err != nil && !errors.Is(c.err, io.EOF):
		s.broken(c.err)
	case s.opt.Lines || isLines(s.opt.Source):
		s.lines(c)
	case first == '[' && !prose && !isYAML(s.opt.Source) && !isProse(s.opt.Source):
		s.stream(c)
	case first == '{' && !prose && c.firstLineIsWhole():
		s.lines(c)
	default:
		s.whole(c, first, prose)
	}
}

func isLines(source string) bool {
	e := extension(source)
	return e == ".jsonl" || e == ".ndjson"
}

func isYAML(source string) bool {
	e := extension(source)
	return e == ".yaml" || e == ".yml"
}

// broken reports that the input can not be read on.
func (s *session) broken(err error) {
	reason := Unreadable
	if errors.Is(err, errTooMuch) {
		reason = jsondoc.TooLarge
	}
	if errors.Is(err, errBomb) {
		reason = Decompressed
	}
	s.problem(&Problem{Reason: reason, Detail: err.Error(), Cause: err})
	s.done = true
}

// lines reads JSON Lines: a stream of changes.
func (s *session) lines(c *counter) {
	s.seen = nil
	empty := true
	for !s.done {
		line, number, err := c.line(s.opt.Limits.File)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			empty = false
			s.line = number
			s.jsonLine(line)
		}
		switch {
		case errors.Is(err, errLine):
			empty = false
			s.problem(&Problem{Line: number, Reason: jsondoc.TooLarge, Detail: fmt.Sprintf("a line of more than %d bytes", s.opt.Limits.File)})
		case errors.Is(err, io.EOF):
			if s.line = 0; empty {
				s.problem(&Problem{Reason: jsondoc.Empty, Detail: emptyBody})
			}
			return
		case err != nil:
			s.broken(err)
		}
	}
}

func (s *session) jsonLine(line []byte) {
	v, err := jsondoc.Decode(line, s.jsonLimits())
	if err != nil {
		s.unreadable(err, "")
		return
	}
	s.document(node{value: v, text: line}, head{}, true)
}

// whole reads one document into memory.
func (s *session) whole(c *counter, first byte, prose bool) {
	data, err := c.rest(s.opt.Limits.File)
	if err != nil {
		s.broken(err)
		return
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		s.problem(&Problem{Reason: jsondoc.Empty, Detail: emptyBody})
	case prose:
		s.text(data)
	case isYAML(s.opt.Source) || (first != '{' && first != '[') && s.looksLikeYAML(data):
		s.yaml(data)
	case first == '{' && s.linesFollow(data):
		s.lines(&counter{in: bufio.NewReader(bytes.NewReader(data)), left: int64(len(data))})
	case isProse(s.opt.Source) && !isScalar(data):
		s.text(data)
	case first == '{' || first == '[' || isJSON(s.opt.Source) || isScalar(data):
		s.json(data)
	default:
		s.text(data)
	}
}

// linesFollow recognises JSON Lines whose first line is longer than what
// container looks at.
func (s *session) linesFollow(data []byte) bool {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	if len(line) < sniff/2 || len(bytes.TrimSpace(rest)) == 0 {
		return false
	}
	_, err := jsondoc.Decode(line, s.jsonLimits())
	return err == nil
}

// isProse reports files of texts, which may begin with a bracket, as of a badge, and
// need not: some hold JSON.
func isProse(source string) bool {
	switch extension(source) {
	case ".md", ".markdown", ".rst":
		return true
	}
	return false
}

func isJSON(source string) bool { return extension(source) == ".json" }

// isScalar recognises a document that is one JSON string, number or literal.
func isScalar(data []byte) bool {
	_, err := jsondoc.Decode(data, jsondoc.Limits{Bytes: len(data)})
	return err == nil
}

// looksLikeYAML recognises YAML by how it must begin. Plain prose may well be
// YAML by the letter, so a tool has to read as an object.
func (s *session) looksLikeYAML(data []byte) bool {
	for line := range bytes.Lines(data) {
		key, _, found := strings.Cut(strings.Trim(string(cutLine(line)), `'" `), ":")
		switch key = strings.TrimRight(key, `'" `); {
		case key == "" || key == "---" || strings.HasPrefix(key, "#"):
			continue
		case strings.HasPrefix(key, "%YAML"):
			return true
		case !found:
			return false
		case key == "openapi" || key == "swagger":
			return true
		case key == "info" || key == "name" || key == "tools" || key == "functions" || key == "jsonrpc" || key == "id":
			v, err := jsondoc.DecodeYAML(data, s.yamlLimits())
			return err == nil && isObject(v)
		}
		return false
	}
	return false
}

// cutLine returns as much of a line as may be a key.
func cutLine(line []byte) []byte { return bytes.TrimRight(line[:min(len(line), 40)], "\r\n") }

// maxYAMLNodes bounds the parser's tree, of some 200 bytes a node.
const maxYAMLNodes = 1_000_000

func (s *session) yamlLimits() jsondoc.Limits {
	l := s.jsonLimits()
	l.Bytes = min(l.Bytes, s.opt.Limits.YAML)
	l.Nodes = min(l.Nodes, maxYAMLNodes)
	return l
}

func (s *session) json(data []byte) {
	v, err := jsondoc.Decode(data, s.jsonLimits())
	if err != nil {
		s.unreadable(err, "")
		return
	}
	s.document(node{value: v, text: data}, head{}, false)
}

func (s *session) yaml(data []byte) {
	v, err := jsondoc.DecodeYAML(data, s.yamlLimits())
	if err != nil {
		s.unreadable(err, "")
		return
	}
	s.document(node{value: v}, head{}, false)
}

func (s *session) text(data []byte) {
	switch i := bytes.IndexByte(data, 0); {
	case len(data) > s.opt.Limits.Document:
		s.problem(&Problem{Reason: jsondoc.TooLarge, Detail: fmt.Sprintf("%d bytes, at most %d", len(data), s.opt.Limits.Document)})
	case i >= 0:
		s.problem(&Problem{Line: 1 + bytes.Count(data[:i], []byte("\n")), Reason: jsondoc.NUL, Detail: fmt.Sprintf("byte %d", i)})
	case !utf8.Valid(data):
		s.problem(&Problem{Reason: jsondoc.InvalidUTF8})
	case (extension(s.opt.Source) == ".py" || extension(s.opt.Source) == ".pyi") && s.opt.Format != Text:
		s.python(string(data), "", head{}, false)
	default:
		s.prose(strings.ReplaceAll(string(data), "\r\n", "\n"), "", head{}, false)
	}
}
