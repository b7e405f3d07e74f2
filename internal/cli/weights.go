package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/fusion"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/trainer"
)

func newWeights(con *console) *cobra.Command {
	return program.Group(&cobra.Command{Use: "weights", Short: "List, show, promote, pin and roll back versions of the fusion weights, and forget what callers taught"},
		&cobra.Command{
			Use: "list", Short: "List the versions, newest first", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return listWeights(con, cmd) },
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
				return con.Show(w, func() {
					printHistory(con, w)
					program.Weights(con.Terminal, w.Weights)
				})
			},
		},
		&cobra.Command{
			Use: "promote VERSION|FILE", ValidArgsFunction: completeWeights(con), Short: "Make a version live, or weights that train wrote to a file", Args: cobra.ExactArgs(1),
			Example: "  toolstream weights promote builtin\n  toolstream weights promote weights.json",
			RunE: func(cmd *cobra.Command, args []string) error {
				if _, err := os.Stat(args[0]); err == nil {
					raw, err := os.ReadFile(args[0])
					if err != nil {
						return err
					}
					var w schema.Weights
					if err := json.Unmarshal(raw, &w); err != nil {
						return fmt.Errorf("%s holds no weights: %w", args[0], err)
					}
					if _, err := fusion.ModelOf(w); err != nil {
						return fmt.Errorf("%s: %w", args[0], err)
					}
					return switchWeights(con, cmd, "/v1/weights", w)
				}
				return switchWeights(con, cmd, client.Path("/v1/weights", args[0])+"/promote", nil)
			},
		},
		&cobra.Command{
			Use: "pin [VERSION]", ValidArgsFunction: completeWeights(con), Short: "Make a version live and keep it so, whatever is learned; the live one if none is named", Args: cobra.MaximumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return switchWeights(con, cmd, client.Path("/v1/weights", append(args, "live")[0])+"/pin", nil)
			},
		},
		&cobra.Command{
			Use: "unpin", Short: "Let learned weights go live again", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return switchWeights(con, cmd, "/v1/weights:unpin", nil) },
		},
		&cobra.Command{
			Use: "rollback", Short: "Go back to the version before the live one", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return switchWeights(con, cmd, "/v1/weights:rollback", nil)
			},
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
		Use: "forget", Short: "Forget the searches of a client or a credential until now", Args: cobra.NoArgs,
		Long: `Forget the searches of a client until now, in usage and learned weights too: the built-in
weights serve until others are learned from the remaining searches. To keep the client from
teaching again, revoke its token.`,
		Example: "  toolstream weights forget --client eve\n  toolstream weights forget --credential crawler",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var taken trainer.TakenBack
			if err := con.client().Post(cmd.Context(), "/v1/weights:forget", who, &taken); err != nil {
				return err
			}
			return con.Show(taken, func() {
				con.Printf("taken back: %d searches, for %d queries\n", taken.Searches, taken.Queries)
			})
		},
	}
	cmd.Flags().StringVar(&who.Client, "client", "", "name in the bodies of feedback, of any credential if none is named")
	cmd.Flags().StringVar(&who.Credential, "credential", "", "name of a token, with all its clients if none is named")
	cmd.MarkFlagsOneRequired("client", "credential")
	return cmd
}

func listWeights(con *console, cmd *cobra.Command) error {
	var list struct {
		Live     string                `json:"live"`
		Pinned   bool                  `json:"pinned"`
		Versions []trainer.KeptWeights `json:"versions"`
		Damaged  []trainer.Damaged     `json:"damaged"`
	}
	if err := con.client().Get(cmd.Context(), "/v1/weights", nil, &list); err != nil {
		return err
	}
	t := program.NewTable("STATE", "VERSION", "EPOCH", "CREATED", "PARENT", "PAIRS", "GAIN", "MADE BY…")
	t.Names = 1
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
		t.Add(state, w.Version, w.Epoch, created, w.Parent, w.Trained, gain, w.Source)
	}
	return con.Show(list, func() {
		con.PrintTable(t)
		for _, d := range list.Damaged {
			con.Printf("%s is damaged: %s\n", d.Version, d.Reason)
		}
	})
}

// printHistory prints the history of a version, without its content.
func printHistory(con *console, w trainer.KeptWeights) {
	con.Printf("hash %s, parent %s\n%s", w.Hash, cmp.Or(w.Parent, "none"), w.Status)
	if !w.Since.IsZero() {
		con.Printf(" since %s", w.Since.Local().Format(time.DateTime))
	}
	if w.Reason != "" {
		con.Printf(": %s", w.Reason)
	}
	con.Printf("\n")
	if !w.From.IsZero() {
		con.Printf("learned from %d pairs of searches from %s to %s\n", w.Trained, w.From.Local().Format(time.DateTime), w.To.Local().Format(time.DateTime))
	}
	if f := w.CrossValidated; f != nil {
		con.Printf("NDCG@10 over the built-in weights, cross-validated: %+.4f on %d queries\n", f.Gain, f.Searches)
	}
	if len(w.Words) > 0 {
		con.Printf("changed against %s:\n", w.Parent)
	}
	for _, change := range w.Words {
		con.Printf("   %s\n", change)
	}
}

// switchWeights makes other weights live; nil sends no body.
func switchWeights(con *console, cmd *cobra.Command, path string, body any) error {
	var w schema.Weights
	if err := con.client().Post(cmd.Context(), path, body, &w); err != nil {
		return err
	}
	until := map[string]string{"pin": " and stays so", "unpin": " until better ones are learned"}[cmd.Name()]
	return con.Show(w, func() { con.Printf("%s is live%s (%s)\n", w.Version, until, w.Source) })
}
