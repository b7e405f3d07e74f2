package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The documentation has every example, word for word, and says where it is.
func TestTheDocumentationHasTheExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../examples/agents/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		program, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(program), "\n") // behind what it is
		if !strings.Contains(string(text), "\n"+code+"```\n") || !strings.Contains(string(text), "](../examples/agents/"+filepath.Base(file)+")") {
			t.Errorf("docs/agents.md does not have %s as it is", filepath.Base(file))
		}
	}
}
