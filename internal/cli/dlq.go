package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/client"
)

func newDLQ(con *console) *cobra.Command {
	return program.Group(&cobra.Command{Use: "dlq", Short: "List, show, replay and drop what could not be processed"},
		newDLQList(con), newDLQShow(con),
		newDLQDecide(con, "replay", "Process records again, once the cause is mended"),
		newDLQDecide(con, "drop", "Give records up"))
}

func newDLQList(con *console) *cobra.Command {
	var stage, reason, state string
	var limit int
	states := []string{"open", "replayed", "superseded", "dropped", "all"}
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, newest first", Args: cobra.NoArgs,
		Example: "  toolstream dlq list --stage standardizer\n  toolstream dlq list --state all --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := program.KnownWord(cmd, "--state", state, states...); err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return program.Misused(cmd, "--limit is %d; it is 1 to 1000", limit)
			}
			var page struct {
				Letters   []deadletter.Letter `json:"letters"`
				Total     int                 `json:"total"`
				Forgotten int                 `json:"forgotten,omitempty"`
				Reasons   []struct {
					Reason string `json:"reason"`
					Stage  string `json:"stage"`
					Open   int    `json:"open"`
				} `json:"reasons"`
			}
			query := given("stage", stage, "reason", reason, "state", state, "limit", strconv.Itoa(limit))
			if err := con.client().Get(cmd.Context(), "/v1/dlq", query, &page); err != nil {
				return err
			}
			return con.Show(page, func() {
				t := program.NewTable("ID", "STATE", "FAILED", "STAGE", "REASON", "KEY", "DETAIL…")
				for _, l := range page.Letters {
					t.Add(l.ID, l.State, l.Failed.Local().Format(time.DateTime), l.Stage, l.Reason, l.Key, l.Detail)
				}
				con.PrintTable(t)
				con.Notef("%d of %d dead letters\n", len(page.Letters), page.Total)
				for _, r := range page.Reasons {
					con.Notef("%d open of %s: %s\n", r.Open, r.Stage, r.Reason)
				}
				noteForgotten(con, page.Forgotten)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&stage, "stage", "", "only of this stage")
	flags.StringVar(&reason, "reason", "", "only for this reason")
	flags.StringVar(&state, "state", "open", "open, replayed, superseded, dropped or all")
	flags.IntVar(&limit, "limit", 100, "how many, 1 to 1000")
	program.Fixed(cmd, "state", states...)
	return cmd
}

// given returns the parameters that have a value; pairs alternates names and values.
func given(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// noteForgotten notes that there are more letters than the server has memory for.
func noteForgotten(con *console, letters int) {
	if letters > 0 {
		con.Notef("%d open dead letters more are not in the server's memory: they come once others are replayed or dropped\n", letters)
	}
}

func newDLQShow(con *console) *cobra.Command {
	var document bool
	cmd := &cobra.Command{
		Use: "show ID", ValidArgsFunction: completeDeadLetters(con), Short: "Show a dead letter and the record it holds", Args: cobra.ExactArgs(1),
		Example: "  toolstream dlq show ID --document > tool.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			var l struct {
				deadletter.Letter
				Kind     string               `json:"kind,omitempty"`
				Entity   string               `json:"entity,omitempty"`
				Provider string               `json:"provider,omitempty"`
				Format   string               `json:"format,omitempty"`
				Document string               `json:"document,omitempty"`
				Location *deadletter.Location `json:"location,omitempty"`
				Headers  map[string]string    `json:"headers,omitempty"`
				Original []byte               `json:"original,omitempty"`
				Text     string               `json:"text,omitempty"`
			}
			if err := con.client().Get(cmd.Context(), client.Path("/v1/dlq", args[0]), nil, &l); err != nil {
				return err
			}
			if document {
				if l.Document == "" {
					return errors.New("the dead letter holds no document that can be read")
				}
				con.Printf("%s\n", l.Document)
				return nil
			}
			return con.Show(l, func() {
				con.PrintName(l.ID)
				record, place := l.Text, ""
				if at := l.Location; at != nil {
					place = strings.TrimSpace(fmt.Sprintf("line %d, column %d %s", at.Line, at.Column, at.Pointer))
				}
				if record == "" && len(l.Original) > 0 {
					record = fmt.Sprintf("%d bytes of binary data; --json has them in base64", len(l.Original))
				}
				con.PrintPairs(
					"id", fmt.Sprintf("%s (%s)", l.ID, l.State), "key", fmt.Sprintf("%s at revision %d", l.Key, l.Revision),
					"stage", fmt.Sprintf("%s, from %s", l.Stage, l.Topic), "reason", l.Reason, "detail", l.Detail, "place", place, "provider", l.Provider, "format", l.Format,
					"attempts", fmt.Sprintf("%d, the last at %s", l.Attempts, l.Failed.Local().Format(time.DateTime)), "record", record,
				)
			})
		},
	}
	cmd.Flags().BoolVar(&document, "document", false, "print nothing but the document, to edit it")
	return cmd
}

