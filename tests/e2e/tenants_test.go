package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// The words that tell a tenant's data from all other data on a disk, by where they stand.
var canaries = []string{"okapi", "numbat", "quoll", "dibbler", "bilby", "potoroo", "thylacine"}

// tenant is a tenant as one of its clients has it.
type tenant struct {
	t      *testing.T
	client *client.Client
	token  string
}

// tenantOf makes a token of a tenant, and speaks for it to a process.
func tenantOf(t *testing.T, tokens, name string) func(p *process.Process) tenant {
	t.Helper()
	args := []string{"token", "create", "--file", tokens, "--role", "admin"}
	if name == "acme" {
		args = append(args, "--name", "thylacine") // who stands in the audit log
	}
	if name != "default" {
		args = append(args, "--tenant", name)
	}
	secret := strings.TrimSpace(cli(t, "", args...).out)
	return func(p *process.Process) tenant {
		return tenant{t, &client.Client{Server: p.Client.Server, Token: secret, HTTP: p.Client.HTTP}, secret}
	}
}

// run runs a command for the tenant, and returns what it printed.
func (c tenant) run(stdin string, args ...string) outcome {
	c.t.Helper()
	return cli(c.t, stdin, append(args, "--server", c.client.Server, "--token", c.token)...)
}

// done runs a command that has to succeed.
func (c tenant) done(stdin string, args ...string) string {
	c.t.Helper()
	o := c.run(stdin, args...)
	if o.code != 0 && o.code != 3 {
		c.t.Fatalf("%q: exit code %d\n%s%s", args, o.code, o.out, o.errOut)
	}
	return o.out
}

// get returns what the server answers, errors included.
func (c tenant) get(path string, query url.Values) string {
	c.t.Helper()
	body, _, err := c.client.Send(c.t.Context(), http.MethodGet, path, query, "", nil)
	if err != nil {
		return err.Error()
	}
	defer body.Close()
	raw := check.Value(io.ReadAll(body))(c.t)
	return string(raw)
}

// documents are those of a tenant: two that are indexed, and one that becomes a dead letter.
const documents = `{"name":"okapi_feed","description":"Feeds the numbat %s the evening.","inputSchema":{"type":"object","properties":{"meal":{"type":"string","description":"what the quoll eats"}}}}
{"name":"okapi_wash","description":"Washes the numbat %s noon.","inputSchema":{"type":"object"}}
{"name":"okapi_vault","description":"Opens the sealed numbat %s night.","inputSchema":{"type":"object"}}
`

// fill gives a tenant documents, in two versions, a source, a dead letter, weights, a search
// and feedback.
func (c tenant) fill(t *testing.T) {
	t.Helper()
	for _, when := range []string{"before", "in"} { // what is replaced is erased, too
		file := writeFile(t, "tools.jsonl", fmt.Sprintf(documents, when, when, when))
		var s summary
		o := c.run("", "import", file, "--provider", "dibbler", "--wait", "--json")
		if o.decode(t, &s); s.Accepted != 3 || *s.Indexed != 2 || *s.DeadLettered != 1 {
			t.Fatalf("%+v\n%s", s, o.errOut)
		}
	}
	c.done("", "sources", "add", "bilby", "--kind", "openapi", "--url", "http://potoroo.invalid/openapi.json")
	var found schema.SearchResponse
	if err := c.client.Post(t.Context(), "/v1/search", schema.SearchRequest{Query: "feed the numbat"}, &found); err != nil || len(found.Results) == 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	c.done("", "feedback", found.SearchID, found.Results[0].ID, "succeeded")
	c.done("", "weights", "promote", "builtin")
}

// seen is what the API shows of a tenant.
func (c tenant) seen() map[string]string {
	return map[string]string{
		"tools":   c.get("/v1/tools", nil),
		"tool":    strings.TrimPrefix(c.get("/v1/tools/dibbler%2Fokapi_feed", nil), `there is no tool "dibbler/okapi_feed"`),
		"sources": c.get("/v1/sources", nil),
		"dlq":     c.get("/v1/dlq", url.Values{"state": {"all"}}),
		"weights": c.get("/v1/weights", nil),
		"search":  c.found(),
	}
}

