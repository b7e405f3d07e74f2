package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/reindex"
)

// reindexPace is the interval between two polls of the progress.
const reindexPace = 200 * time.Millisecond

func newReindex(con *console) *cobra.Command {
	var request reindex.Request
	var wait bool
	cmd := &cobra.Command{
		Use:   "reindex [--model MODEL | --back | --finish]",
		Short: "Change the embedding model while searches go on, or step back",
		Long: `Build an index of another embedding model while the old index is searched, from all accepted
documents, also from documents that come in meanwhile. Searches change over once the new index
has every accepted document, from one search to the next. Weights that were learned with a model
are used with that model alone.

The old index is kept up to date, so --back is a matter of moments, as often as wanted.
--finish deletes the index that is not searched, and so does the next change of the model.
Without a flag the command shows which models are indexed, and how far.

MODEL is static, static:NAME for the file NAME in the server's models.dir, onnx:NAME, http,
or http:NAME for another model behind the same endpoint. Set embedder.model to it when
all is well: until then the server says at its start that it differs. 'toolstream up' makes
the change itself if it starts with another embedder.model than before.

A document that the new model cannot embed keeps the old index in use. Code 1 says so,
and the dead letters say why: replay them once that is mended, or drop them to go on
without. With services apart, every query replica changes over by itself; this shows all
that answer, and waits for them.`,
		Example: `  toolstream reindex --model onnx:bge-small
  toolstream reindex --model static:mine.static
  toolstream reindex --back
  toolstream reindex --finish
  toolstream reindex`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := 0
			for _, flag := range []string{"model", "back", "finish"} {
				if cmd.Flags().Changed(flag) {
					n++
				}
			}
			if n > 1 {
				return program.Misused(cmd, "--model, --back and --finish exclude each other")
			}
			return runReindex(cmd.Context(), con, request, n == 1, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Model, "model", "", "embedding model to change to, as embedder.model")
	flags.BoolVar(&request.Back, "back", false, "search the other model's index again: the one before")
	flags.BoolVar(&request.Finish, "finish", false, "give up the index that is not searched")
	flags.BoolVar(&wait, "wait", true, "wait until searches have changed over")
	return cmd
}

// runReindex sends the request, if there is a change, and shows the result.
func runReindex(ctx context.Context, con *console, o reindex.Request, change, wait bool) error {
	var r reindex.Report
	var err error
	if change {
		err = con.client().Post(ctx, "/v1/reindex", o, &r)
	} else {
		err = con.client().Get(ctx, "/v1/reindex", nil, &r)
	}
	if err != nil {
		return err
	}
	var stuck error
	if change && wait && !o.Finish {
		if r, stuck, err = awaitTarget(ctx, con, r); err != nil {
			return err
		}
	}
	return cmp.Or(con.Show(r, func() {
		t := program.NewTable("VERSION", "STATE", "MODEL", "DIMS", "THERE", "OF", "DEAD", "NOTE…")
		for _, g := range r.Versions {
			note := g.Problem
			if note == "" && g.Lag > 0 {
				note = fmt.Sprintf("%d records behind", g.Lag)
			}
			t.Add(g.Number, g.State, g.Setting, g.Dimensions, g.There, g.Entities, g.Dead, note)
		}
		con.PrintTable(t)
		if len(r.Replicas) == 0 {
			return
		}
		con.Printf("\n")
		t = program.NewTable("SERVICES", "ADDRESS", "SEARCHES", "NOTE…")
		for _, replica := range r.Replicas {
			searches := ""
			if replica.Live != 0 {
				searches = fmt.Sprint(replica.Live)
			}
			t.Add(strings.Join(replica.Services, ", "), replica.Address, searches, replica.Problem)
		}
		con.PrintTable(t)
	}), stuck)
}

// awaitTarget polls until searches use the target. Stuck is the reason if an operator has to
// act first.
func awaitTarget(ctx context.Context, con *console, r reindex.Report) (_ reindex.Report, stuck, err error) {
	bar, started, there, said := &program.Progress{}, false, 0, ""
	defer func() { bar.Close() }()
	for !r.Switched() {
		g := target(r)
		if !started && g.Entities > 0 {
			bar, started = con.Progress("indexing with "+g.Setting, int64(g.Entities), false), true
		}
		bar.Add(max(0, g.There-there))
		there = max(there, g.There)
		if problem := problemOf(r); problem != said && problem != "" {
			said = problem
			con.Notef("toolstream: reindex: %s; it is tried again\n", problem)
		}
		if g.Dead > 0 && g.Lag == 0 {
			return r, fmt.Errorf("%d documents cannot be embedded by %s, so searches stay with the old model: see why with `toolstream dlq list --stage %s`, then replay or drop them", g.Dead, g.Setting, g.Stage), nil
		}
		select {
		case <-ctx.Done():
			return r, nil, ctx.Err()
		case <-time.After(reindexPace):
		}
		var next reindex.Report // a new value, because an answer omits empty fields
		if err := con.client().Get(ctx, "/v1/reindex", nil, &next); err != nil {
			return r, nil, err
		}
		r = next
	}
	return r, nil, nil
}

// problemOf returns the problem that keeps a process from working for the target, "" if there
// is no problem.
func problemOf(r reindex.Report) string {
	if problem := target(r).Problem; problem != "" {
		return problem
	}
	for _, replica := range r.Replicas {
		if replica.Problem != "" {
			return fmt.Sprintf("%s at %s: %s", strings.Join(replica.Services, ", "), replica.Address, replica.Problem)
		}
	}
	return ""
}

// target returns the index version that searches are to switch to.
func target(r reindex.Report) reindex.State {
	for _, g := range r.Versions {
		if g.Number == r.Target {
			return g
		}
	}
	return reindex.State{}
}
