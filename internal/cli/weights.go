package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
)

func newWeights(con *console) *cobra.Command {
	return group(&cobra.Command{Use: "weights", Short: "List, show, promote, pin and roll back versions of the fusion weights, and take back what was taught"},
		&cobra.Command{
			Use: "list", Short: "List the versions, newest first", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return con.listWeights(cmd) },
		},
		&cobra.Command{
			Use: "show [VERSION]", ValidArgsFunction: completeWeights(con), Short: "Show one version; the live one if none is named", Args: cobra.MaximumNArgs(1),
			Example: "  toolstream weights show\n  toolstream weights show builtin --json",
			RunE: func(cmd *cobra.Command, args []string) error {
				var w trainer.KeptWeights
				version := append(args, "live")[0]
				if err := con.client().Get(cmd.Context(), client.Path("/v1/weights", version), nil, &w); err != nil {
					return fmt.Errorf("%s: %w", version, err)
				}
				return con.show(w, func() {
					con.printHistory(w)
					con.printWeights(w.Weights)
				})
			},
		},
		&cobra.Command{
			Use: "promote VERSION|FILE", ValidArgsFunction: completeWeights(con), Short: "Make a version live, or weights that train wrote to a file", Args: cobra.ExactArgs(1),
			Example: "  toolstream weights promote builtin\n  toolstream weights promote weights.json",
			RunE: func(cmd *cobra.Command, args []string) error {
				if _, err := os.Stat(args[0]); err == nil {
					return con.promoteFile(cmd, args[0])
				}
				return con.switchWeights(cmd, client.Path("/v1/weights", args[0])+"/promote", nil)
			},
		},
		&cobra.Command{
			Use: "pin [VERSION]", ValidArgsFunction: completeWeights(con), Short: "Make a version live and keep it so, whatever is learned; the live one if none is named", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return con.switchWeights(cmd, client.Path("/v1/weights", append(args, "live")[0])+"/pin", nil)
			},
		},
		&cobra.Command{
			Use: "unpin", Short: "Let what is learned follow the live version again", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return con.switchWeights(cmd, "/v1/weights:unpin", nil) },
		},
		&cobra.Command{
			Use: "rollback", Short: "Go back to the version before the live one", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return con.switchWeights(cmd, "/v1/weights:rollback", nil) },
		},
		newForget(con),
	)
}

func newForget(con *console) *cobra.Command {
	var who struct {
		Client     string `json:"client,omitempty"`
		Credential string `json:"credential,omitempty"`
	}
	cmd := &cobra.Command{
		Use: "forget", Short: "Take back what a client or a credential taught until now", Args: cobra.NoArgs,
		Long: `Take back what a client taught by its searches until now, usage and learned weights
included: the built-in weights serve until others are learned from what is left. To
keep it from teaching again, take its token away.`,
		Example: "  toolstream weights forget --client eve\n  toolstream weights forget --credential crawler",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var taken trainer.TakenBack
			if err := con.client().Post(cmd.Context(), "/v1/weights:forget", who, &taken); err != nil {
				return err
			}
			return con.show(taken, func() {
				con.printf("taken back: %d searches, for %d queries\n", taken.Searches, taken.Queries)
			})
		},
	}
	cmd.Flags().StringVar(&who.Client, "client", "", "name in the bodies of feedback, of any credential if none is named")
	cmd.Flags().StringVar(&who.Credential, "credential", "", "name of a token, with all its clients if none is named")
	cmd.MarkFlagsOneRequired("client", "credential")
	return cmd
}