// found is what a search finds, as JSON.
func (c tenant) found() string {
	c.t.Helper()
	var found schema.SearchResponse
	if err := c.client.Post(c.t.Context(), "/v1/search", schema.SearchRequest{Query: "feed the meal"}, &found); err != nil {
		return err.Error()
	}
	raw := check.Value(json.Marshal(found))(c.t)
	return string(raw)
}

// unseen fails where a text names what is erased.
func unseen(t *testing.T, where, text string) {
	t.Helper()
	for _, word := range canaries {
		if strings.Contains(text, word) {
			t.Errorf("%s has %q:\n%s", where, word, text)
		}
	}
}

// kept fails where the API does not show what the tenant was filled with.
func (c tenant) kept() {
	c.t.Helper()
	seen := c.seen()
	for _, where := range []string{"tools", "dlq", "search", "tool"} {
		if !strings.Contains(seen[where], "okapi") {
			c.t.Errorf("%s lacks it:\n%s", where, seen[where])
		}
	}
	if !strings.Contains(seen["sources"], "bilby") || !strings.Contains(seen["weights"], "promoted builtin") {
		c.t.Errorf("%s\n%s", seen["sources"], seen["weights"])
	}
}

// onDisk fails for each file below a folder that has a canary of a tenant, as it is or in
// base64. The files of the bus are compacted later.
func onDisk(t *testing.T, folder, name string) {
	t.Helper()
	var wanted [][]byte
	for _, text := range slices.Concat(canaries, []string{name + "/dibbler", name + "/"}) {
		if text != name+"/" {
			wanted = append(wanted, []byte(text))
		}
		for shift := range 3 {
			plain := append(make([]byte, shift), text...)
			for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				coded := code.EncodeToString(plain)
				from, to := (shift*8+5)/6, len(plain)*8/6
				if text != name+"/" && to-from >= 5 {
					wanted = append(wanted, []byte(coded[from:to]))
				}
			}
		}
	}
	check.OK(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "bus" {
				return fs.SkipDir
			}
			return err
		}
		raw, err := os.ReadFile(path)
		for _, word := range wanted {
			if i := bytes.Index(raw, word); i >= 0 {
				t.Errorf("%s has %q: %q", path, word, raw[max(0, i-40):min(len(raw), i+80)])
			}
		}
		return err
	}))
}

// brokenModel returns a file for tokens, and the environment of a deployment that takes them
// and embeds with a broken endpoint.
func brokenModel(t *testing.T) (tokens string, env []string) {
	t.Helper()
	model := newEndpoint(t)
	model.broken.Store(true)
	tokens = filepath.Join(t.TempDir(), "tokens")
	return tokens, append(model.settings(), "TOOLSTREAM_AUTH_TOKENS_FILE="+tokens)
}

// A tenant is erased everywhere at once, with all that any part of the deployment holds of
// it; another one with the same documents stays, and the erased one can begin anew.
func TestATenantIsErasedEverywhere(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		tokens, env := brokenModel(t)
		tenantOf(t, tokens, "nobody") // the file has to be there
		d := process.Up(t, process.Binary(), env...)
		acme := tenantOf(t, tokens, "acme")
		erasesATenant(t, d, tokens, acme, func() {
			check.OK(t, d.Front().Stop())
			onDisk(t, d.Folder(), "acme")
			d.Crash(t)
		})
	})
	t.Run("distributed", func(t *testing.T) {
		tokens, env := brokenModel(t)
		tenantOf(t, tokens, "nobody")
		d := process.ServeIn(t, &cluster, process.Binary(), env, config.VectorsWeaviate, config.VectorsReplica)
		acme := tenantOf(t, tokens, "acme")
		erasesATenant(t, d, tokens, acme, func() {
			onDisk(t, d.Folder(), "acme")
			inKafka(t, d, "acme")
			inNATS(t, d)
			if left := d.TenantsInWeaviate(t); slices.Contains(left, "acme") {
				t.Errorf("Weaviate has %q", left)
			}
		})
	})
}

