// Package commands holds the commands of toolstream-lab, a file each.
package commands

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Run is the program toolstream-lab: arguments and streams in, exit code out.
func Run(ctx context.Context, args []string, in io.Reader, out, err io.Writer) int {
	t := program.NewTerminal(in, out, err)
	return program.Run(ctx, NewRoot(t), args, t)
}

// NewRoot returns the command toolstream-lab, with all others below it.
func NewRoot(t *program.Terminal) *cobra.Command {
	root := program.NewRoot(&cobra.Command{
		Use:   "toolstream-lab",
		Short: "Measures, simulates and trains toolstream on data sets",
		Long: `toolstream-lab measures how well toolstream finds the tools of a data set, with the code that
serves and without a server, and makes the weights and embedding models that it ships with.`,
	}, t)
	root.AddCommand(newEval(t), newSimulate(t), newTrain(t), newTune(t), newDistill(t), newBench(t), newKnown(t), program.NewVersion(t))
	return root
}

// addModelFlags adds the flags that choose the embedding model.
func addModelFlags(cmd *cobra.Command) {
	cmd.Flags().String("model", "", "embedding model `NAME`, as embedder.model in the settings (TOOLSTREAM_EMBEDDER_MODEL)")
	cmd.Flags().String("config", "", program.ConfigHelp)
}

// modelConfig returns the settings under the flags of addModelFlags.
func modelConfig(cmd *cobra.Command) (config.Config, error) {
	return program.LoadConfig(cmd, map[string]string{"model": "embedder.model"})
}

// writeWeights writes weights to a file that toolstream weights promote reads. It writes
// nothing if path is empty.
func writeWeights(path string, weights schema.Weights) error {
	return program.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(weights)
	})
}
