//go:build linux

package servers_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/servers"
	"github.com/toolstream/toolstream/internal/servers/servertest"
)

func TestNATSKeepsKeysOverACrash(t *testing.T) {
	s := servertest.Start(t, servers.NATSName)
	if s.Version != server.VERSION {
		t.Errorf("the server is %s, go.mod has %s", s.Version, server.VERSION)
	}
	ctx := bounded(t)
	weights := jetstream.KeyValueConfig{Bucket: "weights", History: 5}
	kv, done := bucket(t, s, weights)
	if _, err := kv.Put(ctx, "live", []byte("7")); err != nil {
		t.Fatal(err)
	}
	done()
	crash(t, ctx, s)
	kv, done = bucket(t, s, weights)
	defer done()
	got, err := kv.Get(ctx, "live")
	if err != nil || string(got.Value()) != "7" || got.Revision() != 1 {
		t.Fatalf("after the crash: %v, %v", got, err)
	}
	done()
	leavesNothing(t, ctx, s)
}

func bucket(t *testing.T, s *servers.Server, config jetstream.KeyValueConfig) (kv jetstream.KeyValue, done func()) {
	t.Helper()
	conn, err := nats.Connect("nats://" + s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err == nil {
		kv, err = js.CreateOrUpdateKeyValue(t.Context(), config)
	}
	if err != nil {
		conn.Close()
		t.Fatal(err)
	}
	return kv, conn.Close
}
