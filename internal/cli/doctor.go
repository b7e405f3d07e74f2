package cli

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/trainer"
)

func newDoctor(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for problems, and say how to solve them",
		Long: `Look for problems, and say how to solve them: parts that do not answer, stages that are behind
or have no process, gaps of the index, weights that cannot serve, settings that look like
mistakes.

Exit code 0: no problem. 1: a problem, or the server does not answer. 2: a wrong call.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := examineServer(con, cmd)
			err := con.Show(map[string]any{"findings": findings}, func() {
				for _, f := range findings {
					printFinding(con, f)
				}
			})
			wrong := 0
			for _, f := range findings {
				if !f.OK {
					wrong++
				}
			}
			if err == nil && wrong > 0 {
				err = fmt.Errorf("%d of %d checks found something", wrong, len(findings))
			}
			return err
		},
	}
}

func printFinding(con *console, f status.Finding) {
	mark := "ok   "
	switch {
	case !f.OK:
		mark = "WRONG"
	case f.Note:
		mark = "note "
	}
	con.Printf("%s  %s\n", mark, program.OneLine(f.What))
	if f.Remedy != "" {
		con.Printf("       %s\n", program.OneLine(f.Remedy))
	}
}

// examineServer asks the server for its findings; a failed request ends the examination.
func examineServer(con *console, cmd *cobra.Command) []status.Finding {
	var s status.Status
	if err := con.client().Get(cmd.Context(), "/v1/status", nil, &s); err != nil {
		return []status.Finding{{What: err.Error(), Remedy: unanswered(err)}}
	}
	findings := []status.Finding{{OK: true, What: fmt.Sprintf("toolstream %s answers at %s", s.Version, con.Server)}}
	return append(append(findings, s.Findings...), examineWeights(con, cmd)...)
}

// unanswered returns the advice for a server that returns no status.
func unanswered(err error) string {
	var refused *client.Problem
	switch {
	case !errors.As(err, &refused), refused.Status == http.StatusUnauthorized:
		return program.Remedy(err)
	case refused.Status == http.StatusServiceUnavailable:
		return "start it: toolstream serve query; or name a query replica that runs with --server"
	case refused.Status == http.StatusNotFound:
		return "name a server that passes on to a query replica (peers.query), or one of those, with --server"
	}
	return "look at the server's log"
}

// examineWeights examines the kept versions. Searches go on without a trainer.
func examineWeights(con *console, cmd *cobra.Command) []status.Finding {
	var list struct {
		Damaged []trainer.Damaged `json:"damaged"`
	}
	if err := con.client().Get(cmd.Context(), "/v1/weights", nil, &list); err != nil {
		return nil
	}
	var findings []status.Finding
	for _, d := range list.Damaged {
		findings = append(findings, status.Finding{What: "version " + d.Version + " of the weights is damaged: " + d.Reason, Remedy: "it cannot serve or be gone back to; restore the store of weights from a backup if that is wanted"})
	}
	return findings
}
