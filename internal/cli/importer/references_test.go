package importer

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// dryRun returns the ids that an import of a path would send, and what it refuses.
func dryRun(t *testing.T, path string) (ids []string, s *Summary) {
	t.Helper()
	s = check.Value(Run(t.Context(), &program.Terminal{Out: io.Discard, Err: io.Discard}, nil, []string{path}, Options{DryRun: true}))(t)
	for _, d := range s.Documents {
		ids = append(ids, d.ID)
	}
	return ids, s
}

func TestFilesThatReferToEachOtherAreReadTogether(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"api/openapi.yaml":       "openapi: 3.0.0\ninfo: {title: Pets}\npaths:\n  /pets:\n    $ref: paths/pets.yaml\n",
		"api/paths/pets.yaml":    "get:\n  responses: {}\n",
		"shop/v1/orders.proto":   "syntax = \"proto3\";\npackage shop.v1;\nimport \"shop/v1/money.proto\";\nservice Orders { rpc Pay(Money) returns (Money); }\n",
		"shop/v1/money.proto":    "syntax = \"proto3\";\npackage shop.v1;\nmessage Money { int64 cents = 1; }\n",
		"pdf/SKILL.md":           "---\nname: pdf\ndescription: Fills in forms.\n---\nRead.\n",
		"pdf/reference/forms.md": "# Forms",
		"alone.json":             `{"name":"alone","inputSchema":{}}`,
		"graph/query.graphql":    "type Query { product(id: ID!): Product }",
		"graph/product.graphql":  "type Product { name: String! }",
	} {
		path := filepath.Join(folder, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for path, want := range map[string]string{
		"": "alone,pdf,pets/GET /pets,shop.v1/Orders/Pay,graph/Query.product", "api/openapi.yaml": "pets/GET /pets", "alone.json": "alone",
	} {
		ids, s := dryRun(t, filepath.Join(folder, path))
		if strings.Join(ids, ",") != want || len(s.Errors) > 0 {
			t.Errorf("%q: %q, %v", path, ids, s.Errors)
		}
	}
}
