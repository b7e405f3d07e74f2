package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/tests/process"
)

// rounds repeats the damage by chance, each round with a seed of its own.
var rounds = flag.Int("rounds", 1, "how often to damage each file at random places; more than 1 takes all files")

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
	hurry(t)
	dir := filepath.Join(t.TempDir(), "data")
	p := up(t, dir)
	load(t, p, registry)
	queries, right := labelled(t)
	s := &session{t: t, p: p, wanted: right}
	s.learn(queries)
	s.waitUntilSettled()
	usage := usageEpoch(t, p)
	if err := p.Stop(); err != nil {
		t.Fatalf("stop: %v\n%s", err, p.Log())
	}
	p = up(t, dir) // a start makes every score exact, and so comparable
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

// status is a part of what /v1/status says.
type status struct {
	Tools  int `json:"tools"`
	Stages []struct {
		Lag uint64 `json:"lag"`
	} `json:"stages"`
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
		var s status
		if err := p.Client.Get(t.Context(), "/v1/status", nil, &s); err != nil {
			return false, err
		}
		behind := slices.ContainsFunc(s.Stages, func(stage struct {
			Lag uint64 `json:"lag"`
		}) bool {
			return stage.Lag > 0
		})
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
	known := imported(t)
	dir := known.copied(t)
	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	p := up(t, dir)
	if err := known.rebuilt(t, p); err != nil {
		t.Fatalf("%v\n%s", err, p.Log())
	}
	put(t, p, "new", ferry)
	if got := found(t, p, "book a ferry", 1); got[0] != "new" {
		t.Errorf("found %q", got)
	}
}

// harm is something that happens to a file.
type harm struct {
	name string
	do   func(rng *rand.Rand, content []byte) []byte
}

func flips(n int) harm {
	return harm{fmt.Sprintf("%d bytes flipped", n), func(rng *rand.Rand, b []byte) []byte {
		for range min(n, len(b)) {
			b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
		}
		return b
	}}
}

func truncated(part float64) harm {
	return harm{fmt.Sprintf("cut at %g", part), func(_ *rand.Rand, b []byte) []byte { return b[:int(part*float64(len(b)))] }}
}

// gone returns the harm of a file that is not there any more.
func gone() harm { return harm{"gone", nil} }

// hurt applies the harm to a file.
func hurt(t *testing.T, file string, h harm, seed uint64) {
	t.Helper()
	if h.do == nil {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		return
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, h.do(rand.New(rand.NewPCG(seed, 1)), content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesBelow lists the files below a part of the data folder that are not
// empty, by path from the data folder.
func filesBelow(t *testing.T, dir, part string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(dir, part), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		out = append(out, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever happens to the index or to what the trainer has noted, the process
// comes up and says the same as before.
func TestDamageToWhatCanBeBuiltAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts a process some dozen times")
	}
	known := imported(t)
	files := append(filesBelow(t, known.dir, "index"), "trainer.db")
	harms := []harm{gone(), truncated(0), truncated(0.1), truncated(0.5), truncated(0.99)}
	for range *rounds {
		harms = append(harms, flips(1), flips(20))
	}
	for _, file := range files {
		for n, h := range harms {
			t.Run(fmt.Sprintf("%s/%s", file, h.name), func(t *testing.T) {
				t.Parallel() // each has a folder of its own
				dir := known.copied(t)
				hurt(t, filepath.Join(dir, file), h, uint64(n))
				p, err := process.Try(t, binary(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := known.rebuilt(t, p); err != nil {
					t.Errorf("%v\n%s", err, p.Log())
				}
			})
		}
	}
}

// A damaged bus is refused, by its folder and with what to do, or nothing is
// missing: with the index there, and with the index to be built from it.
func TestDamageToTheBus(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts a process some hundred times")
	}
	known := imported(t)
	var mu sync.Mutex
	ends := map[string]int{}
	t.Cleanup(func() { t.Logf("%v", ends) })
	files := filesBelow(t, known.dir, "bus")
	if *rounds == 1 { // of what the streams have alike, one stream's will do
		files = slices.DeleteFunc(files, func(f string) bool {
			return strings.Contains(f, "streams") && filepath.Ext(f) != ".blk" && !strings.Contains(f, "tools-embedded")
		})
	}
	for n, file := range files {
		harms := []harm{gone()}
		for range *rounds {
			harms = append(harms, truncated(0.5), flips(1), flips(20))
		}
		for m, h := range harms {
			for _, without := range []string{"", "index"} {
				t.Run(fmt.Sprintf("%s/%s/without %s", file, h.name, without), func(t *testing.T) {
					t.Parallel()
					dir := known.copied(t)
					if without != "" {
						if err := os.RemoveAll(filepath.Join(dir, without)); err != nil {
							t.Fatal(err)
						}
					}
					hurt(t, filepath.Join(dir, file), h, uint64(n*100+m))
					end := known.refusedOrComplete(t, dir)
					mu.Lock()
					defer mu.Unlock()
					ends[end]++
				})
			}
		}
	}
}

func (k pristine) refusedOrComplete(t *testing.T, dir string) string {
	t.Helper()
	p, err := process.Try(t, binary(), dir)
	if err == nil {
		err = k.complete(t, p)
		p.Kill()
		if err == nil {
			return "complete"
		}
		if !strings.Contains(p.Log(), "toolstream: up:") {
			t.Errorf("it runs and something is missing: %v\n%s", err, p.Log())
			return "incomplete"
		}
		err = errors.New(p.Log())
	}
	if text := err.Error(); !strings.Contains(text, filepath.Join(dir, "bus")) || !strings.Contains(text, "restore") {
		t.Errorf("it does not name the folder and what to do: %v", err)
	}
	return "refused"
}
