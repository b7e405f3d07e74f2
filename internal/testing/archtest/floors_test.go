package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/golden"
)

const module = "github.com/toolstream/toolstream/"

// room is a folder of the module that imports rooms of lower floors only. Rooms of one
// floor do not import each other.
type room struct {
	floor int
	path  string
	holds string
	// forbidden lists import prefixes outside of the module that the room may not use.
	forbidden []string
}

// vendors are the products behind ports. A service declares its ports and leaves the
// choice of a product to internal/server.
func vendors() []string {
	return []string{"github.com/nats-io", "github.com/segmentio", "github.com/weaviate", "go.etcd.io", "github.com/openai", "github.com/modelcontextprotocol"}
}

// thirdParty matches every import path with a domain name except golang.org/x.
const thirdParty = "*"

// rooms is the only layout rule. docs/design.md shows the same table.
func rooms() []room {
	return []room{
		{floor: 10, path: "cmd/toolstream-lab", holds: "the main of the laboratory"},
		{floor: 9, path: "cmd/toolstream", holds: "the main of the program"},
		{floor: 9, path: "internal/lab", holds: "the commands of toolstream-lab: evaluation, simulation, training, distilling, benchmarks"},
		{floor: 8, path: "internal/cli", holds: "the commands of toolstream, and the parts that both programs share"},
		{floor: 7, path: "internal/server", holds: "the wiring: which parts a process runs, behind which ports; reindexing, status, live events, questions, the MCP server"},
		{floor: 6, path: "services/ingest", holds: "accepts tools and providers, looks at sources, puts changes on the bus", forbidden: vendors()},
		{floor: 6, path: "services/standardizer", holds: "raw documents to four fields", forbidden: vendors()},
		{floor: 6, path: "services/embedder", holds: "four fields to vectors, vectors to the index", forbidden: vendors()},
		{floor: 6, path: "services/query", holds: "searches", forbidden: vendors()},
		{floor: 6, path: "services/trainer", holds: "impressions and feedback to weights", forbidden: vendors()},
		{floor: 6, path: "services/calls", holds: "calls tools where their sources are", forbidden: vendors()},
		{floor: 5, path: "internal/engine", holds: "the search engine: index contract, flat, Weaviate, BM25, ranking"},
		{floor: 5, path: "internal/changes", holds: "dead letters, revisions, tenants"},
		{floor: 4, path: "internal/access", holds: "callers and their permissions; the HTTP shell; the audit log"},
		{floor: 3, path: "internal/config", holds: "settings"},
		{floor: 3, path: "internal/models", holds: "embedding models, rerankers and language models"},
		{floor: 2, path: "internal/bus", holds: "the consume loop, and the buses and stores under it"},
		{floor: 2, path: "internal/connect", holds: "sources and their connectors, HTTP to foreign addresses"},
		{floor: 2, path: "internal/tooldoc", holds: "the content of a tool document: formats, schema, operation, provenance"},
		{floor: 1, path: "internal/kit", holds: "leaves without knowledge of tools"},
		{floor: 1, path: "web", holds: "the console's sources and build"},
		{floor: 0, path: "pkg", holds: "what travels, and what clients may import", forbidden: []string{thirdParty}},
	}
}

func TestARoomImportsLowerFloorsOnly(t *testing.T) {
	used := map[string]bool{}
	for _, file := range goFiles(t) {
		from, ok := roomOf(path.Dir(file))
		if !ok || strings.HasSuffix(file, "_test.go") { // a test may use what its package may not
			continue
		}
		used[from.path] = true
		for _, imported := range importsOf(t, file) {
			if why := from.refuses(imported); why != "" {
				t.Errorf("%s imports %s: %s", file, imported, why)
			}
		}
	}
	for _, r := range rooms() {
		if !used[r.path] {
			t.Errorf("%s has no Go file: remove it from the table or correct its path", r.path)
		}
	}
	for _, file := range goFiles(t) {
		if _, ok := roomOf(path.Dir(file)); !ok && strings.HasPrefix(file, "internal/") && !strings.HasPrefix(file, "internal/testing/") {
			t.Errorf("%s is in no room: move it into one of the table", file)
		}
	}
}

// refuses returns the reason for which r may not import a package, or "".
func (r room) refuses(imported string) string {
	inside, ours := strings.CutPrefix(imported, module)
	if !ours {
		if imported == "text/template" || imported == "html/template" {
			return "with templates, the linker keeps every exported method of every type: 7 MB"
		}
		for _, prefix := range r.forbidden {
			if strings.HasPrefix(imported, prefix) || prefix == thirdParty && isThirdParty(imported) {
				return r.path + " does not use this dependency"
			}
		}
		return ""
	}
	if strings.HasPrefix(inside, "internal/testing/") {
		return "only tests import test support"
	}
	to, ok := roomOf(inside)
	if !ok || to.path == r.path || to.floor < r.floor {
		return ""
	}
	return fmt.Sprintf("%s is on floor %d and %s on floor %d: a room imports lower floors only", r.path, r.floor, to.path, to.floor)
}

func isThirdParty(imported string) bool {
	host, _, _ := strings.Cut(imported, "/")
	return strings.Contains(host, ".") && !strings.HasPrefix(imported, "golang.org/x/")
}

// roomOf returns the room that holds a folder.
func roomOf(dir string) (room, bool) {
	for _, r := range rooms() {
		if dir == r.path || strings.HasPrefix(dir, r.path+"/") {
			return r, true
		}
	}
	return room{}, false
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), root(file), nil, parser.ImportsOnly)
	check.OK(t, err)
	var out []string
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		check.OK(t, err)
		out = append(out, p)
	}
	return out
}

const (
	design     = "docs/design.md"
	tableStart = "<!-- rooms: go test ./internal/testing/archtest -run TestTheDesignShowsTheRooms -update -->\n"
	tableEnd   = "<!-- /rooms -->\n"
)

func TestTheDesignShowsTheRooms(t *testing.T) {
	page := read(t, design)
	before, rest, ok := strings.Cut(page, tableStart)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the marks around the table of rooms", design)
	}
	golden.Match(t, root(design), before+tableStart+picture()+tableEnd+after)
}

// picture returns the rooms as a table of Markdown, the highest floor first.
func picture() string {
	var b strings.Builder
	b.WriteString("| floor | room | holds |\n|---|---|---|\n")
	sorted := rooms()
	slices.SortStableFunc(sorted, func(x, y room) int { return y.floor - x.floor })
	for _, r := range sorted {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", r.floor, r.path, r.holds)
	}
	return b.String()
}
