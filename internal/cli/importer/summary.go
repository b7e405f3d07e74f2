package importer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/redact"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer"
)

// Summary is the outcome of an import.
type Summary struct {
	Accepted     int         `json:"accepted"`
	Unchanged    int         `json:"unchanged"`
	Stale        int         `json:"stale,omitempty"` // a newer source version is known
	Rejected     int         `json:"rejected"`
	TakenOver    int         `json:"taken_over,omitempty"` // tools that belonged to another provider
	Deleted      int         `json:"deleted,omitempty"`
	Indexed      *int        `json:"indexed,omitempty"`
	DeadLettered *int        `json:"dead_lettered,omitempty"`
	Errors       []Rejection `json:"errors"`

	Documents []Document `json:"documents,omitempty"` // of a dry run
	Missing   []string   `json:"missing,omitempty"`   // of a dry run: tools that sync would delete

	Estimate *standardizer.Estimate `json:"estimate,omitempty"`
}

// Document is a document that a dry run would send.
type Document struct {
	Kind     schema.Kind `json:"kind"`
	ID       string      `json:"id"`
	Provider string      `json:"provider,omitempty"`
	Format   string      `json:"format,omitempty"`
	Delete   bool        `json:"delete,omitempty"`
	Fields   []string    `json:"fields,omitempty"`   // that are filled
	Coverage float64     `json:"coverage,omitempty"` // share of the prose's words that are in a field
}

// Rejection is a document that was not accepted.
type Rejection struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

func (s *Summary) failed(name string, line int, id, reason string) {
	s.Rejected++
	s.Errors = append(s.Errors, Rejection{redact.Text(name), line, id, redact.Text(reason)})
}

// Err is the error that an import ends with: nil if every document was accepted.
func (s *Summary) Err() error {
	dead := 0
	if s.DeadLettered != nil {
		dead = *s.DeadLettered
	}
	if s.Rejected == 0 && dead == 0 {
		return nil
	}
	return program.PartlyError(s.Accepted+s.Unchanged+s.Stale, fmt.Errorf("%d rejected, %d dead letters", s.Rejected, dead))
}

// shownErrors bounds the rejected documents that are listed on a terminal.
const shownErrors = 20

// Print prints the summary of an import for people.
func (s *Summary) Print(t *program.Terminal, o Options) {
	if o.DryRun {
		s.printDryRun(t, o.Sync)
	}
	for n, e := range s.Errors {
		if n == shownErrors {
			t.Notef("… and %d more; --json lists the first 1000 of each file\n", s.Rejected-n)
			break
		}
		t.Notef("%s\n", e.String())
	}
	t.Printf("accepted %d, unchanged %d, rejected %d", s.Accepted, s.Unchanged, s.Rejected)
	if s.TakenOver > 0 {
		t.Printf(", taken over from other providers %d", s.TakenOver)
	}
	if s.Stale > 0 {
		t.Printf(", stale %d (a newer source version is known)", s.Stale)
	}
	if s.Deleted > 0 {
		t.Printf(", deleted %d", s.Deleted)
	}
	if s.Indexed != nil {
		t.Printf(", indexed %d, dead-lettered %d", *s.Indexed, *s.DeadLettered)
	}
	t.Printf("\n")
	if e := s.Estimate; e != nil {
		t.Printf("a language model would be asked %d times about %d tools: about %d tokens of prompts and %d of answers\n",
			e.Calls, e.Tools, e.PromptTokens, e.CompletionTokens)
		t.Printf("Questions that it has answered before are not asked again; this estimate does not know them. Repairs come on top.\n")
		if e.Flagged > 0 {
			t.Printf("%d tools have instructions in their text\n", e.Flagged)
		}
	}
}

// printDryRun lists the documents that would be sent, and the tools that sync would delete.
func (s *Summary) printDryRun(t *program.Terminal, sync bool) {
	table := program.NewTable("ID", "PROVIDER", "FORMAT", "FIELDS", "COVERAGE")
	for _, d := range s.Documents {
		if d.Delete {
			table.Add(d.ID, d.Provider, "(delete)", "", "")
			continue
		}
		table.Add(d.ID, d.Provider, d.Format, strings.Join(d.Fields, ","), fmt.Sprintf("%.2f", d.Coverage))
	}
	t.PrintTable(table)
	for _, id := range s.Missing {
		t.Printf("would delete %s\n", program.OneLine(id))
	}
	if sync {
		t.Printf("sync would delete %d\n", len(s.Missing))
	}
}

// String returns the place of the document and the reason of its rejection.
func (e Rejection) String() string {
	text := cmp.Or(e.Source, "standard input")
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.ID != "" {
		text += ": " + program.OneLine(e.ID)
	}
	return text + ": " + program.OneLine(e.Reason)
}
