package importer

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/services/ingest/formats"
)

// maxLinked bounds the files that are searched for references to others.
const maxLinked = 16 << 20

var (
	protoImport = regexp.MustCompile(`(?m)^\s*import\s+(?:public\s+|weak\s+)?["']([^"']+)["']`)
	definesType = regexp.MustCompile(`(?m)^[ \t]*(?:type|input|enum|interface|union|scalar)[ \t]+(\w+)`)
	usesType    = regexp.MustCompile(`(?:[:\[|&=]|\bimplements|\bextend[ \t]+\w+)[ \t]*(\w+)`)
)

// linkTypes marks the GraphQL files that use a type only another file defines, and the files
// that define it.
func linkTypes(files []string, linked map[string]bool) error {
	defined, used := map[string][]string{}, map[string][]string{}
	for _, f := range files {
		if !formats.IsGraphQL(f) {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for _, m := range definesType.FindAllSubmatch(text, -1) {
			defined[string(m[1])] = append(defined[string(m[1])], f)
		}
		for _, m := range usesType.FindAllSubmatch(text, -1) {
			used[f] = append(used[f], string(m[1]))
		}
	}
	for f, types := range used {
		for _, name := range types {
			if by := defined[name]; len(by) == 1 && by[0] != f {
				linked[f], linked[by[0]] = true, true
			}
		}
	}
	return nil
}

// links returns the files that an OpenAPI or a .proto file refers to, as it writes them.
func links(path string) ([]string, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if !slices.Contains([]string{".proto", ".json", ".yaml", ".yml"}, ext) {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxLinked {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if ext != ".proto" {
		return formats.References(text), err
	}
	var out []string
	for _, m := range protoImport.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out, err
}

// linkedFile returns the file that a link leads to, "" if there is no such file. An import
// names a file from the root of its folder, wherever that is.
func linkedFile(from, link string, files []string) string {
	if strings.HasSuffix(from, ".proto") {
		for _, f := range files {
			if strings.HasSuffix(filepath.ToSlash(f), "/"+link) || filepath.ToSlash(f) == link {
				return f
			}
		}
		return ""
	}
	if at := filepath.Join(filepath.Dir(from), filepath.FromSlash(link)); slices.Contains(files, at) {
		return at
	}
	return ""
}

// together makes one source of the files of a folder that refer to each other, and
// leaves the others as they are.
func together(folder string, all []Source) ([]Source, error) {
	var files []string
	for _, s := range all {
		files = append(files, s.Name)
	}
	linked := map[string]bool{}
	for _, f := range files {
		found, err := links(f)
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			if to := linkedFile(f, l, files); to != "" && to != f {
				linked[f], linked[to] = true, true
			}
		}
	}
	if err := linkTypes(files, linked); err != nil {
		return nil, err
	}
	if len(linked) == 0 {
		return all, nil
	}
	packed := Source{Name: folder}
	rest := slices.DeleteFunc(all, func(s Source) bool {
		if linked[s.Name] {
			packed.Size += s.Size
		}
		return linked[s.Name]
	})
	files = slices.DeleteFunc(files, func(f string) bool { return !linked[f] })
	packed.Open = func(context.Context) (io.ReadCloser, error) { return pack(folder, files) }
	return append(rest, packed), nil
}

// withReferences returns the source of a file, with the files below its folder that it
// refers to, these included.
func withReferences(path string, size int64) ([]Source, error) {
	folder, files := filepath.Dir(path), []string{filepath.Clean(path)}
	for i := 0; i < len(files); i++ {
		found, err := links(files[i])
		if err != nil {
			return nil, err
		}
		for _, l := range found {
			at := filepath.Join(filepath.Dir(files[i]), filepath.FromSlash(l))
			if strings.HasSuffix(files[i], ".proto") {
				at = filepath.Join(folder, filepath.FromSlash(l))
			}
			below, err := filepath.Rel(folder, at)
			if err != nil || !filepath.IsLocal(below) || slices.Contains(files, at) {
				continue
			}
			if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
				files, size = append(files, at), size+info.Size()
			}
		}
	}
	if len(files) == 1 {
		return []Source{file(path, size)}, nil
	}
	return []Source{{Name: path, Size: size, Open: func(context.Context) (io.ReadCloser, error) { return pack(folder, files) }}}, nil
}

// pack returns files as a tar archive, with their names from the folder.
func pack(folder string, files []string) (io.ReadCloser, error) {
	var packed []formats.File
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(folder, f)
		if err != nil {
			return nil, err
		}
		packed = append(packed, formats.File{Name: filepath.ToSlash(name), Text: text})
	}
	raw, err := formats.Archive(packed)
	return io.NopCloser(bytes.NewReader(raw)), err
}
