package config

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/quota"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// bare hides what the environment says of any setting.
func bare(t *testing.T) {
	t.Helper()
	for _, key := range Keys() {
		t.Setenv(key.Env(), "")
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "toolstream.yaml")
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestPrecedenceIsFlagEnvironmentFileDefault(t *testing.T) {
	bare(t)
	path := writeFile(t, "listen: 127.0.0.1:1\ndata: /from/file\nlog:\n  level: warn\n")
	t.Setenv("TOOLSTREAM_LISTEN", "127.0.0.1:2")
	t.Setenv("TOOLSTREAM_DATA", "/from/environment")
	c := check.Value(Load(path, map[string]any{"data": "/from/flag"}))(t)
	if c.Data != "/from/flag" || c.Listen != "127.0.0.1:2" || c.Log.Level != "warn" || c.Log.Format != "auto" {
		t.Errorf("got data %q, listen %q, level %q, format %q", c.Data, c.Listen, c.Log.Level, c.Log.Format)
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	bare(t)
	tests := []struct{ file, wants string }{
		{"lisen: 127.0.0.1:1\n", `"lisen"`},
		{"listen: nowhere\n", `listen "nowhere"`},
		{"listen: nowhere\nnats: {prefix: \"a.b\"}\n", "is not host:port\nconfig: nats.prefix"},
		{"listen: 127.0.0.1:99999\n", `listen "127.0.0.1:99999"`},
		{"embedder: {timeout: 30}\n", "embedder.timeout is 30: want a time with its unit"},
		{"trainer: {publish: 0.5}\n", "trainer.publish is 0.5: want a time with its unit"},
		{"trainer: {min_pairs: 1.7}\n", "trainer.min_pairs is 1.7: want a whole number"},
		{"trainer:\nquerry:\n", `"querry"`},
		{"trainer: [1]\n", "trainer is a group of settings and wants a mapping of them, such as trainer.publish"},
		{"trainer: soon\n", "trainer is a group of settings"},
		{"trainer: []\n", "trainer is a group of settings"},
		{"[1]\n", "toolstream.yaml: not a mapping"},
		{"hello\n", "not a mapping"},
		{"listen: a\nlisten: b\n", "already defined"},
		{"train: [1]\n", `no setting is called "train"`},
		{"trainer: {publish: {}}\n", "trainer.publish is a mapping: want one value"},
		{"trainer: {publish: {least: 1s}}\n", "trainer.publish is a mapping: want one value"},
		{"listen: [{port: 1}]\n", "listen is a list: want one value"},
		{"query: {rerank: [auto]}\n", "query.rerank is a list: want one value"},
		{"log: {level: loud}\n", `log.level is "loud"`},
		{"embedder: {model: gpt}\n", `embedder.model is "gpt"`},
		{"embedder: {model: \"onnx:\"}\n", `embedder.model is "onnx:"`},
		{"embedder: {model: http}\n", "set embedder.url"},
		{"embedder: {model: http, url: \"http://h/v1\"}\n", "set embedder.name"},
		{"embedder: {model: http, url: \"http://h/v1\", name: m, batch: 0}\n", "embedder.batch 0"},
		{"auth: {mode: none, tokens_file: t}\n", "remove one"},
		{"auth: {oidc: {issuer: id}}\n", "auth.oidc.issuer"},
		{"auth: {oidc: {issuer: \"https://id\"}}\n", "set auth.oidc.audience"},
		{"auth: {oidc: {issuer: \"https://id\", audience: a, algorithms: [none]}}\n", `auth.oidc.algorithms is "none"`},
		{"auth: {oidc: {issuer: \"https://id\", audience: a, algorithms: [HS256]}}\n", `auth.oidc.algorithms is "HS256"`},
		{"auth: {oidc: {issuer: \"https://id\", audience: a, roles: [admins=root]}}\n", "auth.oidc.roles"},
		{"auth: {oidc: {client_id: toolstream}}\n", "set auth.oidc.issuer"},
		{"auth: {oidc: {issuer: \"https://id\", audience: a, client_secret_file: f}}\n", "set auth.oidc.client_id"},
		{"nats: {listen: \"127.0.0.1:4222\"}\n", "nats.listen"},
		{"nats: {replicas: 0}\n", "nats.replicas 0"},
		{"nats: {prefix: \"a.b\"}\n", `nats.prefix "a.b"`},
		{"limits: {searches: many}\n", `limits.searches: "many"`},
		{"limits: {requests: [600, a/b=5]}\n", `limits.requests: "a/b=5"`},
		{"limits: {subject_share: [50, acme=0]}\n", "limits.subject_share: 0 is not 1 to 100"},
		{"limits: {in_flight: 1000000}\n", "limits.in_flight: 1000000 is less than 67108864"},
		{"data: \"\"\n", "data is empty"},
		{"kafka: {session: 10ms}\n", "kafka.session 10ms"},
		{"query: {rewrite_budget: 1m}\n", "query.rewrite_budget 1m0s"},
		{"query: {rerank: both}\n", `query.rerank is "both"`},
		{"standardizer: {quarantine: true}\n", "standardizer.quarantine is true: want a list"},
		{"standardizer: {exempt: [[a]]}\n", "standardizer.exempt has the member [a]: want text"},
		{"rerank: {form: bert}\n", `rerank.form is "bert"`},
		{"rerank: {budget: 1m}\n", "rerank.budget 1m0s"},
		{"rerank: {model: bert}\n", `rerank.model is "bert"`},
		{"rerank: {model: \"onnx:\"}\n", `rerank.model is "onnx:"`},
		{"rerank: {model: http}\n", "set rerank.url"},
		{"rerank: {url: \"http://h/v1\"}\n", "set rerank.model"},
		{"rerank: {model: http, url: \"http://h/v1\"}\n", "set rerank.name"},
		{"rerank: {model: http, url: \"h/?secret\", form: tei}\n", "rerank.url must be a URL such as https://host/v1"},

		{"freshness: {objective: 20s}\n", `freshness.objective is "20s"; it is one of 1s, 2.5s`},
		{"trainer: {publish: soon}\n", "trainer.publish"},
		{"trainer: {min_pairs: -3}\n", "trainer.min_pairs -3"},
		{"trainer: {half_life: 0s}\n", "trainer.half_life 0s"},
		{"sources: [a]\n", "sources is one value, or a list: want a mapping"},
		{"sources: {a: {kind: mcp}}\n", "sources: a: /url"},
		{"sources: {a.b: {kind: mcp, url: \"https://h\"}}\n", "sources: a.b: /name"},
		{"sources: {a: {knd: mcp}}\n", `unknown field "knd"`},
		{"sources: {a: {kind: mcp, url: \"https://h\", every: soon}}\n", "sources want a time"},
		{"crawl: {credentials: {a: {kind: bearer, env: A}}}\n", "crawl.credentials: a: hosts is empty"},
		{"calls: {timeout: 10m, idempotency: 10m}\n", "calls.idempotency is 10m0s: must be at least 10m10s"},
		{"crawl: {private: [ten]}\n", `crawl.private: "ten"`},
		{"auth: {trusted_proxies: [ten]}\n", `auth.trusted_proxies: "ten"`},
		{"crawl: {folders: [specs]}\n", `crawl.folders: "specs"`},
		{"crawl: {secrets: {a: b}}\n", `no setting is called "crawl.secrets.a"`},
		{": : :\n", "read "},
	}
	for _, test := range tests {
		_, err := Load(writeFile(t, test.file), nil)
		if err == nil || !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%q: got error %v, want one that says %q", test.file, err, test.wants)
		}
	}
}

func TestAnEmptySettingKeepsItsDefault(t *testing.T) {
	bare(t)
	c, err := Load(writeFile(t, "data:\nquery:\nembedder:\n  parallel: 3.0\nlog: {}\n"), nil)
	if err != nil || c.Query.Rerank == "" || c.Data == "" || c.Embedder.Parallel != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestListsAreListsOrText(t *testing.T) {
	bare(t)
	for text, want := range map[string][]string{
		"[a, 'b, c']": {"a", "b, c"}, "a, b": {"a", "b"}, "[]": nil, "off": nil, "[off]": nil, "' '": nil,
	} {
		c, err := Load(writeFile(t, "standardizer:\n  quarantine: "+text+"\n"), nil)
		if err != nil || !slices.Equal(c.Standardizer.Quarantine, want) {
			t.Errorf("%s: %q, %v", text, c.Standardizer.Quarantine, err)
		}
	}
	t.Setenv("TOOLSTREAM_STANDARDIZER_QUARANTINE", "a,b")
	if c, err := Load("", nil); err != nil || !slices.Equal(c.Standardizer.Quarantine, []string{"a", "b"}) {
		t.Errorf("from the environment: %q, %v", c.Standardizer.Quarantine, err)
	}
}

func TestLimitsAreNumbersOrListsOfThem(t *testing.T) {
	bare(t)
	want := quota.Quota{"": 600, "acme": 3000}
	for _, text := range []string{"[600, acme=3000]", "600,acme=3000"} {
		c := check.Value(Load(writeFile(t, "limits:\n  bytes: 1000000\n  searches: "+text+"\n"), nil))(t)
		if q, err := c.Limits.Quotas(); err != nil || !maps.Equal(q.Searches, want) || q.Bytes.Of("acme") != 1_000_000 || q.SubjectShare.Of("acme") != 100 || !q.Requests.None() {
			t.Errorf("%s: %v, %v", text, q, err)
		}
	}
}

func TestTimesAndNumbersComeFromTheEnvironmentToo(t *testing.T) {
	bare(t)
	t.Setenv("TOOLSTREAM_TRAINER_MIN_PAIRS", "7")
	t.Setenv("TOOLSTREAM_TRAINER_HALF_LIFE", "48h")
	c := check.Value(Load(writeFile(t, "trainer:\n  publish: 2h\n"), nil))(t)
	if want := (Trainer{2 * time.Hour, 7, 48 * time.Hour}); c.Trainer != want {
		t.Errorf("got %+v, want %+v", c.Trainer, want)
	}
}

func TestVectorsAreInTheReplicaByDefault(t *testing.T) {
	bare(t)
	c, err := Load("", map[string]any{"weaviate.url": "http://127.0.0.1:8080", "weaviate.grpc": "127.0.0.1:50051"})
	if err != nil || c.Query.Vectors != VectorsReplica {
		t.Errorf("%q, %v", c.Query.Vectors, err)
	}
	if _, err := Load("", map[string]any{"query.vectors": "both"}); err == nil || !strings.Contains(err.Error(), "replica, weaviate") {
		t.Errorf("a wrong one: %v", err)
	}
}

func TestKeysCoverTheValues(t *testing.T) {
	bare(t)
	c := check.Value(Load("", nil))(t)
	values := c.Values()
	for _, key := range Keys() {
		if got, ok := values[key.Name]; !ok || got != key.Default {
			t.Errorf("%s: value %q, default %q, known %v", key.Name, got, key.Default, ok)
		}
	}
	if len(values) != len(Keys()) {
		t.Errorf("%d values for %d keys", len(values), len(Keys()))
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	bare(t)
	for _, test := range [][3]string{
		{"nats.token", "hush", "(set)"},
		{"nats.url", "nats://me:hush@a:4222,nats://b:4222", "nats://redacted@a:4222,nats://b:4222"},
		{"weaviate.url", "", ""},
		{"rerank.url", "https://h/v1?api-key=hush&region=eu", "https://h/v1?api-key=redacted&region=eu"},
		{"llm.base_url", "https://hush@h/v1", "https://redacted@h/v1"},
		{"embedder.url", "http://h:80/v1?x=1", "http://h:80/v1?x=1"},
		{"kafka.brokers", "a:9092,b:9092", "a:9092,b:9092"},
		{"nats.url", "me:hush@a:4222,b:4222", "redacted@a:4222,b:4222"},
		{"nats.url", "nats://me:hu%sh@a:4222,nats://b:4222", "nats://redacted,nats://b:4222"},
		{"sources", `{"a": {"kind": "openapi", "url": "https://h/?a=1&token=hush"}}`, `{"a":{"kind":"openapi","url":"https://h/?a=1&token=redacted"}}`},
		{"embedder.query_prefix", "ask @me: ", "ask @me: "},
	} {
		set := map[string]any{"rerank.model": "http", "rerank.url": "http://h", "rerank.name": "m", "llm.model": "m"}
		set[test[0]] = test[1]
		c := check.Value(Load("", set))(t)
		if got := c.Values()[test[0]]; got != test[2] {
			t.Errorf("%s %s is printed as %q", test[0], test[1], got)
		}
	}
}

// A setting whose name says that it is a secret is marked as one: then nothing shows it.
func TestSecretsAreMarked(t *testing.T) {
	named := regexp.MustCompile(`(^|[._])(key|token|password|secret|passphrase)$`)
	marked := 0
	for _, key := range Keys() {
		if named.MatchString(key.Name) != key.Secret {
			t.Errorf("%s: marked as a secret %v", key.Name, key.Secret)
		}
		if key.Secret {
			marked++
		}
	}
	if marked == 0 {
		t.Error("nothing is marked")
	}
}

func TestUnknownEnvironmentVariablesAreNamed(t *testing.T) {
	got := Strays([]string{
		"TOOLSTREAM_EMBEDDER_MODLE=http", "TOOLSTREAM_LLM_KEY=secret=x", "TOOLSTREAM_EMBEDDER_MODEL=static", "TOOLSTREAM_SERVER=http://x",
		"TOOLSTREAM_SERVERS=required", "TOOLSTREAM_QUERY_PORT=tcp://10.0.0.1:8665", "TOOLSTREAM_QUERY_SERVICE_PORT_HTTP=8665",
		"TOOLSTREAM_QUERY_PORT_8665_TCP_ADDR=10.0.0.1", "TOOLSTREAM_DATA=x", "TOOLSTREAM_NATS_OLD=", "PATH=/bin", "TOOLSTREAM_",
	})
	if want := []string{"TOOLSTREAM_EMBEDDER_MODLE", "TOOLSTREAM_LLM_KEY"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSourcesAreMappings(t *testing.T) {
	bare(t)
	want := source.Spec{Kind: "mcp", URL: "https://h/mcp", Every: source.Duration(5 * time.Minute), Auth: &source.Auth{Credential: "c"}}
	file := writeFile(t, "sources:\n  a: {kind: mcp, url: \"https://h/mcp\", every: 5m, auth: {credential: c}}\ncrawl:\n  commands: [npx server]\n  private: [10.0.0.1, 10.1.0.0/16]\n"+
		"  credentials: {c: {kind: bearer, hosts: [h], env: TOKEN}}\n")
	c, err := Load(file, nil)
	if err != nil || !reflect.DeepEqual(c.Sources, map[string]source.Spec{"a": want}) || c.Crawl.Credentials["c"].Env != "TOKEN" || len(c.Crawl.Commands) != 1 {
		t.Fatalf("%+v, %+v, %v", c.Sources, c.Crawl, err)
	}
	if p, err := c.Crawl.Prefixes(); err != nil || len(p) != 2 || p[0].Bits() != 32 {
		t.Errorf("%v, %v", p, err)
	}
	text := c.Values()["sources"]
	t.Setenv("TOOLSTREAM_SOURCES", text)
	if again, err := Load("", nil); err != nil || !reflect.DeepEqual(again.Sources, c.Sources) {
		t.Errorf("from the environment as it is printed, %s: %+v, %v", text, again.Sources, err)
	}
	if owner, name := SourceName("acme/a"); owner != "acme" || name != "a" {
		t.Errorf("%q, %q", owner, name)
	}
}
