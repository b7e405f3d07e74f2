package nats

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// Erased keys are gone, those who watch are told, and then nothing names them.
func TestErase(t *testing.T) {
	s := startServer(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	defer stopServer(s)
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	defer nc.Close()
	kv := openKV(t, nc, "b")
	acme := func(key string) bool { return strings.HasPrefix(key, "acme.") }
	if n, err := kv.Erase(t.Context(), acme); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	for _, key := range []string{"acme.a", "acme.b", "other.a"} {
		check.Value(kv.Put(t.Context(), key, []byte("v")))(t)
	}
	gone := make(chan string)
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error)
	go func() {
		ended <- kv.Watch(watching, "acme.", func(e stream.Entry) error {
			if e.Value == nil {
				select {
				case gone <- e.Key:
				case <-watching.Done():
				}
			}
			return nil
		})
	}()
	n, err := kv.Erase(t.Context(), acme)
	if n != 2 || err != nil {
		t.Fatal(n, err)
	}
	told := []string{<-gone, <-gone}
	if slices.Sort(told); !slices.Equal(told, []string{"acme.a", "acme.b"}) {
		t.Errorf("a watch is told of %q", told)
	}
	for range 2 {
		check.OK(t, kv.ForgetErased(t.Context(), acme))
	}
	all, err := kv.all(t.Context(), acme)
	if len(all) > 0 || err != nil {
		t.Errorf("the bucket still names %v, %v", all, err)
	}
	if _, err := kv.Get(t.Context(), "acme.a"); !errors.Is(err, stream.ErrNotFound) {
		t.Error(err)
	}
	if e, err := kv.Get(t.Context(), "other.a"); err != nil || string(e.Value) != "v" {
		t.Error(e, err)
	}
	stop()
	check.OK(t, <-ended)
}
