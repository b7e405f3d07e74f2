package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
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
		{[]string{"help", "foo"}, `no command "foo"`},
		{[]string{"help", "dlq", "foo"}, `no command "dlq foo"`},
	} {
		var out, errOut strings.Builder
		args := append(c.args, "--server", "http://127.0.0.1:1")
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code != exitUsage || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("%q: exit code %d: %s", c.args, code, errOut.String())
		}
	}
	for _, args := range [][]string{{"help"}, {"help", "search"}, {"help", "dlq", "list"}} {
		var out, errOut strings.Builder
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code != exitDone || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%q: exit code %d: %s%s", args, code, out.String(), errOut.String())
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
	walk(newRoot(newConsole(strings.NewReader(""), io.Discard, io.Discard)))
	if count < 40 {
		t.Errorf("only %d commands were found", count)
	}
}
