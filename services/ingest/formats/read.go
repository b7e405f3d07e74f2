package formats

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
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
		opt.Limits = opt.Limits.withDefaults()
		s := &session{opt: opt, base: baseName(opt.Source), yield: yield, seen: map[identity]string{}}
		if !KnownFormat(opt.Format) {
			s.problem(&Problem{Reason: UnknownFormat, Detail: schema.Quote(opt.Format)})
			return
		}
		s.read(r)
	}
}

// KnownFormat reports whether f may stand as Format in Options.
func KnownFormat(f string) bool { return f == "" || slices.Contains(Names(), f) }

// sniff is how far the input is looked into to tell JSON Lines from one
// document.
const sniff = 64 << 10

func (s *session) read(r io.Reader) {
	l := s.opt.Limits
	s.in = &input{r: r, left: l.Stream, piece: int64(l.File), max: int64(l.File), over: errTooMuch}
	packed := bufio.NewReader(r)
	if magic, _ := packed.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(packed)
		if err != nil {
			s.broken(err)
			return
		}
		s.in.r, s.in.over = z, errBomb
	} else {
		s.in.r = packed
	}
	in := bufio.NewReaderSize(s.in, sniff)
	if !s.opt.Lines && fileKind(s.opt.Source) != fileLines && isTar(in) {
		s.archive(in)
		return
	}
	s.container(in)
}

// The kinds of files, by their extensions.
const (
	fileLines = "lines"
	fileYAML  = "yaml"
	fileProse = "prose" // may begin with a bracket, as of a badge, and some hold JSON
)

func fileKind(source string) string {
	switch extension(source) {
	case ".jsonl", ".ndjson":
		return fileLines
	case ".yaml", ".yml":
		return fileYAML
	case ".md", ".markdown", ".rst":
		return fileProse
	case ".py", ".pyi":
		return Python
	case ".json":
		return JSON
	case ".graphql", ".graphqls", ".gql":
		return GraphQL
	case ".proto":
		return Protobuf
	}
	return ""
}

// container decides how the input is cut up.
func (s *session) container(in *bufio.Reader) {
	kind := fileKind(s.opt.Source)
	if s.isPacked(in, kind) {
		s.packed(in)
		return
	}
	first, lines, err := skipSpace(in)
	prose := written(s.opt.Format, first)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		s.broken(err)
	case s.opt.Lines || kind == fileLines:
		s.lines(in, lines)
	case first == '[' && !prose && kind != fileYAML && kind != fileProse:
		s.stream(in)
	case first == '{' && !prose && firstLineIsWhole(in):
		s.lines(in, lines)
	default:
		s.whole(in, first, kind, prose)
	}
}

// isPacked recognises a descriptor set. It looks no further than the first byte of what
// may be read piece by piece: more of it may come only after an answer.
func (s *session) isPacked(in *bufio.Reader, kind string) bool {
	if first, _ := in.Peek(1); !s.mayBe(Protobuf) || s.opt.Lines || kind == fileLines || !bytes.Equal(first, []byte{0x0a}) {
		return false
	}
	begin, _ := in.Peek(sniff)
	return isDescriptorSet(begin)
}

// packed reads a descriptor set, which is no text.
func (s *session) packed(in *bufio.Reader) {
	data, err := io.ReadAll(in)
	if err != nil {
		s.broken(err)
		return
	}
	s.descriptorSet(data)
}

// broken reports that the rest of the input cannot be read.
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

// whole reads one document into memory.
func (s *session) whole(in *bufio.Reader, first byte, kind string, prose bool) {
	data, err := io.ReadAll(in)
	if err != nil {
		s.broken(err)
		return
	}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		s.problem(&Problem{Reason: jsondoc.Empty, Detail: emptyBody})
	case prose:
		s.text(data)
	case s.isYAML(data, first, kind):
		v, text, err := s.decodeYAML(data)
		if err != nil {
			s.unreadable(err, "")
			return
		}
		s.document(node{value: v, text: text}, head{}, false)
	case first == '{' && s.linesFollow(data):
		s.lines(bufio.NewReader(bytes.NewReader(data)), 0)
	case kind == fileProse && s.forced() == "" && !isScalar(data):
		s.text(data)
	case first == '{' || first == '[' || kind == JSON || isScalar(data):
		s.json(data, "", false)
	default:
		s.text(data)
	}
}

// isYAML reports whether a document that is not prose by the caller's word is to be read
// as YAML: by its name, because its format is one of objects and it is no JSON, or by
// how it begins.
func (s *session) isYAML(data []byte, first byte, kind string) bool {
	if kind == fileYAML {
		return true
	}
	bracket := first == '{' || first == '['
	if _, _, skill := frontMatter(string(data)); bracket || skill {
		return false
	}
	return s.forced() != "" && !textual(s.forced()) && !isScalar(data) || s.looksLikeYAML(data)
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

// isScalar recognises a document that is one JSON string, number or literal.
func isScalar(data []byte) bool {
	_, err := jsondoc.Decode(data, jsondoc.Limits{Bytes: len(data)})
	return err == nil
}

// looksLikeYAML recognises YAML by how it must begin. Plain prose may well be
// YAML by the letter, so a tool has to read as an object.
func (s *session) looksLikeYAML(data []byte) bool {
	for line := range bytes.Lines(data) {
		key, _, found := strings.Cut(strings.Trim(string(line[:min(len(line), 40)]), "'\" \r\n"), ":")
		switch key = strings.TrimRight(key, `'" `); {
		case key == "" || key == "---" || strings.HasPrefix(key, "#"):
			continue
		case strings.HasPrefix(key, "%YAML"):
			return true
		case !found:
			return false
		case key == "openapi" || key == "swagger" || unsupported[key] != "":
			return true
		case key == "info" || key == "name" || key == "tools" || key == "functions" || key == "jsonrpc" || key == "id":
			v, _, err := s.decodeYAML(data)
			return err == nil && isObject(v)
		}
		return false
	}
	return false
}

// Bounds of a YAML document, whose parser needs many times its size: some 200
// bytes a node.
const (
	maxYAML      = 16 << 20
	maxYAMLNodes = 1_000_000
)

func (s *session) decodeYAML(data []byte) (v any, text []byte, err error) {
	return jsondoc.DecodeYAML(data, jsondoc.Limits{Bytes: min(s.opt.Limits.File, maxYAML), Nodes: maxYAMLNodes})
}

// json takes a piece of the input that is one JSON document.
func (s *session) json(text []byte, path string, several bool) {
	v, err := jsondoc.Decode(text, s.jsonLimits())
	if err != nil {
		s.unreadable(err, path)
		return
	}
	s.document(node{value: v, text: text, path: path}, head{}, several)
}

func (s *session) text(data []byte) {
	switch i := bytes.IndexByte(data, 0); {
	case i >= 0:
		s.problem(&Problem{Line: 1 + bytes.Count(data[:i], []byte("\n")), Reason: jsondoc.NUL, Detail: fmt.Sprintf("byte %d", i)})
	case !utf8.Valid(data):
		s.problem(&Problem{Reason: jsondoc.InvalidUTF8})
	case s.declares(string(data), "", head{}):
	case len(data) > s.opt.Limits.Document:
		s.problem(tooLarge(Item{}, len(data), s.opt.Limits.Document))
	case fileKind(s.opt.Source) == Python && s.mayBe(Python):
		s.python(string(data), "", head{}, false)
	default:
		s.prose(strings.ReplaceAll(string(data), "\r\n", "\n"), "", head{}, false)
	}
}
