package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestThePageLinksEveryExample(t *testing.T) {
	text := check.Value(os.ReadFile("../../docs/agents.md"))(t)
	files, err := filepath.Glob("../../examples/agents/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		if !strings.Contains(string(text), "](../examples/agents/"+filepath.Base(file)+")") {
			t.Errorf("docs/agents.md does not link %s", filepath.Base(file))
		}
	}
}
