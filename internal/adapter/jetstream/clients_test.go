package jetstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// The callers of the tests, by token.
func tokens() map[string]identity.Caller {
	return map[string]identity.Caller{
		"a": {Tenant: "acme", Subject: "ann", Role: identity.Reader},
		"b": {Tenant: "acme", Subject: "ben", Role: identity.Reader, Groups: []string{"g"}},
		"c": {Tenant: "other", Role: identity.Admin},
		"d": {Tenant: "acme", Subject: "dan"},
	}
}

// guests are who may connect to a bus, as a test changes it.
type guests struct {
	mu sync.Mutex
	of map[string]identity.Caller
}

func (g *guests) caller(_ context.Context, token string) (identity.Caller, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, ok := g.of[token]; ok {
		return c, nil
	}
	return identity.Caller{}, identity.ErrInvalid
}

func (g *guests) set(token string, c *identity.Caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if delete(g.of, token); c != nil {
		g.of[token] = *c
	}
}

const asked = "toolstream.search"

// openFor opens a bus that answers who asks.
func openFor(t *testing.T) (*Server, *guests) {
	t.Helper()
	g := &guests{of: tokens()}
	s := open(t, Config{Dir: t.TempDir(), Clients: Clients{Listen: "127.0.0.1:0", Subjects: []string{asked}, Caller: g.caller}})
	t.Cleanup(func() { closeServer(t, s) })
	_, err := s.Conn().Subscribe(asked+".*", func(m *nats.Msg) {
		caller, err := s.Caller(strings.TrimPrefix(m.Subject, asked+"."))
		_ = m.Respond(fmt.Appendf(nil, "%s %v %v", caller, caller.Groups, err))
	})
	must(t, err)
	must(t, s.Conn().Flush())
	return s, g
}

func dial(t *testing.T, s *Server, token string) (*nats.Conn, error) {
	t.Helper()
	nc, err := nats.Connect(s.Addr(), nats.Token(token), nats.NoReconnect())
	if err == nil {
		t.Cleanup(nc.Close)
	}
	return nc, err
}

func TestTheServerSaysWhoAsks(t *testing.T) {
	s, _ := openFor(t)
	for token, want := range map[string]string{"a": "acme/ann [] <nil>", "b": "acme/ben [g] <nil>", "c": "other [] <nil>"} {
		for range 2 {
			nc, err := dial(t, s, token)
			must(t, err)
			answer, err := nc.Request(asked, nil, patience)
			if err != nil || string(answer.Data) != want {
				t.Errorf("%s: %v %s, want %s", token, err, answer.Data, want)
			}
		}
	}
	for _, token := range []string{"d", "", "x"} {
		if _, err := dial(t, s, token); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%q: %v", token, err)
		}
	}
	if n := len(s.guard.accounts); n != 3 {
		t.Errorf("%d accounts for 3 callers", n)
	}
}

// A caller that is refused now, or is another one, loses what it has open.
func TestARevokedTokenLosesItsConnection(t *testing.T) {
	s, g := openFor(t)
	var kept, revoked, changed *nats.Conn
	for token, nc := range map[string]**nats.Conn{"a": &kept, "b": &revoked, "c": &changed} {
		var err error
		*nc, err = dial(t, s, token)
		must(t, err)
	}
	closed := map[string]chan nats.Status{"revoked": revoked.StatusChanged(nats.CLOSED), "of another role": changed.StatusChanged(nats.CLOSED)}
	g.set("b", nil)
	g.set("c", &identity.Caller{Tenant: "other", Role: identity.Reader})
	for name, changes := range closed {
		select {
		case <-changes:
		case <-time.After(patience):
			t.Errorf("%s: it stays connected", name)
		}
	}
	if _, err := kept.Request(asked, nil, patience); err != nil {
		t.Errorf("another caller: %v", err)
	}
	if held := s.guard.connections(); len(held) != 1 {
		t.Errorf("%d connections are held, want 1", len(held))
	}
}

