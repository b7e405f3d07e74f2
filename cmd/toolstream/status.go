package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/client"
	"github.com/toolstream/toolstream/internal/generations"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/services/trainer"
)

func newStatus(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs and how far behind it is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s app.Status
			if err := con.client().Get(cmd.Context(), "/v1/status", nil, &s); err != nil {
				return fmt.Errorf("status: %w", err)
			}
			if con.json {
				return con.printJSON(s)
			}
			con.printStatus(s)
			return nil
		},
	}
}

func (c *console) printStatus(s app.Status) {
	state := "ready"
	if !s.Ready {
		state = "starting: reads what was accepted before"
	}
	c.printf("toolstream %s at %s, %s, up since %s\n", s.Version, c.server, state, s.Started.Local().Format(time.DateTime))
	c.printf("%d tools and %d agents, model %s, weights %s, %d dead letters\n", s.Tools, s.Agents, s.Model, s.Weights, s.DeadLetters)
	for _, g := range s.Generations {
		if g.State != generations.StateLive || g.Problem != "" {
			c.printf("model %s is %s: %s\n", g.Model, g.State, cmp.Or(g.Problem, "see toolstream reindex"))
		}
	}
	c.printSpent(s.LLM)
	c.printf("data in %s\n\n", s.Data)
	t := newTable("STAGE", "READS", "LAG")
	for _, stage := range s.Stages {
		t.add(stage.Name, stage.Topic, stage.Lag)
	}
	t.print(c.out, c.width())
}

func (c *console) printSpent(s *app.LLMStatus) {
	if s == nil {
		return
	}
	c.printf("language model %s, %s (UTC):\n", s.Model, s.Day)
	for _, a := range s.Accounts {
		c.printf("  %s: %d answers, %d tokens of prompts and %d of answers, $%.2f\n", a.Stage, a.Calls[llm.Answered], a.Prompt, a.Completion, a.Dollars)
	}
}

// finding is one thing that doctor looked at.
type finding struct {
	OK     bool   `json:"ok"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

func newDoctor(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do",
		Long:  "Look for what is wrong, and say what to do. Exit code 1: something is.",
		Args:  cobra.NoArgs,
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
	if !f.OK {
		mark = "WRONG"
	}
	c.printf("%s  %s\n", mark, f.What)
	if f.Remedy != "" {
		c.printf("       %s\n", f.Remedy)
	}
}

// examine asks the server; what can not be asked ends the examination.
func (c *console) examine(cmd *cobra.Command) []finding {
	var s app.Status
	if err := c.client().Get(cmd.Context(), "/v1/status", nil, &s); err != nil {
		remedy := "" // the client has said it
		var refused *client.Problem
		if errors.As(err, &refused) {
			remedy = "look at the server's log"
		}
		return []finding{{What: err.Error(), Remedy: remedy}}
	}
	findings := []finding{{OK: true, What: fmt.Sprintf("toolstream %s answers at %s", s.Version, c.server)}}
	findings = append(findings, check(s.Ready, "it accepts changes", "it still reads what was accepted before: wait, and look at `toolstream status`"))
	findings = append(findings, check(s.Tools > 0, fmt.Sprintf("%d tools are indexed", s.Tools), "import some: toolstream import PATH"))
	findings = append(findings, check(s.DeadLetters == 0, fmt.Sprintf("%d documents are in the dead letters", s.DeadLetters), "see why: toolstream dlq list"))
	for _, why := range s.Refused {
		findings = append(findings, finding{What: "refused, the last good one serves: " + why, Remedy: "make a good version live: toolstream weights list, then toolstream weights promote VERSION"})
	}
	findings = append(findings, c.examineWeights(cmd)...)
	for _, g := range s.Generations {
		if g.Problem != "" {
			findings = append(findings, finding{What: "embedding: " + g.Problem, Remedy: "look at `toolstream reindex`, which shows every model, and at the server's log"})
		}
	}
	if s.LLM != nil {
		findings = append(findings, check(!s.LLM.Exhausted, "the language model may be asked", "its budget of the day is spent, rules do until midnight UTC: raise llm.daily_tokens or llm.daily_cost"))
	}
	for _, stage := range s.Stages {
		findings = append(findings, check(stage.Lag < lagAlarm, fmt.Sprintf("%s is %d records behind", stage.Name, stage.Lag), "an import may be under way; if the number does not fall, look at the server's log for this stage"))
	}
	return findings
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

// lagAlarm is how many records behind a stage may be without comment.
const lagAlarm = 10_000

func check(ok bool, what, remedy string) finding {
	if ok {
		remedy = ""
	}
	return finding{OK: ok, What: what, Remedy: remedy}
}

// decodeAndClose reads one JSON value.
func decodeAndClose(body io.ReadCloser, out any) error {
	return errors.Join(json.NewDecoder(body).Decode(out), body.Close())
}
