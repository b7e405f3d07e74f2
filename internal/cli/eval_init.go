package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/cli/dataset"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/client"
)

func newEvalInit(con *console) *cobra.Command {
	var tenant string
	var open bool
	cmd := &cobra.Command{
		Use: "init DIR", Short: "Make a data set of recorded searches", Args: cobra.ExactArgs(1),
		Long: `Make a data set of a tenant's tools and of its recorded searches, for you to look through
and edit, and to measure with:

  DIR/tools.jsonl      the tools, as their documents came
  DIR/providers.jsonl  their owners, if they have documents
  DIR/queries.jsonl    a line for each text that was searched for, the most frequent first:
                       {"id", "query", "labels": [{"id", "relevance", "alternatives"}]}

A label is a tool that was selected or called after such a search and did not fail, by the
feedback on it. Its alternatives are the copies that were shown in one place with it. So a
label is a tool that was found and used; others may be right too: add the missing labels,
and delete wrong labels and queries without a meaning.

It reads the export of the tenant, which an admin of the tenant may have, and an operator
of the tenant default. People wrote the questions; the files are for you alone.`,
		Example: `  toolstream eval init my-tools
  toolstream eval init my-tools --open
  toolstream eval my-tools/queries.jsonl --min recall@5=0.8
  toolstream-lab eval my-tools`,
		RunE: func(cmd *cobra.Command, args []string) error { return evalInit(con, cmd, args[0], tenant, open) },
	}
	cmd.Flags().StringVar(&tenant, "tenant", identity.DefaultTenant, "whose tools and searches")
	cmd.Flags().BoolVar(&open, "open", false, "also write the questions without a known use, without labels: eval leaves them out until you add labels")
	return cmd
}

// madeSet is the result of eval init.
type madeSet struct {
	Dir      string `json:"dir"`
	Tools    int    `json:"tools"`
	Labelled int    `json:"labelled"` // questions with a label
	Open     int    `json:"open"`     // questions without one, written or not
}

func evalInit(con *console, cmd *cobra.Command, dir, tenant string, open bool) error {
	queries := filepath.Join(dir, "queries.jsonl")
	if _, err := os.Stat(queries); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is there already, and you may have edited it: take another folder", queries))
	}
	body, _, err := con.client().Send(cmd.Context(), http.MethodGet, client.Path(tenants.Path, tenant)+"/export", nil, "", nil)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	made := madeSet{Dir: dir}
	var export *dataset.Export
	err = writeLines(filepath.Join(dir, "tools.jsonl"), func(line func(any) error) (err error) {
		export, err = dataset.ReadExport(body, func(t dataset.Tool) error {
			made.Tools++
			return line(t)
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := writeAll(filepath.Join(dir, "providers.jsonl"), export.Providers); err != nil {
		return err
	}
	labelled, without, gone := export.Questions()
	made.Labelled, made.Open = len(labelled), len(without)
	if open {
		labelled = append(labelled, without...)
	}
	if err := writeAll(queries, labelled); err != nil {
		return err
	}
	return con.Show(made, func() {
		con.Printf("%s: %d tools, %d questions with a used tool, %d questions without\n", program.OneLine(made.Dir), made.Tools, made.Labelled, made.Open)
		if gone > 0 {
			con.Notef("note: %d uses were of deleted tools\n", gone)
		}
		if made.Labelled == 0 && !open {
			con.Notef("note: no feedback names a used tool (toolstream feedback --help); with --open you label by hand\n")
		}
		con.Notef("look through queries.jsonl before you measure: toolstream eval %s/queries.jsonl, or toolstream-lab eval %[1]s\n", program.OneLine(made.Dir))
	})
}

// writeAll writes a file with a line for each value. It writes no file if there are no values.
func writeAll[T any](path string, values []T) error {
	if len(values) == 0 {
		return nil
	}
	return writeLines(path, func(line func(any) error) error {
		for _, v := range values {
			if err := line(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeLines writes a file of JSON Lines, line by line, that only its owner can read. It
// removes the file after an error.
func writeLines(path string, write func(line func(any) error) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	err = errors.Join(write(enc.Encode), buffered.Flush(), file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