// Nothing that a client can send reaches a stream, a bucket, another caller or a subject of
// the server, and nothing of theirs reaches the client.
func TestAClientReachesItsServicesOnly(t *testing.T) {
	s, _ := openFor(t)
	bucket, err := s.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "toolstream_weights"})
	must(t, err)
	_, err = bucket.PutString(t.Context(), "default", secret)
	must(t, err)
	must(t, s.Publish(t.Context(), stream.Message{Topic: events.ToolsRaw, Key: "default/x", Value: []byte(secret)}))

	victim, err := dial(t, s, "b")
	must(t, err)
	inbox := victim.NewRespInbox()
	_, err = victim.Subscribe("_INBOX.>", func(m *nats.Msg) {
		if strings.Contains(string(m.Data), mark) {
			t.Errorf("another caller receives %s on %s", m.Data, m.Subject)
		}
	})
	must(t, err)
	_, err = victim.Request(asked, nil, patience)
	must(t, err)

	attacker := dialRaw(t, s, "a")
	attacker.exchange("SUB _INBOX.own 1\r\n")
	attacker.exchange("PUB " + asked + " _INBOX.own 0\r\n\r\n")
	if got := attacker.received(t, s); !slices.Contains(got, ownAnswer) {
		t.Fatalf("the client itself gets no answers: %q", got)
	}
	name := slices.IndexFunc(s.guard.callers, func(c identity.Caller) bool { return c.Subject == "ann" })
	own := asked + "." + strconv.Itoa(name)
	_, err = s.Conn().Subscribe(">", func(m *nats.Msg) {
		if strings.Contains(string(m.Data), mark) && m.Subject != own {
			t.Errorf("%q arrives on %s", m.Data, m.Subject)
		}
	})
	must(t, err)
	before := s.state(t)
	targets := append(targets(), inbox, own, asked+"."+strconv.Itoa(name^1))
	rapid.Check(t, func(r *rapid.T) {
		subject, reply := drawSubject(r, targets, "subject"), "_INBOX.own"
		if rapid.Bool().Draw(r, "replies elsewhere") {
			reply = drawSubject(r, targets, "reply")
		}
		payload := rapid.SampledFrom(payloads()).Draw(r, "payload")
		switch rapid.SampledFrom([]string{"PUB", "HPUB", "SUB", "QSUB"}).Draw(r, "operation") {
		case "PUB":
			attacker.exchange(fmt.Sprintf("PUB %s %s %d\r\n%s\r\n", subject, reply, len(payload), payload))
		case "HPUB":
			header := "NATS/1.0\r\n" + rapid.SampledFrom(headers(reply)).Draw(r, "header") + "\r\n\r\n"
			attacker.exchange(fmt.Sprintf("HPUB %s %s %d %d\r\n%s%s\r\n", subject, reply, len(header), len(header)+len(payload), header, payload))
		case "SUB":
			attacker.exchange(fmt.Sprintf("SUB %s 2\r\n", subject))
			s.traffic(t, bucket, victim, inbox)
		case "QSUB":
			attacker.exchange(fmt.Sprintf("SUB %s q 2\r\n", subject))
			s.traffic(t, bucket, victim, inbox)
		}
		for _, got := range attacker.received(t, s) {
			if got != ownAnswer && !strings.HasPrefix(got, "NATS/1.0 503\r\n") { // nobody answers
				r.Fatalf("on %s the client receives %q", subject, got)
			}
		}
		attacker.exchange("UNSUB 2\r\n")
		must(t, s.Conn().Flush())
		must(t, victim.Flush())
	})
	if after := s.state(t); !maps.Equal(before, after) {
		t.Errorf("the streams were %v, and are %v", before, after)
	}
}

const (
	secret = "the-secret"     // what streams, buckets and others hold
	mark   = "of-the-client!" // what the client sends

	ownAnswer = "acme/ann [] <nil>"
)

