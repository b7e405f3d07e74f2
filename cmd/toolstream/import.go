package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/redact"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer"
)

// importFlags are the flags of import.
type importFlags struct {
	provider string
	takeOver bool
	format   string
	sync     bool
	wait     bool
	dryRun   bool
	cost     bool
}

// summary is what import ends with.
type summary struct {
	Accepted     int           `json:"accepted"`
	Unchanged    int           `json:"unchanged"`
	Stale        int           `json:"stale,omitempty"` // a newer source version is known
	Rejected     int           `json:"rejected"`
	TakenOver    int           `json:"taken_over,omitempty"` // tools that belonged to another provider
	Deleted      int           `json:"deleted,omitempty"`
	Indexed      *int          `json:"indexed,omitempty"`
	DeadLettered *int          `json:"dead_lettered,omitempty"`
	Errors       []importError `json:"errors"`

	Documents []importDocument `json:"documents,omitempty"` // of a dry run
	Missing   []string         `json:"missing,omitempty"`   // of a dry run: tools that sync would delete

	Estimate *standardizer.Estimate `json:"estimate,omitempty"`
}

// importDocument is a document that a dry run would send.
type importDocument struct {
	Kind     schema.Kind `json:"kind"`
	ID       string      `json:"id"`
	Provider string      `json:"provider,omitempty"`
	Format   string      `json:"format,omitempty"`
	Delete   bool        `json:"delete,omitempty"`
	Fields   []string    `json:"fields,omitempty"`   // that are filled
	Coverage float64     `json:"coverage,omitempty"` // share of the words of the prose that stand in a field
}

// importError is a document that was rejected.
type importError struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

func (s *summary) failed(name string, line int, id, reason string) {
	s.Rejected++
	s.Errors = append(s.Errors, importError{redact.Text(name), line, id, redact.Text(reason)})
}

// knownFormats lists what --format may say.
func knownFormats() string {
	all := formats.Names()
	return strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
}

