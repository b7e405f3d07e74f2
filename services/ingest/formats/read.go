package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Parse reads the whole of data and returns its items and problems, each in the order of the
// input.
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
		l := opt.Limits
		opt.Limits = Limits{cmp.Or(l.Document, 1<<20), cmp.Or(l.File, 64<<20), cmp.Or(l.Stream, 16<<30)}
		s := newSession(opt, r, yield)
		if !KnownFormat(opt.Format) {
			s.problem(&Problem{Reason: UnknownFormat, Detail: schema.Quote(opt.Format)})
			return
		}
		packed := bufio.NewReader(r)
		s.in.r = packed
		if magic, _ := packed.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
			z, err := gzip.NewReader(packed)
			if err != nil {
				s.broken(err)
				return
			}
			s.in.r, s.in.over = z, errBomb
		}
		if opt.Keep != nil {
			s.in.r = opt.Keep(s.in.r)
		}
		in := bufio.NewReaderSize(s.in, sniff)
		if !opt.Lines && fileKind(opt.Source) != fileLines && isTar(in) {
			s.archive(in)
		} else {
			s.container(in)
		}
	}
}

// KnownFormat reports whether f may stand as Format in Options.
func KnownFormat(f string) bool { return f == "" || slices.Contains(Names(), f) }

// sniff is how far the input is looked into to tell JSON Lines from one
// document.
const sniff = 64 << 10

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
		return tooldoc.Python
	case ".json":
		return tooldoc.JSON
	case ".graphql", ".graphqls", ".gql":
		return tooldoc.GraphQL
	case ".proto":
		return tooldoc.Protobuf
	}
	return ""
}

// container decides how the input is cut up.
func (s *session) container(in *bufio.Reader) {
	kind := fileKind(s.opt.Source)
	if s.isDescriptorSet(in, kind) {
		data, err := io.ReadAll(in)
		if err != nil {
			s.broken(err)
			return
		}
		splitDescriptorSet(s, data)
		return
	}
	first, lines, err := skipSpace(in)
	bracket := first == '{' || first == '['
	// Prose may begin with a bracket, as of a badge. Python source and skills do not, but the
	// envelope around one does.
	prose := s.opt.Format == tooldoc.Text || (s.opt.Format == tooldoc.Python || s.opt.Format == tooldoc.Skill) && !bracket
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

// isDescriptorSet recognises a serialised FileDescriptorSet: a file that begins with its name.
// It reads no further if the first byte does not match: the sender may wait for an answer
// before it sends more.
func (s *session) isDescriptorSet(in *bufio.Reader, kind string) bool {
	if first, _ := in.Peek(1); !s.opt.mayBe(tooldoc.Protobuf) || s.opt.Lines || kind == fileLines || !bytes.Equal(first, []byte{0x0a}) {
		return false
	}
	begin, _ := in.Peek(sniff)
	rest := begin[1:]
	_, n := protowire.ConsumeVarint(rest)
	if n < 0 || len(rest) <= n || rest[n] != 0x0a {
		return false
	}
	rest = rest[n+1:]
	length, n := protowire.ConsumeVarint(rest)
	return n > 0 && length < 4096 && uint64(len(rest)-n) >= length && bytes.HasSuffix(rest[n:n+int(length)], []byte(".proto"))
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
		readText(s, data)
	case s.isYAML(data, first, kind):
		v, text, err := s.opt.decodeYAML(data)
		if err != nil {
			s.unreadable(err, "")
			return
		}
		s.document(node{value: v, text: text}, head{}, false)
	case first == '{' && s.linesFollow(data):
		s.opt.Passed = nil // data stays
		s.lines(bufio.NewReader(bytes.NewReader(data)), 0)
	case kind == fileProse && s.opt.forced() == "" && !isScalar(data):
		readText(s, data)
	case first == '{' || first == '[' || kind == tooldoc.JSON || isScalar(data):
		s.json(data, "", false)
	default:
		readText(s, data)
	}
}

// isYAML reports whether a document that is not prose by the caller's word is to be read
// as YAML: by its name, because its format is one of objects and it is not JSON, or by
// how it begins.
func (s *session) isYAML(data []byte, first byte, kind string) bool {
	if kind == fileYAML {
		return true
	}
	bracket := first == '{' || first == '['
	if _, _, skill := frontMatter(string(data)); bracket || skill {
		return false
	}
	return s.opt.forced() != "" && s.opt.forced() != tooldoc.GraphQL && s.opt.forced() != tooldoc.Protobuf && !isScalar(data) || s.opt.looksLikeYAML(data)
}

// linesFollow recognises JSON Lines whose first line is longer than what
// container looks at.
func (s *session) linesFollow(data []byte) bool {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	if len(line) < sniff/2 || len(bytes.TrimSpace(rest)) == 0 {
		return false
	}
	_, err := jsondoc.Decode(line, s.opt.jsonLimits())
	return err == nil
}

// isScalar recognises a document that is one JSON string, number or literal.
func isScalar(data []byte) bool {
	_, err := jsondoc.Decode(data, jsondoc.Limits{Bytes: len(data)})
	return err == nil
}

// looksLikeYAML recognises YAML by how it must begin. Plain prose may well be
// YAML by the letter, so a tool has to read as an object.
func (o *Options) looksLikeYAML(data []byte) bool {
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
			v, _, err := o.decodeYAML(data)
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

func (o *Options) decodeYAML(data []byte) (v any, text []byte, err error) {
	return jsondoc.DecodeYAML(data, jsondoc.Limits{Bytes: min(o.Limits.File, maxYAML), Nodes: maxYAMLNodes})
}

// json takes a piece of the input that is one JSON document.
func (s *session) json(text []byte, path string, several bool) {
	v, err := jsondoc.Decode(text, s.opt.jsonLimits())
	if err != nil {
		s.unreadable(err, path)
		return
	}
	s.document(node{value: v, text: text, path: path}, head{}, several)
}

func readText(s *session, data []byte) {
	switch i := bytes.IndexByte(data, 0); {
	case i >= 0:
		s.problem(&Problem{Line: 1 + bytes.Count(data[:i], []byte("\n")), Reason: jsondoc.NUL, Detail: fmt.Sprintf("byte %d", i)})
	case !utf8.Valid(data):
		s.problem(&Problem{Reason: jsondoc.InvalidUTF8})
	case splitSchemaText(s, string(data), "", head{}):
	case len(data) > s.opt.Limits.Document:
		s.problem(tooLarge(Item{}, len(data), s.opt.Limits.Document))
	case fileKind(s.opt.Source) == tooldoc.Python && s.opt.mayBe(tooldoc.Python):
		splitPython(s, string(data), "", head{}, false)
	default:
		readProse(s, strings.ReplaceAll(string(data), "\r\n", "\n"), "", head{}, false)
	}
}
