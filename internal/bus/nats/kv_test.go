package nats

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/adaptertest"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func openKV(t *testing.T, nc *nats.Conn, bucket string) *KV {
	t.Helper()
	return check.Value(NewKV(KVConfig{Bucket: bucket}, nc))(t)
}

func TestKV(t *testing.T) {
	adaptertest.KVSuite(t, adaptertest.KVAdapter{
		Open: func(t *testing.T, place string) (adaptertest.KV, func()) {
			s := startServer(t, server.Options{JetStream: true, StoreDir: place, SyncAlways: true})
			nc := dial(t, ConnectConfig{URL: s.ClientURL()})
			return openKV(t, nc, "toolstream_weights"), func() {
				nc.Close()
				stopServer(s)
			}
		},
	})
}

func TestABucketIsMadeAsItIsConfigured(t *testing.T) {
	s := startServer(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	defer stopServer(s)
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	defer nc.Close()
	for _, ttl := range []time.Duration{0, time.Hour} {
		kv := check.Value(NewKV(KVConfig{Bucket: "ttl" + strconv.Itoa(int(ttl)), TTL: ttl}, nc))(t)
		check.OK(t, kv.Open(t.Context()))
		status := check.Value((*kv.found.Load()).Status(t.Context()))(t)
		if status.TTL() != ttl {
			t.Errorf("values are kept for %s, not %s", status.TTL(), ttl)
		}
	}
}

// A watch that the caller begins again after each loss, as the query service
// does.
type watching struct {
	entries chan stream.Entry
	losses  chan error
	current chan struct{}
	done    chan error
}

func watch(t *testing.T, kv *KV, prefix string) *watching {
	t.Helper()
	w := &watching{make(chan stream.Entry, 100), make(chan error, 100), make(chan struct{}, 100), make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			err := kv.Follow(ctx, prefix, func(e stream.Entry) error {
				w.entries <- e
				return nil
			}, func() { w.current <- struct{}{} })
			if ctx.Err() != nil {
				w.done <- err
				return
			}
			w.losses <- err
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := receive(t, w.done); err != nil {
			t.Errorf("a watch ended with %v", err)
		}
	})
	return w
}

func (w *watching) want(t *testing.T, key, value string) {
	t.Helper()
	if e := receive(t, w.entries); e.Key != key || string(e.Value) != value {
		t.Fatalf("the watch gave %s = %q, want %s = %q", e.Key, e.Value, key, value)
	}
}

func put(t *testing.T, kv *KV, key, value string) {
	t.Helper()
	check.Value(kv.Put(patient(t), key, []byte(value)))(t)
}

func TestAWatchMissesNothingOverALostConnection(t *testing.T) {
	s := startServer(t, withStore(t))
	g := newGate(t, s.Addr().String())
	far, near := dial(t, ConnectConfig{URL: g.url()}), openKV(t, dial(t, ConnectConfig{URL: s.ClientURL()}), "b")
	put(t, near, "w.a", "1")
	w := watch(t, openKV(t, far, "b"), "w.")
	w.want(t, "w.a", "1")
	receive(t, w.current)
	for range 3 {
		g.cut(t, far)
		if err := receive(t, w.losses); !errors.Is(err, ErrDisconnected) {
			t.Fatalf("the watch ended with %v, want ErrDisconnected", err)
		}
		put(t, near, "w.b", "away")
		check.OK(t, near.Delete(patient(t), "w.a"))
		g.mend(t, far)
		w.want(t, "w.b", "away")
		w.want(t, "w.a", "")
		receive(t, w.current)
		put(t, near, "w.a", "back")
		w.want(t, "w.a", "back")
	}
}

