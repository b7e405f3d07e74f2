package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/trainer"
)

func newDoctor(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do",
		Long: `Look for what is wrong, and say what to do: what does not answer, which stage is behind or
has no process, what the index lacks, which weights cannot serve, which settings look like
mistakes.

Exit code 0: nothing is wrong. 1: something is, or the server does not answer. 2: a wrong call.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := con.examine(cmd)
			err := con.show(map[string]any{"findings": findings}, func() {
				for _, f := range findings {
					con.printFinding(f)
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

func (c *console) printFinding(f status.Finding) {
	mark := "ok   "
	switch {
	case !f.OK:
		mark = "WRONG"
	case f.Note:
		mark = "note "
	}
	c.printf("%s  %s\n", mark, oneLine(f.What))
	if f.Remedy != "" {
		c.printf("       %s\n", oneLine(f.Remedy))
	}
}

// examine asks the server; what cannot be asked ends the examination.
func (c *console) examine(cmd *cobra.Command) []status.Finding {
	var s status.Status
	if err := c.client().Get(cmd.Context(), "/v1/status", nil, &s); err != nil {
		return []status.Finding{{What: err.Error(), Remedy: unanswered(err)}}
	}
	findings := []status.Finding{{OK: true, What: fmt.Sprintf("toolstream %s answers at %s", s.Version, c.server)}}
	return append(append(findings, s.Findings...), c.examineWeights(cmd)...)
}

// unanswered says what to do where there is no status.
func unanswered(err error) string {
	var refused *client.Problem
	switch {
	case !errors.As(err, &refused), refused.Status == http.StatusUnauthorized:
		return remedy(err)
	case refused.Status == http.StatusServiceUnavailable:
		return "start it: toolstream serve query; or name a query replica that runs with --server"
	case refused.Status == http.StatusNotFound:
		return "name a server that passes on to a query replica (peers.query), or one of those, with --server"
	}
	return "look at the server's log"
}

// examineWeights looks at the kept versions. Searches go on
// without a trainer.
func (c *console) examineWeights(cmd *cobra.Command) []status.Finding {
	var list struct {
		Damaged []trainer.Damaged `json:"damaged"`
	}
	if err := c.client().Get(cmd.Context(), "/v1/weights", nil, &list); err != nil {
		return nil
	}
	var findings []status.Finding
	for _, d := range list.Damaged {
		findings = append(findings, status.Finding{What: "version " + d.Version + " of the weights is damaged: " + d.Reason, Remedy: "it cannot serve or be gone back to; restore the store of weights from a backup if that is wanted"})
	}
	return findings
}
