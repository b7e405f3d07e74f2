package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/query/catalogue"
)

func newEntityRevisions(con *console, s entityKind) *cobra.Command {
	return &cobra.Command{
		Use:     "revisions ID",
		Short:   fmt.Sprintf("List the last changes of a %s, newest first", s.one),
		Example: fmt.Sprintf("  toolstream %s revisions acme/transfer", s.name),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			var list struct {
				Revisions []catalogue.Revision `json:"revisions"`
			}
			if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0])+"/revisions", nil, &list); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			return con.Show(list, func() {
				t := program.NewTable("REVISION", "ACCEPTED", "OP", "CURRENT", "SOURCE", "+VERSION", "+FORMAT", "+HASH", "CHANGED")
				for _, r := range list.Revisions {
					current := ""
					if r.Current {
						current = "yes"
					}
					t.Add(r.Revision, r.Accepted.Local().Format(time.DateTime), r.Op, current, r.Source, r.SourceVersion, r.Format, r.Hash, strings.Join(r.Changed, ", "))
				}
				con.PrintTable(t)
			})
		},
	}
}

func newEntityDiff(con *console, s entityKind) *cobra.Command {
	return &cobra.Command{
		Use:   "diff ID [REVISION [AGAINST]]",
		Short: fmt.Sprintf("Show the differences of two changes of a %s", s.one),
		Long:  "Show the differences of a change from the one before, or from another change; by default, of the newest. `revisions` lists them.",
		Args:  cobra.RangeArgs(1, 3), ValidArgsFunction: completeEntities(con, s),
		RunE: func(cmd *cobra.Command, args []string) error {
			params := url.Values{}
			for _, a := range args[1:] {
				if _, err := strconv.ParseUint(a, 10, 64); err != nil {
					return program.Misused(cmd, "%q is not a revision: `toolstream %s revisions %s` lists them", a, s.name, args[0])
				}
			}
			revision, err := chooseRevision(con, cmd, s, args)
			if err != nil {
				return err
			}
			if len(args) > 2 {
				params.Set("against", args[2])
			}
			var d catalogue.RevisionDetail
			if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0])+"/revisions/"+revision, params, &d); err != nil {
				return fmt.Errorf("%q: %w", args[0], err)
			}
			return con.Show(d, func() {
				con.Printf("%s %s\n", program.OneLine(args[0]), d.Op)
				if d.Against > 0 {
					con.Printf("- %d\n", d.Against)
				}
				con.Printf("+ %d accepted %s\n", d.Revision, d.Accepted.Local().Format(time.DateTime))
				for _, x := range d.Differences {
					con.Printf("%s\n", program.OneLine(cmp.Or(x.Path, "/")))
					if len(x.Before) > 0 {
						con.Printf("- %s\n", program.OneLine(string(x.Before)))
					}
					if len(x.After) > 0 {
						con.Printf("+ %s\n", program.OneLine(string(x.After)))
					}
				}
				if len(d.Differences) == 0 {
					con.Notef("the documents do not differ, or there is nothing to compare with\n")
				}
			})
		},
	}
}

// chooseRevision returns the revision named by the arguments, else the newest.
func chooseRevision(con *console, cmd *cobra.Command, s entityKind, args []string) (string, error) {
	if len(args) > 1 {
		return args[1], nil
	}
	var list struct {
		Revisions []catalogue.Revision `json:"revisions"`
	}
	if err := con.client().Get(cmd.Context(), client.Path(s.endpoint, args[0])+"/revisions", nil, &list); err != nil {
		return "", fmt.Errorf("%q: %w", args[0], err)
	}
	if len(list.Revisions) == 0 {
		return "", fmt.Errorf("%q has no revisions", args[0])
	}
	return strconv.FormatUint(list.Revisions[0].Revision, 10), nil
}
