package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/tokenfile"
	"github.com/toolstream/toolstream/pkg/schema"
)

// patience bounds what would otherwise wait for ever.
const patience = time.Minute

var busAddress = regexp.MustCompile(`NATS listens on (\S+)`)

// dial connects to a process over NATS.
func dial(t *testing.T, p *process.Process, opts ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	found := busAddress.FindStringSubmatch(p.Log())
	if found == nil {
		t.Fatalf("it does not say where NATS listens:\n%s", p.Log())
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

// Over NATS a caller comes in with the token that it has for HTTP, and searches what is its
// tenant's.
func TestATokenIsGoodForNATS(t *testing.T) {
	t.Parallel()
	tokens := filepath.Join(t.TempDir(), "tokens")
	token := func(args ...string) string {
		o := cli(t, "", append([]string{"token", "create", "--file", tokens}, args...)...)
		if o.code != 0 {
			t.Fatalf("%v: %+v", args, o)
		}
		return strings.TrimSpace(o.out)
	}
	admin, ann, other := token("--admin"), token("--tenant", "team-a", "--name", "ann"), token("--tenant", "team-b")
	writer := token("--tenant", "team-a", "--role", "writer")
	p := process.StartIn(t, binary(), t.TempDir(), []string{"TOOLSTREAM_AUTH_TOKENS_FILE=" + tokens}, "--nats", "127.0.0.1:0")
	p.Client.Token = writer
	put(t, p, "ferry", ferry)
	for name, bad := range map[string]string{"none": "", "a wrong one": ann + "x"} {
		if nc, err := dial(t, p, nats.Token(bad)); err == nil {
			nc.Close()
			t.Errorf("it lets in who has %s", name)
		}
	}
	for secret, want := range map[string]bool{ann: true, writer: true, other: false, admin: false} {
		nc, err := dial(t, p, nats.Token(secret))
		if err != nil {
			t.Fatal(err)
		}
		msg := request(t, nc, "toolstream.search", schema.SearchRequest{Query: "ferry"})
		if strings.Contains(string(msg.Data), `"id":"ferry"`) != want || msg.Header.Get("Nats-Service-Error-Code") != "" {
			t.Errorf("found %t, want %t: %v %s", !want, want, msg.Header, msg.Data)
		}
		js, err := nc.JetStream(nats.MaxWait(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if err := js.PurgeStream("toolstream-tools-raw"); err == nil {
			t.Error("it purges a topic")
		}
	}
	if text := p.Log(); strings.Contains(text, ann) || strings.Contains(text, writer) {
		t.Error("a token is in the log")
	}
	revoked, err := dial(t, p, nats.Token(ann), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	closed := revoked.StatusChanged(nats.CLOSED)
	all, err := tokenfile.Read(tokens)
	if err != nil {
		t.Fatal(err)
	}
	of := slices.IndexFunc(all, func(t tokenfile.Token) bool { return t.Caller.Subject == "ann" })
	if o := cli(t, "", "token", "revoke", "--file", tokens, all[of].ID()); o.code != 0 {
		t.Fatalf("revoke: %+v", o)
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Error("a revoked token keeps its connection")
	}
}

// One search over NATS and one over HTTP take from the same limit.
func TestSearchesOverNATSAreLimited(t *testing.T) {
	t.Parallel()
	p := process.StartIn(t, binary(), t.TempDir(), []string{"TOOLSTREAM_LIMITS_SEARCHES=2"}, "--nats", "127.0.0.1:0")
	nc, err := dial(t, p)
	if err != nil {
		t.Fatal(err)
	}
	if msg := request(t, nc, "toolstream.search", schema.SearchRequest{Query: "ferry"}); msg.Header.Get("Nats-Service-Error-Code") != "" {
		t.Fatalf("%v %s", msg.Header, msg.Data)
	}
	search(t, p, schema.SearchRequest{Query: "ferry"})
	if err := p.Client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "ferry"}, nil); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("over HTTP: %v", err)
	}
	if msg := request(t, nc, "toolstream.search", schema.SearchRequest{Query: "ferry"}); msg.Header.Get("Nats-Service-Error-Code") != "429" || msg.Header.Get("Retry-After") == "" {
		t.Errorf("over NATS: %v %s", msg.Header, msg.Data)
	}
}

// Without --nats the process listens at one address only, HTTP's.
func TestNATSIsClosedByDefault(t *testing.T) {
	t.Parallel()
	closed, open := up(t, t.TempDir()), up(t, t.TempDir(), "--nats", "127.0.0.1:0")
	if n := listening(t, closed); n != 1 {
		t.Errorf("it listens at %d addresses, want 1", n)
	}
	if n := listening(t, open); n != 2 {
		t.Errorf("with --nats it listens at %d addresses, want 2", n)
	}
	if o := cli(t, "", "up", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--nats", "0.0.0.0:0"); o.code != 2 || !strings.Contains(o.errOut, `nats.listen "0.0.0.0:0"`) {
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
