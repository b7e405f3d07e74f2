package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

// patience bounds what would otherwise wait for ever.
const patience = time.Minute

var busAddress = regexp.MustCompile(`the bus listens on (\S+)`)

// dial connects to the bus of a process.
func dial(t *testing.T, p *process.Process, opts ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	found := busAddress.FindStringSubmatch(p.Log())
	if found == nil {
		t.Fatalf("it does not say where the bus listens:\n%s", p.Log())
	}
	address := found[1]
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	nc, err := nats.Connect(address, opts...)
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

// request asks once the service is there: it comes up after HTTP does.
func request(t *testing.T, nc *nats.Conn, subject string, body any) *nats.Msg {
	t.Helper()
	raw, ok := body.([]byte)
	if !ok {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	var msg *nats.Msg
	err := process.Until(t.Context(), func() (ok bool, err error) {
		msg, err = nc.Request(subject, raw, patience)
		if err == nats.ErrNoResponders {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	return msg
}

func TestSearchAndEmbedOverNATS(t *testing.T) {
	t.Parallel()
	p := up(t, t.TempDir(), "--nats", "127.0.0.1:0")
	put(t, p, "ferry", ferry)
	put(t, p, "bread", bread)
	nc, err := dial(t, p)
	if err != nil {
		t.Fatal(err)
	}

	msg := request(t, nc, "toolstream.search", schema.SearchRequest{Query: "book a ferry", K: 2, Explain: true})
	var over schema.SearchResponse
	if err := json.Unmarshal(msg.Data, &over); err != nil || len(over.Results) != 2 {
		t.Fatalf("%v: %s", err, msg.Data)
	}
	same := search(t, p, schema.SearchRequest{Query: "book a ferry", K: 2, Explain: true})
	if got, want := fmt.Sprint(over.Results[0].ID, over.Results[0].Score, over.Results[1].ID), fmt.Sprint(same.Results[0].ID, same.Results[0].Score, same.Results[1].ID); got != want {
		t.Errorf("over NATS %s, over HTTP %s", got, want)
	}

	msg = request(t, nc, "toolstream.embed", map[string]any{"texts": []string{"book a ferry", "book a ferry", "bake bread", ""}})
	var vectors struct {
		Model   string   `json:"model"`
		Vectors []string `json:"vectors"`
	}
	if err := json.Unmarshal(msg.Data, &vectors); err != nil || len(vectors.Vectors) != 4 || vectors.Model == "" {
		t.Fatalf("%v: %.300s", err, msg.Data)
	}
	if v := vectors.Vectors; v[0] != v[1] || v[0] == v[2] || v[0] == "" || v[3] != "" {
		t.Errorf("vectors %.200q", v)
	}
}

func TestATokenGuardsTheBus(t *testing.T) {
	t.Setenv("TOOLSTREAM_NATS_TOKEN", "a token for this test")
	p := up(t, t.TempDir(), "--nats", "127.0.0.1:0")
	if nc, err := dial(t, p); err == nil {
		nc.Close()
		t.Error("it lets in whoever comes")
	}
	nc, err := dial(t, p, nats.Token("a token for this test"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, p, "ferry", ferry)
	if msg := request(t, nc, "toolstream.search", schema.SearchRequest{Query: "ferry"}); !strings.Contains(string(msg.Data), `"id":"ferry"`) {
		t.Errorf("with the token: %s", msg.Data)
	}
	if strings.Contains(p.Log(), "a token for this test") {
		t.Error("the token is in the log")
	}
}

// Without --nats the process listens at one address only, HTTP's.
func TestTheBusIsClosedByDefault(t *testing.T) {
	t.Parallel()
	closed, open := up(t, t.TempDir()), up(t, t.TempDir(), "--nats", "127.0.0.1:0")
	if n := listening(t, closed); n != 1 {
		t.Errorf("it listens at %d addresses, want 1", n)
	}
	if n := listening(t, open); n != 2 {
		t.Errorf("with --nats it listens at %d addresses, want 2", n)
	}
	if o := cli(t, "", "up", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--nats", "0.0.0.0:0"); o.code != 2 || !strings.Contains(o.errOut, "nats.token") {
		t.Errorf("open to everybody without a token: %+v", o)
	}
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(closed.Client.Server, "http://")); err != nil {
		t.Error(err)
	}
}

// listening counts the sockets at which the process listens, by its open files
// and the system's table.
func listening(t *testing.T, p *process.Process) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID()))
	if err != nil || len(files) == 0 {
		t.Skip("the system does not show the open files of a process")
	}
	own := map[string]bool{}
	for _, f := range files {
		target, err := os.Readlink(f)
		if err != nil {
			continue // closed meanwhile
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	const stateListen = "0A"
	n := 0
	for _, table := range []string{"tcp", "tcp6"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", p.PID(), table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == stateListen && own[f[9]] {
				n++
			}
		}
	}
	return n
}
