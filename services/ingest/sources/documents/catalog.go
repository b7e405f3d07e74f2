package documents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
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
	Title       string `json:"title"`
	Description string `json:"description"`
	Remote      struct {
		URL     string                     `json:"url"`
		Headers map[string]json.RawMessage `json:"headers"`
	} `json:"remote"`
	Tools   []listedTool      `json:"tools"`
	Secrets []json.RawMessage `json:"secrets"`
	OAuth   struct {
		Providers []json.RawMessage `json:"providers"`
	} `json:"oauth"`
}

// listedTool is a tool as a catalogue describes it.
type listedTool struct {
	Name        string                     `json:"name"`
	Description string                     `json:"description"`
	Parameters  map[string]json.RawMessage `json:"parameters"` // a JSON schema
	Arguments   []argument                 `json:"arguments"`  // in place of that
}

type argument struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Desc     string `json:"desc"`
	Optional bool   `json:"optional"`
}

// maxCatalog bounds the text of a catalogue, also with its aliases expanded. Docker's own is far
// below it.
const maxCatalog = 4 << 20

var errCatalog = errors.New("the address answers no catalogue: it may be a login")

// catalog reads the one document of a catalogue.
func (r *reading) catalog(ctx context.Context) (source.Listing, error) {
	text, err := r.file(ctx, r.root)
	if err != nil {
		return source.Listing{}, err
	}
	limits := r.at.Limits.Page()
	limits.Bytes = min(limits.Bytes, maxCatalog)
	_, text, err = jsondoc.DecodeYAML(text, limits)
	if err = source.TooMuch(err); errors.Is(err, source.ErrSize) {
		return source.Listing{}, fmt.Errorf("the catalogue: %w", err)
	}
	if err != nil {
		return source.Listing{}, errCatalog
	}
	servers := jsondoc.Member(text, "registry")
	if !bytes.HasPrefix(servers, []byte("{")) {
		return source.Listing{}, errCatalog
	}
	registry := maps.Collect(jsondoc.Members(servers))
	l := source.Listing{Several: true}
	for _, name := range slices.Sorted(maps.Keys(registry)) {
		if err := ctx.Err(); err != nil {
			return source.Listing{}, err
		}
		var t tile
		if json.Unmarshal(registry[name], &t) != nil {
			l.Found = append(l.Found, source.Found{Name: name, Problem: "its entry cannot be read"})
			continue
		}
		t.list(name, &l)
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
	input := any(t.Parameters)
	if t.Parameters == nil {
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
	raw, _ := json.Marshal(map[string]any{"provider": server, "id": server + "/" + t.Name, "document": tool}) // of texts and JSON
	return raw
}
