package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/changes/revisions"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/events"
)

// Whatever a deployment keeps is erased with its tenants: a new stream, bucket, key or file
// has to be made known to erasing, and in the list in docs/decisions/0040.
func TestErasingKnowsWhereTenantsAre(t *testing.T) {
	e, _ := up(t, emptyFolder(t))
	put(t, e, "tides", "Tells when the tide is low.")
	await(t, func() bool { return indexed(e, "tides") })
	for _, c := range [][3]string{
		{"PUT", "/v1/sources/harbour", `{"kind":"openapi","url":"http://harbour.invalid/openapi.json"}`},
		{"POST", "/v1/weights/builtin/promote", ""},
	} {
		if w := call(e, "", c[0], c[1], c[2]); w.Code >= 300 {
			t.Fatalf("%s: %d %s", c[1], w.Code, w.Body)
		}
	}
	js := check.Value(jetstream.New(theConn.get(e.Process)))(t)
	buckets := theTenantBuckets.get(e.Process)
	without := []string{"KV_positions", "KV_toolstream_audit_heads"} // of groups, not of tenants; the ends of chains, which stay
	var topics []string
	for _, topic := range events.Topics() {
		topics = append(topics, "toolstream-"+strings.ReplaceAll(string(topic), ".", "-"))
	}
	log := e.bucket(revisions.Name).Bucket
	check.OK(t, theRevisions.get(e.Process).All(t.Context(), "", func(key string, _ []byte) error {
		if !strings.HasPrefix(key, revisions.Prefix("default")) {
			t.Errorf("the bucket %s has the key %s, of which erasing does not know whose it is", log, key)
		}
		return nil
	}))
	seen := 0
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		if slices.Contains(topics, name) || slices.Contains(without, name) || name == "KV_"+log {
			continue
		}
		known := false
		for _, b := range buckets {
			if "KV_"+e.bucket(b.Name).Bucket != name {
				continue
			}
			known = true
			keys := check.Value(b.Values.Keys(t.Context(), ""))(t)
			for _, key := range keys {
				if _, ok := b.TenantOf(key); !ok {
					t.Errorf("the bucket %s has the key %s, of which erasing does not know whose it is", b.Name, key)
				}
				seen++
			}
		}
		if !known {
			t.Errorf("erasing does not know the stream %s", name)
		}
	}
	if err := names.Err(); err != nil || seen < 4 {
		t.Errorf("%d keys were seen: %v", seen, err)
	}
	files := check.Value(os.ReadDir(e.cfg.Data))(t)
	known := []string{busFolder, "index", trainerFile, "erased.json", accountsFile}
	for _, f := range files {
		if !slices.Contains(known, f.Name()) {
			t.Errorf("erasing does not know %s", filepath.Join("the data folder", f.Name()))
		}
	}
}