// newDLQDecide makes the commands that close letters, by id or all that match.
func newDLQDecide(con *console, verb, short string) *cobra.Command {
	var all bool
	var stage, reason, document string
	cmd := &cobra.Command{
		Use: verb + " [ID...]", ValidArgsFunction: completeDeadLetters(con), Short: short,
		Example: fmt.Sprintf("  toolstream dlq %s ID\n  toolstream dlq %s --all --reason bad_vector", verb, verb),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return program.Misused(cmd, "name the letters, or say --all")
			}
			if document != "" && len(args) != 1 {
				return program.Misused(cmd, "--document goes with one letter")
			}
			if all {
				return decideAll(con, cmd, verb, given("stage", stage, "reason", reason))
			}
			if stage != "" || reason != "" {
				return program.Misused(cmd, "--stage and --reason go with --all: letters that are named are decided whatever they are")
			}
			if document != "" {
				return replayEdited(con, cmd, args[0], document)
			}
			return decideLetters(con, cmd, verb, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every open letter that matches")
	cmd.Flags().StringVar(&stage, "stage", "", "with --all: only of this stage")
	cmd.Flags().StringVar(&reason, "reason", "", "with --all: only for this reason")
	if verb == "replay" {
		cmd.Example += "\n  toolstream dlq replay ID --document tool.json"
		cmd.Flags().StringVar(&document, "document", "", "`FILE` with the edited document of one letter, which is accepted in place of the record; - for standard input")
	}
	return cmd
}

// replayEdited closes a letter by a document in place of its record.
func replayEdited(con *console, cmd *cobra.Command, id, file string) error {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == fromStdin {
		read = func() ([]byte, error) { return io.ReadAll(con.In) }
	}
	document, err := read()
	if err != nil {
		return err
	}
	var d deadletter.Decision
	body := map[string]string{"document": string(document)}
	if err := con.client().Post(cmd.Context(), client.Path("/v1/dlq", id)+"/replay", body, &d); err != nil {
		return err
	}
	return con.Show(d, func() { printDecision(con, d) })
}

// printDecision prints the outcome of closing a letter.
func printDecision(con *console, d deadletter.Decision) {
	switch {
	case d.Error != "":
		con.Notef("%s: %s\n", d.ID, program.OneLine(d.Error))
	case d.Revision > 0:
		con.Printf("%s: %s, %s %s at revision %d\n", d.ID, d.State, d.Kind, program.OneLine(d.Entity), d.Revision)
	default:
		con.Printf("%s: %s\n", d.ID, d.State)
	}
}

// decideLetters closes letters by their ids, one after the other. A failure does not stop the
// others.
func decideLetters(con *console, cmd *cobra.Command, verb string, ids []string) error {
	var all []deadletter.Decision
	failed := 0
	for _, id := range ids {
		d := deadletter.Decision{ID: id}
		path := client.Path("/v1/dlq", id)
		var err error
		if verb == "replay" {
			err = con.client().Post(cmd.Context(), path+"/replay", nil, &d)
		} else {
			err = con.client().Delete(cmd.Context(), path, &d)
		}
		about := (*client.Problem)(nil)
		if err != nil && (len(ids) == 1 || !errors.As(err, &about) || about.Status != http.StatusNotFound && about.Status != http.StatusConflict) {
			return fmt.Errorf("%s: %w", id, err)
		}
		if err != nil {
			d.Error = about.Text()
			failed++
		}
		all = append(all, d)
	}
	var value any = all
	if len(all) == 1 {
		value = all[0]
	}
	err := con.Show(value, func() {
		for _, d := range all {
			printDecision(con, d)
		}
	})
	if err != nil {
		return err
	}
	return undecided(len(all)-failed, failed)
}

// undecided is the error of a command that could not close every letter.
func undecided(done, failed int) error {
	if failed == 0 {
		return nil
	}
	return program.PartlyError(done, fmt.Errorf("%d of %d could not be done", failed, done+failed))
}

// shownErrors bounds the printed failures.
const shownErrors = 20

// decideAll repeats the bulk call until it has reached every matching letter that existed at
// the start.
func decideAll(con *console, cmd *cobra.Command, verb string, query url.Values) error {
	var sum struct {
		Done      int `json:"done"`
		Failed    int `json:"failed"`
		Forgotten int `json:"forgotten,omitempty"`
	}
	for {
		var part struct {
			Done      int
			Failed    []deadletter.Decision
			Cursor    string
			Forgotten int
		}
		body, _, err := con.client().Send(cmd.Context(), http.MethodPost, "/v1/dlq:"+verb, query, "", nil)
		if err != nil {
			return err
		}
		if err := errors.Join(json.NewDecoder(body).Decode(&part), body.Close()); err != nil {
			return err
		}
		for n, d := range part.Failed {
			if sum.Failed+n < shownErrors {
				con.Notef("%s: %s\n", d.ID, program.OneLine(d.Error))
			}
		}
		sum.Done += part.Done
		sum.Failed += len(part.Failed)
		sum.Forgotten = max(sum.Forgotten, part.Forgotten)
		if part.Cursor == "" {
			break
		}
		if part.Cursor == query.Get("cursor") {
			return fmt.Errorf("the bus fails, %d done and %d failed so far: try again later", sum.Done, sum.Failed)
		}
		query.Set("cursor", part.Cursor)
	}
	err := con.Show(sum, func() {
		con.Printf("%d done, %d failed\n", sum.Done, sum.Failed)
		noteForgotten(con, sum.Forgotten)
	})
	if err != nil {
		return err
	}
	return undecided(sum.Done, sum.Failed)
}
