package main

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

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/lab/dataset"
	"github.com/toolstream/toolstream/internal/tenants"
	"github.com/toolstream/toolstream/pkg/client"
)

func newEvalInit(con *console) *cobra.Command {
	var tenant string
	var open bool
	cmd := &cobra.Command{
		Use: "init DIR", Short: "Make a data set of what was searched and used", Args: cobra.ExactArgs(1),
		Long: `Make a data set of a tenant's tools and of its recorded searches, for you to look through
and edit, and for toolstream eval to measure:

  DIR/tools.jsonl      the tools, as their documents came
  DIR/providers.jsonl  what owns them, where it was described
  DIR/queries.jsonl    a line for each text that was searched for, the most frequent first:
                       {"id", "query", "labels": [{"id", "relevance", "alternatives"}]}

A label is a tool that was selected or called after such a search and did not fail, by the
feedback on it. Its alternatives are the copies that were shown in one place with it. So a
label is what was found and used, and not all that would have done: add what is missing,
and delete what was used by mistake or says nothing.

It reads the export of the tenant, which an admin of the tenant may have, and an operator
of the tenant default. The questions are what people wrote; the files are for you alone.`,
		Example: `  toolstream eval init my-tools
  toolstream eval init my-tools --open
  toolstream eval my-tools --min recall@5=0.8`,
		RunE: func(cmd *cobra.Command, args []string) error { return con.evalInit(cmd, args[0], tenant, open) },
	}
	cmd.Flags().StringVar(&tenant, "tenant", identity.DefaultTenant, "whose tools and searches")
	cmd.Flags().BoolVar(&open, "open", false, "also write questions of which nothing is known to be used, without labels: eval leaves them out until you add some")
	return cmd
}

// madeSet is what eval init has made.
type madeSet struct {
	Dir      string `json:"dir"`
	Tools    int    `json:"tools"`
	Labelled int    `json:"labelled"` // questions with a label
	Open     int    `json:"open"`     // questions without one, written or not
}

func (c *console) evalInit(cmd *cobra.Command, dir, tenant string, open bool) error {
	queries := filepath.Join(dir, "queries.jsonl")
	if _, err := os.Stat(queries); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s is there already, and you may have edited it: take another folder", queries))
	}
	body, _, err := c.client().Send(cmd.Context(), http.MethodGet, client.Path(tenants.Path, tenant)+"/export", nil, "", nil)
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
	return c.show(made, func() { c.printMade(made, gone, open) })
}

func (c *console) printMade(made madeSet, gone int, open bool) {
	c.printf("%s: %d tools, %d questions with what was used; of %d more nothing is known\n", oneLine(made.Dir), made.Tools, made.Labelled, made.Open)
	if gone > 0 {
		c.notef("note: %d uses were of tools that are no more\n", gone)
	}
	if made.Labelled == 0 && !open {
		c.notef("note: no feedback says what was used (toolstream feedback --help); with --open you label by hand\n")
	}
	c.notef("look through queries.jsonl before you measure: toolstream eval %s\n", oneLine(made.Dir))
}

// writeAll writes a file of a line for each value, none for no values.
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

// writeLines writes a file of JSON Lines that others cannot read, one at a time. After an
// error there is none.
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
