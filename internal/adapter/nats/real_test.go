//go:build linux

package nats

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/adapter/adaptertest"
	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
)

// One process serves all that is tested against a real server.
func TestRealServer(t *testing.T) {
	s := servertest.Start(t, servers.NATSName)
	url := "nats://" + s.Addr
	t.Run("kv", func(t *testing.T) { realKV(t, s, url) })
	t.Run("watch", func(t *testing.T) { realWatch(t, s, url) })
	t.Run("replies", func(t *testing.T) { realReplies(t, s, url) })
}

// crash kills the server and starts it again.
func crash(t *testing.T, s *servers.Server) {
	t.Helper()
	s.Kill()
	must(t, s.Restart(patient(t)))
}

// realKV opens each place as a bucket of its own; the second time in the same
// place the server has crashed in between.
func realKV(t *testing.T, s *servers.Server, url string) {
	seen := map[string]bool{}
	adaptertest.KVSuite(t, adaptertest.KVAdapter{
		Open: func(t *testing.T, place string) (adaptertest.KV, func()) {
			if seen[place] {
				crash(t, s)
			}
			seen[place] = true
			nc := dial(t, ConnectConfig{URL: url})
			bucket := strings.NewReplacer(string(filepath.Separator), "_", ".", "_").Replace(place)
			return openKV(t, nc, bucket), nc.Close
		},
		History: history,
	})
}

func realWatch(t *testing.T, s *servers.Server, url string) {
	kv := openKV(t, dial(t, ConnectConfig{URL: url}), "watched")
	put(t, kv, "w.a", "1")
	w := watch(t, openKV(t, dial(t, ConnectConfig{URL: url}), "watched"), "w.")
	w.want(t, "w.a", "1")
	receive(t, w.current)
	for _, value := range []string{"2", "3"} {
		s.Kill()
		if err := receive(t, w.losses); !errors.Is(err, ErrDisconnected) {
			t.Fatalf("the watch ended with %v, want ErrDisconnected", err)
		}
		must(t, s.Restart(patient(t)))
		receive(t, w.current)
		if e := receive(t, w.entries); e.Key != "w.a" || e.Value == nil {
			t.Fatalf("after the crash the watch began with %q = %q", e.Key, e.Value)
		}
		put(t, openKV(t, dial(t, ConnectConfig{URL: url}), "watched"), "w.a", value)
		w.want(t, "w.a", value)
	}
}

func realReplies(t *testing.T, s *servers.Server, url string) {
	server, client := dial(t, ConnectConfig{URL: url}), dial(t, ConnectConfig{URL: url})
	serve(t, server, echo)
	for range 2 {
		crash(t, s)
		awaitConnected(t, server)
		awaitConnected(t, client)
		awaitService(t, client)
		c, err := NewClient(ClientConfig{Subject: "toolstream.test"}, client)
		must(t, err)
		if answer, err := c.Request(patient(t), "", []byte("hello")); err != nil || string(answer) != "default: hello" {
			t.Errorf("after a crash: %q, %v", answer, err)
		}
	}
}
