package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/server/reindex"
	"github.com/toolstream/toolstream/internal/server/status"
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
			return con.Show(s, func() { printStatus(con, s) })
		},
	}
}

func printStatus(con *console, s status.Status) {
	state := "ready"
	if !s.Ready {
		state = "not ready: " + s.Reason
	}
	con.Printf("toolstream %s at %s, %s, %s, up since %s\n", s.Version, con.Server, s.Mode, state, s.Started.Local().Format(time.DateTime))
	con.Printf("%s and %s, model %s, weights %s (epoch %d), %s\n", plural(s.Tools, "tool"), plural(s.Providers, "provider"), s.Model, s.Weights, s.Epoch, plural(s.DeadLetters, "dead letter"))
	if s.Bare+s.Quarantined > 0 {
		con.Printf("%s without vectors, %d in quarantine\n", plural(s.Bare, "tool"), s.Quarantined)
	}
	if s.Uncovered > 0 {
		con.Printf("%s with low coverage\n", plural(s.Uncovered, "document"))
	}
	if s.Pending > 0 {
		con.Printf("%s to be read by the language model, the first since %s\n", plural(s.Pending, "tool"), s.Since.Local().Format(time.DateTime))
	}
	for _, g := range s.Models {
		if g.State != reindex.StateLive || g.Problem != "" {
			con.Printf("model %s is %s: %s\n", g.Model, g.State, cmp.Or(g.Problem, "see toolstream reindex"))
		}
	}
	if f := s.Freshness; f != nil {
		con.Printf("half searchable within %s, 99 of 100 within %s, of %d changes in the last 15 minutes; the objective is %s, missed in %d of them\n",
			seconds(f.Half), seconds(f.Most), f.Changes, seconds(f.Goal), f.Missed)
	}
	printSources(con, s.Sources)
	printSpent(con, s.LLM)
	if s.Data != "" {
		con.Printf("data in %s", s.Data)
		if s.Disk != nil {
			con.Printf(", %.1f of %.1f GB free", float64(s.Disk.Free)/1e9, float64(s.Disk.Total)/1e9)
		}
		con.Printf("\n\n")
		printStages(con, s.Stages)
	}
	printProcesses(con, s.Processes)
	printDependencies(con, s.Dependencies)
}

// plural returns a number with a noun in the form that belongs to it.
func plural[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func printSources(con *console, s *status.Sources) {
	if s == nil {
		return
	}
	n := 0
	var states []string
	for _, state := range slices.Sorted(maps.Keys(s.States)) {
		n += s.States[state]
		states = append(states, fmt.Sprintf("%d %s", s.States[state], state))
	}
	con.Printf("%s: %s\n", plural(n, "source"), strings.Join(states, ", "))
	for _, u := range s.Unwell {
		con.Printf("  %s%s is %s since %s: %s\n", u.Name, u.Others(), u.State, u.Since.Local().Format(time.DateTime), program.OneLine(u.Why()))
	}
}

// seconds is a bound of the freshness metric in words.
func seconds(n float64) string {
	if n < 0 {
		return "more than its last bound"
	}
	return (time.Duration(n * float64(time.Second))).Round(time.Millisecond).String()
}

func printStages(con *console, stages []status.Stage) {
	t := program.NewTable("STAGE", "READS", "LAG", "A SECOND", "WAITING", "WORKERS")
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
		t.Add(st.Name, st.Topic, lag, rate, waiting, workers)
	}
	con.PrintTable(t)
}

func printProcesses(con *console, processes []status.Process) {
	if len(processes) == 0 {
		return
	}
	con.Printf("\n")
	t := program.NewTable("SERVICES", "AT", "VERSION", "STATE", "WEIGHTS", "EPOCH")
	for _, p := range processes {
		state, epoch := "ready", ""
		if !p.Ready {
			state = cmp.Or(p.Problem, "not ready")
		}
		if p.Weights != "" {
			epoch = fmt.Sprint(p.Epoch)
		}
		t.Add(strings.Join(p.Services, " "), p.Address, p.Version, state, p.Weights, epoch)
	}
	con.PrintTable(t)
}

func printDependencies(con *console, needs []status.Dependency) {
	if len(needs) == 0 {
		return
	}
	con.Printf("\n")
	t := program.NewTable("NEEDS", "AT", "STATE")
	for _, d := range needs {
		state := "answers"
		if !d.OK {
			state = cmp.Or(d.Problem, "does not answer")
		}
		t.Add(d.Name, d.Address, state)
	}
	con.PrintTable(t)
}

func printSpent(con *console, s *status.LLMStatus) {
	if s == nil {
		return
	}
	con.Printf("language model %s, %s (UTC):\n", s.Model, s.Day)
	for _, a := range s.Accounts {
		con.Printf("  %s: %d answers, %d tokens of prompts and %d of answers, $%.2f\n", a.Stage, a.Calls[llm.Answered], a.Prompt, a.Completion, a.Dollars)
	}
}
