package main

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/services/trainer"
)

// finding is one thing that doctor looked at.
type finding struct {
	OK     bool   `json:"ok"`
	Note   bool   `json:"note,omitempty"` // nothing is broken, and it may not be meant
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

func newDoctor(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do",
		Long: `Look for what is wrong, and say what to do: what does not answer, which stage is behind or
has nobody to work, what the index lacks, which weights can not serve, what is set in a way
that is hardly meant.

Exit code 0: nothing is wrong. 1: something is, or nobody answers. 2: a wrong call.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			findings := con.examine(cmd)
			if con.json {
				if err := con.printJSON(map[string]any{"findings": findings}); err != nil {
					return err
				}
			}
			wrong := 0
			for _, f := range findings {
				if !f.OK {
					wrong++
				}
				if !con.json {
					con.printFinding(f)
				}
			}
			if wrong > 0 {
				return fmt.Errorf("doctor: %d of %d checks found something", wrong, len(findings))
			}
			return nil
		},
	}
}

func (c *console) printFinding(f finding) {
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

// examine asks the server; what can not be asked ends the examination.
func (c *console) examine(cmd *cobra.Command) []finding {
	var s app.Status
	if err := c.client().Get(cmd.Context(), "/v1/status", nil, &s); err != nil {
		return []finding{{What: err.Error(), Remedy: unanswered(err)}}
	}
	findings := []finding{{OK: true, What: fmt.Sprintf("toolstream %s answers at %s", s.Version, c.server)}}
	return append(append(findings, diagnose(s)...), c.examineWeights(cmd)...)
}

// unanswered says what to do where there is no status.
func unanswered(err error) string {
	var refused *client.Problem
	switch {
	case !errors.As(err, &refused), refused.Status == http.StatusUnauthorized:
		return "" // the client has said it
	case refused.Status == http.StatusServiceUnavailable:
		return "start it: toolstream serve query; or name a query replica that runs with --server"
	case refused.Status == http.StatusNotFound:
		return "name a server that passes on to a query replica (peers.query), or one of those, with --server"
	}
	return "look at the server's log"
}

// examineWeights looks at the kept versions. A trainer that does not answer keeps
// nobody from searching.
func (c *console) examineWeights(cmd *cobra.Command) []finding {
	var list struct {
		Damaged []trainer.Damaged `json:"damaged"`
	}
	if err := c.client().Get(cmd.Context(), "/v1/weights", nil, &list); err != nil {
		return nil
	}
	var findings []finding
	for _, d := range list.Damaged {
		findings = append(findings, finding{What: "version " + d.Version + " of the weights is damaged: " + d.Reason, Remedy: "it can not serve or be gone back to; restore the store of weights from a backup if that is wanted"})
	}
	return findings
}

func check(ok bool, what, remedy string) finding {
	if ok {
		remedy = ""
	}
	return finding{OK: ok, What: what, Remedy: remedy}
}

func note(what, remedy string) finding {
	return finding{OK: true, Note: true, What: what, Remedy: remedy}
}