// targets are subjects worth an attack.
func targets() []string {
	raw := streamName(events.ToolsRaw)
	return []string{
		asked, asked + ".0", asked + ".1", asked + ".2", asked + ".99", "toolstream.embed.0", "toolstream.processes", "toolstream.tools.raw.kZGVmYXVsdC94",
		"$KV.toolstream_weights.default", "$O.x.C.1",
		"$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO." + raw, "$JS.API.STREAM.PURGE." + raw,
		"$JS.API.STREAM.DELETE.KV_toolstream_weights", "$JS.API.STREAM.MSG.GET." + raw, "$JS.API.STREAM.CREATE.mine", "$JS.API.STREAM.UPDATE." + raw,
		"$JS.API.DIRECT.GET.KV_toolstream_weights.$KV.toolstream_weights.default", "$JS.API.DIRECT.GET." + raw,
		"$JS.API.CONSUMER.CREATE." + raw, "$JS.API.CONSUMER.MSG.NEXT." + raw + ".x", "$JS.API.STREAM.SNAPSHOT." + raw, "$JS.ACK." + raw + ".x.1.1.1.1.1", "$JS.FC." + raw + ".x",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.ACCOUNT.$G.CONNZ", "$SYS.REQ.USER.INFO", "$SYS.REQ.SERVER.PING.IDZ", "$SYS.ACCOUNT.$G.CONNECT",
		"$SRV.PING", "$SRV.INFO.toolstream-query", "$NRG.AE.x", "$JSC.R.x", "$GR.x", "_GR_.x", "_R_.x", "_R_", "$LDS.x", "$MQTT.msgs.x", "$G", "_INBOX.x",
		">", "*", "*.*", "*.>", "toolstream.>", "toolstream.*", asked + ".*", asked + ".>", "$JS.>", "$KV.>", "$SYS.>", "_R_.>", "_INBOX.>", "_INBOX.*", "*.search", "$JS.API.>",
	}
}

// payloads carry the mark, so that they are seen wherever they arrive.
func payloads() []string {
	return []string{
		mark, `{"` + mark + `":1}`, `{"seq":1,"x":"` + mark + `"}`, `{"last_by_subj":"toolstream.tools.raw.kZGVmYXVsdC94","x":"` + mark + `"}`, `{"filter":">","keep":0,"x":"` + mark + `"}`,
		`{"name":"mine","subjects":[">"],"x":"` + mark + `"}`, `{"stream_name":"` + streamName(events.ToolsRaw) + `","config":{"deliver_subject":"_INBOX.own","ack_policy":"none"},"x":"` + mark + `"}`,
	}
}

// headers mean something to the server, or to a service.
func headers(subject string) []string {
	return []string{
		`Nats-Request-Info: {"acc":"$G","user":"other","id":1}`, "nats-request-info: {}\r\nNats-Request-Info: {\"acc\":\"$G\"}\r\nNats-Request-Info: {}",
		"Nats-Trace-Dest: " + subject, "Nats-Trace-Dest: $KV.toolstream_weights.default\r\nNats-Trace-Only: true", "Nats-Msg-Id: 1", "Nats-Rollup: all", "KV-Operation: PURGE",
		"Nats-TTL: 1s", "toolstream-tenant: other", "Status: 503",
	}
}

