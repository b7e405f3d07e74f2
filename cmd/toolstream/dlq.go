package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/client"
)

// letter is a dead letter as the server shows it.
type letter struct {
	ID       string            `json:"id"`
	State    string            `json:"state"`
	Stage    string            `json:"stage"`
	Topic    string            `json:"topic"`
	Key      string            `json:"key"`
	Revision uint64            `json:"revision,omitempty"`
	Reason   string            `json:"reason"`
	Detail   string            `json:"detail"`
	Attempts int               `json:"attempts"`
	Failed   time.Time         `json:"failed"`
	Headers  map[string]string `json:"headers,omitempty"`
	Original []byte            `json:"original,omitempty"`
	Text     string            `json:"text,omitempty"`
}

func newDLQ(con *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "List, show, replay and drop what could not be processed",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDLQList(con), newDLQShow(con),
		newDLQDecide(con, "replay", "Process records again, once the cause is mended"),
		newDLQDecide(con, "drop", "Give records up"))
	return cmd
}

func newDLQList(con *console) *cobra.Command {
	query := url.Values{}
	var stage, reason, state string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List dead letters, newest first", Args: cobra.NoArgs,
		Example: "  toolstream dlq list --stage standardizer\n  toolstream dlq list --state all --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := knownWord(cmd, "--state", state, "open", "replayed", "superseded", "dropped", "all"); err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return misused(cmd, "--limit is %d; it is 1 to 1000", limit)
			}
			for k, v := range map[string]string{"stage": stage, "reason": reason, "state": state, "limit": strconv.Itoa(limit)} {
				query.Set(k, v)
			}
			maps.DeleteFunc(query, func(_ string, v []string) bool { return v[0] == "" })
			var page struct {
				Letters   []letter `json:"letters"`
				Total     int      `json:"total"`
				Forgotten int      `json:"forgotten,omitempty"`
			}
			if err := con.client().Get(cmd.Context(), "/v1/dlq", query, &page); err != nil {
				return fmt.Errorf("dlq list: %w", err)
			}
			if con.json {
				return con.printJSON(page)
			}
			con.printLetters(page.Letters, page.Total)
			con.noteForgotten(page.Forgotten)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&stage, "stage", "", "only of this stage")
	flags.StringVar(&reason, "reason", "", "only for this reason")
	flags.StringVar(&state, "state", "open", "open, replayed, superseded, dropped or all")
	flags.IntVar(&limit, "limit", 100, "how many, 1 to 1000")
	return cmd
}

func (c *console) printLetters(letters []letter, total int) {
	t := newTable("ID", "FAILED", "STAGE", "REASON", "KEY…", "DETAIL…")
	for _, l := range letters {
		t.add(l.ID, l.Failed.Local().Format(time.DateTime), l.Stage, l.Reason, l.Key, l.Detail)
	}
	t.print(c.out, c.width())
	c.notef("%d of %d dead letters\n", len(letters), total)
}

// noteForgotten says that there is more than the server has memory for.
func (c *console) noteForgotten(letters int) {
	if letters > 0 {
		c.notef("%d open dead letters more are not in the server's memory: they come once others are replayed or dropped\n", letters)
	}
}

func newDLQShow(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a dead letter and the record it holds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var l letter
			if err := con.client().Get(cmd.Context(), client.Path("/v1/dlq", args[0]), nil, &l); err != nil {
				return fmt.Errorf("dlq show: %w", err)
			}
			if con.json {
				return con.printJSON(l)
			}
			con.printf("id        %s (%s)\nkey       %s at revision %d\nstage     %s, from %s\nreason    %s\ndetail    %s\nattempts  %d, the last at %s\n",
				l.ID, l.State, oneLine(l.Key), l.Revision, l.Stage, l.Topic, l.Reason, oneLine(l.Detail), l.Attempts, l.Failed.Local().Format(time.DateTime))
			if l.Text != "" {
				con.printf("record    %s\n", oneLine(l.Text))
			} else if len(l.Original) > 0 {
				con.printf("record    %d bytes that are no text; --json has them in base64\n", len(l.Original))
			}
			return nil
		},
	}
}