func TestWithoutAConnectionTheBucketFailsAtOnce(t *testing.T) {
	s := startServer(t, withStore(t))
	g := newGate(t, s.Addr().String())
	nc := dial(t, ConnectConfig{URL: g.url()})
	kv := openKV(t, nc, "b")
	put(t, kv, "a", "1")
	g.cut(t, nc)
	calls := map[string]func() error{
		"get":    func() error { _, err := kv.Get(t.Context(), "a"); return err },
		"put":    func() error { _, err := kv.Put(t.Context(), "a", nil); return err },
		"keys":   func() error { _, err := kv.Keys(t.Context(), ""); return err },
		"delete": func() error { return kv.Delete(t.Context(), "a") },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrDisconnected) || !strings.Contains(err.Error(), g.url()) {
			t.Errorf("%s: %v, want ErrDisconnected and the server", name, err)
		}
	}
	g.mend(t, nc)
	if e, err := kv.Get(patient(t), "a"); err != nil || string(e.Value) != "1" {
		t.Errorf("after the reconnect: %q, %v", e.Value, err)
	}
}

func TestValuesHaveALargestSize(t *testing.T) {
	opts := withStore(t)
	opts.MaxPayload = 64 << 10
	kv := openKV(t, dial(t, ConnectConfig{URL: startServer(t, opts).ClientURL()}), "b")
	check.OK(t, kv.Open(patient(t)))
	most := kv.MaxValue()
	revision, err := kv.Create(patient(t), "a", bytes.Repeat([]byte("x"), most))
	check.OK(t, err)
	if _, err = kv.Update(patient(t), "a", bytes.Repeat([]byte("y"), most), revision); err != nil {
		t.Errorf("the largest value: %v", err)
	}
	_, err = kv.Put(patient(t), "a", make([]byte, most+1))
	if !errors.Is(err, ErrTooLarge) || stream.Reason(err) != stream.ReasonTooLarge || !strings.Contains(err.Error(), "65536") {
		t.Errorf("a value above: %v, want ErrTooLarge, permanent, with the limit", err)
	}
	if e, err := kv.Get(patient(t), "a"); err != nil || !bytes.Equal(e.Value, bytes.Repeat([]byte("y"), most)) {
		t.Errorf("the value before is not there: %d bytes, %v", len(e.Value), err)
	}
}

func TestABucketThatIsGoneIsMadeAgain(t *testing.T) {
	nc := dial(t, ConnectConfig{URL: startServer(t, withStore(t)).ClientURL()})
	kv := openKV(t, nc, "b")
	put(t, kv, "a", "1")
	check.OK(t, kv.js.DeleteKeyValue(patient(t), "b"))
	if _, err := kv.Put(patient(t), "a", []byte("2")); err == nil {
		t.Error("a put into a bucket that is gone succeeded")
	}
	put(t, kv, "a", "3")
	if e, err := kv.Get(patient(t), "a"); err != nil || string(e.Value) != "3" {
		t.Errorf("%q, %v", e.Value, err)
	}
}

func TestAWatchNoticesThatItsBucketIsGone(t *testing.T) {
	nc := dial(t, ConnectConfig{URL: startServer(t, withStore(t)).ClientURL()})
	watched, writer := openKV(t, nc, "b"), openKV(t, nc, "b")
	watched.check = 10 * time.Millisecond
	put(t, writer, "w.a", "1")
	w := watch(t, watched, "w.")
	w.want(t, "w.a", "1")
	receive(t, w.current)
	check.OK(t, writer.js.DeleteKeyValue(patient(t), "b"))
	if err := receive(t, w.losses); err == nil || errors.Is(err, ErrDisconnected) {
		t.Errorf("the watch ended with %v", err)
	}
	receive(t, w.current) // of a bucket that was made again
	put(t, writer, "w.a", "2")
	w.want(t, "w.a", "2")
}

func TestAServerWithoutJetStreamHoldsNoBucket(t *testing.T) {
	if err := openKV(t, connect(t), "b").Open(patient(t)); err == nil {
		t.Error("it does")
	}
}

// A caller does not wait for another caller's look for the bucket, which a server that does
// not answer holds up.
func TestCallersLookForTheBucketByThemselves(t *testing.T) {
	s := startServer(t, server.Options{})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	asked := make(chan struct{}, 2)
	check.Value(nc.Subscribe("$JS.API.STREAM.INFO.KV_b", func(*nats.Msg) { asked <- struct{}{} }))(t)
	kv := openKV(t, nc, "b")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	for range 2 {
		go func() { _, err := kv.Get(ctx, "k"); ended <- err }()
	}
	for range 2 {
		receive(t, asked)
	}
	cancel()
	for range 2 {
		if err := receive(t, ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