func newImport(con *console) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import PATH|URL...",
		Short: "Import tool documents: files, folders, globs, URLs, or - for standard input",
		Long: `Import tool documents in any format: MCP tools and tools/list answers, OpenAPI and
Swagger documents, OpenAI and Anthropic function schemas and server tools, A2A agent
cards, SKILL.md folders, LangChain tools, Postman collections, GraphQL schemas, protobuf
services, RapidAPI entries, model cards, Python signatures, any JSON object, and JSON
Lines of these. The format is found by itself; prose is taken from .md and .txt files,
or with --format text. Of a folder with a SKILL.md only that file is read; files that
refer to each other are read together. What is unchanged costs nothing. Ends with counts, and with the
file, line and reason of what was rejected.

A tool that belongs to another provider is rejected, unless --take-over is given.
--sync deletes the tools that the imported providers had before and that the import
lacks; --sync --dry-run lists them.

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
			if f.dryRun && f.wait {
				return misused(cmd, "--dry-run sends nothing: it does not go with --wait")
			}
			if f.cost && !f.dryRun {
				return misused(cmd, "--estimate goes with --dry-run")
			}
			if !formats.KnownFormat(f.format) {
				return misused(cmd, "--format is %q; it is one of %s", f.format, knownFormats())
			}
			s, err := con.importAll(cmd.Context(), args, f)
			if err != nil {
				return err
			}
			if err := con.show(s, func() { con.printSummary(s, f) }); err != nil {
				return err
			}
			return s.outcome()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.provider, "provider", "", "owner of the tools, whatever the documents say")
	flags.BoolVar(&f.takeOver, "take-over", false, "tools that belong to another provider change hands")
	flags.StringVar(&f.format, "format", "auto", knownFormats())
	flags.BoolVar(&f.sync, "sync", false, "also delete the tools that the imported providers no longer have")
	flags.BoolVar(&f.wait, "wait", false, "wait until everything is searchable or a dead letter")
	flags.BoolVar(&f.dryRun, "dry-run", false, "read and check only, list what would be sent, and with --sync what would be deleted")
	flags.BoolVar(&f.cost, "estimate", false, "with --dry-run: how many calls and tokens a language model would take")
	completeProvider(con, cmd)
	fixed(cmd, "format", formats.Names()...)
	return cmd
}

// outcome is the error that import ends with.
func (s *summary) outcome() error {
	dead := 0
	if s.DeadLettered != nil {
		dead = *s.DeadLettered
	}
	if s.Rejected == 0 && dead == 0 {
		return nil
	}
	return unlessNothing(s.Accepted+s.Unchanged+s.Stale, fmt.Errorf("%d rejected, %d dead letters", s.Rejected, dead))
}

// importAll imports every source, synchronises and waits, as the flags say.
// An error means that the rest was not tried.
func (c *console) importAll(ctx context.Context, args []string, f importFlags) (*summary, error) {
	all, err := c.sources(args)
	if err != nil {
		return nil, err
	}
	i := newImporter(c, f, all)
	defer i.progress.finish()
	for _, src := range all {
		if err := i.one(ctx, src); err != nil {
			switch {
			case ctx.Err() != nil && f.dryRun:
				return nil, errors.New("interrupted")
			case ctx.Err() != nil:
				err = errInterrupted
			}
			return nil, fmt.Errorf("%s: %w (%d accepted and %d unchanged until then)", cmp.Or(src.name, "standard input"), err, i.summary.Accepted, i.summary.Unchanged)
		}
	}
	if f.sync {
		if err := i.sync(ctx); err != nil {
			return nil, fmt.Errorf("sync: %w", err)
		}
	}
	i.progress.finish()
	if f.wait {
		if err := i.wait(ctx); err != nil {
			return nil, fmt.Errorf("wait: %w", err)
		}
	}
	return &i.summary, nil
}

// shownErrors is how many rejected documents are listed on a terminal.
const shownErrors = 20

func (c *console) printSummary(s *summary, f importFlags) {
	if f.dryRun {
		c.printDryRun(s, f)
	}
	for n, e := range s.Errors {
		if n == shownErrors {
			c.notef("… and %d more; --json lists them all\n", len(s.Errors)-n)
			break
		}
		c.notef("%s\n", e.String())
	}
	c.printf("accepted %d, unchanged %d, rejected %d", s.Accepted, s.Unchanged, s.Rejected)
	if s.TakenOver > 0 {
		c.printf(", taken over from other providers %d", s.TakenOver)
	}
	if s.Stale > 0 {
		c.printf(", stale %d (a newer source version is known)", s.Stale)
	}
	if s.Deleted > 0 {
		c.printf(", deleted %d", s.Deleted)
	}
	if s.Indexed != nil {
		c.printf(", indexed %d, dead-lettered %d", *s.Indexed, *s.DeadLettered)
	}
	c.printf("\n")
	if e := s.Estimate; e != nil {
		c.printf("a language model would be asked %d times about %d tools: about %d tokens of prompts and %d of answers\n",
			e.Calls, e.Tools, e.PromptTokens, e.CompletionTokens)
		c.printf("Questions that it has answered before are not asked again; this estimate does not know them. Repairs come on top.\n")
		if e.Flagged > 0 {
			c.printf("%d tools have instructions in their text\n", e.Flagged)
		}
	}
}

// printDryRun lists what would be sent, and what sync would delete.
func (c *console) printDryRun(s *summary, f importFlags) {
	t := newTable("ID", "PROVIDER", "FORMAT", "FIELDS", "COVERAGE")
	for _, d := range s.Documents {
		if d.Delete {
			t.add(d.ID, d.Provider, "(delete)", "", "")
			continue
		}
		t.add(d.ID, d.Provider, d.Format, strings.Join(d.Fields, ","), fmt.Sprintf("%.2f", d.Coverage))
	}
	c.printTable(t)
	for _, id := range s.Missing {
		c.printf("would delete %s\n", oneLine(id))
	}
	if f.sync {
		c.printf("sync would delete %d\n", len(s.Missing))
	}
}

func (e importError) String() string {
	text := cmp.Or(e.Source, "standard input")
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.ID != "" {
		text += ": " + oneLine(e.ID)
	}
	return text + ": " + oneLine(e.Reason)
}

var errInterrupted = errors.New("interrupted: what has no answer may or may not be accepted; import again")

var errCutOff = errors.New("the server's answer ended early: what has no answer may or may not be accepted; import again")
