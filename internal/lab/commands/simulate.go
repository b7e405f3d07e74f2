package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/attack"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
)

func newSimulate(t *program.Terminal) *cobra.Command {
	var cfg evaluator.SimulateConfig
	var kind string
	cmd := &cobra.Command{
		Use:   "simulate DIR",
		Short: "See what learning from users would bring, or what hostile tools would do",
		Long: `Replay a data set as users who search and click, through the query service and
the trainer that serve, in this process. A user looks at rank r of the ten shown
with probability 1/r and errs in one of ten looks. The queries of four of five
folds are asked; NDCG@10 is that of the fifth, at the end the mean of the last
tenth of the rounds. The same is done with every fifth user hostile, and with one
hostile user who never stops. What the labels of all that was shown would teach is
the most that clicks could: what is never shown teaches nothing.

--invented adds one hostile user who asks five times as often as all others together
and reports, under 50 names, a tool that nobody asks for wherever it is among the ten
shown: by a credential of his own beside ten of the others, and by the one of all.

--drift shows how learning follows when a third of the tools that are asked for
is replaced at half time, --silent what it comes to where every fifth user never
reports anything, --thorough what it comes to where users look at all of
100 results and never err.

--attack injects one tool for each hundred instead, made to be found where nobody
wants it, and shows how many searches have it among the first five, for queries that
the attacker knows and for others: flood, of the queries themselves; stuff, of the
words that are common in them; copy, near copies of the tools that answer them;
imitate, their names.`,
		Example: `  toolstream-lab simulate my-tools
  toolstream-lab simulate my-tools --seeds 5 --json
  toolstream-lab simulate my-tools --drift --thorough
  toolstream-lab simulate my-tools --attack flood --seeds 3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg.Dir = args[0]
			if kind != "" {
				return simulateAttack(t, cmd, evaluator.AttackConfig{Dir: args[0], Kind: kind, Seeds: cfg.Seeds})
			}
			return simulate(t, cmd, cfg)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&cfg.Seeds, "seeds", 1, "how often, each with another fold held out and other users")
	flags.IntVar(&cfg.Rounds, "rounds", 0, "how often each query is asked; 0: as often as makes 8,000 searches, from 8 to 100 times")
	flags.IntVar(&cfg.Users, "users", 100, "users who take turns")
	flags.BoolVar(&cfg.Drift, "drift", false, "change what is right at half time, too")
	flags.BoolVar(&cfg.Silent, "silent", false, "let every fifth user report nothing, too")
	flags.BoolVar(&cfg.Thorough, "thorough", false, "let users look at everything, too")
	flags.BoolVar(&cfg.Invented, "invented", false, "let a hostile user report under 50 names, too")
	flags.StringVar(&kind, "attack", "", "inject hostile tools: "+strings.Join(attack.Kinds(), ", "))
	program.Fixed(cmd, "attack", attack.Kinds()...)
	for _, flag := range []string{"rounds", "users", "drift", "silent", "thorough"} {
		cmd.MarkFlagsMutuallyExclusive("attack", flag)
	}
	addModelFlags(cmd)
	return cmd
}

func simulateAttack(t *program.Terminal, cmd *cobra.Command, cfg evaluator.AttackConfig) (err error) {
	if !slices.Contains(attack.Kinds(), cfg.Kind) {
		return program.Misused(cmd, "--attack is %q; it is one of %s", cfg.Kind, strings.Join(attack.Kinds(), ", "))
	}
	if cfg.Seeds < 1 {
		return program.Misused(cmd, "--seeds is at least 1")
	}
	if cfg.Config, err = modelConfig(cmd); err != nil {
		return err
	}
	report, finish := t.Stages()
	out, err := evaluator.Attack(cmd.Context(), cfg, report)
	finish()
	if err != nil {
		return err
	}
	return t.Show(out, func() {
		t.Printf("%s: %d tools, %d queries, of which the attacker knows half; seeds: %d\n", out.Dataset, out.Tools, out.Queries, out.Seeds)
		t.Printf("before the attack: a right tool among the first five for %.1f %% of the queries, NDCG@10 %.4f\n\n", 100*out.Right, out.NDCG)
		table := program.NewTable("FORM", "PROVIDERS", "INJECTED", "FLAGGED", "HIT, KNOWN", "HIT, OTHERS", "RIGHT BEFORE", "RIGHT AFTER", "NDCG@10")
		percent := func(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
		for _, f := range out.Forms {
			table.Add(f.Form, f.Providers, f.Injected, percent(f.Flagged), percent(f.Targeted), percent(f.Others),
				percent(f.RightBefore), percent(f.Right), fmt.Sprintf("%.4f", f.NDCG))
		}
		t.PrintTable(table)
		t.Printf("\nFLAGGED is percent of the injected tools. HIT is percent of the queries with one of them among the\n")
		t.Printf("first five; RIGHT, with a right tool there, of the queries that injected tools begin with.\n")
	})
}

func simulate(t *program.Terminal, cmd *cobra.Command, cfg evaluator.SimulateConfig) (err error) {
	if cfg.Seeds < 1 || cfg.Rounds < 0 || cfg.Users < 1 {
		return program.Misused(cmd, "--seeds and --users are at least 1, and --rounds at least 0")
	}
	if cfg.Config, err = modelConfig(cmd); err != nil {
		return err
	}
	report, finish := t.Stages()
	out, err := evaluator.Simulate(cmd.Context(), cfg, report)
	finish()
	if err != nil {
		return err
	}
	return t.Show(out, func() { printSimulated(t, out) })
}

func printSimulated(t *program.Terminal, s *evaluator.Simulated) {
	t.Printf("%s, mean of %d, NDCG@10 on queries that no user asked\n\n", s.Dataset, s.Seeds)
	type row struct {
		name string
		of   func(*evaluator.Outcome) float64
	}
	rows := []row{
		{"start", func(o *evaluator.Outcome) float64 { return o.Start }},
		{"full labels", func(o *evaluator.Outcome) float64 { return o.FullLabels }},
		{"labels of what was shown", func(o *evaluator.Outcome) float64 { return o.ShownLabels }},
		{"clicks", func(o *evaluator.Outcome) float64 { return o.Clicks }},
		{"every fifth hostile", func(o *evaluator.Outcome) float64 { return o.Attack20 }},
		{"  against clicks", func(o *evaluator.Outcome) float64 { return o.Attack20 - o.Clicks }},
		{"one without end", func(o *evaluator.Outcome) float64 { return o.AttackOne }},
		{"  against clicks", func(o *evaluator.Outcome) float64 { return o.AttackOne - o.Clicks }},
	}
	if s.Silent20 > 0 {
		rows = append(rows, row{"every fifth silent", func(o *evaluator.Outcome) float64 { return o.Silent20 }},
			row{"  against clicks", func(o *evaluator.Outcome) float64 { return o.Silent20 - o.Clicks }})
	}
	if s.Thorough > 0 {
		rows = append(rows, row{"thorough users", func(o *evaluator.Outcome) float64 { return o.Thorough }},
			row{"  against labels", func(o *evaluator.Outcome) float64 { return o.Thorough - o.FullLabels }})
	}
	if s.Invented.Before > 0 {
		rows = append(rows, row{"50 invented names", func(o *evaluator.Outcome) float64 { return o.Invented.NDCG }},
			row{"  one credential for all", func(o *evaluator.Outcome) float64 { return o.InventedAmong.NDCG }})
	}
	for _, r := range rows {
		t.Printf("%-24s %7.4f", r.name, r.of(&s.Outcome))
		if margin := s.Margin(r.of); margin > 0 {
			t.Printf(" ± %.4f", margin)
		}
		t.Printf("\n")
	}
	t.Printf("%-24s %7.4f\n", "share of the gain", s.GainShare)
	if s.Invented.Before > 0 {
		t.Printf("\nThe tool of 50 invented names is among the first five of %.1f %% of the queries, and %.1f %% before;\nwhere all have one credential, of %.1f %%.\n",
			100*s.Invented.After, 100*s.Invented.Before, 100*s.InventedAmong.After)
	}
	printCurve(t, s.Curve, s.Start, s.FullLabels)
	if d := s.Drift; d != nil {
		t.Printf("\nA third of the tools replaced at half time: %.4f falls to %.4f and ends at %.4f; full labels %.4f\n", d.Before, d.After, d.End, d.FullLabels)
		if d.Recovered != nil {
			t.Printf("90 %% of what it was after %.0f events\n", *d.Recovered)
		} else {
			t.Printf("not back at 90 %% of what it was\n")
		}
		printCurve(t, d.Curve, d.After, d.Before)
	}
}

// curveLines is the number of printed points of a curve: they fit a screen.
const curveLines = 20

// printCurve draws quality by feedback, between two marks.
func printCurve(t *program.Terminal, curve []evaluator.LearningPoint, low, high float64) {
	for _, p := range curve {
		low, high = min(low, p.NDCG), max(high, p.NDCG)
	}
	t.Printf("\n%8s  %s\n", "feedback", "NDCG@10")
	for i, p := range curve {
		if i%(len(curve)/curveLines+1) > 0 && i < len(curve)-1 {
			continue
		}
		t.Printf("%8.0f  %.4f %s\n", p.Events, p.NDCG, bar(p.NDCG, low, high))
	}
}

// bar draws a value between two others.
func bar(value, low, high float64) string {
	if high <= low {
		return ""
	}
	const width = 50
	return strings.Repeat("█", int(width*(value-low)/(high-low)))
}
