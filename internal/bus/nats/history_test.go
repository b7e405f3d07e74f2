package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func openHistory(t *testing.T, nc *nats.Conn, bytes int64) *History {
	t.Helper()
	return check.Value(NewHistory(HistoryConfig{KVConfig: KVConfig{Bucket: "history"}, Values: 3, Bytes: bytes}, nc))(t)
}

func entriesOf(keyed ...string) (out []stream.Entry) {
	for _, kv := range keyed {
		key, value, _ := strings.Cut(kv, "=")
		out = append(out, stream.Entry{Key: key, Value: []byte(value)})
	}
	return out
}

func valuesOf(t *testing.T, h *History, key string) string {
	t.Helper()
	values := check.Value(h.Values(t.Context(), key))(t)
	var out []string
	for _, v := range values {
		out = append(out, string(v))
	}
	return strings.Join(out, " ")
}

func all(t *testing.T, h *History, prefix string) (out []string) {
	t.Helper()
	check.OK(t, h.All(t.Context(), prefix, func(key string, value []byte) error {
		out = append(out, key+"="+string(value))
		return nil
	}))
	slices.Sort(out)
	return out
}

// The last values of a key are there in the order in which they came, few or many at once, also
// after a restart; and a tenant is erased with all of them and its keys.
func TestAHistoryKeepsTheLastValuesOfEachKey(t *testing.T) {
	place := t.TempDir()
	s := startServer(t, server.Options{JetStream: true, StoreDir: place, SyncAlways: true})
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	h := openHistory(t, nc, 0)
	if got := valuesOf(t, h, "a.one"); got != "" {
		t.Errorf("of nothing there is %s", got)
	}
	check.OK(t, h.Append(t.Context(), entriesOf("a.one=1", "a.two=1", "b.one=1")))
	many := []string{}
	for i := range 2*maxBatch + 2 {
		many = append(many, fmt.Sprintf("a.one=%d", i))
	}
	check.OK(t, h.Append(t.Context(), entriesOf(many...)))
	nc.Close()
	stopServer(s)
	s = startServer(t, server.Options{JetStream: true, StoreDir: place, SyncAlways: true})
	defer stopServer(s)
	nc = dial(t, ConnectConfig{URL: s.ClientURL()})
	defer nc.Close()
	h = openHistory(t, nc, 0)
	if got := valuesOf(t, h, "a.one"); got != "1999 2000 2001" {
		t.Errorf("kept are %s", got)
	}
	if got := all(t, h, "a."); !slices.Equal(got, []string{"a.one=1999", "a.one=2000", "a.one=2001", "a.two=1"}) {
		t.Errorf("below a there are %q", got)
	}
	check.OK(t, h.Forget(t.Context(), "a.two"))
	if n, err := h.Erase(t.Context(), "a."); n != 1 || err != nil {
		t.Errorf("%d keys erased, %v", n, err)
	}
	if got := all(t, h, "a."); len(got) > 0 {
		t.Errorf("left are %q", got)
	}
	if got := valuesOf(t, h, "b.one"); got != "1" {
		t.Errorf("of another tenant there is %s", got)
	}
}

// A history that is full drops what is oldest, and takes what comes.
func TestAFullHistoryDropsTheOldest(t *testing.T) {
	s := startServer(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	defer stopServer(s)
	nc := dial(t, ConnectConfig{URL: s.ClientURL()})
	defer nc.Close()
	h := openHistory(t, nc, 64<<10)
	big := strings.Repeat("x", 10<<10)
	for i := range 20 {
		check.OK(t, h.Append(t.Context(), entriesOf(fmt.Sprintf("a.%d=%s", i, big))))
	}
	kept := all(t, h, "a.")
	if len(kept) < 4 || len(kept) > 6 || valuesOf(t, h, "a.19") != big || valuesOf(t, h, "a.0") != "" {
		t.Errorf("kept are %d", len(kept))
	}
}

// Without a connection everything fails at once, and nothing is sent late.
func TestAHistoryWithoutAServer(t *testing.T) {
	s := startServer(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	g := newGate(t, s.Addr().String())
	nc := dial(t, ConnectConfig{URL: g.url()})
	h := openHistory(t, nc, 0)
	check.OK(t, h.Append(t.Context(), entriesOf("a.one=1")))
	g.cut(t, nc)
	for name, do := range map[string]func(context.Context) error{
		"append": func(ctx context.Context) error { return h.Append(ctx, entriesOf("a.one=2")) },
		"values": func(ctx context.Context) error { _, err := h.Values(ctx, "a.one"); return err },
		"all": func(ctx context.Context) error {
			return h.All(ctx, "a.", func(string, []byte) error { return nil })
		},
	} {
		if err := do(t.Context()); !errors.Is(err, ErrDisconnected) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
