package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/revisions"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/query"
)

func newShelfRevisions(con *console, s shelf) *cobra.Command {
	return &cobra.Command{
		Use:     "revisions ID",
		Short:   fmt.Sprintf("List the last changes of a %s, newest first", s.one),
		Example: fmt.Sprintf("  toolstream %s revisions acme/transfer", s.name),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			var list struct {
				Revisions []query.Revision `json:"revisions"`
			}
			if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0])+"/revisions", nil, &list); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			return con.show(list, func() {
				t := newTable("REVISION", "ACCEPTED", "OP", "CURRENT", "SOURCE", "+VERSION", "+FORMAT", "+HASH", "CHANGED")
				for _, r := range list.Revisions {
					current := ""
					if r.Current {
						current = "yes"
					}
					t.add(r.Revision, r.Accepted.Local().Format(time.DateTime), r.Op, current, r.Source, r.SourceVersion, r.Format, r.Hash, strings.Join(r.Changed, ", "))
				}
				con.printTable(t)
			})
		},
	}
}

func newShelfDiff(con *console, s shelf) *cobra.Command {
	return &cobra.Command{
		Use:   "diff ID [REVISION [AGAINST]]",
		Short: fmt.Sprintf("Show what a change of a %s differs in from the one before, or from another", s.one),
		Long:  "Show what a change differs in from the one before, or from another: the newest where none is named. `revisions` lists them.",
		Args:  cobra.RangeArgs(1, 3), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			params := url.Values{}
			for _, a := range args[1:] {
				if _, err := strconv.ParseUint(a, 10, 64); err != nil {
					return misused(cmd, "%q is no revision: `toolstream %s revisions %s` lists them", a, s.name, args[0])
				}
			}
			revision, err := con.revision(cmd, s, args)
			if err != nil {
				return err
			}
			if len(args) > 2 {
				params.Set("against", args[2])
			}
			var d query.RevisionDetail
			if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0])+"/revisions/"+revision, params, &d); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			return con.show(d, func() { con.printRevision(args[0], d) })
		},
	}
}

// revision returns the revision that arguments name, the newest where they name none.
func (c *console) revision(cmd *cobra.Command, s shelf, args []string) (string, error) {
	if len(args) > 1 {
		return args[1], nil
	}
	var list struct {
		Revisions []query.Revision `json:"revisions"`
	}
	if err := c.client().Get(cmd.Context(), client.Path(s.endpoint, args[0])+"/revisions", nil, &list); err != nil {
		return "", fmt.Errorf("%q: %w", args[0], err)
	}
	if len(list.Revisions) == 0 {
		return "", fmt.Errorf("%q has no revisions", args[0])
	}
	return strconv.FormatUint(list.Revisions[0].Revision, 10), nil
}

// printRevision shows what is gone above what is there in its place.
func (c *console) printRevision(id string, d query.RevisionDetail) {
	c.printf("%s %s\n", oneLine(id), d.Op)
	if d.Against > 0 {
		c.printf("- %d\n", d.Against)
	}
	c.printf("+ %d accepted %s\n", d.Revision, d.Accepted.Local().Format(time.DateTime))
	for _, x := range d.Differences {
		c.printDifference(x)
	}
	if len(d.Differences) == 0 {
		c.notef("the documents do not differ, or there is nothing to compare with\n")
	}
}

func (c *console) printDifference(x revisions.Difference) {
	c.printf("%s\n", oneLine(cmp.Or(x.Path, "/")))
	if len(x.Before) > 0 {
		c.printf("- %s\n", oneLine(string(x.Before)))
	}
	if len(x.After) > 0 {
		c.printf("+ %s\n", oneLine(string(x.After)))
	}
}
