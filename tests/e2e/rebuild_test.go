package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolstream/toolstream/internal/status"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

// pristine is a data folder as a process has left it, and what that process
// knew.
type pristine struct {
	dir       string
	revisions map[string]uint64
	answers   map[string][]schema.Result // by query
	weights   string
}

// imported makes the folder that the tests of damage start from: the sample
// registry, with learned weights.
func imported(t *testing.T) pristine {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	p := process.StartIn(t, binary(), dir, hurry())
	load(t, p, registry)
	queries, _ := labelled(t)
	s := &session{t: t, p: p, wanted: thirds(t, p, queries)} // weights go live where they gain
	s.learn(queries)
	s.waitUntilSettled()
	usage := usageEpoch(t, p)
	if err := p.Stop(); err != nil {
		t.Fatalf("stop: %v\n%s", err, p.Log())
	}
	p = process.StartIn(t, binary(), dir, hurry()) // a start makes every score exact, and so comparable
	// What was learned last may not have been published before the stop.
	if err := process.Until(t.Context(), func() (bool, error) { return usageEpoch(t, p) > usage, nil }); err != nil {
		t.Fatalf("usage is not published anew: %v\n%s", err, p.Log())
	}
	known := pristine{dir: dir, revisions: revisions(t, p, ""), answers: answers(t, p), weights: ranksBy(t, p)}
	if err := p.Stop(); err != nil {
		t.Fatalf("stop: %v\n%s", err, p.Log())
	}
	return known
}

// usageEpoch is the epoch of the usage that searches rank by.
func usageEpoch(t *testing.T, p *process.Process) float64 {
	t.Helper()
	return metric(t, p, "toolstream_search_model_epoch", `what="usage"`)
}

// answers searches some queries.
func answers(t *testing.T, p *process.Process) map[string][]schema.Result {
	t.Helper()
	out := map[string][]schema.Result{}
	queries, _ := labelled(t)
	for _, q := range queries[:20] {
		out[q] = search(t, p, schema.SearchRequest{Query: q, K: 5}).Results
	}
	return out
}

// same compares answers. Scores may differ by what counts of usage fade in the
// time of a test, which is next to nothing.
func same(got, want []schema.Result) bool {
	return slices.EqualFunc(got, want, func(a, b schema.Result) bool {
		return a.ID == b.ID && math.Abs(a.Score-b.Score) < 1e-6 && a.Similarity == b.Similarity && a.Description == b.Description
	})
}

// copied returns a copy of the folder to be damaged.
func (k pristine) copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rebuilt is complete without a text given to the model.
func (k pristine) rebuilt(t *testing.T, p *process.Process) error {
	t.Helper()
	if err := k.caughtUp(t, p); err != nil {
		return err
	}
	if texts := metric(t, p, embeddedTexts, ""); texts != 0 {
		return fmt.Errorf("%g texts were embedded", texts)
	}
	return k.complete(t, p)
}

// complete waits until a process has caught up and compares everything.
func (k pristine) complete(t *testing.T, p *process.Process) error {
	t.Helper()
	if err := k.caughtUp(t, p); err != nil {
		return err
	}
	if got := revisions(t, p, ""); !maps.Equal(got, k.revisions) {
		return fmt.Errorf("%d tools, there were %d", len(got), len(k.revisions))
	}
	return k.sameAnswers(t, p)
}

// caughtUp waits until a process knows as many tools as there were, or has
// nothing left to read.
func (k pristine) caughtUp(t *testing.T, p *process.Process) error {
	t.Helper()
	return process.Until(t.Context(), func() (bool, error) {
		var s status.Status
		if err := p.Client.Get(t.Context(), "/v1/status", nil, &s); err != nil {
			return false, err
		}
		behind := slices.ContainsFunc(s.Stages, func(st status.Stage) bool { return st.Lag > 0 })
		return s.Tools == len(k.revisions) || !behind, nil
	})
}

// sameAnswers waits until every answer is what it was: weights and usage come
// a moment after the tools. What stays different for a while is wrong.
func (k pristine) sameAnswers(t *testing.T, p *process.Process) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	difference := ""
	err := process.Until(ctx, func() (bool, error) {
		difference = ""
		if v := ranksBy(t, p); v != k.weights {
			difference = fmt.Sprintf("searches rank by %s, before by %s", v, k.weights)
			return false, nil
		}
		for q, got := range answers(t, p) {
			if !same(got, k.answers[q]) {
				difference = fmt.Sprintf("%q: answer %+v, was %+v", q, got, k.answers[q])
				return false, nil
			}
		}
		return true, nil
	})
	if difference != "" {
		return errors.New(difference)
	}
	return err
}

func TestADeletedIndexIsBuiltAnewWithoutEmbedding(t *testing.T) {
	t.Parallel()
	known := imported(t)
	dir := known.copied(t)
	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	p := process.StartIn(t, binary(), dir, hurry())
	if err := known.rebuilt(t, p); err != nil {
		t.Fatalf("%v\n%s", err, p.Log())
	}
	put(t, p, "new", ferry)
	if got := found(t, p, "book a ferry", len(known.revisions)); !slices.Contains(got, "new") { // what was learned may rank others first
		t.Errorf("found %q", got)
	}
}