func (c *console) listWeights(cmd *cobra.Command) error {
	var list struct {
		Live     string                `json:"live"`
		Pinned   bool                  `json:"pinned"`
		Shadow   *trainer.ShadowTrial  `json:"shadow,omitempty"`
		Versions []trainer.KeptWeights `json:"versions"`
		Damaged  []trainer.Damaged     `json:"damaged"`
	}
	if err := c.client().Get(cmd.Context(), "/v1/weights", nil, &list); err != nil {
		return err
	}
	t := newTable("STATE", "VERSION", "EPOCH", "CREATED", "PARENT", "PAIRS", "GAIN", "MADE BY…")
	t.names = 1
	for _, w := range list.Versions {
		state, created, gain := string(w.Status), "", ""
		if w.Status == trainer.Live && list.Pinned {
			state += ", pinned"
		}
		if !w.Created.IsZero() {
			created = w.Created.Local().Format(time.DateTime)
		}
		if w.CrossValidated != nil {
			gain = fmt.Sprintf("%+.4f", w.CrossValidated.Gain)
		}
		t.add(state, w.Version, w.Epoch, created, w.Parent, w.Trained, gain, w.Source)
	}
	return c.show(list, func() {
		c.printTable(t)
		if on := list.Shadow; on != nil {
			c.printf("%s is on trial until %s, or until %d searches decide\n", on.Version, on.Until.Local().Format(time.DateTime), on.Needed)
		}
		for _, d := range list.Damaged {
			c.printf("%s is damaged: %s\n", d.Version, d.Reason)
		}
	})
}

func (c *console) printWeights(w schema.Weights) {
	c.printf("version %s, epoch %d, %s\n", w.Version, w.Epoch, w.Source)
	t := newTable("FEATURE", "WEIGHT")
	for _, name := range slices.Sorted(maps.Keys(w.Features)) {
		t.add(name, fmt.Sprintf("%.4f", w.Features[name]))
	}
	t.add("bias", fmt.Sprintf("%.4f", w.Bias))
	t.add("tau (a match below counts as missing)", fmt.Sprintf("%.4f", w.Tau))
	t.add("w_req (missing required parameter)", fmt.Sprintf("%.4f", w.Required))
	t.add("w_opt (missing optional parameter)", fmt.Sprintf("%.4f", w.Optional))
	c.printTable(t)
}

// printHistory prints what is known of a version beside its content.
func (c *console) printHistory(w trainer.KeptWeights) {
	c.printf("hash %s, parent %s\n%s", w.Hash, cmp.Or(w.Parent, "none"), w.Status)
	if !w.Since.IsZero() {
		c.printf(" since %s", w.Since.Local().Format(time.DateTime))
	}
	if w.Reason != "" {
		c.printf(": %s", w.Reason)
	}
	c.printf("\n")
	if !w.From.IsZero() {
		c.printf("learned from %d pairs of searches from %s to %s\n", w.Trained, w.From.Local().Format(time.DateTime), w.To.Local().Format(time.DateTime))
	}
	if f := w.CrossValidated; f != nil {
		c.printf("NDCG@10 over the built-in weights, cross-validated: %+.4f on %d queries\n", f.Gain, f.Searches)
	}
	if len(w.Words) > 0 {
		c.printf("changed against %s:\n", w.Parent)
	}
	for _, change := range w.Words {
		c.printf("   %s\n", change)
	}
	if f := w.History.Shadow; f != nil {
		c.printf("gain over the live weights in the shadow trial (of 1/log2(1+rank)): %+.4f ± %.4f on %d searches\n", f.Gain, f.Margin, f.Searches)
	}
}

func (c *console) promoteFile(cmd *cobra.Command, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var w schema.Weights
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("%s holds no weights: %w", path, err)
	}
	if _, err := fusion.ModelOf(w); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.switchWeights(cmd, "/v1/weights", w)
}

// switchWeights makes other weights live; nil sends no body.
func (c *console) switchWeights(cmd *cobra.Command, path string, body any) error {
	var w schema.Weights
	if err := c.client().Post(cmd.Context(), path, body, &w); err != nil {
		return err
	}
	until := map[string]string{"pin": " and stays so", "unpin": " until better ones are learned"}[cmd.Name()]
	return c.show(w, func() { c.printf("%s is live%s (%s)\n", w.Version, until, w.Source) })
}
