package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer"
)

// importFlags are the flags of import.
type importFlags struct {
	agent  string
	format string
	sync   bool
	wait   bool
	dryRun bool
	cost   bool
}

// summary is what import ends with.
type summary struct {
	Accepted     int            `json:"accepted"`
	Unchanged    int            `json:"unchanged"`
	Stale        int            `json:"stale,omitempty"` // a newer source version is known
	Rejected     int            `json:"rejected"`
	Deleted      int            `json:"deleted,omitempty"`
	Indexed      *int           `json:"indexed,omitempty"`
	DeadLettered *int           `json:"dead_lettered,omitempty"`
	Errors       []importFailed `json:"errors"`

	Estimate *standardizer.Estimate `json:"estimate,omitempty"`
}

// importFailed is one document that was not taken.
type importFailed struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

func (s *summary) failed(name string, line int, id, reason string) {
	s.Rejected++
	s.Errors = append(s.Errors, importFailed{name, line, id, reason})
}

// knownFormats lists what --format may say.
const knownFormats = "auto, mcp, openapi, function, rapidapi, card, python, json, text or agent"

func newImport(con *console) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import PATH|URL...",
		Short: "Import tool documents: files, folders, globs, URLs, or - for standard input",
		Long: `Import tool documents in any format: MCP tools and tools/list answers, OpenAPI and
Swagger documents, OpenAI and Anthropic function schemas, RapidAPI entries, model
cards, Python signatures, any JSON object, prose, and JSON Lines of these. The format
is found by itself. What is unchanged costs nothing. Ends with counts, and with the
file, line and reason of what was rejected.

Exit code 0: all taken; 3: some documents were rejected or are in the dead letters.`,
		Example: `  toolstream import openapi.yaml
  toolstream import ./tools --wait
  toolstream import tools.json --agent github --sync
  curl -s https://example.com/openapi.json | toolstream import - --agent example
  toolstream import registry/ --dry-run --json
  toolstream import registry/ --dry-run --estimate`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.dryRun && (f.sync || f.wait) {
				return misused(cmd, "--dry-run sends nothing: it does not go with --sync or --wait")
			}
			if f.cost && !f.dryRun {
				return misused(cmd, "--estimate goes with --dry-run")
			}
			if !formats.KnownFormat(f.format) {
				return misused(cmd, "--format is %q; it is one of %s", f.format, knownFormats)
			}
			s, err := con.importAll(cmd.Context(), args, f)
			if err != nil {
				return fmt.Errorf("import: %w", err)
			}
			if con.json {
				if err := con.printJSON(s); err != nil {
					return err
				}
			} else {
				con.printSummary(s)
			}
			return s.outcome()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.agent, "agent", "", "owner of the tools, whatever the documents say")
	flags.StringVar(&f.format, "format", "auto", knownFormats)
	flags.BoolVar(&f.sync, "sync", false, "also delete what the agents that are imported no longer have")
	flags.BoolVar(&f.wait, "wait", false, "wait until everything is searchable or in the dead letters")
	flags.BoolVar(&f.dryRun, "dry-run", false, "read and check only; send nothing")
	flags.BoolVar(&f.cost, "estimate", false, "with --dry-run: how many calls and tokens a language model would take")
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
	return unlessNothing(s.Accepted+s.Unchanged+s.Stale, fmt.Errorf("import: %d rejected, %d in the dead letters", s.Rejected, dead))
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
			if ctx.Err() != nil {
				err = errInterrupted
			}
			return nil, fmt.Errorf("%s: %w (%d accepted and %d unchanged until then)", src.label(), err, i.summary.Accepted, i.summary.Unchanged)
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

func (s source) label() string {
	if s.name == "" {
		return "standard input"
	}
	return s.name
}

// shownErrors is how many rejected documents are listed on a terminal.
const shownErrors = 20

func (c *console) printSummary(s *summary) {
	for n, e := range s.Errors {
		if n == shownErrors {
			c.notef("… and %d more; --json lists them all\n", len(s.Errors)-n)
			break
		}
		c.notef("%s\n", e.String())
	}
	c.printf("accepted %d, unchanged %d, rejected %d", s.Accepted, s.Unchanged, s.Rejected)
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
		c.printf("What it was asked before is not asked again; that can not be known here. Repairs come on top.\n")
		if e.Flagged > 0 {
			c.printf("%d tools have instructions in their text\n", e.Flagged)
		}
	}
}

func (e importFailed) String() string {
	text := e.Source
	if text == "" {
		text = "standard input"
	}
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
