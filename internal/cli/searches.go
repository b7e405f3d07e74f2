package cli

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/services/trainer"
)

func newSearches(con *console) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "searches", Short: "Show recent searches and the tools that were used", Args: cobra.NoArgs,
		Long: `Show searches of all callers of the tenant in the last 24 hours, with the tools that were used
according to feedback. For operators; the audit log records who read them. Make questions of
typical searches: toolstream questions add.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return program.Misused(cmd, "--limit is %d; it is 1 to 200", limit)
			}
			var out struct {
				Searches []trainer.RecordedSearch `json:"searches"`
			}
			if err := con.client().Get(cmd.Context(), "/v1/searches", url.Values{"limit": {strconv.Itoa(limit)}}, &out); err != nil {
				return err
			}
			return con.Show(out, func() {
				t := program.NewTable("TIME", "QUERY…", "USED…", "FIRST RESULT…")
				for _, s := range out.Searches {
					first := ""
					if len(s.Results) > 0 {
						first = s.Results[0]
					}
					t.Add(s.Time.Local().Format(time.DateTime), s.Query, strings.Join(s.Used, " "), first)
				}
				con.PrintTable(t)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many, 1 to 200")
	return cmd
}
