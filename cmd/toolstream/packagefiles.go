package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newPackageFiles is hidden: the release calls it.
func newPackageFiles() *cobra.Command {
	return &cobra.Command{
		Use:    "package-files FOLDER",
		Short:  "Write the manual pages and completions that packages hold",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE:   func(cmd *cobra.Command, args []string) error { return writePackageFiles(cmd.Root(), args[0]) },
	}
}

// writePackageFiles writes man/*.1 and completions/* into a folder. The pages have the date
// of SOURCE_DATE_EPOCH.
func writePackageFiles(root *cobra.Command, folder string) error {
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
		"toolstream.bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_toolstream":     root.GenZshCompletionFile,
		"toolstream.fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
		"toolstream.ps1":  root.GenPowerShellCompletionFileWithDesc,
	} {
		if err := write(filepath.Join(completions, name)); err != nil {
			return fmt.Errorf("write the completion %s: %w", name, err)
		}
	}
	return nil
}
