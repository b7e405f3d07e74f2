package source

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/theory/jsonpath"
)

// Mapping reads a list of APIs by JSON paths (RFC 9535).
type Mapping struct {
	Items    string `json:"items" doc:"In a page of the list: the APIs, such as $.apis[?@.state == 'published']."`
	Next     string `json:"next,omitempty" doc:"In a page: the address of the next one, or with cursor the value for that. Absent: there is one page."`
	Cursor   string `json:"cursor,omitempty" doc:"The query parameter that asks for the next page."`
	ID       string `json:"id" doc:"In an API: its id, unique in the list."`
	Document string `json:"document" doc:"In an API: the address of its document or MCP server, or the document itself. Text that does not begin with $ is an address, with {id} in place of the id."`
	Version  string `json:"version,omitempty" doc:"In an API: a value that changes with the API, such as a version or a time. If the value has changed, the document is read at once, not after its own period."`
	Kind     string `json:"kind,omitempty" enum:"openapi,mcp" doc:"Kind of the sources at the addresses; absent: openapi."`
}

// Validate checks a mapping. The error is a *schema.Invalid.
func (m *Mapping) Validate() error {
	if _, err := parsePath(m.Items); err != nil {
		return invalid("/mapping/items", m.Items, "must be a JSON path such as $.apis[*]: "+err.Error())
	}
	values := map[string]string{"id": m.ID}
	for name, path := range map[string]string{"next": m.Next, "version": m.Version} {
		if path != "" {
			values[name] = path
		}
	}
	if strings.HasPrefix(m.Document, "$") {
		values["document"] = m.Document
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path, err := parsePath(values[name])
		if err == nil && path.Query().Singular() == nil {
			err = errors.New("it may lead to several values")
		}
		if err != nil {
			return invalid("/mapping/"+name, values[name], "must be a JSON path to one value, such as $.id: "+err.Error())
		}
	}
	switch {
	case m.Document == "":
		return invalid("/mapping/document", "", "must be a JSON path, or an address with {id}")
	case m.Cursor != "" && m.Next == "":
		return invalid("/mapping/cursor", m.Cursor, "needs next, which says its value")
	case !slices.Contains([]string{"", OpenAPI, MCP}, m.Kind):
		return invalid("/mapping/kind", m.Kind, "must be openapi or mcp")
	}
	return nil
}

// Parts removed from a path before it is checked for selectors that multiply the work: texts, and
// functions of two arguments.
var (
	literals  = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
	functions = regexp.MustCompile(`(?:match|search)\([^(),]*,[^(),]*\)`)
)

const maxPath = 512 // bytes

// parsePath reads a path whose work grows only with the document: tenants write paths, and
// documents. A path that searches everywhere, or the same part more than once, could be made to
// run forever.
func parsePath(path string) (*jsonpath.Path, error) {
	bare := functions.ReplaceAllString(literals.ReplaceAllString(path, "''"), "")
	if len(path) > maxPath || strings.Contains(bare, "..") || strings.Contains(bare, ",") || strings.Count(bare, "$") > 1 {
		return nil, errors.New("a path has at most 512 bytes, one $, and neither .. nor lists of selectors")
	}
	return jsonpath.Parse(path)
}
