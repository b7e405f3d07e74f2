package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/models"
)

// modelFlags are the flags of the commands around models.
type modelFlags struct {
	from  []string
	sums  []string
	force bool
}

func newModels(con *console) *cobra.Command {
	f := &modelFlags{}
	cmd := group(&cobra.Command{
		Use:   "models",
		Short: "Add, list, verify and remove the files of embedding models",
		Long: `Keep the files of embedding models that run in this process, and of the ONNX
Runtime that runs them. They are used by "embedder.model: onnx:NAME", in a program
built with the tag onnx. These commands need no running server.`,
	}, newModelsAdd(con, f), newModelsList(con), newModelsVerify(con), newModelsRemove(con, f))
	cmd.PersistentFlags().String("config", "", "configuration file (YAML)")
	cmd.PersistentFlags().String("dir", "", "folder of the models (TOOLSTREAM_MODELS_DIR); models in the data folder if not set")
	return cmd
}

// openModels returns the store that the flags and settings name.
func openModels(cmd *cobra.Command) (*models.Store, config.Config, error) {
	cfg, err := loadConfig(cmd, map[string]string{"dir": "models.dir"})
	return models.New(cfg.ModelsDir()), cfg, err
}

func newModelsAdd(con *console, f *modelFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME --from PATH|URL…",
		Short: "Add a model or the runtime from folders, files or addresses",
		Long: `Add a model, or the runtime under the name onnxruntime, from folders, files or
http(s) addresses of files. Nothing is placed that is not complete.

Known by name, with every byte pinned: ` + strings.Join(models.Known(), ", ") + `.
Their files are recognised by their content, whatever they are called.

Any other name is a model of your own: BERT-shaped, with model.onnx, tokenizer.json
(or vocab.txt) and a model.json that says how it is used:
  {"pooling": "mean", "dimensions": 384, "max_tokens": 256}
What comes from an address then needs its --sha256.`,
		Example: `  toolstream models add onnxruntime --from libonnxruntime.so
  toolstream models add minilm --from ~/Downloads
  toolstream models add mine --from ./my-model
  toolstream models add mine --from https://models.example/model.onnx --sha256 5f70… --from ./rest`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return con.addModel(cmd, f, args[0]) },
	}
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "folder, file or address (repeatable)")
	cmd.Flags().StringArrayVar(&f.sums, "sha256", nil, "SHA-256 of the source in the same place (repeatable)")
	return cmd
}

func (c *console) addModel(cmd *cobra.Command, f *modelFlags, name string) error {
	if len(f.from) == 0 {
		return misused(cmd, "say with --from where %s comes from: a folder, file or address", name)
	}
	store, _, err := openModels(cmd)
	if err != nil {
		return err
	}
	e, err := store.Add(cmd.Context(), models.Request{Name: name, From: f.from, SHA256: f.sums, Progress: c.counting()})
	unchanged := errors.Is(err, models.ErrUnchanged)
	if err != nil && !unchanged {
		return err
	}
	return c.show(e, func() {
		if unchanged {
			c.printf("%s is %v, complete, in %s\n", name, models.ErrUnchanged, e.Dir)
		} else {
			c.printf("added %s (%s, %s) to %s\n", name, e.Kind, megabytes(e.Size()), e.Dir)
		}
	})
}

func newModelsList(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List what is there, with its size and state", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, _, err := openModels(cmd)
			if err != nil {
				return err
			}
			entries, err := store.List()
			if err != nil {
				return err
			}
			return con.printModels(entries, store.Dir())
		},
	}
}

func (c *console) printModels(entries []models.Entry, dir string) error {
	if c.structured() {
		return c.printData(append([]models.Entry{}, entries...))
	}
	t := newTable("NAME", "KIND", "VERSION", "PRECISION", "DIMENSIONS", "SIZE", "LICENCE", "STATE…")
	for _, e := range entries {
		state := "complete"
		if len(e.Problems) > 0 {
			state = strings.Join(e.Problems, "; ")
		}
		precision, dimensions := "", ""
		if e.Model != nil {
			precision, dimensions = e.Model.Precision, fmt.Sprint(e.Model.Dimensions)
		}
		t.add(e.Name, e.Kind, e.Version, precision, dimensions, megabytes(e.Size()), e.Licence, state)
	}
	c.printTable(t)
	if len(entries) == 0 {
		c.notef("%s holds no models; see `toolstream models add --help`\n", dir)
	}
	return nil
}

func newModelsVerify(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME…]", Short: "Read every file and compare its SHA-256; all entries if none is named",
		RunE: func(cmd *cobra.Command, names []string) error { return con.verifyModels(cmd, names) },
	}
}

func (c *console) verifyModels(cmd *cobra.Command, names []string) error {
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
	var entries []models.Entry
	var damaged []string
	for _, name := range names {
		e, err := store.Verify(cmd.Context(), name, c.counting())
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
	if err := c.printModels(entries, store.Dir()); err != nil || len(damaged) == 0 {
		return err
	}
	return fmt.Errorf("damaged or missing: %s; add again what is named", strings.Join(damaged, ", "))
}

func newModelsRemove(con *console, f *modelFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Delete an entry and its files", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			store, cfg, err := openModels(cmd)
			if err != nil {
				return err
			}
			for setting, model := range map[string]string{"embedder.model": cfg.Embedder.Model, "rerank.model": cfg.Rerank.Model} {
				if used, ok := strings.CutPrefix(model, config.ONNXPrefix); ok && !f.force && (name == used || name == models.RuntimeName) {
					return fmt.Errorf("%s is %s, which needs %s: choose another model first, or remove it with --force", setting, model, name)
				}
			}
			if err := store.Remove(name); err != nil {
				return err
			}
			con.notef("removed %s from %s\n", name, store.Dir())
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.force, "force", false, "remove it even if the settings choose it")
	return cmd
}

// counting shows a bar for each file that is read.
func (c *console) counting() models.Progress {
	return func(what string, size int64) io.WriteCloser { return newProgress(c, what, size, true) }
}

// Write counts what is written.
func (p *progress) Write(b []byte) (int, error) {
	p.add(len(b))
	return len(b), nil
}

// Close ends the bar.
func (p *progress) Close() error {
	p.finish()
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
