package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
)

// What is wrong with a call is said before anybody is asked, by the name that the caller
// has for it.
func TestWrongValuesAreWrongUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"search", "x", "--rank", "foo"}, `--rank is "foo"`},
		{[]string{"search", "x", "--rewrite", "foo"}, `--rewrite is "foo"`},
		{[]string{"search", "x", "--rerank", "foo"}, `--rerank is "foo"`},
		{[]string{"search", ""}, "QUERY"},
		{[]string{"search", "--step", " "}, "must not be empty"},
		{[]string{"feedback", "s", "t", "liked"}, `EVENT is "liked"`},
		{[]string{"feedback", "s", "", "called"}, "TOOL_ID"},
		{[]string{"dlq", "list", "--state", "foo"}, `--state is "foo"; it is one of open`},
		{[]string{"dlq", "list", "--limit", "0"}, "--limit is 0"},
		{[]string{"dlq", "list", "--limit", "1001"}, "--limit is 1001"},
		{[]string{"serve", "query", "foo"}, `SERVICE is "foo"; it is one of ingest`},
		{[]string{"serach", "ferry"}, "serach"},
		{[]string{"tools", "shwo"}, "shwo"},
		{[]string{"search", "x", "-k", "many"}, "many"},
		{[]string{"search"}, "search --help"},
		{[]string{"feedback", "a", "b"}, "feedback --help"},
		{[]string{"tools", "list", "--limit", "-2"}, "--limit"},
		{[]string{"dlq", "replay"}, "--all"},
		{[]string{"import", "usage_test.go", "--dry-run", "--wait"}, "--dry-run"},
		{[]string{"import", "usage_test.go", "--dry-run", "--format", "docx"}, "docx"},
		{[]string{"up", "--log-level", "loud"}, "log.level"},
		{[]string{"help", "foo"}, `command "foo" does not exist`},
		{[]string{"help", "dlq", "foo"}, `command "dlq foo" does not exist`},
	} {
		if code, _, errOut := called(t, append(c.args, "--server", "http://127.0.0.1:1")...); code != program.Usage || !strings.Contains(errOut, c.says) {
			t.Errorf("%q: exit code %d: %s", c.args, code, errOut)
		}
	}
	for _, args := range [][]string{{"help"}, {"help", "search"}, {"help", "dlq", "list"}} {
		if code, out, errOut := called(t, args...); code != program.Done || !strings.Contains(out, "Usage:") {
			t.Errorf("%q: exit code %d: %s%s", args, code, out, errOut)
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	count := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		count++
		if len(strings.Fields(cmd.Short)) < 2 {
			t.Errorf("%s says of itself only %q", cmd.CommandPath(), cmd.Short)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(NewRoot(program.NewTerminal(strings.NewReader(""), io.Discard, io.Discard)))
	if count < 40 {
		t.Errorf("only %d commands were found", count)
	}
}
