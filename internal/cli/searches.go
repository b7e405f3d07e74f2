package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/services/trainer"
)

func newSearches(con *console) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "searches", Short: "Show what was searched for lately, and what was used", Args: cobra.NoArgs,
		Long: `Show searches of the tenant of the last 24 hours, whoever searched, with what feedback says
was used. For operators; the audit log has that they were read. Of those that are worth it,
make questions: toolstream questions add.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return misused(cmd, "--limit is %d; it is 1 to 200", limit)
			}
			var out struct {
				Searches []trainer.RecordedSearch `json:"searches"`
			}
			if err := con.client().Get(cmd.Context(), "/v1/searches", url.Values{"limit": {strconv.Itoa(limit)}}, &out); err != nil {
				return err
			}
			return con.show(out, func() {
				t := newTable("TIME", "QUERY…", "USED…", "FIRST RESULT…")
				for _, s := range out.Searches {
					first := ""
					if len(s.Results) > 0 {
						first = s.Results[0]
					}
					t.add(s.Time.Local().Format(time.DateTime), s.Query, strings.Join(s.Used, " "), first)
				}
				con.printTable(t)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many, 1 to 200")
	return cmd
}
