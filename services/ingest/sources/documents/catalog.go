package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// Catalog reads a catalogue of Docker's MCP Toolkit in YAML (github.com/docker/mcp-registry,
// pkg/catalog). Servers that run elsewhere are sources of their own. Servers that
// are images have the tools that the catalogue describes: nothing is started.
type Catalog struct{}

// Connect implements source.Connector. Nothing is asked before the first list.
func (Catalog) Connect(_ context.Context, at source.Place, _ func()) (source.Session, error) {
	return newSite(at, (*reading).catalog)
}

// tile is a server of a catalogue.
type tile struct {
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	Remote      struct {
		URL     string            `yaml:"url"`
		Headers map[string]string `yaml:"headers"`
	} `yaml:"remote"`
	Tools   []listedTool `yaml:"tools"`
	Secrets []any        `yaml:"secrets"`
	OAuth   struct {
		Providers []any `yaml:"providers"`
	} `yaml:"oauth"`
}

// listedTool is a tool as a catalogue describes it.
type listedTool struct {
	Name        string         `yaml:"name"`
	Description string         `yaml:"description"`
	Parameters  map[string]any `yaml:"parameters"` // a JSON schema
	Arguments   []argument     `yaml:"arguments"`  // in place of that
}

type argument struct {
	Name     string `yaml:"name"`
	Type     string `yaml:"type"`
	Desc     string `yaml:"desc"`
	Optional bool   `yaml:"optional"`
}

// maxCatalog bounds the text of a catalogue: as a tree it is a hundred times as large.
// Docker's own is far below it.
const maxCatalog = 4 << 20

var errCatalog = errors.New("the address answers no catalogue: it may be a login")

// catalog reads the one document of a catalogue.
func (r *reading) catalog(ctx context.Context) (source.Listing, error) {
	text, err := r.file(ctx, r.root)
	if err != nil {
		return source.Listing{}, err
	}
	if len(text) > maxCatalog {
		return source.Listing{}, fmt.Errorf("%w: a catalogue has at most %d bytes", errSize, maxCatalog)
	}
	var all struct {
		Registry map[string]yaml.Node `yaml:"registry"`
	}
	if yaml.Unmarshal(text, &all) != nil || all.Registry == nil {
		return source.Listing{}, errCatalog
	}
	l := source.Listing{Several: true}
	left, counted := r.at.Limits.Bytes, 0 // an alias may expand to much more than its text
	for _, name := range slices.Sorted(maps.Keys(all.Registry)) {
		if err := ctx.Err(); err != nil {
			return source.Listing{}, err
		}
		node := all.Registry[name]
		var t tile
		if node.Decode(&t) != nil {
			l.Found = append(l.Found, source.Found{Name: name, Problem: "its entry cannot be read"})
			continue
		}
		t.list(name, &l)
		for ; counted < len(l.Documents); counted++ {
			left -= int64(len(l.Documents[counted].Raw))
		}
		if left < 0 {
			return source.Listing{}, errSize
		}
	}
	return l, nil
}

// list adds a server to a listing: as a source that can be asked, else with the tools that
// are described, else with why it cannot be asked.
func (t tile) list(name string, l *source.Listing) {
	f := source.Found{Name: name}
	f.Owner, _ = json.Marshal(map[string]string{"name": cmp.Or(t.Title, name), "description": t.Description}) // texts always encode
	switch {
	case t.Remote.URL == "":
		f.Problem = source.NeedsCommand
	case len(t.Remote.Headers)+len(t.Secrets)+len(t.OAuth.Providers) > 0:
		f.Problem = "it needs a credential: add it by hand"
	default:
		f.Spec = source.Spec{Kind: source.MCP, URL: t.Remote.URL}
		l.Found = append(l.Found, f)
		return
	}
	described := 0
	for _, tool := range t.Tools {
		if raw := tool.document(name); raw != nil {
			described++
			l.Documents = append(l.Documents, source.Document{Name: name + "/" + tool.Name, Format: tooldoc.MCP, Tool: true, Group: name, Raw: raw})
		}
	}
	if described == 0 {
		l.Found = append(l.Found, f)
	}
}

// document returns the tool as tools/list has it, with its provider, nil without a description.
func (t listedTool) document(server string) []byte {
	if t.Name == "" || t.Description == "" {
		return nil
	}
	input := t.Parameters
	if input == nil {
		properties, required := map[string]any{}, []string{}
		for _, a := range t.Arguments {
			properties[a.Name] = map[string]string{"type": cmp.Or(a.Type, "string"), "description": a.Desc}
			if !a.Optional {
				required = append(required, a.Name)
			}
		}
		input = map[string]any{"type": "object", "properties": properties, "required": required}
	}
	tool := map[string]any{"name": t.Name, "description": t.Description, "inputSchema": input}
	raw, err := json.Marshal(map[string]any{"provider": server, "id": server + "/" + t.Name, "document": tool})
	if err != nil {
		return nil // YAML that JSON cannot express, such as a key that is a number
	}
	return raw
}
