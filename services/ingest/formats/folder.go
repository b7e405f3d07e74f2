package formats

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// maxFiles bounds the files of an archive.
const maxFiles = 10_000

// filesKey is the member of an OpenAPI document that holds the other files of its
// folder, by their names.
const filesKey = "x-files"

// documentEndings are the extensions of files that may hold documents.
var documentEndings = []string{".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".md", ".txt", ".py",
	".graphql", ".graphqls", ".gql", ".proto", ".protoset", ".binpb", ".pb", ".desc"}

// DocumentEndings returns the endings of the files that may hold documents.
func DocumentEndings() []string { return slices.Clone(documentEndings) }

// IsDocument reports whether a file of that name in a folder may hold documents.
func IsDocument(name string) bool {
	return !IsDataSetSidecar(name) && slices.Contains(documentEndings, extension(name))
}

// isTar recognises a tar archive: a folder in one body.
func isTar(in *bufio.Reader) bool {
	if first, _ := in.Peek(1); len(first) == 0 || strings.ContainsAny(string(first), "{[ \t\r\n") {
		return false // what may be read piece by piece is not waited for
	}
	begin, _ := in.Peek(262)
	return len(begin) == 262 && string(begin[257:]) == "ustar"
}

// folder is the files of an archive by their names, in its order.
type folder struct {
	s       *session
	names   []string
	texts   map[string][]byte
	objects map[string]map[string]any // of the JSON and YAML files that are objects
}

// archive reads a tar archive as a folder: each file is a document, except files that an OpenAPI
// document refers to. The .proto files are read together, and so are the GraphQL files.
func (s *session) archive(in io.Reader) {
	f := &folder{s: s, texts: map[string][]byte{}, objects: map[string]map[string]any{}}
	if p := f.unpack(tar.NewReader(in)); p != nil {
		s.problem(p)
		return
	}
	parts, protos, schema := f.bundle(), []*descriptorpb.FileDescriptorProto{}, &ast.SchemaDocument{}
	var schemas []string // names of the files of schema
	for _, name := range f.names {
		if s.done {
			return
		}
		switch {
		case parts[name]:
		case fileKind(name) == tooldoc.Protobuf && s.opt.mayBe(tooldoc.Protobuf):
			file, err := parseProto(name, string(f.texts[name]))
			if err != nil {
				s.problem(&Problem{Reason: InvalidProtobuf, Detail: err.Error()}) // it begins with the name
				continue
			}
			protos = append(protos, file)
		case fileKind(name) == tooldoc.GraphQL && s.opt.mayBe(tooldoc.GraphQL):
			doc, p := parseSDL(string(f.texts[name]))
			if p != nil {
				p.Detail, p.Line = name+": "+p.Detail, 0
				s.problem(p)
				continue
			}
			schema.Merge(doc)
			schemas = append(schemas, name)
		default:
			f.document(name)
		}
	}
	if len(protos) > 0 {
		splitDescriptors(s, protos, "", head{})
	}
	if len(schemas) > 0 {
		if dir := commonFolder(schemas); dir != "." {
			s.base = path.Base(dir)
		}
		splitSchema(s, schema, "/", head{}) // no line: which file it is of is not known
	}
}

// commonFolder returns the innermost folder that contains all files.
func commonFolder(names []string) string {
	dir := path.Dir(names[0])
	for _, name := range names {
		for dir != "." && !strings.HasPrefix(name, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	return dir
}

func (f *folder) unpack(archive *tar.Reader) *Problem {
	left := int64(f.s.opt.Limits.File)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return &Problem{Reason: Unreadable, Detail: "the archive is cut off or broken"}
		}
		name := path.Clean(strings.TrimPrefix(header.Name, "/"))
		if header.Typeflag != tar.TypeReg || !IsDocument(name) || strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
			continue
		}
		if left -= header.Size; left < 0 || len(f.names) == maxFiles {
			return &Problem{Reason: jsondoc.TooLarge, Detail: fmt.Sprintf("an archive of more than %d bytes or %d files", f.s.opt.Limits.File, maxFiles)}
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			return &Problem{Reason: Unreadable, Detail: "the archive is cut off or broken"}
		}
		if f.texts[name] == nil {
			f.names = append(f.names, name)
		}
		f.texts[name] = text
	}
	f.names = slices.DeleteFunc(f.names, f.inSkill)
	if len(f.names) == 0 {
		return &Problem{Reason: jsondoc.Empty, Detail: "the archive holds no document"}
	}
	return nil
}

