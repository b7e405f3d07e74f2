package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/cli/program"
)

func newLimits(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "limits",
		Short: "Show how much of its limits the tenant uses",
		Long: `Show how many requests a minute the tenant makes of its limit, as the process that answers
counts them, with the callers that are nearest to their part, and how many tools and sources
it has of its limit.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all httpserver.LimitsUse
			if err := con.client().Get(cmd.Context(), "/v1/limits", nil, &all); err != nil {
				return err
			}
			return con.Show(all, func() {
				t := program.NewTable("LIMIT", "USED", "OF", "IN", "OF ONE CALLER", "CALLERS…")
				for _, l := range all.Limits {
					in, ofOne := "all", "any"
					if l.PerSeconds > 0 {
						in = (time.Duration(l.PerSeconds) * time.Second).String()
					} else {
						ofOne = ""
					}
					if l.CallerLimit > 0 {
						ofOne = fmt.Sprint(l.CallerLimit)
					}
					var callers []string
					for _, who := range l.Callers {
						callers = append(callers, fmt.Sprintf("%s %d", cmp.Or(who.Subject, "without a name"), who.Used))
					}
					t.Add(l.Name, l.Used, l.Limit, in, ofOne, strings.Join(callers, ", "))
				}
				con.PrintTable(t)
				if len(all.Limits) == 0 {
					con.Notef("the tenant has no limits\n")
				}
			})
		},
	}
}
