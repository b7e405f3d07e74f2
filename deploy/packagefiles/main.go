// Command packagefiles writes the manual pages and completions of packages into a folder:
// man and completions of toolstream, and the same of toolstream-lab below lab.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/toolstream/toolstream/internal/cli"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/commands"
)

func main() {
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "packagefiles:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	t := program.NewTerminal(nil, io.Discard, io.Discard)
	if err := writeProgram(cli.NewRoot(t), folder); err != nil {
		return err
	}
	return writeProgram(commands.NewRoot(t), filepath.Join(folder, "lab"))
}

// writeProgram writes man/*.1 and completions/* into a folder. The pages have the date of
// SOURCE_DATE_EPOCH.
func writeProgram(root *cobra.Command, folder string) error {
	man, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	for _, dir := range []string{man, completions} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Source: "toolstream", Manual: "toolstream"}, man); err != nil {
		return fmt.Errorf("write the manual pages: %w", err)
	}
	for name, write := range map[string]func(string) error{
		root.Name() + ".bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_" + root.Name():     root.GenZshCompletionFile,
		root.Name() + ".fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
		root.Name() + ".ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(completions, name)); err != nil {
			return fmt.Errorf("write the completion %s: %w", name, err)
		}
	}
	return nil
}
