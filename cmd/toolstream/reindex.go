package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/generations"
)

// reindexPace is how often is asked how far it is.
const reindexPace = 200 * time.Millisecond

func newReindex(con *console) *cobra.Command {
	var order generations.Order
	var wait bool
	cmd := &cobra.Command{
		Use:   "reindex [--model MODEL | --back | --finish]",
		Short: "Change the embedding model while searches go on, or step back",
		Long: `Build an index of another embedding model beside the one that is searched, from what
was accepted before and what comes in meanwhile. Searches go on with the old one until
the new one is verified to hold every tool in its newest version; then they change over,
from one search to the next. What was learned with a model is used with that model alone.

The old index is kept up to date, so --back is a matter of moments, as often as wanted.
--finish gives up the one that is not searched, and so does the next change of the model.
Without a flag the command shows which models are indexed, and how far.

MODEL is as in embedder.model (toolstream config print); http:NAME is another model behind
the same endpoint. Set embedder.model to it when all is well: until then the server says
at its start that it differs.

A document that the new model can not embed keeps the old index in use. Code 1 says so,
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
			order.Model = withFile(order.Model)
			return con.reindex(cmd.Context(), order, n == 1, wait)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&order.Model, "model", "", "embedding model to change to, as embedder.model")
	flags.BoolVar(&order.Back, "back", false, "search the other model's index again: the one before")
	flags.BoolVar(&order.Finish, "finish", false, "give up the index that is not searched")
	flags.BoolVar(&wait, "wait", true, "wait until searches have changed over")
	return cmd
}

// withFile names a model file as a server on this machine finds it, wherever that
// was started.
func withFile(model string) string {
	path, ok := strings.CutPrefix(model, config.StaticPrefix)
	if !ok || filepath.IsAbs(path) {
		return model
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return model
	}
	if _, err := os.Stat(whole); err != nil {
		return model // the server may have it
	}
	return config.StaticPrefix + whole
}

// reindex gives the order, if there is one, and shows what came of it.
func (c *console) reindex(ctx context.Context, o generations.Order, change, wait bool) error {
	var r generations.Report
	var err error
	if change {
		err = c.client().Post(ctx, "/v1/reindex", o, &r)
	} else {
		err = c.client().Get(ctx, "/v1/reindex", nil, &r)
	}
	if err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	var stuck error
	if change && wait && !o.Finish {
		if r, stuck, err = c.awaitTarget(ctx, r); err != nil {
			return fmt.Errorf("reindex: %w", err)
		}
	}
	if c.json {
		err = c.printJSON(r)
	} else {
		c.printReport(r)
	}
	if err != nil {
		return err
	}
	return stuck
}

// awaitTarget asks until the target is searched. It returns why that can not be,
// where an operator has to act first.
func (c *console) awaitTarget(ctx context.Context, r generations.Report) (_ generations.Report, stuck, err error) {
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
		if g.Dead > 0 && g.There+g.Dead >= g.Entities {
			return r, fmt.Errorf("reindex: %d documents can not be embedded by %s, so searches stay with the old model: see why with `toolstream dlq list --stage %s`, then replay or drop them", g.Dead, g.Setting, g.Stage), nil
		}
		select {
		case <-ctx.Done():
			return r, nil, ctx.Err()
		case <-time.After(reindexPace):
		}
		var next generations.Report // what an answer leaves out must not stay
		if err := c.client().Get(ctx, "/v1/reindex", nil, &next); err != nil {
			return r, nil, err
		}
		r = next
	}
	return r, nil, nil
}

// problemOf says what keeps a process from working for the target, "" for nothing.
func problemOf(r generations.Report) string {
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

// target is the generation that is to be searched.
func target(r generations.Report) generations.State {
	for _, g := range r.Generations {
		if g.Number == r.Target {
			return g
		}
	}
	return generations.State{}
}

func (c *console) printReport(r generations.Report) {
	t := newTable("GENERATION", "STATE", "MODEL", "DIMS", "THERE", "OF", "DEAD", "NOTE…")
	for _, g := range r.Generations {
		note := g.Problem
		if note == "" && len(g.Outstanding) > 0 {
			note = "lacks " + strings.Join(g.Outstanding, ", ")
		}
		t.add(g.Number, g.State, g.Setting, g.Dimensions, g.There, g.Entities, g.Dead, note)
	}
	t.print(c.out, c.width())
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
	t.print(c.out, c.width())
}
