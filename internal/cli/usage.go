package cli

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/services/trainer"
)

func newUsage(con *console) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "usage [ID]", ValidArgsFunction: completeEntities(con, toolKind()),
		Short: "List how the tools are used, the most used first, and what clicks changed; or of one tool", Args: cobra.MaximumNArgs(1),
		Example: "  toolstream usage --limit 50\n  toolstream usage weather-service/forecast --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return program.Misused(cmd, "--limit is %d; it is 0 (all) or more", limit)
			}
			usage, err := fetchUsage(con, cmd, append(args, "")[0], limit)
			if err != nil {
				return err
			}
			return con.Show(usage, func() {
				t := program.NewTable("ID", "USES", "SHOWN", "SELECTED", "CALLED", "SUCCEEDED", "FAILED", "REJECTED", "+QUERIES", "+CLICK LOG ODDS")
				for _, u := range usage.Tools {
					t.Add(u.ID, fmt.Sprintf("%.1f", u.Uses), u.Shown, u.Selected, u.Called, u.Succeeded, u.Failed, u.Rejected, u.Queries, fmt.Sprintf("%+.2f", u.ClickLogOdds))
				}
				con.PrintTable(t)
				if usage.Withheld {
					con.Printf("uses have no say in rankings: they ranked queries worse that were left out\n")
				}
				e := usage.Clicks
				if e == nil {
					return
				}
				con.Printf("clicks moved results of %d of %d searches with feedback", e.Moved, e.Searches)
				if e.Gain != nil {
					con.Printf("; gain of used tools there (of 1/log2(1+rank)): %+.4f", *e.Gain)
				}
				con.Printf("\n")
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many tools; 0 lists all")
	return cmd
}

// fetchUsage reads pages until the limit or the end; limit 0 reads all.
func fetchUsage(con *console, cmd *cobra.Command, id string, limit int) (trainer.UsagePage, error) {
	all := trainer.UsagePage{Tools: []trainer.ToolUse{}}
	params := url.Values{}
	if id != "" {
		params.Set("id", id)
	}
	for {
		size := pageSize
		if limit > 0 {
			size = min(size, limit-len(all.Tools))
		}
		params.Set("limit", strconv.Itoa(size))
		var page trainer.UsagePage
		if err := con.client().Get(cmd.Context(), "/v1/usage", params, &page); err != nil {
			return all, err
		}
		page.Tools = append(all.Tools, page.Tools...)
		if all = page; all.Cursor == "" || len(all.Tools) == limit {
			return all, nil
		}
		params.Set("cursor", all.Cursor)
	}
}