// erasesATenant fills two tenants with the same and erases one. Look looks at the disks.
func erasesATenant(t *testing.T, d process.Deployment, tokens string, erased func(*process.Process) tenant, look func()) {
	operator, other := tenantOf(t, tokens, "default"), tenantOf(t, tokens, "other")
	p := d.Front()
	acme := erased(p)
	acme.fill(t)
	lines := operator(p).done("", "tenants", "export", "acme")
	for _, word := range append(canaries[:6:6], `"part":"dead_letter"`, `"part":"search"`, `"part":"feedback"`, `"key":"weights.live.acme`) {
		if !strings.Contains(lines, word) {
			t.Errorf("the export lacks %s:\n%s", word, lines)
		}
	}
	questions := filepath.Join(t.TempDir(), "set", "queries.jsonl")
	acme.done("", "eval", "init", filepath.Dir(questions), "--tenant", "acme")
	if text, err := os.ReadFile(questions); err != nil || !strings.Contains(string(text), `"query":"feed the numbat","labels":[{"id":"dibbler/okapi_feed"`) {
		t.Errorf("the questions of what was used: %s, %v", text, err)
	}
	if o := other(p).run("", "eval", "init", t.TempDir(), "--tenant", "acme"); o.code != 1 || !strings.Contains(o.errOut, "admin of the tenant") {
		t.Errorf("another tenant reads the questions: %+v", o)
	}
	if o := acme.run("other\n", "tenants", "erase", "acme"); o.code != 2 {
		t.Errorf("another name was typed: %+v", o)
	}
	if o := other(p).run("", "tenants", "erase", "acme", "--yes"); o.code != 1 || !strings.Contains(o.errOut, "403") && !strings.Contains(o.errOut, "operator") {
		t.Errorf("another tenant erases: %+v", o)
	}

	if o := acme.run("acme\n", "tenants", "erase", "acme"); o.code != 0 || !strings.Contains(o.errOut, "remains") {
		t.Fatalf("%+v", o)
	}
	for _, front := range d.Fronts() {
		for where, text := range erased(front).seen() {
			unseen(t, where, text)
		}
	}
	unseen(t, "the export", operator(p).done("", "tenants", "export", "acme"))
	if o := acme.run("", "audit", "verify"); o.code != 0 {
		t.Errorf("the audit log of what is erased: %+v", o)
	}
	records := acme.done("", "audit", "tail", "--json", "--limit", "1000", "--action", "put-source")
	if unseen(t, "the audit log", records); !strings.Contains(records, `"erased": true`) {
		t.Errorf("the audit log of what is erased has %s", records)
	}
	look()

	// The other tenant has the same words, so it comes once the disks were looked at.
	p = d.Front()
	other(p).fill(t)
	for where, text := range erased(p).seen() {
		unseen(t, where, text)
	}
	erased(p).fill(t)
	operator(p).done("", "tenants", "erase", "acme", "--yes")
	other(p).kept()
	for where, text := range erased(p).seen() {
		unseen(t, where, text)
	}
	d.Restart(t)
	p = d.Front()
	other(p).kept()
	for where, text := range erased(p).seen() {
		unseen(t, where, text)
	}
	fresh := tenantOf(t, tokens, "fresh")(p)
	var s summary
	o := fresh.run("", "import", writeFile(t, "export.jsonl", lines), "--wait", "--json")
	if o.decode(t, &s); s.Accepted != 3 || s.Rejected != 0 {
		t.Errorf("the export is imported: %+v\n%s", s, o.errOut)
	}
	erased(p).fill(t)
	erased(p).kept()
}

// inKafka fails where a topic's newest record of a key is one of a tenant.
func inKafka(t *testing.T, d *process.Distributed, name string) {
	t.Helper()
	for _, topic := range []events.Topic{events.ToolsRaw, events.ToolsStandardized, events.ToolsEmbedded, events.DLQ} {
		newest := map[string]string{}
		for n := range partitions {
			r := kafkago.NewReader(kafkago.ReaderConfig{Brokers: []string{d.Cluster.Kafka.Addr}, Topic: topicOf(d, topic), Partition: n, MaxWait: 0})
			defer r.Close()
			end := check.Value(kafkago.DialLeader(t.Context(), "tcp", d.Cluster.Kafka.Addr, topicOf(d, topic), n))(t)
			defer end.Close()
			last := check.Value(end.ReadLastOffset())(t)
			for at := int64(0); at < last; {
				m := check.Value(r.FetchMessage(t.Context()))(t)
				newest[string(m.Key)], at = string(m.Value), m.Offset+1
			}
		}
		for key, value := range newest {
			if strings.Contains(value, name) || strings.Contains(value, "numbat") {
				t.Errorf("%s has %q: %.200q", topic, key, value)
			}
		}
		if len(newest) == 0 {
			t.Errorf("nothing was read of %s", topic)
		}
	}
}

