package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

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

func TestADeletedIndexIsBuiltAnewWithoutEmbedding(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := up(t, dir)
	load(t, p, registry)
	stop := func() {
		t.Helper()
		check.OK(t, p.Stop())
	}
	stop()
	p = up(t, dir) // a start makes every score exact, and so comparable
	tools, known := revisions(t, p, ""), answers(t, p)
	stop()
	check.OK(t, os.RemoveAll(filepath.Join(dir, "index")))
	p = up(t, dir)
	if err := until(t, func() (bool, error) { return maps.Equal(revisions(t, p, ""), tools), nil }); err != nil {
		t.Fatalf("%d tools, there were %d", len(revisions(t, p, "")), len(tools))
	}
	if texts := metric(t, p, "toolstream_embedder_embedded_texts_total", ""); texts != 0 {
		t.Errorf("%g texts were embedded", texts)
	}
	if err := until(t, func() (bool, error) { return reflect.DeepEqual(answers(t, p), known), nil }); err != nil {
		t.Errorf("answers are %+v, were %+v", answers(t, p), known)
	}
	put(t, p, "new", ferry)
	if got := found(t, p, "book a ferry", 1); len(got) != 1 || got[0] != "new" {
		t.Errorf("found %q", got)
	}
}