// drawSubject draws a target, as it is or with one of the changes that may get past a check.
func drawSubject(r *rapid.T, targets []string, label string) string {
	s := rapid.SampledFrom(targets).Draw(r, label)
	tokens := strings.Split(s, ".")
	i := rapid.IntRange(0, len(tokens)-1).Draw(r, "token")
	switch rapid.IntRange(0, 13).Draw(r, "change") {
	case 0:
		tokens[i] = "*"
	case 1:
		tokens = append(tokens[:i], ">")
	case 2:
		tokens[i] = strings.ToUpper(tokens[i])
	case 3:
		tokens[i] = ""
	case 4:
		return strings.ReplaceAll(s, ".", rapid.SampledFrom([]string{"..", "%2e", "/", "\u2024", "\x00.", ".\u200b", "\\."}).Draw(r, "dot"))
	case 5:
		tokens = slices.Insert(tokens, i, rapid.SampledFrom([]string{"*", ">", "$G", "$JS", "x", "0"}).Draw(r, "inserted"))
	case 6:
		return s + rapid.SampledFrom([]string{".", ".*", ".>", ".0", "\t", "\x00", "\u00a0"}).Draw(r, "end")
	case 7:
		return rapid.SampledFrom([]string{".", "*.", "$G.", "\x00", "/", "\ufeff"}).Draw(r, "begin") + s
	}
	return strings.Join(tokens, ".")
}

// traffic lets something of every kind pass that a client must not receive.
func (s *Server) traffic(t *testing.T, bucket jetstream.KeyValue, victim *nats.Conn, inbox string) {
	t.Helper()
	_, err := bucket.Get(t.Context(), "default")
	must(t, err)
	for _, nc := range []*nats.Conn{victim, s.Conn()} {
		must(t, nc.PublishRequest(asked+map[bool]string{true: "", false: ".1"}[nc == victim], inbox, nil))
		must(t, nc.Flush())
	}
	for _, subject := range []string{inbox, "_INBOX.own", "_INBOX.x", "toolstream.processes", "$SYS.x"} {
		must(t, s.Conn().Publish(subject, []byte(secret)))
	}
	must(t, s.Conn().Flush())
}

// state is what the streams hold.
func (s *Server) state(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	list := s.js.ListStreams(t.Context())
	for info := range list.Info() {
		out[info.Config.Name] = fmt.Sprint(info.State.Msgs, info.State.LastSeq, info.State.Consumers)
	}
	must(t, list.Err())
	return out
}

// rawClient speaks the protocol, and anything else.
type rawClient struct {
	t     *testing.T
	s     *Server
	token string
	conn  net.Conn
	lines *bufio.Reader
	got   []string // what messages hold, headers and all
}

func dialRaw(t *testing.T, s *Server, token string) *rawClient {
	c := &rawClient{t: t, s: s, token: token}
	c.connect()
	t.Cleanup(func() { c.conn.Close() })
	return c
}

func (c *rawClient) connect() {
	c.t.Helper()
	conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", strings.TrimPrefix(c.s.Addr(), "nats://"))
	must(c.t, err)
	c.conn, c.lines = conn, bufio.NewReader(conn)
	c.exchange(`CONNECT {"auth_token":"` + c.token + `","verbose":false,"headers":true,"no_responders":true,"echo":true}` + "\r\n")
	c.exchange("SUB _INBOX.own 1\r\n")
}

// exchange sends text and reads until the server has handled it. It connects again where the
// server ends the connection.
func (c *rawClient) exchange(text string) {
	c.t.Helper()
	must(c.t, c.conn.SetDeadline(time.Now().Add(patience)))
	_, err := io.WriteString(c.conn, text+"PING\r\n")
	for err == nil {
		var line string
		if line, err = c.lines.ReadString('\n'); line == "PONG\r\n" {
			return
		}
		if kind, rest, _ := strings.Cut(line, " "); kind == "MSG" || kind == "HMSG" {
			fields := strings.Fields(rest)
			size, _ := strconv.Atoi(fields[len(fields)-1])
			message := make([]byte, size+len("\r\n"))
			_, err = io.ReadFull(c.lines, message)
			c.got = append(c.got, string(message[:size]))
		}
	}
	c.conn.Close()
	c.connect()
}

// received returns what came since it was asked last.
func (c *rawClient) received(t *testing.T, s *Server) []string {
	t.Helper()
	must(t, s.Conn().Flush()) // services answer on it, in order
	c.exchange("")
	out := c.got
	c.got = nil
	return out
}