// newDLQDecide makes the commands that close letters, by id or all that match.
func newDLQDecide(con *console, verb, short string) *cobra.Command {
	var all bool
	var stage, reason string
	cmd := &cobra.Command{
		Use: verb + " [ID...]", Short: short,
		Example: fmt.Sprintf("  toolstream dlq %s ID\n  toolstream dlq %s --all --reason bad_vector", verb, verb),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return misused(cmd, "name the letters, or say --all")
			}
			if all {
				return con.decideAll(cmd, verb, url.Values{"stage": {stage}, "reason": {reason}})
			}
			if stage != "" || reason != "" {
				return misused(cmd, "--stage and --reason go with --all: letters that are named are decided whatever they are")
			}
			return con.decide(cmd, verb, args)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every open letter that matches")
	cmd.Flags().StringVar(&stage, "stage", "", "with --all: only of this stage")
	cmd.Flags().StringVar(&reason, "reason", "", "with --all: only for this reason")
	return cmd
}

// decision is what became of a letter, or why nothing did.
type decision struct {
	ID    string `json:"id"`
	State string `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
}

// decide closes letters by their ids, one after the other. What can not be done with
// one does not keep the others back.
func (c *console) decide(cmd *cobra.Command, verb string, ids []string) error {
	var all []decision
	failed := 0
	for _, id := range ids {
		d := decision{ID: id}
		path := client.Path("/v1/dlq", id)
		var err error
		if verb == "replay" {
			err = c.client().Post(cmd.Context(), path+"/replay", nil, &d)
		} else {
			err = c.client().Delete(cmd.Context(), path, &d)
		}
		about := (*client.Problem)(nil)
		if err != nil && (len(ids) == 1 || !errors.As(err, &about) || about.Status != http.StatusNotFound && about.Status != http.StatusConflict) {
			return fmt.Errorf("dlq %s %s: %w", verb, id, err)
		}
		if err != nil {
			d.Error = about.Text()
			failed++
		}
		all = append(all, d)
	}
	if err := c.printDecisions(all); err != nil {
		return err
	}
	return undecided(verb, len(all)-failed, failed)
}

func (c *console) printDecisions(all []decision) error {
	switch {
	case !c.json:
		for _, d := range all {
			if d.Error != "" {
				c.notef("%s: %s\n", d.ID, oneLine(d.Error))
				continue
			}
			c.printf("%s: %s\n", d.ID, d.State)
		}
		return nil
	case len(all) == 1:
		return c.printJSON(all[0])
	}
	return c.printJSON(all)
}

// undecided is the error that a command ends with which could not close every letter.
func undecided(verb string, done, failed int) error {
	if failed == 0 {
		return nil
	}
	return unlessNothing(done, fmt.Errorf("dlq %s: %d of %d could not be done", verb, failed, done+failed))
}

// decideAll repeats the bulk call until it came to each matching letter that was there
// when it began.
func (c *console) decideAll(cmd *cobra.Command, verb string, query url.Values) error {
	maps.DeleteFunc(query, func(_ string, v []string) bool { return v[0] == "" })
	var sum struct {
		Done      int `json:"done"`
		Failed    int `json:"failed"`
		Forgotten int `json:"forgotten,omitempty"`
	}
	var failed []decision
	for {
		var part struct {
			Done      int        `json:"done"`
			Failed    []decision `json:"failed"`
			Cursor    string     `json:"cursor"`
			Forgotten int        `json:"forgotten"`
		}
		body, err := c.client().Send(cmd.Context(), http.MethodPost, "/v1/dlq:"+verb, query, "", nil)
		if err != nil {
			return fmt.Errorf("dlq %s: %w", verb, err)
		}
		if err := decodeAndClose(body, &part); err != nil {
			return fmt.Errorf("dlq %s: %w", verb, err)
		}
		sum.Done += part.Done
		sum.Failed += len(part.Failed)
		sum.Forgotten = max(sum.Forgotten, part.Forgotten)
		failed = append(failed, part.Failed[:min(len(part.Failed), shownErrors)]...)
		if part.Cursor == "" {
			break
		}
		if part.Cursor == query.Get("cursor") {
			return fmt.Errorf("dlq %s: the bus fails, %d done and %d failed so far: try again later", verb, sum.Done, sum.Failed)
		}
		query.Set("cursor", part.Cursor)
	}
	for _, d := range failed[:min(len(failed), shownErrors)] {
		c.notef("%s: %s\n", d.ID, oneLine(d.Error))
	}
	if c.json {
		if err := c.printJSON(sum); err != nil {
			return err
		}
	} else {
		c.printf("%d done, %d failed\n", sum.Done, sum.Failed)
		c.noteForgotten(sum.Forgotten)
	}
	return undecided(verb, sum.Done, sum.Failed)
}
