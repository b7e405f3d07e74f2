package archtest

import (
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/toolstream/toolstream/"

// rule forbids imports to the packages below from. An import is judged by the
// longest prefix of it that stands in allow or deny.
type rule struct {
	from   string
	deny   []string
	allow  []string
	reason string
}

// std stands for the whole standard library.
const std = "std"

func rules() []rule {
	vendors := []string{"github.com/nats-io", "github.com/segmentio", "github.com/weaviate", "go.etcd.io", "github.com/openai", "github.com/modelcontextprotocol"}
	return []rule{
		{from: "pkg/", deny: []string{""}, allow: []string{std, "golang.org/x/", module + "pkg/"},
			reason: "pkg is the public vocabulary: a client imports it without a server's dependencies"},
		{from: "pkg/schema", deny: []string{module}, allow: []string{module + "pkg/schema"},
			reason: "schema is at the bottom: events and fusion build on it"},
		{from: "pkg/fusion", deny: []string{module}, allow: []string{module + "pkg/schema", module + "pkg/fusion"},
			reason: "ranking is pure: it knows weights and scores, not where they come from"},
		{from: "services/", deny: append(vendors, module+"internal/adapter", module+"internal/app", module+"cmd"),
			reason: "a service does not know how it is deployed: only the wiring chooses adapters"},
		{from: "services/", deny: []string{module + "internal/lab", module + "internal/testing"}, reason: "nothing that serves imports the laboratory or test support"},
		{from: "services/ingest", deny: []string{module + "services/"}, allow: []string{module + "services/ingest"}, reason: sealed},
		{from: "services/standardizer", deny: []string{module + "services/"}, allow: []string{module + "services/standardizer"}, reason: sealed},
		{from: "services/embedder", deny: []string{module + "services/"}, allow: []string{module + "services/embedder"}, reason: sealed},
		{from: "services/query", deny: []string{module + "services/"}, allow: []string{module + "services/query"}, reason: sealed},
		{from: "services/calls", deny: []string{module + "services/"}, allow: []string{module + "services/calls"}, reason: sealed},
		{from: "services/trainer", deny: []string{module + "services/"}, allow: []string{module + "services/trainer"}, reason: sealed},
		{from: "internal/adapter/", deny: []string{module + "services/", module + "internal/app", module + "cmd"},
			reason: "an adapter serves a port; importing its consumer would tie it to one"},
		{from: "internal/", deny: []string{module + "cmd"}, reason: "mains are on top"},
		{from: "internal/text", deny: []string{module}, allow: []string{module + "internal/text"}, reason: "text handling is a leaf"},
		{from: "internal/lexical", deny: []string{module}, allow: []string{module + "internal/lexical", module + "internal/text"}, reason: "the lexical index is a leaf on text"},
		{from: "internal/vector", deny: []string{module}, allow: []string{module + "internal/vector"}, reason: "kernels are a leaf"},
		{from: "internal/app", deny: []string{module + "internal/lab", module + "internal/testing"}, reason: "the wiring knows what serves, and nothing else"},
		{from: "internal/adapter/", deny: []string{module + "internal/lab", module + "internal/testing"}, reason: "nothing that serves imports the laboratory or test support"},
		{from: "internal/stream", deny: append(vendors, module+"internal/adapter", module+"services/"),
			reason: "the consume loop knows the bus as a port only"},
	}
}

const sealed = "a service never imports another: they meet on the bus and through ports"

func TestImportsFollowTheRules(t *testing.T) {
	dirs := map[string]bool{}
	for _, file := range goFiles(t) {
		dir := path.Dir(file)
		dirs[dir] = true
		if strings.HasSuffix(file, "_test.go") {
			continue // a test may use what its package may not
		}
		for _, imported := range importsOf(t, file) {
			for _, r := range rules() {
				if under(dir, r.from) && r.forbids(imported) {
					t.Errorf("%s imports %s: %s", file, imported, r.reason)
				}
			}
		}
	}
	for _, r := range rules() {
		if !anyUnder(dirs, r.from) {
			t.Errorf("the rule for %q guards a folder that is not there: drop the rule or mend its name", r.from)
		}
	}
}

func (r rule) forbids(imported string) bool {
	denied, deny := longest(imported, r.deny)
	allowed, allow := longest(imported, r.allow)
	return deny && !(allow && allowed >= denied)
}

// longest returns the length of the longest prefix of imported in list.
func longest(imported string, list []string) (int, bool) {
	best, found := 0, false
	for _, p := range list {
		if p == std {
			if !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
				return len(imported), true
			}
			continue
		}
		if strings.HasPrefix(imported, p) && len(p) >= best {
			best, found = len(p), true
		}
	}
	return best, found
}

func under(dir, from string) bool {
	from = strings.TrimSuffix(from, "/")
	return dir == from || strings.HasPrefix(dir, from+"/")
}

func anyUnder(dirs map[string]bool, from string) bool {
	for d := range dirs {
		if under(d, from) {
			return true
		}
	}
	return false
}

func importsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), root(file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
