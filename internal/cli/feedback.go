package cli

import (
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/schema"
)

func newFeedback(con *console) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "feedback SEARCH_ID TOOL_ID EVENT",
		Short: "Report how a search result was used",
		Long: `Report how a result of a search was used, so that ranking can learn from it.
EVENT is selected, called, succeeded, failed or rejected; or protocol_error, timeout,
refused or invalid_arguments, which teach nothing. The same --id counts once.`,
		Example: "  toolstream feedback 3f9a… weather/get_forecast succeeded",
		Args:    cobra.ExactArgs(3),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, started string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 1:
				return completeEntities(con, toolKind())(cmd, args, started)
			case 2:
				var events []string
				for _, e := range schema.FeedbackEvents() {
					events = append(events, string(e))
				}
				return events, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f := schema.Feedback{ID: id, SearchID: args[0], ToolID: args[1], Event: schema.FeedbackEvent(args[2])}
			if err := f.Validate(); err != nil {
				return program.Refused(cmd, err)
			}
			if err := con.client().ReportFeedback(cmd.Context(), f); err != nil {
				return err
			}
			return con.Show(map[string]string{"state": "accepted"}, func() { con.Printf("accepted\n") })
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "name of this event; sent twice, it counts once")
	return cmd
}
