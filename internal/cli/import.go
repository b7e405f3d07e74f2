package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/services/ingest/formats"
)

// knownFormats lists the values of --format.
func knownFormats() string {
	all := formats.Names()
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

func newImport(con *console) *cobra.Command {
	var o importer.Options
	cmd := &cobra.Command{
		Use:   "import PATH|URL...",
		Short: "Import tool documents: files, folders, globs, URLs, or - for standard input",
		Long: `Import tool documents in any format: MCP tools and tools/list answers, OpenAPI and
Swagger documents, OpenAI and Anthropic function schemas and server tools, A2A agent
cards, SKILL.md folders, LangChain tools, Postman collections, GraphQL schemas, protobuf
services, RapidAPI entries, model cards, Python signatures, any JSON object, and JSON
Lines of these. The format is found by itself; prose is taken from .md and .txt files,
or with --format text. Of a folder with a SKILL.md only that file is read; files that
refer to each other are read together. Unchanged documents cost nothing. Ends with counts, and with the
file, line and reason of each rejection.

A tool that belongs to another provider, or that a source lists, is rejected, unless
--take-over is given. If two files have other content under one id, the second is rejected.
--sync deletes the tools that the imported providers had before and that the import
lacks; --sync --dry-run lists them. Import all the files of a provider together.

Exit code 0: all accepted; 3: some documents were rejected or are dead letters.`,
		Example: `  toolstream import openapi.yaml
  toolstream import ./tools --wait
  toolstream import tools.json --provider github --sync
  curl -s https://example.com/openapi.json | toolstream import - --provider example
  toolstream import tools.json --provider github --sync --dry-run
  toolstream import registry/ --dry-run --json
  toolstream import registry/ --dry-run --estimate`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.DryRun && o.Wait {
				return program.Misused(cmd, "--dry-run sends nothing: it does not go with --wait")
			}
			if o.Estimate && !o.DryRun {
				return program.Misused(cmd, "--estimate goes with --dry-run")
			}
			if !formats.KnownFormat(o.Format) {
				return program.Misused(cmd, "--format is %q; it is one of %s", o.Format, knownFormats())
			}
			s, err := importer.Run(cmd.Context(), con.Terminal, con.client(), args, o)
			if err != nil {
				return err
			}
			if err := con.Show(s, func() { s.Print(con.Terminal, o) }); err != nil {
				return err
			}
			return s.Err()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Provider, "provider", "", "owner of the tools, whatever the documents say")
	flags.BoolVar(&o.TakeOver, "take-over", false, "tools that belong to another provider or a source change hands")
	flags.StringVar(&o.Format, "format", "auto", knownFormats())
	flags.BoolVar(&o.Sync, "sync", false, "also delete the tools that the imported providers no longer have")
	flags.BoolVar(&o.Wait, "wait", false, "wait until everything is searchable or a dead letter")
	flags.BoolVar(&o.DryRun, "dry-run", false, "read and check only, list what would be sent, and with --sync what would be deleted")
	flags.BoolVar(&o.Estimate, "estimate", false, "with --dry-run: how many calls and tokens a language model would take")
	completeProvider(con, cmd)
	program.Fixed(cmd, "format", formats.Names()...)
	return cmd
}
