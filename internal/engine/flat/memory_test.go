package flat

import (
	"runtime"
	"testing"
	"weak"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/engine/index"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The masks of a scope that nobody searches again keep no block that was replaced since.
func TestScopesKeepNoReplacedBlocks(t *testing.T) {
	i, m := open(t, t.TempDir()), newMaker(11)
	apply(t, i, 1, m.tools("a", 3*blockSize)...)
	lookup := index.Lookup{
		Tenant: "a", Probe: m.probe(), Model: adaptertest.Weights(), N: 5,
		Scope: &policy.Scope{Key: "one", Allow: policy.Selection{All: true}},
	}
	check.Value(i.Candidates(t.Context(), lookup))(t)
	var replaced []weak.Pointer[block]
	for _, b := range i.tenants.find("a").now.Load().blocks {
		replaced = append(replaced, weak.Make(b))
	}
	apply(t, i, 2, m.tools("a", 3*blockSize)...)
	runtime.GC()
	for n, b := range replaced {
		if b.Value() != nil {
			t.Errorf("block %d is still in memory", n)
		}
	}
	if found := check.Value(i.Candidates(t.Context(), lookup))(t); len(found) != 5 {
		t.Errorf("%d are found, want 5", len(found))
	}
}

// What a batch consists of is not kept in memory: documents and exact vectors are on disk.
func TestABatchDoesNotStayInMemory(t *testing.T) {
	i := open(t, t.TempDir())
	document := func() weak.Pointer[schema.Document] {
		c := newMaker(12).tool("a", "one")
		apply(t, i, 1, c)
		return weak.Make(c.Document)
	}()
	runtime.GC()
	if document.Value() != nil {
		t.Error("a document is still in memory")
	}
	runtime.KeepAlive(i)
}
