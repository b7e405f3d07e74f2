package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// decoders are the functions that make values of JSON and YAML without counting them before.
func decoders() map[string][]string {
	return map[string][]string{
		"encoding/json":                                 {"Unmarshal", "NewDecoder"},
		"github.com/go-json-experiment/json":            {"Unmarshal", "UnmarshalRead", "UnmarshalDecode"},
		"google.golang.org/protobuf/encoding/protojson": {"Unmarshal", "UnmarshalOptions"},
		"go.yaml.in/yaml/v3":                            {"Unmarshal", "NewDecoder"},
	}
}

// exception names packages, or functions as package:function, that use a decoder, and the reason.
type exception struct {
	reason string
	places []string
}

// uncounted lists who may decode without package jsondoc: nothing that a stranger has written.
func uncounted() []exception {
	return []exception{
		{"the process or another one of the deployment has written it: records of the bus, values of the store, files, sealed cookies", []string{
			"internal/access/audit", "internal/access/httpserver:finish", "internal/access/httpserver:readRenewal", "internal/access/httpserver:readVocabulary",
			"internal/access/policy:decode", "internal/bus", "internal/changes", "internal/connect/mcp:requestOf", "internal/engine/flat",
			"internal/models/llm", "internal/server:discoverPeers", "internal/server:follow", "internal/server/questions", "internal/server/reindex", "internal/server/status",
			"internal/server/mcpserver:call", "internal/server/mcpserver:described", "internal/server/mcpserver:stored", "pkg/events", "pkg/fusion", "pkg/schema",
			"services/calls:claim", "services/ingest:decodeChange", "services/ingest/sources:decode", "services/query/rewriting:get", "services/query/weights",
			"services/standardizer:get", "services/standardizer:readDocument", "services/trainer",
		}},
		{"the operator or the user has named it: settings, files, models, a database, a server of toolstream", []string{
			"internal/access/policy:parse", "internal/cli", "internal/config", "internal/engine/relevance", "internal/engine/weaviate",
			"internal/models/modelstore", "internal/models/static", "internal/models/wordpiece", "pkg/client",
		}},
		{"it was counted: it is a part of a document, or is decoded again into its type", []string{
			"internal/access/httpserver:unmarshalStrictly", "internal/connect/mcp:Call", "internal/connect/mcp:ask", "internal/connect/mcp:document",
			"internal/connect/mcp:onTheWeb", "internal/connect/mcp:parseEntry", "internal/connect/mcp:readAnswer", "internal/connect/mcp:readable",
			"internal/connect/mcp:takeFrom", "internal/models/openai:decode",
			"internal/server/mcpserver:readFor",
			"services/calls:fit", "services/calls:overMCP", "services/calls:stringOf",
			"services/ingest:namesOtherTenant", "services/ingest/formats:splitDescriptorJSON", "services/ingest/sources:about", "services/ingest/sources/documents:catalog",
			"services/query/search:Handle", "services/standardizer/grounding", "services/standardizer/prompts", "services/standardizer/scripted",
		}},
		{"a text or raw JSON is all that it takes", []string{
			"internal/models/openai:jsonOf", "internal/server/mcpserver:text", "internal/server/mcpserver:read", "internal/tooldoc/toolschema:decodeArguments", "services/ingest:scalar",
		}},
		{"it is the counting decoder", []string{"internal/kit/jsondoc"}},
	}
}

func TestForeignJSONIsCounted(t *testing.T) {
	used := map[string]bool{}
	for _, file := range goFiles(t) {
		if _, product := roomOf(path.Dir(file)); !product || isTest(file) || strings.HasPrefix(file, "internal/lab/") {
			continue
		}
		for _, function := range decodes(t, file) {
			place := allowed(path.Dir(file), function)
			if used[place] = true; place == "" {
				t.Errorf("%s: %s decodes what jsondoc has not counted: use jsondoc.Unmarshal, or give the reason in uncounted", file, function)
			}
		}
	}
	for _, e := range uncounted() {
		for _, place := range e.places {
			if !used[place] {
				t.Errorf("%s decodes nothing any more, or another exception covers it: remove it from uncounted", place)
			}
		}
	}
}

// allowed returns the exception of a function, or "".
func allowed(dir, function string) string {
	for _, e := range uncounted() {
		for _, place := range e.places {
			if place == dir+":"+function || strings.HasPrefix(dir+"/", place+"/") {
				return place
			}
		}
	}
	return ""
}

// decodes returns the functions of a file that use a decoder.
func decodes(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), root(file), nil, parser.SkipObjectResolution)
	check.OK(t, err)
	all, named := decoders(), map[string][]string{}
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		check.OK(t, err)
		name := path.Base(strings.TrimSuffix(p, "/v3"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if all[p] != nil {
			named[name] = all[p]
		}
	}
	var out []string
	for _, decl := range parsed.Decls {
		name := "-"
		if f, ok := decl.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if ok && slices.Contains(named[x.Name], s.Sel.Name) {
				out = append(out, name)
			}
			return true
		})
	}
	return out
}