// inNATS fails where a bucket of the deployment has a key that names what is erased.
func inNATS(t *testing.T, d *process.Distributed) {
	t.Helper()
	conn := check.Value(nats.Connect("nats://" + d.Cluster.NATS.Addr))(t)
	defer conn.Close()
	js := check.Value(jetstream.New(conn))(t)
	var looked []string
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		// The audit log stays, and the erasing itself is sealed under a new key.
		if !strings.HasPrefix(name, "KV_"+d.Alias) || strings.Contains(name, "_audit_") {
			continue
		}
		st := check.Value(js.Stream(t.Context(), name))(t)
		info := check.Value(st.Info(t.Context(), jetstream.WithSubjectFilter(">")))(t)
		looked = append(looked, name)
		for _, subject := range slices.Sorted(maps.Keys(info.State.Subjects)) {
			if strings.Contains(subject, ".acme") && !strings.HasSuffix(subject, ".erased.acme") {
				t.Errorf("%s has %s", name, subject)
			}
		}
	}
	if len(looked) < 2 || names.Err() != nil {
		t.Fatalf("looked into %q: %v", looked, names.Err())
	}
}

// Whoever is killed while it erases a tenant completes that when it starts again.
func TestErasingOutlastsACrash(t *testing.T) {
	t.Parallel()
	tokens, env := brokenModel(t)
	tenantOf(t, tokens, "nobody")
	d := process.Up(t, process.Binary(), env...)
	acme, operator := tenantOf(t, tokens, "acme"), tenantOf(t, tokens, "default")
	acme(d.Front()).fill(t)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		var out json.RawMessage
		_ = operator(d.Front()).client.Delete(ctx, "/v1/tenants/acme?confirm=acme", &out) // it is killed meanwhile
	}()
	process.Await(t, "no tenant is being erased", func() (bool, error) {
		raw, err := os.ReadFile(filepath.Join(d.Folder(), "erased.json"))
		return bytes.Contains(raw, []byte("acme")), unlessMissing(err)
	})
	d.Front().Kill()
	cancel()
	<-asked
	d.Crash(t)
	process.Await(t, "no tenant is erased", func() (bool, error) {
		return strings.Contains(operator(d.Front()).done("", "tenants", "list"), "erased"), nil
	})
	for where, text := range acme(d.Front()).seen() {
		unseen(t, where, text)
	}
	check.OK(t, d.Front().Stop())
	onDisk(t, d.Folder(), "acme")
}

func unlessMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// A replica that was away while a tenant was erased erases it when it comes back, and a
// document that waited for a stage does not bring the tenant back.
func TestReplicasThatWereAwayEraseATenant(t *testing.T) {
	t.Parallel()
	t.Run("distributed", func(t *testing.T) {
		tokens, env := brokenModel(t)
		tenantOf(t, tokens, "nobody")
		d := process.ServeIn(t, &cluster, process.Binary(), env, config.VectorsWeaviate, config.VectorsReplica)
		acme, other := tenantOf(t, tokens, "acme"), tenantOf(t, tokens, "other")
		acme(d.Front()).fill(t)
		away := []string{"query-2", "standardizer-1", "standardizer-2"}
		d.Kill(away...)
		late := writeFile(t, "late.jsonl", fmt.Sprintf(documents, "late", "late", "late"))
		acme(d.Front()).done("", "import", late, "--provider", "dibbler")
		if o := acme(d.Front()).run("", "tenants", "erase", "acme", "--yes"); o.code != 0 {
			t.Fatalf("%+v", o)
		}
		for _, name := range away {
			d.Start(t, name)
		}
		other(d.Front()).fill(t) // its documents come behind the late ones
		for _, front := range d.Fronts() {
			for where, text := range acme(front).seen() {
				unseen(t, where, text)
			}
		}
		if left := d.TenantsInWeaviate(t); slices.Contains(left, "acme") || !slices.Contains(left, "other") {
			t.Errorf("Weaviate has %q", left)
		}
		other(d.Front()).kept()
	})
}
