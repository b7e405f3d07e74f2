package events

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func goodChange() Change {
	return Change{
		Ref:      schema.Ref{Tenant: "default", Kind: schema.KindTool, ID: "t"},
		Version:  schema.Version{Revision: 5},
		Op:       OpUpsert,
		Provider: "a",
		Raw:      []byte(`{"name":"t"}`),
		Document: &schema.Document{
			Name: "t", Examples: []string{"e"}, Parameters: []schema.Parameter{{Name: "p"}, {Name: "q"}},
		},
		Vectors: &Vectors{
			Model: "m", Dimensions: 2, Name: Vector{1, 0}, Examples: []Vector{{0, 1}}, Parameters: []Vector{{1, 0}, {}},
		},
	}
}

func TestValidateNamesThePath(t *testing.T) {
	nan := float32(math.NaN())
	cases := []struct {
		name  string
		spoil func(*Change)
		path  string
	}{
		{"good", func(*Change) {}, ""},
		{"delete of the head alone", func(c *Change) { *c = Change{Ref: c.Ref, Version: c.Version, Op: OpDelete} }, ""},
		{"without vectors", func(c *Change) { c.Vectors = nil }, ""},
		{"tenant", func(c *Change) { c.Tenant = "A" }, "/tenant"},
		{"kind", func(c *Change) { c.Kind = "cat" }, "/kind"},
		{"id", func(c *Change) { c.ID = "" }, "/id"},
		{"op", func(c *Change) { c.Op = "patch" }, "/op"},
		{"no revision", func(c *Change) { c.Revision = 0 }, "/revision"},
		{"inexact revision", func(c *Change) { c.Revision = 1 << 53 }, "/revision"},
		{"largest source version", func(c *Change) { c.Source = math.MaxUint64 }, ""},
		{"provider", func(c *Change) { c.Provider = "a\x00" }, "/provider"},
		{"raw", func(c *Change) { c.Raw = []byte("{") }, "/raw"},
		{"document", func(c *Change) { c.Document.Parameters[1].Name = "" }, "/document/parameters/1/name"},
		{"no dimensions", func(c *Change) { c.Vectors.Dimensions = 0 }, "/vectors/dimensions"},
		{"other dimensions", func(c *Change) { c.Vectors.Flat = Vector{1, 2, 3} }, "/vectors/flat"},
		{"NaN", func(c *Change) { c.Vectors.Examples[0][1] = nan }, "/vectors/examples/0/1"},
		{"infinite", func(c *Change) { c.Vectors.Parameters[0][0] = float32(math.Inf(1)) }, "/vectors/parameters/0/0"},
		{"more examples than texts", func(c *Change) { c.Document.Examples = nil }, "/vectors/examples"},
		{"more parameters than texts", func(c *Change) { c.Document.Parameters = nil }, "/vectors/parameters"},
		{"vectors of nothing", func(c *Change) { c.Document = nil }, "/vectors"},
	}
	for _, c := range cases {
		change := goodChange()
		c.spoil(&change)
		err := change.Validate()
		var bad *schema.Invalid
		switch {
		case c.path == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.path != "" && !errors.As(err, &bad):
			t.Errorf("%s: %v", c.name, err)
		case c.path != "" && bad.Path != c.path:
			t.Errorf("%s: path %s", c.name, bad.Path)
		}
	}
}

func TestKey(t *testing.T) {
	for ref, want := range map[schema.Ref]string{
		{Tenant: "default", Kind: schema.KindTool, ID: "a/b"}:     "default/a/b",
		{Tenant: "default", Kind: schema.KindProvider, ID: "a/b"}: "default/\x1fa/b",
	} {
		key := Key(ref)
		if back, err := ParseKey(key); key != want || back != ref || err != nil {
			t.Errorf("%+v: %q, want %q, which is of %+v, %v", ref, key, want, back, err)
		}
	}
	for _, key := range []string{"", "default", "default/", "/id", "A/id", "default/\x1f", "default/a\x00", "default/\x1f\x1fa"} {
		if ref, err := ParseKey(key); err == nil {
			t.Errorf("%q is %+v", key, ref)
		}
	}
}

func TestVectorText(t *testing.T) {
	v := Vector{1, -0.5, math.MaxFloat32}
	raw := check.Value(v.MarshalText())(t)
	var back Vector
	if err := back.UnmarshalText(raw); err != nil || len(back) != 3 || back[1] != -0.5 {
		t.Fatal(back, err)
	}
	nan, _ := Vector{float32(math.NaN())}.MarshalText()
	for _, bad := range []string{"!", "AAAA", string(nan)} {
		if err := back.UnmarshalText([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "vector: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestTopicsOfIndexVersions(t *testing.T) {
	for n := 1; n < 12; n++ {
		topic := Embedded(n)
		if topic.IndexVersion() != n || !topic.Compacted() || !topic.Known() {
			t.Errorf("version %d has %s, of %d", n, topic, topic.IndexVersion())
		}
	}
	for _, topic := range []Topic{"tools.embedded-1", "tools.embedded-02", "tools.embedded-", "tools.embedded-x", "tools.embedded-0", "tools.embedded2", "tools.raw-2"} {
		if topic.IndexVersion() != 0 || topic.Known() || topic.Compacted() {
			t.Errorf("%s is taken for version %d", topic, topic.IndexVersion())
		}
	}
	if Embedded(1) != ToolsEmbedded || Numbered("index", 3) != "index-3" {
		t.Error(Embedded(1), Numbered("index", 3))
	}
}
