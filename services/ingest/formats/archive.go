package formats

import (
	"archive/tar"
	"bytes"
	"regexp"

	"github.com/toolstream/toolstream/internal/tooldoc"
)

// File is a file of a folder, with its path from there in slashes.
type File struct {
	Name string
	Text []byte
}

// Archive returns files as a tar archive, which is read as their folder is.
func Archive(files []File) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o600, Size: int64(len(f.Text))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Text); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

var fileReference = regexp.MustCompile(`["']?\$ref["']?\s*:\s*["']?([^"'\s#,{}]+)`)

// References returns the references in an OpenAPI document in JSON or YAML, as written.
func References(text []byte) (out []string) {
	for _, m := range fileReference.FindAllSubmatch(text, -1) {
		out = append(out, string(m[1]))
	}
	return out
}

// IsGraphQL reports whether a file holds a GraphQL schema, by its name.
func IsGraphQL(name string) bool { return fileKind(name) == tooldoc.GraphQL }