// inSkill reports files of a skill's folder that are not its SKILL.md.
func (f *folder) inSkill(name string) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if skill := path.Join(dir, "SKILL.md"); f.texts[skill] != nil {
			return name != skill
		}
		if dir == "." || dir == "/" {
			return false
		}
	}
}

// document reads one file as a document of its own.
func (f *folder) document(name string) {
	s, opt := f.s, f.s.opt
	opt.Source = name
	if opt.Base != "" {
		opt.Base = strings.TrimSuffix(opt.Base, "/") + "/" + name
	}
	text := f.texts[name]
	if m := f.objects[name]; m[filesKey] != nil {
		text = jsondoc.Canonical(m)
	}
	inner := newSession(opt, bytes.NewReader(text), func(it Item, p *Problem) bool {
		if p != nil {
			p.Detail = strings.TrimSuffix(name+": "+p.Detail, ": ")
		}
		s.done = !s.yield(it, p)
		return !s.done
	})
	inner.seen, inner.given = s.seen, s.given
	if vague[slug(inner.base)] {
		inner.base = cmp.Or(s.base, inner.base)
	}
	inner.container(bufio.NewReaderSize(inner.in, sniff))
	s.given = inner.given
}

// bundle puts into each OpenAPI document the files that it refers to, and returns the
// names of these files that are not documents themselves.
func (f *folder) bundle() map[string]bool {
	for _, name := range f.names {
		if m := f.decode(name); m != nil {
			f.objects[name] = m
		}
	}
	parts, roots := map[string]bool{}, map[string]map[string]any{}
	for _, name := range f.names {
		if m := f.objects[name]; !isDocument(m) || !f.s.opt.mayBe(tooldoc.OpenAPI) {
			continue
		}
		b := &bundle{folder: f, root: name, files: map[string]any{}}
		root, _ := b.rewritten(f.objects[name], name).(map[string]any)
		if len(b.files) > 0 {
			roots[name] = overlay(root, map[string]any{filesKey: b.files})
		}
		for part := range b.files {
			parts[part] = parts[part] || !has(f.objects[part], "paths")
		}
	}
	for name, root := range roots {
		f.objects[name] = root
	}
	return parts
}

// decode returns the object in a JSON or YAML file, nil if the file holds anything else.
func (f *folder) decode(name string) map[string]any {
	var v any
	var err error
	switch fileKind(name) {
	case tooldoc.JSON:
		v, err = jsondoc.Decode(f.texts[name], f.s.opt.jsonLimits())
	case fileYAML:
		v, _, err = f.s.opt.decodeYAML(f.texts[name])
	}
	if err != nil {
		return nil // the reader of documents says why
	}
	m, _ := v.(map[string]any)
	return m
}

// bundle is an OpenAPI document with the files that it refers to.
type bundle struct {
	*folder
	root  string
	files map[string]any
}

// rewritten returns a value of a file with references to files made ones within the
// bundle. Files may refer to each other in circles: each is taken once.
func (b *bundle) rewritten(v any, file string) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = b.rewritten(e, file)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if ref, ok := e.(string); ok && k == "$ref" {
				out[k] = b.reference(ref, file)
			} else {
				out[k] = b.rewritten(e, file)
			}
		}
		return out
	}
	return v
}

// reference translates a reference in a file to a reference in the bundle. A reference to
// a file outside the folder stays unchanged.
func (b *bundle) reference(ref, file string) string {
	target, pointer, _ := strings.Cut(ref, "#")
	name := file
	if target != "" {
		name = path.Join(path.Dir(file), target)
	}
	if name == b.root {
		return "#" + pointer
	}
	object := b.objects[name]
	if object == nil {
		return ref
	}
	if _, known := b.files[name]; !known {
		b.files[name] = nil // a circle ends here
		b.files[name] = b.rewritten(object, name)
	}
	return jsondoc.Pointer("#/"+filesKey, name) + pointer
}
