package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/indexmgr"
)

// reindexPace is how often is asked how far it is.
const reindexPace = 200 * time.Millisecond

func newReindex(con *console) *cobra.Command {
	var request indexmgr.Request
	var wait bool
	cmd := &cobra.Command{
		Use:   "reindex [--model MODEL | --back | --finish]",
		Short: "Change the embedding model while searches go on, or step back",
		Long: `Build an index of another embedding model beside the one that is searched, from what
was accepted before and what comes in meanwhile. Searches go on with the old one until
the new one has everything that was accepted; then they change over, from one search to
the next. What was learned with a model is used with that model alone.

The old index is kept up to date, so --back is a matter of moments, as often as wanted.
--finish gives up the one that is not searched, and so does the next change of the model.
Without a flag the command shows which models are indexed, and how far.

MODEL is static, static:NAME for the file NAME in the server's models.dir, onnx:NAME, http,
or http:NAME for another model behind the same endpoint. Set embedder.model to it when
all is well: until then the server says at its start that it differs.

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
				return misused(cmd, "--model, --back and --finish exclude each other")
			}
			return con.reindex(cmd.Context(), request, n == 1, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&request.Model, "model", "", "embedding model to change to, as embedder.model")
	flags.BoolVar(&request.Back, "back", false, "search the other model's index again: the one before")
	flags.BoolVar(&request.Finish, "finish", false, "give up the index that is not searched")
	flags.BoolVar(&wait, "wait", true, "wait until searches have changed over")
	return cmd
}

// reindex gives the order, if there is one, and shows what came of it.
func (c *console) reindex(ctx context.Context, o indexmgr.Request, change, wait bool) error {
	var r indexmgr.Report
	var err error
	if change {
		err = c.client().Post(ctx, "/v1/reindex", o, &r)
	} else {
		err = c.client().Get(ctx, "/v1/reindex", nil, &r)
	}
	if err != nil {
		return err
	}
	var stuck error
	if change && wait && !o.Finish {
		if r, stuck, err = c.awaitTarget(ctx, r); err != nil {
			return err
		}
	}
	return cmp.Or(c.show(r, func() { c.printReport(r) }), stuck)
}

// awaitTarget asks until the target is searched. It returns why that cannot be,
// where an operator has to act first.
func (c *console) awaitTarget(ctx context.Context, r indexmgr.Report) (_ indexmgr.Report, stuck, err error) {
	bar, there, said := &progress{}, 0, ""
	defer func() { bar.finish() }()
	for !r.Switched() {
		g := target(r)
		if bar.bar == nil && g.Entities > 0 {
			bar = newProgress(c, "indexing with "+g.Setting, int64(g.Entities), false)
		}
		bar.add(max(0, g.There-there))
		there = max(there, g.There)
		if problem := problemOf(r); problem != said && problem != "" {
			said = problem
			c.notef("toolstream: reindex: %s; it is tried again\n", problem)
		}
		if g.Dead > 0 && g.Lag == 0 {
			return r, fmt.Errorf("%d documents cannot be embedded by %s, so searches stay with the old model: see why with `toolstream dlq list --stage %s`, then replay or drop them", g.Dead, g.Setting, g.Stage), nil
		}
		select {
		case <-ctx.Done():
			return r, nil, ctx.Err()
		case <-time.After(reindexPace):
		}
		var next indexmgr.Report // what an answer leaves out must not stay
		if err := c.client().Get(ctx, "/v1/reindex", nil, &next); err != nil {
			return r, nil, err
		}
		r = next
	}
	return r, nil, nil
}

// problemOf says what keeps a process from working for the target, "" for nothing.
func problemOf(r indexmgr.Report) string {
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

// target is the index version that is to be searched.
func target(r indexmgr.Report) indexmgr.State {
	for _, g := range r.Versions {
		if g.Number == r.Target {
			return g
		}
	}
	return indexmgr.State{}
}

func (c *console) printReport(r indexmgr.Report) {
	t := newTable("VERSION", "STATE", "MODEL", "DIMS", "THERE", "OF", "DEAD", "NOTE…")
	for _, g := range r.Versions {
		note := g.Problem
		if note == "" && g.Lag > 0 {
			note = fmt.Sprintf("%d records behind", g.Lag)
		}
		t.add(g.Number, g.State, g.Setting, g.Dimensions, g.There, g.Entities, g.Dead, note)
	}
	c.printTable(t)
	if len(r.Replicas) == 0 {
		return
	}
	c.printf("\n")
	t = newTable("SERVICES", "ADDRESS", "SEARCHES", "NOTE…")
	for _, replica := range r.Replicas {
		searches := ""
		if replica.Live != 0 {
			searches = fmt.Sprint(replica.Live)
		}
		t.add(strings.Join(replica.Services, ", "), replica.Address, searches, replica.Problem)
	}
	c.printTable(t)
}
