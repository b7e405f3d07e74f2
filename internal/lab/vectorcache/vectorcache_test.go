package vectorcache

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/services/embedder"
)

// counted is a model that counts the texts it is given, and embeds queries in
// another way than documents.
type counted struct{ texts int }

func (m *counted) Name() string    { return "counted" }
func (m *counted) Dimensions() int { return 2 }

func (m *counted) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return m.vectors(texts, 1)
}

func (m *counted) EmbedQueries(_ context.Context, texts []string) ([][]float32, error) {
	return m.vectors(texts, -1)
}

func (m *counted) vectors(texts []string, sign float32) ([][]float32, error) {
	m.texts += len(texts)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if text != "" {
			out[i] = []float32{sign, float32(len(text))}
		}
	}
	return out, nil
}

// embedBoth embeds texts as documents and as queries through a cache in dir,
// and returns how many texts the model was given.
func embedBoth(t *testing.T, dir string) (docs, queries [][]float32, asked int) {
	t.Helper()
	m := &counted{}
	c, err := Open(dir, m)
	check.OK(t, err)
	defer c.Close()
	var model embedder.QueryEmbedder = c
	if docs, err = model.Embed(t.Context(), []string{"a", "", "long"}); err != nil {
		t.Fatal(err)
	}
	if queries, err = model.EmbedQueries(t.Context(), []string{"long", "a"}); err != nil {
		t.Fatal(err)
	}
	return docs, queries, m.texts
}

func TestVectorsAreKeptFromRunToRun(t *testing.T) {
	dir := t.TempDir()
	docs, queries, asked := embedBoth(t, dir)
	if asked != 5 || docs[2][0] != 1 || queries[0][0] != -1 {
		t.Fatalf("%d texts, %v %v", asked, docs, queries)
	}
	docs2, queries2, asked := embedBoth(t, dir)
	if asked != 1 { // the empty one has no vector that could be kept
		t.Errorf("%d texts are embedded again", asked)
	}
	if !reflect.DeepEqual(docs, docs2) || !reflect.DeepEqual(queries, queries2) {
		t.Errorf("%v %v, then %v %v", docs, queries, docs2, queries2)
	}
}

func TestADamagedCacheIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	docs, queries, _ := embedBoth(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.vectors", "*.segment"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole := check.Value(os.ReadFile(files[0]))(t)
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)-3] },
		"flipped": func(b []byte) []byte { b[40] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
		"foreign": func([]byte) []byte { return []byte("something else") },
	} {
		check.OK(t, os.WriteFile(files[0], damage(append([]byte(nil), whole...)), 0o600))
		docs2, queries2, _ := embedBoth(t, dir)
		if !reflect.DeepEqual(docs, docs2) || !reflect.DeepEqual(queries, queries2) {
			t.Errorf("%s: %v %v, then %v %v", name, docs, queries, docs2, queries2)
		}
		if _, _, asked := embedBoth(t, dir); asked != 1 {
			t.Errorf("%s: %d texts are embedded again", name, asked)
		}
	}
}

// prefixed is a model with a prefix for queries.
type prefixed struct {
	counted
	prefix string
}

func (p *prefixed) QueryPrefix() string { return p.prefix }

func TestAnotherQueryPrefixIsAskedAnew(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		prefix string
		asked  int
	}{{"", 1}, {"query: ", 1}, {"query: ", 0}} {
		m := &prefixed{prefix: c.prefix}
		cached := check.Value(Open(dir, m))(t)
		if _, err := cached.EmbedQueries(t.Context(), []string{"long"}); err != nil || m.texts != c.asked {
			t.Errorf("prefix %q: %d texts asked, want %d: %v", c.prefix, m.texts, c.asked, err)
		}
		check.OK(t, cached.Close())
	}
}

func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	c := check.Value(Open(dir, &counted{}))(t)
	defer c.Close()
	if _, err := Open(dir, &counted{}); !errors.Is(err, files.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
}

// misbehaving is a model with other vectors than it says.
type misbehaving struct {
	counted
	vectors [][]float32
}

func (m misbehaving) Embed(context.Context, []string) ([][]float32, error) { return m.vectors, nil }

func TestAVectorThatIsWrongIsNotKept(t *testing.T) {
	for name, v := range map[string][]float32{"short": {1}, "not a number": {1, float32(math.NaN())}, "infinite": {1, float32(math.Inf(1))}} {
		c := check.Value(Open(t.TempDir(), &misbehaving{vectors: [][]float32{{1, 2}, v}}))(t)
		if _, err := c.Embed(t.Context(), []string{"good", "bad"}); err == nil || len(c.places) != 0 {
			t.Errorf("%s: %v, %d vectors are kept", name, err, len(c.places))
		}
		check.OK(t, c.Close())
	}
}
