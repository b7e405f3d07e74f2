package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
)

// completionLimit bounds how long the tab key takes.
const completionLimit = 2 * time.Second

// completing completes arguments or a flag with the ids, or versions, of a list that the
// server has at path, and with further values.
func completing(con *console, list, path string, query url.Values, further ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		if err := con.choose(); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
		defer cancel()
		var page map[string]json.RawMessage
		var rows []struct{ ID, Version, Name string }
		if con.client().Get(ctx, path, query, &page) != nil || json.Unmarshal(page[list], &rows) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		values := slices.Clone(further)
		for _, row := range rows {
			values = append(values, cmp.Or(row.ID, row.Version, row.Name))
		}
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeEntities completes the ids of tools or providers.
func completeEntities(con *console, s entityKind) cobra.CompletionFunc {
	return completing(con, s.name, s.endpoint, url.Values{"limit": {"1000"}})
}

// completeProvider completes the flag --provider.
func completeProvider(con *console, cmd *cobra.Command) {
	program.Completed(cmd, "provider", completeEntities(con, providerKind()))
}

// completeDeadLetters completes the ids of open dead letters.
func completeDeadLetters(con *console) cobra.CompletionFunc {
	return completing(con, "letters", "/v1/dlq", url.Values{"limit": {"1000"}, "state": {"open"}})
}

// completeWeights completes versions of the weights.
func completeWeights(con *console) cobra.CompletionFunc {
	return completing(con, "versions", "/v1/weights", nil, "live")
}

// completeSources completes names of sources.
func completeSources(con *console) cobra.CompletionFunc {
	return completing(con, "sources", "/v1/sources", nil)
}
