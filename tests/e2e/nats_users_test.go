package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/toolstream/toolstream/internal/server/mcpserver"
	"github.com/toolstream/toolstream/internal/server/questions"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/pkg/schema"
)

// permissions is the configuration of NATS that is shipped.
const permissions = "../../deploy/nats/toolstream.conf"

// permitted starts a NATS server with the users of the configuration, and returns its
// address and a folder with a seed for each of them.
func permitted(t *testing.T) (url, seeds string) {
	t.Helper()
	cluster.Start(t, servers.NATSName) // it skips where no servers are wanted
	home := check.Value(servers.Provision(t.Context(), servers.NATSName))(t)
	seeds = t.TempDir()
	var env []string
	for _, user := range []string{"ingest", "standardizer", "embedder", "query", "trainer", "team-a-planner"} {
		pair := check.Value(nkeys.CreateUser())(t)
		public := check.Value(pair.PublicKey())(t)
		seed := check.Value(pair.Seed())(t)
		check.OK(t, os.WriteFile(filepath.Join(seeds, user+".nk"), seed, 0o600))
		env = append(env, "NATS_"+strings.ToUpper(strings.ReplaceAll(user, "-", "_"))+"="+public)
	}
	conf := check.Value(filepath.Abs(permissions))(t)
	l := check.Value(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	l.Close()
	dir := t.TempDir()
	// An include is read from the folder of the file that includes.
	text, err := os.ReadFile(conf)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "toolstream.conf"), text, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "nats.conf"), fmt.Appendf(nil, "listen: %q\njetstream { store_dir: %q }\ninclude toolstream.conf\n", address, filepath.Join(dir, "data")), 0o600)
	}
	check.OK(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), filepath.Join(home, "nats-server"), "-c", filepath.Join(dir, "nats.conf"))
	var log bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), &log, &log
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the log of NATS:\n%s", log.Bytes())
		}
	})
	return "nats://" + address, seeds
}

// as connects as a user.
func as(t *testing.T, url, seeds, user string) *nats.Conn {
	t.Helper()
	key := check.Value(nats.NkeyOptionFromSeed(filepath.Join(seeds, user+".nk")))(t)
	var nc *nats.Conn
	process.Await(t, user, func() (bool, error) {
		var err error
		nc, err = nats.Connect(url, key, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if errors.Is(err, nats.ErrNoServers) {
			return false, nil // it starts
		}
		return err == nil, err
	})
	t.Cleanup(nc.Close)
	return nc
}

// With the users and permissions that are shipped, every service does its work, and a
// caller searches and does nothing else.
func TestEachUserOfNATSHasWhatItNeeds(t *testing.T) {
	t.Parallel()
	url, seeds := permitted(t)
	d := process.ServeIn(t, &cluster, process.Binary(), append(hurry(),
		"TOOLSTREAM_NATS_URL="+url, "TOOLSTREAM_NATS_PREFIX=toolstream", "TOOLSTREAM_NATS_NKEY_FILE="+filepath.Join(seeds, "{service}.nk")))
	if s := load(t, d.Front(), registry); s.Accepted == 0 || *s.Indexed != s.Accepted {
		t.Fatalf("%+v", s)
	}
	agree(t, d)
	queries, right := labelled(t)
	(&session{t: t, p: d.Front(), wanted: right}).learn(queries) // weights of the trainer reach the queries
	fillOne(t, &d.Front().Client, "/v1/pins", mcpserver.Pins{Version: "0", Tools: []string{}})
	fillOne(t, &d.Front().Client, "/v1/questions", questions.Questions{Version: "0", Questions: []questions.Question{}})
	for _, name := range d.Replicas() {
		for line := range strings.Lines(d.Replica(name).Log()) {
			if strings.Contains(strings.ToLower(line), "permissions violation") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}

	caller := as(t, url, seeds, "team-a-planner")
	var found schema.SearchResponse
	if msg := request(t, caller, "toolstream.search", schema.SearchRequest{Query: "book a ferry"}); json.Unmarshal(msg.Data, &found) != nil || found.SearchID == "" {
		t.Errorf("search: %v %s", msg.Header, msg.Data)
	}
	if msg := request(t, caller, "toolstream.embed", map[string]any{"texts": []string{"a"}}); !strings.Contains(string(msg.Data), `"vectors"`) {
		t.Errorf("embed: %v %s", msg.Header, msg.Data)
	}
	attack(t, caller, as(t, url, seeds, "trainer"))
}

// attack does as the caller what it may not. The trainer tells what became of it.
func attack(t *testing.T, caller, trainer *nats.Conn) {
	t.Helper()
	const mine = "of-the-caller"
	heard := check.Value(trainer.SubscribeSync("_INBOX.>"))(t)
	weights := func() (last uint64) {
		js := check.Value(jetstream.New(trainer))(t)
		s := check.Value(js.Stream(t.Context(), "KV_toolstream_weights"))(t)
		kv := check.Value(js.KeyValue(t.Context(), "toolstream_weights"))(t)
		if _, err := kv.Get(t.Context(), "weights.live.of-the-caller"); !errors.Is(err, jetstream.ErrKeyNotFound) {
			t.Errorf("the caller has written weights: %v", err)
		}
		return s.CachedInfo().State.FirstSeq
	}
	first := weights()
	for _, subject := range []string{
		"$KV.toolstream_weights.weights.live.of-the-caller", "$JS.API.STREAM.PURGE.KV_toolstream_weights", "$JS.API.STREAM.DELETE.KV_toolstream_weights",
		"$JS.API.DIRECT.GET.KV_toolstream_weights.$KV.toolstream_weights.index.plan", "$JS.API.STREAM.LIST", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", "$SRV.PING",
		"toolstream.search.team-a.planner", "toolstream.search.team-b", "toolstream.search.default", "toolstream.search.team-b.ann", "toolstream.embed.team-b", "toolstream.repeat.team-a", "toolstream.processes", "_INBOX.x", "toolstream.search.*",
	} {
		msg, err := caller.Request(subject, []byte(mine), 100*time.Millisecond)
		if err == nil {
			t.Errorf("%s is answered: %s", subject, msg.Data)
		}
		// The answer of a service would write what the caller may not.
		check.OK(t, caller.PublishRequest("toolstream.search", subject, []byte(mine)))
	}
	for _, subject := range []string{">", "toolstream.>", "toolstream.search.*.*", "$KV.>", "$JS.>", "$SYS.>", "_R_.>", "_INBOX"} {
		s := check.Value(caller.SubscribeSync(subject))(t)
		check.OK(t, caller.Flush())
		check.OK(t, trainer.PublishRequest("toolstream.processes", trainer.NewRespInbox(), nil))
		if msg, err := s.NextMsg(100 * time.Millisecond); err == nil {
			t.Errorf("on %s the caller hears %s: %s", subject, msg.Subject, msg.Data)
		}
	}
	check.OK(t, errors.Join(caller.Flush(), trainer.Flush()))
	if now := weights(); now != first {
		t.Errorf("the first record was %d, and is %d", first, now)
	}
	var seen []string
	for n, _, _ := heard.Pending(); n > 0; n-- {
		if msg, err := heard.NextMsg(patience); err == nil && strings.Contains(string(msg.Data), mine) {
			seen = append(seen, msg.Subject)
		}
	}
	if slices.Compact(seen) != nil {
		t.Errorf("a service receives on %v", seen)
	}
}
