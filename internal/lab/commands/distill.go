package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/lab/evaluator"
)

// distillFlags are the flags of distill.
type distillFlags struct {
	texts []string
	out   string
	app   evaluator.DistillConfig
}

func newDistill(t *program.Terminal) *cobra.Command {
	var f distillFlags
	cmd := &cobra.Command{
		Use:   "distill --texts PATH… --teacher MODEL… --out FILE",
		Short: "Make a fast embedding model out of an expensive one, for your own texts",
		Long: `Learn from a sentence model, or several, a table of word vectors that embeds a text
in microseconds, in any process and without a runtime: the file that comes out is used
with embedder.model static:FILE.

Texts are the documents of your registry, read as import reads them, and .txt files, a
text a line. Requests are made up from the descriptions. The teachers' vectors are kept
in --cache: a run that is ended, or repeated with other settings, asks only for new
texts. docs/models.md tells how the model that is built in was made.`,
		Example: `  toolstream-lab distill --texts registry/ --teacher onnx:minilm --out mine.static
  toolstream-lab distill --texts tools.jsonl --texts requests.txt --teacher http --out mine.static
  toolstream-lab eval my-tools --model static:mine.static`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(f.texts) == 0:
				return program.Misused(cmd, "name the texts to learn from: --texts PATH")
			case len(f.app.Teachers) == 0:
				return program.Misused(cmd, "name the model to learn from: --teacher MODEL")
			case f.out == "":
				return program.Misused(cmd, "name the file to write: --out FILE")
			}
			return distill(t, cmd, f)
		},
	}
	f.register(cmd)
	return cmd
}

func (f *distillFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.texts, "texts", nil, "documents, data sets or .txt files: file, folder, glob, URL or - (repeatable)")
	flags.StringArrayVar(&f.app.Teachers, "teacher", nil, "model to learn from, as embedder.model (repeatable: all count alike)")
	flags.StringVar(&f.out, "out", "", "file to write")
	flags.String("config", "", program.ConfigHelp)
	flags.StringVar(&f.app.Cache, "cache", "", "folder for the teachers' vectors (default toolstream/teachers in your cache folder)")
	flags.StringVar(&f.app.Language, "language", "", "leave out documents in another language than this, and of one in Latin letters, texts with others")
	flags.StringVar(&f.app.WordNet, "wordnet", "", "folder of WordNet's database: general English in addition to the texts")
	flags.IntVar(&f.app.PerGroup, "per-vendor", 0, "documents of one vendor at most; 0: all")
	m := &f.app.Model
	flags.StringVar(&m.Name, "name", "static", "what the model calls itself")
	flags.StringArrayVar(&m.Licences, "licence", nil, "a line on whose work is in it, kept in the file (repeatable)")
	flags.IntVar(&m.Dimensions, "dims", 256, "dimensions")
	flags.IntVar(&m.Words, "words", 23000, "most words to learn; a word takes a byte a dimension")
	flags.IntVar(&m.Epochs, "epochs", 10, "times that every text is learned")
	flags.IntVar(&m.MinGroups, "min-vendors", 1, "vendors that must use a word for a row of its own; 2 leaves out product names")
	flags.Uint64Var(&m.Seed, "seed", 0, "seed of random choices")
}

func distill(t *program.Terminal, cmd *cobra.Command, f distillFlags) error {
	cfg, err := program.LoadConfig(cmd, nil)
	if err != nil {
		return err
	}
	f.app.Config = cfg
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	f.app.Cache = cmp.Or(f.app.Cache, filepath.Join(dir, "toolstream", "teachers"))
	sources, err := importer.Expand(t.In, f.texts)
	if err != nil {
		return err
	}
	progress, finish := t.Stages()
	file, report, err := evaluator.Distill(cmd.Context(), f.app, sources, progress)
	finish()
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("ended; what the teachers said so far is kept in %s: %w", f.app.Cache, err)
	}
	if err != nil {
		return err
	}
	if err := files.Write(f.out, file, 0o644); err != nil {
		return err
	}
	return t.Show(report, func() {
		table := program.NewTable("WHAT", "")
		table.Add("documents read", fmt.Sprint(report.Documents))
		table.Add("lines read", fmt.Sprint(report.Lines))
		table.Add("not readable", fmt.Sprint(report.Unread))
		table.Add("texts learned, and words alone", fmt.Sprintf("%d, %d", report.Texts, report.Alone))
		table.Add("words with a row", fmt.Sprint(report.Words))
		table.Add("of the teachers kept in the dimensions", fmt.Sprintf("%.1f %%", 100*report.Kept))
		table.Add("cosine to the teachers, texts held out", fmt.Sprintf("%.3f (%d texts; %.3f before training)", report.Cosine, report.HeldOut, report.Start))
		table.Add("of their ten nearest texts found", fmt.Sprintf("%.1f %%", 100*report.Overlap))
		t.PrintTable(table)
		t.Printf("\n%s: %.1f MB; use it with embedder.model static:%s\n", f.out, float64(report.Bytes)/1e6, f.out)
	})
}
