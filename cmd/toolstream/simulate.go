package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/app"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/training"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	simulate app.SimulateConfig
	config   string
}

func newSimulate(con *console) *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate DIR",
		Short: "See what learning from users would bring",
		Long: `Replay a data set as users who search and click, through the query service and
the trainer that serve, in this process. A user looks at rank r of the ten shown
with probability 1/r and errs in one of ten looks. The queries of four of five
folds are asked; NDCG@10 is that of the fifth, at the end the mean of the last
tenth of the rounds. The same is done with every fifth user hostile, and with one
hostile user who never stops. What the labels of all that was shown would teach is
the most that clicks could: what is never shown teaches nothing.

--drift shows how learning follows when a third of the tools that are asked for
is replaced at half time, --silent what it comes to where every fifth user never
reports anything, --thorough what it comes to where users look at all of
100 results and never err.`,
		Example: `  toolstream simulate my-tools
  toolstream simulate my-tools --seeds 5 --json
  toolstream simulate my-tools --drift --thorough`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.simulate.Dir = args[0]
			return con.simulate(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.simulate.Seeds, "seeds", 1, "how often, each with another fold held out and other users")
	flags.IntVar(&f.simulate.Rounds, "rounds", 0, "how often each query is asked; 0: as often as makes 8,000 searches, from 8 to 100 times")
	flags.IntVar(&f.simulate.Users, "users", 100, "users who take turns")
	flags.BoolVar(&f.simulate.Drift, "drift", false, "change what is right at half time, too")
	flags.BoolVar(&f.simulate.Silent, "silent", false, "let every fifth user report nothing, too")
	flags.BoolVar(&f.simulate.Thorough, "thorough", false, "let users look at everything, too")
	flags.String("model", "", "embedding model, as embedder.model in the settings (TOOLSTREAM_EMBEDDER_MODEL)")
	flags.StringVar(&f.config, "config", "", "configuration file (YAML); see toolstream config print")
	return cmd
}

func (c *console) simulate(cmd *cobra.Command, f simulateFlags) error {
	if f.simulate.Seeds < 1 || f.simulate.Rounds < 0 || f.simulate.Users < 1 {
		return misused(cmd, "--seeds and --users are at least 1, and --rounds at least 0")
	}
	set := map[string]any{}
	if model := cmd.Flags().Lookup("model"); model.Changed {
		set["embedder.model"] = model.Value.String()
	}
	cfg, err := config.Load(f.config, set)
	if err != nil {
		return usageError{err, cmd.CommandPath()}
	}
	f.simulate.Config = cfg
	p := &evalProgress{con: c, bar: &progress{}}
	out, err := app.Simulate(cmd.Context(), f.simulate, app.EvalDeps{Fit: training.Config{}.Fit, Progress: p.report})
	p.finish()
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(out)
	}
	c.printSimulated(out)
	return nil
}

func (c *console) printSimulated(s *app.Simulated) {
	c.printf("%s, mean of %d, NDCG@10 on queries that nobody asked\n\n", s.Dataset, s.Seeds)
	type row struct {
		name  string
		value float64
		of    func(app.Outcome) float64
	}
	rows := []row{
		{"start", s.Start, func(o app.Outcome) float64 { return o.Start }},
		{"full labels", s.FullLabels, func(o app.Outcome) float64 { return o.FullLabels }},
		{"labels of what was shown", s.ShownLabels, func(o app.Outcome) float64 { return o.ShownLabels }},
		{"clicks", s.Clicks, func(o app.Outcome) float64 { return o.Clicks }},
		{"every fifth hostile", s.Attack20, func(o app.Outcome) float64 { return o.Attack20 }},
		{"  against clicks", s.Attack20 - s.Clicks, func(o app.Outcome) float64 { return o.Attack20 - o.Clicks }},
		{"one without end", s.AttackOne, func(o app.Outcome) float64 { return o.AttackOne }},
		{"  against clicks", s.AttackOne - s.Clicks, func(o app.Outcome) float64 { return o.AttackOne - o.Clicks }},
	}
	if s.Silent20 > 0 {
		rows = append(rows, row{"every fifth silent", s.Silent20, func(o app.Outcome) float64 { return o.Silent20 }},
			row{"  against clicks", s.Silent20 - s.Clicks, func(o app.Outcome) float64 { return o.Silent20 - o.Clicks }})
	}
	if s.Thorough > 0 {
		rows = append(rows, row{"thorough users", s.Thorough, func(o app.Outcome) float64 { return o.Thorough }},
			row{"  against labels", s.Thorough - s.FullLabels, func(o app.Outcome) float64 { return o.Thorough - o.FullLabels }})
	}
	for _, r := range rows {
		c.printf("%-24s %7.4f", r.name, r.value)
		if margin := s.Margin(r.of); margin > 0 {
			c.printf(" ± %.4f", margin)
		}
		c.printf("\n")
	}
	c.printf("%-24s %7.4f\n", "share of the gain", s.GainShare)
	c.printCurve(s.Curve, s.Start, s.FullLabels)
	if d := s.Drift; d != nil {
		c.printDrift(d)
	}
}

func (c *console) printDrift(d *app.Drift) {
	c.printf("\nA third of the tools replaced at half time: %.4f falls to %.4f and ends at %.4f; full labels %.4f\n", d.Before, d.After, d.End, d.FullLabels)
	if d.Recovered != nil {
		c.printf("90 %% of what it was after %.0f events\n", *d.Recovered)
	} else {
		c.printf("not back at 90 %% of what it was\n")
	}
	c.printCurve(d.Curve, d.After, d.Before)
}

// curveLines is how many points of a curve are printed: a screen of them.
const curveLines = 20

// printCurve draws quality by feedback, between two marks.
func (c *console) printCurve(curve []app.LearningPoint, low, high float64) {
	for _, p := range curve {
		low, high = min(low, p.NDCG), max(high, p.NDCG)
	}
	c.printf("\n%8s  %s\n", "feedback", "NDCG@10")
	for i, p := range curve {
		if i%(len(curve)/curveLines+1) > 0 && i < len(curve)-1 {
			continue
		}
		c.printf("%8.0f  %.4f %s\n", p.Events, p.NDCG, bar(p.NDCG, low, high))
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
