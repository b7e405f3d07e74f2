package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/indexmgr"
	"github.com/toolstream/toolstream/internal/llm"
	"github.com/toolstream/toolstream/internal/status"
)

func newStatus(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what runs and how far behind it is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s status.Status
			if err := con.client().Get(cmd.Context(), "/v1/status", nil, &s); err != nil {
				return err
			}
			return con.show(s, func() { con.printStatus(s) })
		},
	}
}

func (c *console) printStatus(s status.Status) {
	state := "ready"
	if !s.Ready {
		state = "not ready: " + s.Reason
	}
	c.printf("toolstream %s at %s, %s, %s, up since %s\n", s.Version, c.server, s.Mode, state, s.Started.Local().Format(time.DateTime))
	c.printf("%d tools and %d providers, model %s, weights %s (epoch %d), %d dead letters\n", s.Tools, s.Providers, s.Model, s.Weights, s.Epoch, s.DeadLetters)
	if s.Bare+s.Quarantined > 0 {
		c.printf("%d tools without vectors, %d in quarantine\n", s.Bare, s.Quarantined)
	}
	if s.Uncovered > 0 {
		c.printf("%d documents with low coverage\n", s.Uncovered)
	}
	if s.Pending > 0 {
		c.printf("%d tools wait for the language model, the first since %s\n", s.Pending, s.Since.Local().Format(time.DateTime))
	}
	for _, g := range s.Models {
		if g.State != indexmgr.StateLive || g.Problem != "" {
			c.printf("model %s is %s: %s\n", g.Model, g.State, cmp.Or(g.Problem, "see toolstream reindex"))
		}
	}
	if f := s.Freshness; f != nil {
		c.printf("half searchable within %s, 99 of 100 within %s, of %d changes in the last 15 minutes; the objective is %s, missed in %d of them\n",
			seconds(f.Half), seconds(f.Most), f.Changes, seconds(f.Goal), f.Missed)
	}
	c.printSources(s.Sources)
	c.printSpent(s.LLM)
	if s.Data != "" {
		c.printf("data in %s", s.Data)
		if s.Disk != nil {
			c.printf(", %.1f of %.1f GB free", float64(s.Disk.Free)/1e9, float64(s.Disk.Total)/1e9)
		}
		c.printf("\n\n")
		c.printStages(s.Stages)
	}
	c.printProcesses(s.Processes)
	c.printDependencies(s.Dependencies)
}

func (c *console) printSources(s *status.Sources) {
	if s == nil {
		return
	}
	n := 0
	var states []string
	for _, state := range slices.Sorted(maps.Keys(s.States)) {
		n += s.States[state]
		states = append(states, fmt.Sprintf("%d %s", s.States[state], state))
	}
	c.printf("%d sources: %s\n", n, strings.Join(states, ", "))
	for _, u := range s.Unwell {
		c.printf("  %s%s is %s since %s: %s\n", u.Name, u.Others(), u.State, u.Since.Local().Format(time.DateTime), oneLine(u.Why()))
	}
}

// seconds is a bound of the freshness metric in words.
func seconds(n float64) string {
	if n < 0 {
		return "more than its last bound"
	}
	return (time.Duration(n * float64(time.Second))).Round(time.Millisecond).String()
}

func (c *console) printStages(stages []status.Stage) {
	t := newTable("STAGE", "READS", "LAG", "A SECOND", "WAITING", "WORKERS")
	for _, st := range stages {
		lag, rate, workers, waiting := fmt.Sprint(st.Lag), "", "", ""
		if st.Problem != "" {
			lag = "?"
		}
		if st.Rate != nil {
			rate = fmt.Sprintf("%.1f", *st.Rate)
		}
		if st.Workers != nil {
			workers = fmt.Sprint(*st.Workers)
		}
		if st.Waiting > 0 {
			waiting = time.Duration(st.Waiting * float64(time.Second)).Round(time.Second).String()
		}
		t.add(st.Name, st.Topic, lag, rate, waiting, workers)
	}
	c.printTable(t)
}

func (c *console) printProcesses(processes []status.Process) {
	if len(processes) == 0 {
		return
	}
	c.printf("\n")
	t := newTable("SERVICES", "AT", "VERSION", "STATE", "WEIGHTS", "EPOCH")
	for _, p := range processes {
		state, epoch := "ready", ""
		if !p.Ready {
			state = cmp.Or(p.Problem, "not ready")
		}
		if p.Weights != "" {
			epoch = fmt.Sprint(p.Epoch)
		}
		t.add(strings.Join(p.Services, " "), p.Address, p.Version, state, p.Weights, epoch)
	}
	c.printTable(t)
}

func (c *console) printDependencies(needs []status.Dependency) {
	if len(needs) == 0 {
		return
	}
	c.printf("\n")
	t := newTable("NEEDS", "AT", "STATE")
	for _, d := range needs {
		state := "answers"
		if !d.OK {
			state = cmp.Or(d.Problem, "does not answer")
		}
		t.add(d.Name, d.Address, state)
	}
	c.printTable(t)
}

func (c *console) printSpent(s *status.LLMStatus) {
	if s == nil {
		return
	}
	c.printf("language model %s, %s (UTC):\n", s.Model, s.Day)
	for _, a := range s.Accounts {
		c.printf("  %s: %d answers, %d tokens of prompts and %d of answers, $%.2f\n", a.Stage, a.Calls[llm.Answered], a.Prompt, a.Completion, a.Dollars)
	}
}
