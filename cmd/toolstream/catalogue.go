package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/pkg/schema"
)

// entityLine is an entity as lists show it.
type entityLine struct {
	ID            string    `json:"id"`
	Kind          string    `json:"kind"`
	Agent         string    `json:"agent,omitempty"`
	Name          string    `json:"name"`
	Description   string    `json:"description"`
	Revision      uint64    `json:"revision"`
	SourceVersion uint64    `json:"source_version,omitempty"`
	State         string    `json:"state"`
	Updated       time.Time `json:"updated"`
}

// entityView is everything the server says of one tool or agent.
type entityView struct {
	entityLine
	Format   string          `json:"format,omitempty"`
	Hash     string          `json:"hash,omitempty"`
	Document schema.Document `json:"document"`
	Raw      json.RawMessage `json:"raw,omitempty"`
}

// shelf is one half of the catalogue: the tools or the agents.
type shelf struct {
	name     string // as a command and in answers
	one      string
	endpoint string
}

func newTools(con *console) *cobra.Command {
	return newShelf(con, shelf{"tools", "tool", "/v1/tools"})
}

func newAgents(con *console) *cobra.Command {
	return newShelf(con, shelf{"agents", "agent", "/v1/agents"})
}

func newShelf(con *console, s shelf) *cobra.Command {
	cmd := &cobra.Command{
		Use:   s.name,
		Short: fmt.Sprintf("List, show and delete %s", s.name),
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newShelfList(con, s), newShelfGet(con, s), newShelfDelete(con, s))
	return cmd
}

func newShelfList(con *console, s shelf) *cobra.Command {
	var agent string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   fmt.Sprintf("List the %s that are indexed", s.name),
		Example: fmt.Sprintf("  toolstream %s list --limit 20\n  toolstream %s list --json", s.name, s.name),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return misused(cmd, "--limit is %d; it is 0 (all) or more", limit)
			}
			rows, err := con.list(cmd, s, agent, limit)
			if err != nil {
				return err
			}
			if con.json {
				return con.printJSON(map[string]any{s.name: rows})
			}
			t := newTable("ID…", "AGENT…", "UPDATED", "DESCRIPTION…")
			for _, e := range rows {
				t.add(e.ID, e.Agent, e.Updated.Local().Format(time.DateTime), e.Description)
			}
			t.print(con.out, con.width())
			return nil
		},
	}
	if s.name == "tools" {
		cmd.Flags().StringVar(&agent, "agent", "", "only the tools of this agent")
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many; 0 lists all")
	return cmd
}

// pageSize is how many entities are asked for at a time.
const pageSize = 500

func (c *console) list(cmd *cobra.Command, s shelf, agent string, limit int) ([]entityLine, error) {
	rows := []entityLine{}
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if agent != "" {
		query.Set("agent", agent)
	}
	for {
		if left := limit - len(rows); limit > 0 && left < pageSize {
			query.Set("limit", strconv.Itoa(left))
		}
		var page struct {
			Tools  []entityLine `json:"tools"`
			Agents []entityLine `json:"agents"`
			Cursor string       `json:"cursor"`
		}
		if err := c.client().Get(cmd.Context(), s.endpoint, query, &page); err != nil {
			return nil, fmt.Errorf("%s list: %w", s.name, err)
		}
		rows = append(append(rows, page.Tools...), page.Agents...)
		if page.Cursor == "" || (limit > 0 && len(rows) >= limit) {
			return rows, nil
		}
		query.Set("cursor", page.Cursor)
	}
}

func newShelfGet(con *console, s shelf) *cobra.Command {
	var compare bool
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: fmt.Sprintf("Show one %s: its document, fields, revision and state", s.one),
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var e entityView
			if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0]), nil, &e); err != nil {
				return fmt.Errorf("%s %q: %w", s.one, args[0], err)
			}
			if compare {
				return con.compare(e)
			}
			if con.json {
				return con.printJSON(e)
			}
			return con.printEntity(e)
		},
	}
	cmd.Flags().BoolVar(&compare, "diff", false, "compare what rules read from the raw document with what is searched, and say who wrote it")
	return cmd
}

// compare shows a document beside what rules alone make of its source.
func (c *console) compare(e entityView) error {
	d, err := diff(e)
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(d)
	}
	c.printDiff(d)
	return nil
}

func (c *console) printEntity(e entityView) error {
	c.printf("id           %s\n", oneLine(e.ID))
	if e.Agent != "" {
		c.printf("agent        %s\n", oneLine(e.Agent))
	}
	c.printf("state        %s at revision %d, accepted %s\n", e.State, e.Revision, e.Updated.Local().Format(time.DateTime))
	c.printf("format       %s\n", e.Format)
	d := e.Document
	c.printf("name         %s\n", oneLine(d.Name))
	if d.Title != "" {
		c.printf("title        %s\n", oneLine(d.Title))
	}
	c.printf("description  %s\n", oneLine(d.Description))
	for _, p := range d.Parameters {
		need := "optional"
		if p.Required {
			need = "required"
		}
		c.printf("parameter    %s (%s, %s) %s\n", oneLine(p.Name), oneLine(p.Type), need, oneLine(p.Description))
	}
	if d.Response != "" {
		c.printf("response     %s\n", oneLine(d.Response))
	}
	for _, x := range d.Examples {
		c.printf("example      %s\n", oneLine(x))
	}
	for _, f := range d.Flags {
		c.printf("flag         %s\n", oneLine(f))
	}
	if d.Quarantined {
		c.printf("quarantined  not shown in searches\n")
	}
	if d.Standardized != nil {
		c.printOrigin(d.Standardized)
	}
	if len(e.Raw) == 0 {
		return nil
	}
	c.printf("raw\n")
	return c.printJSON(e.Raw)
}

func newShelfDelete(con *console, s shelf) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID...",
		Short: fmt.Sprintf("Delete %s; older versions that arrive later do not bring them back", s.name),
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answers := []map[string]any{}
			for _, id := range args {
				con.warnUnknown(cmd, s, id)
				var answer map[string]any
				if err := con.client().Delete(cmd.Context(), client.Path(s.endpoint, id), &answer); err != nil {
					return fmt.Errorf("delete %s %q: %w", s.one, id, err)
				}
				answers = append(answers, answer)
				if !con.json {
					con.printf("deleted %s\n", oneLine(id))
				}
			}
			if con.json {
				return con.printJSON(map[string]any{"deleted": answers})
			}
			return nil
		},
	}
}

// warnUnknown says that there is nothing of that id to be seen. Deleting it is
// right all the same: what was just accepted is not indexed yet.
func (c *console) warnUnknown(cmd *cobra.Command, s shelf, id string) {
	if err := c.client().Get(cmd.Context(), client.Path(s.endpoint, id), nil, nil); client.NotFound(err) {
		c.notef("there is no %s %q in the index; the delete is sent all the same\n", s.one, oneLine(id))
	}
}
