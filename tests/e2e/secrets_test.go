package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/internal/testing/tracingtest"
	"github.com/toolstream/toolstream/pkg/client"
	"github.com/toolstream/toolstream/services/ingest/sources"
)

// No secret is in anything that toolstream says: logs of every level, answers, traces,
// metrics, the status, what commands print, the arguments of processes, and files; also
// where servers fail and repeat what they were sent. The log has no text of documents and
// queries either, and each line of it is JSON where a machine reads it.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"embedded", "distributed"} {
		t.Run(name, func(t *testing.T) {
			h := newHush(t)
			d, processes := h.deploy(t, name == "distributed")
			h.documents(t, d.Front())
			h.failingSources(t, d.Front())
			h.events(t, d.Front())
			for _, p := range processes() {
				h.callers(t, p)
			}
			h.commands(t, d.Front())
			log := ""
			for _, p := range processes() {
				log += p.Log()
			}
			h.said("log", log)
			for _, event := range []string{"DEBUG", "records are given up", "language model is not asked", "the cross-encoder does not answer", "queries cannot be embedded"} {
				if !strings.Contains(log, event) {
					t.Errorf("the log does not say %q:\n%.500s", event, log)
				}
			}
			for line := range strings.Lines(log) {
				if name == "embedded" && !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			d.Restart(t)
			h.commands(t, d.Front())
			for _, p := range processes() {
				h.process(t, p)
			}
			h.said("traces", h.collector.Text())
			if len(h.collector.Spans()) == 0 {
				t.Error("there are no traces")
			}
			h.verdict(t)
		})
	}
}

// Servers that refuse a password, or are away, do not bring it into anything that is said.
func TestNoSecretOfARefusedServerIsShown(t *testing.T) {
	t.Parallel()
	h := newHush(t)
	closed := "127.0.0.1:" + check.FreePort(t)
	bus := refuses(t)
	weaviate := httptest.NewServer(h.repeats(func(string) bool { return true }, nil))
	t.Cleanup(weaviate.Close)
	env := append(h.settings(),
		"TOOLSTREAM_KAFKA_BROKERS="+hangsUp(t), "TOOLSTREAM_KAFKA_SASL=plain", "TOOLSTREAM_KAFKA_USERNAME=me",
		"TOOLSTREAM_WEAVIATE_URL="+weaviate.URL, "TOOLSTREAM_WEAVIATE_GRPC="+closed, "TOOLSTREAM_QUERY_VECTORS=weaviate")
	var wg sync.WaitGroup
	for name, nats := range map[string]string{
		"refused":  "nats://me:" + h.secret("password of NATS") + "@" + bus,
		"token":    "nats://" + h.secret("token of NATS") + "@" + bus,
		"away":     "nats://me:" + h.secret("password of a NATS that is away") + "@" + closed + ",nats://me:" + h.secret("second password of NATS") + "@" + closed,
		"bare":     "me:" + h.secret("password of NATS without a scheme") + "@" + bus,
		"unusable": "nats://me:" + h.secret("password that cannot be read") + "%@" + bus,
	} {
		with := append(slices.Clone(env), "TOOLSTREAM_NATS_URL="+nats)
		h.run(t, with, "config", "print")
		for _, service := range []string{"query", "embedder"} {
			data := t.TempDir()
			wg.Go(func() { h.refused(t, name, with, "serve", service, "--data", data, "--listen", "127.0.0.1:0") })
		}
	}
	wg.Wait()
	h.verdict(t)
}

// refused runs a service that cannot become ready, asks it how it is, and ends it.
func (h *hush) refused(t *testing.T, name string, env []string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, process.Binary(), args...)
	cmd.Env = append(append(os.Environ(), "TOOLSTREAM_LOG_FORMAT=text"), env...)
	said := &heard{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	err := process.Until(ctx, func() (bool, error) {
		select {
		case err := <-ended:
			ended <- err
			return true, nil
		default:
		}
		log := said.String()
		_, address, listens := strings.Cut(log, "http://127.0.0.1:")
		if !listens || !strings.Contains(log, "afka") {
			return false, nil
		}
		port, _, _ := strings.Cut(address, "\n")
		port = strings.Trim(strings.Fields(port)[0], `"`)
		for _, path := range []string{"/readyz", "/v1/status", "/metrics"} {
			h.ask(t, "http://127.0.0.1:"+port, http.MethodGet, path, "", nil)
		}
		return true, nil
	})
	if err != nil {
		t.Errorf("%s: %v: it says nothing of what it cannot reach:\n%s", name, err, said.String())
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	<-ended
	h.said(fmt.Sprintf("log of %s with a NATS that is %s", args[1], name), said.String())
}

// heard is an output that may be read while it is written.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (k *heard) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(p)
}

func (k *heard) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

// serve answers every connection until the test ends, and returns where.
func serve(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				answer(c)
			}()
		}
	}()
	return l.Addr().String()
}

// hangsUp is the address of a server that ends every connection once it has heard something.
func hangsUp(t *testing.T) string {
	t.Helper()
	return serve(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1024)) })
}

// refuses is the address of a NATS that repeats what it was sent and refuses it.
func refuses(t *testing.T) string {
	t.Helper()
	return serve(t, func(c net.Conn) {
		fmt.Fprint(c, `INFO {"server_id":"a","version":"2.15.0","max_payload":1048576,"auth_required":true,"headers":true,"jetstream":true}`+"\r\n")
		sent := make([]byte, 4096)
		n, _ := c.Read(sent)
		fmt.Fprintf(c, "-ERR 'Authorization Violation: %s'\r\n", strings.Join(strings.Fields(strings.ReplaceAll(string(sent[:n]), "'", "")), " "))
	})
}

// hush keeps secrets, and looks for them in what is said.
type hush struct {
	collector *tracingtest.Collector
	dir       string
	public    *httptest.Server // repeats what it is sent
	token     string           // of an admin

	mu       sync.Mutex
	secrets  []canaryOf              // guarded by mu
	patterns map[string]canaryOf     // by what each looks like in a text; guarded by mu
	lengths  map[string]map[int]bool // of patterns, by how these begin; guarded by mu
	leaks    map[string]bool         // guarded by mu
	looked   map[string]int          // bytes, by kind of place; guarded by mu
}

// canaryOf is a secret.
type canaryOf struct {
	name, value string
	text        bool // it is in what a caller sends, and may be answered to that tenant
	stored      bool // the store holds it
}

func newHush(t *testing.T) *hush {
	t.Helper()
	h := &hush{collector: tracingtest.Collect(t), dir: t.TempDir(), patterns: map[string]canaryOf{}, lengths: map[string]map[int]bool{}, leaks: map[string]bool{}, looked: map[string]int{}}
	h.public = httptest.NewServer(h.repeats(func(string) bool { return true }, nil))
	t.Cleanup(h.public.Close)
	return h
}

// secret makes one.
func (h *hush) secret(name string) string { return h.plant(canaryOf{name: name}) }

func (h *hush) plant(c canaryOf) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.value == "" {
		c.value = fmt.Sprintf("zqhush%016x", rand.Uint64())
	}
	patterns := []string{c.value}
	for shift := range 3 { // wherever it stands in what is encoded
		whole := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + c.value))
		patterns = append(patterns, whole[4:len(whole)-4])
	}
	for _, p := range patterns {
		p = strings.ToLower(p)
		h.patterns[p] = c
		if h.lengths[p[:beginning]] == nil {
			h.lengths[p[:beginning]] = map[int]bool{}
		}
		h.lengths[p[:beginning]][len(p)] = true
	}
	h.secrets = append(h.secrets, c)
	return c.value
}

// beginning is how many bytes of a pattern are looked for first: most patterns share them.
const beginning = 4

// said looks for secrets in what is said at a place: "answer" is to the tenant who sent the
// texts, "file" is of a store.
func (h *hush) said(place, text string) {
	kind, _, _ := strings.Cut(place, " ")
	lower := strings.ToLower(text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looked[kind] += len(text)
	for begins, lengths := range h.lengths {
		for at := range indexes(lower, begins) {
			for length := range lengths {
				c, is := h.patterns[lower[at:min(at+length, len(lower))]]
				if !is || kind == "answer" && c.text || kind == "file" && c.stored {
					continue
				}
				if leak := place + " has the " + c.name; !h.leaks[leak] {
					h.leaks[leak] = true
					h.leaks[leak+":\n\t…"+text[max(0, at-300):min(len(text), at+100)]] = true
				}
			}
		}
	}
}

// indexes yields where a part stands in a text.
func indexes(text, part string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; at++ {
			next := strings.Index(text[at:], part)
			if next < 0 {
				return
			}
			if at += next; !yield(at) {
				return
			}
		}
	}
}

// What looks for secrets finds them, also where they are a part of what is encoded.
func TestSecretsAreSeen(t *testing.T) {
	t.Parallel()
	h := newHush(t)
	first := h.secret("first")
	text := h.plant(canaryOf{name: "text", text: true})
	for place, said := range map[string]string{
		"log plain": "at the end " + first, "log twice": strings.ToUpper(first + first), "answer other": text, "log text": text,
		"log encoded": base64.StdEncoding.EncodeToString([]byte("me:" + first + "@host")), "log shifted": base64.StdEncoding.EncodeToString([]byte("you:" + first + ".")),
		"log cut": first[:len(first)-1],
	} {
		h.said(place, said)
		want := !strings.HasSuffix(place, "other") && !strings.HasSuffix(place, "cut")
		if got := h.leaks[place+" has the first"] || h.leaks[place+" has the text"]; got != want {
			t.Errorf("%s: seen %v in %q", place, got, said)
		}
	}
}

func (h *hush) verdict(t *testing.T) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for leak := range h.leaks {
		if strings.Contains(leak, "\n") {
			t.Error(leak)
		}
	}
	t.Logf("%d secrets, bytes looked through: %v", len(h.secrets), h.looked)
}

// repeats answers what fails with all that it was sent, and everything else by next.
func (h *hush) repeats(fails func(body string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !fails(string(body)) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			return
		}
		user, password, _ := r.BasicAuth()
		all := fmt.Sprintf("cannot take %v %s:%s from %s with %.500s", r.Header, user, password, r.URL, body)
		for code, words := range map[int]string{400: "bad", 401: "unauthorized", 404: "missing", 500: "broken", 503: "busy"} {
			if strings.Contains(r.URL.Path, words) {
				w.Header().Set("Www-Authenticate", fmt.Sprintf("Bearer error_description=%q", all))
				http.Error(w, all, code)
				return
			}
		}
		switch {
		case strings.Contains(r.URL.Path, "granted"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, h.secret("token that was granted"))
		case strings.Contains(r.URL.Path, "moved"):
			http.Redirect(w, r, "http://"+freePort+"/?token="+r.Header.Get("Authorization"), http.StatusTemporaryRedirect)
		case strings.Contains(r.URL.Path, "reason"):
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				fmt.Fprintf(connection, "HTTP/1.1 400 %s\r\nContent-Length: 0\r\n\r\n", strings.Join(strings.Fields(all), " "))
				connection.Close()
			}
		case strings.Contains(r.URL.Path, "rpc"):
			var call struct{ ID any }
			_ = json.Unmarshal(body, &call)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": map[string]any{"code": -32000, "message": all, "data": all}})
		case strings.Contains(r.URL.Path, "page"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<html>%s</html>", all)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": all, "type": "invalid_request_error", "code": "invalid_key"}, "error_description": all})
		}
	})
}

// freePort is an address at which nothing listens: no port is lower.
const freePort = "127.0.0.1:1"

// settings give every setting that is a secret one.
func (h *hush) settings() (env []string) {
	for _, key := range config.Keys() {
		if key.Secret {
			env = append(env, key.Env()+"="+h.secret("setting "+key.Name))
		}
	}
	return append(env, "TOOLSTREAM_LOG_LEVEL=debug")
}

// failsWith is in texts that endpoints refuse.
const failsWith = "wombatsealed"

// deploy starts a deployment with a secret wherever there may be one.
func (h *hush) deploy(t *testing.T, apart bool) (process.Deployment, func() []*process.Process) {
	t.Helper()
	vectors := httptest.NewServer(h.repeats(func(body string) bool { return strings.Contains(body, failsWith) }, &endpoint{}))
	t.Cleanup(vectors.Close)
	env := append(h.settings(), h.collector.Environment()...)
	env = append(env, "OTEL_EXPORTER_OTLP_HEADERS=authorization="+h.secret("header for the collector"),
		"TOOLSTREAM_EMBEDDER_MODEL=http", "TOOLSTREAM_EMBEDDER_NAME=words", "TOOLSTREAM_EMBEDDER_URL="+vectors.URL+"/bad/v1?key="+h.secret("query of the embedder's address"),
		"TOOLSTREAM_LLM_MODEL=m", "TOOLSTREAM_LLM_BASE_URL="+h.public.URL+"/v1?key="+h.secret("query of the model's address"),
		"TOOLSTREAM_RERANK_MODEL=http", "TOOLSTREAM_RERANK_NAME=m", "TOOLSTREAM_RERANK_URL="+h.public.URL+"/broken?key="+h.secret("query of the cross-encoder's address"),
		"TOOLSTREAM_AUTH_TOKENS_FILE="+h.tokens(t), "TOOLSTREAM_CRAWL_PRIVATE=127.0.0.0/8",
		"TOOLSTREAM_CRAWL_CREDENTIALS="+h.credentials(t), "TOOLSTREAM_CRAWL_COMMANDS="+h.command(), "TOOLSTREAM_SOURCES="+h.declared(t),
	)
	for variable, name := range credentialVariables {
		env = append(env, variable+"="+h.secret(name))
	}
	if !apart {
		d := process.Up(t, process.Binary(), append(env, "TOOLSTREAM_NATS_LISTEN=127.0.0.1:"+check.FreePort(t), "TOOLSTREAM_LOG_FORMAT=json")...)
		return d, d.Fronts
	}
	env = slices.DeleteFunc(env, func(set string) bool { return strings.HasPrefix(set, "TOOLSTREAM_WEAVIATE_API_KEY=") }) // a Weaviate that asks for none refuses it
	d := process.ServeIn(t, &cluster, process.Binary(), env, config.VectorsWeaviate, config.VectorsReplica)
	return d, func() (all []*process.Process) {
		for _, name := range d.Replicas() {
			all = append(all, d.Replica(name))
		}
		return all
	}
}

// tokens makes those of an admin, who comes first, of a reader and of one that is expired.
func (h *hush) tokens(t *testing.T) string {
	t.Helper()
	file := filepath.Join(h.dir, "tokens")
	for name, of := range map[string]struct {
		identity.Caller
		expires time.Time
	}{
		"admin": {identity.Caller{Tenant: identity.DefaultTenant, Role: identity.Admin}, time.Time{}}, "reader": {identity.Caller{Tenant: identity.DefaultTenant, Subject: "r", Role: identity.Reader}, time.Time{}},
		"rival": {identity.Caller{Tenant: "rival", Role: identity.Admin}, time.Time{}}, "expired": {identity.Caller{Tenant: identity.DefaultTenant, Subject: "e", Role: identity.Admin}, time.Now().Add(-time.Hour)},
	} {
		secret := tokentest.Add(t, file, of.Caller, of.expires)
		h.plant(canaryOf{name: name + " token", value: secret})
		if name == "admin" {
			h.token = secret
		}
	}
	return file
}

// command says its secret in its last words.
func (h *hush) command() string { return "sh " + filepath.Join(h.dir, "command") }

var credentialVariables = map[string]string{"HUSH_BEARER": "bearer credential", "HUSH_OAUTH": "secret of an oauth client", "HUSH_AWS": "secret of AWS", "HUSH_HOOK": "key of a hook", "HUSH_SIGNED": "secret of a hook", "HUSH_COMMAND": "variable of a command"}

func (h *hush) credentials(t *testing.T) string {
	t.Helper()
	host := strings.TrimPrefix(h.public.URL, "http://")
	file := filepath.Join(h.dir, "header")
	check.OK(t, os.WriteFile(file, []byte(h.secret("header credential")), 0o600))
	hosts := []string{host, freePort}
	check.OK(t, os.WriteFile(filepath.Join(h.dir, "command"), []byte(`echo "cannot use $SECRET" >&2; exit 1`), 0o600))
	raw := check.Value(json.Marshal(map[string]outbound.Credential{
		"bearer": {Kind: outbound.Bearer, Hosts: hosts, Env: "HUSH_BEARER"}, "header": {Kind: outbound.Header, Header: "X-Key", Hosts: hosts, File: file},
		"oauth":     {Kind: outbound.OAuth, ClientID: "me", Hosts: hosts, Env: "HUSH_OAUTH"},
		"fetched":   {Kind: outbound.OAuth, ClientID: "me", Hosts: hosts, Env: "HUSH_OAUTH", TokenURL: h.public.URL + "/bad/token"},
		"described": {Kind: outbound.OAuth, ClientID: "me", Hosts: hosts, Env: "HUSH_OAUTH", TokenURL: h.public.URL + "/token"},
		"granted":   {Kind: outbound.OAuth, ClientID: "me", Hosts: hosts, Env: "HUSH_OAUTH", TokenURL: h.public.URL + "/granted"},
		"aws":       {Kind: outbound.AWS, ClientID: "AKIA", Hosts: hosts, Env: "HUSH_AWS"},
		"command":   {Kind: outbound.Variable, Variable: "SECRET", Commands: []string{h.command()}, Env: "HUSH_COMMAND"},
		"key":       {Kind: outbound.Hook, Scheme: outbound.HookKey, Header: "X-Hook", Env: "HUSH_HOOK"},
		"signed":    {Kind: outbound.Hook, Scheme: outbound.HookHMACSHA256, Header: "X-Signature", Env: "HUSH_SIGNED"},
	}))(t)
	return string(raw)
}

// stored is a secret that sources hold, and so does the store.
func (h *hush) stored(name string) string { return h.plant(canaryOf{name: name, stored: true}) }

func (h *hush) declared(t *testing.T) string {
	t.Helper()
	raw := check.Value(json.Marshal(map[string]source.Spec{
		"declared": {Kind: source.OpenAPI, AllowPrivate: true, URL: "http://" + freePort + "/?a=1&token=" + h.stored("query of a declared source")},
	}))(t)
	return string(raw)
}

// documents sends texts that cannot be taken, and one that endpoints refuse.
func (h *hush) documents(t *testing.T, p *process.Process) {
	t.Helper()
	text := h.plant(canaryOf{name: "text of a document", text: true, stored: true})
	for i := range 5 {
		h.ask(t, p.Client.Server, http.MethodPut, fmt.Sprint("/v1/tools/bad", i), fmt.Sprintf(`{"name":"find_it","description":"Finds the %s %s by the shore.","api_key":%[2]q,
			"inputSchema":{"type":"object","properties":{"island":{"type":"string","description":%[2]q}}},"examples":[%[2]q]}`, failsWith, text), nil)
	}
	h.ask(t, p.Client.Server, http.MethodPut, "/v1/tools/good", `{"name":"book_ferry","description":"Books a ferry."}`, nil)
	for _, wrong := range []string{`{"name":"` + text, `{"` + text + `":}`, `{"name":["` + text + `"]}`, text, `{"description":"\ud800` + text + `"}`} {
		for path, method := range map[string]string{"/v1/tools/" + text: http.MethodPut, "/v1/tools:batch": http.MethodPost, "/v1/events": http.MethodPost, "/v1/search": http.MethodPost, "/v1/feedback": http.MethodPost, "/v1/grants": http.MethodPut} {
			h.ask(t, p.Client.Server, method, path, wrong, nil)
		}
	}
	for i := range 5 { // until the language model is not asked any more
		h.ask(t, p.Client.Server, http.MethodPost, "/v1/search", fmt.Sprintf(`{"query":"a ferry %d %s","explain":true,"rerank":"multi"}`, i, text), nil)
	}
	for _, search := range []string{`{"query":%q}`, `{"steps":["find a ferry",%q]}`, `{"query":%q,"k":-1}`} {
		h.ask(t, p.Client.Server, http.MethodPost, "/v1/search", fmt.Sprintf(search, failsWith+" "+text), nil)
	}
	c := p.Client
	c.Token = h.token
	process.Await(t, "no document was given up", func() (bool, error) {
		var s status.Status
		err := c.Get(t.Context(), "/v1/status", nil, &s)
		return s.DeadLetters >= 5, err
	})
}

// failingSources adds sources that fail in all ways, with all credentials, and one that
// works with a secret in its address.
func (h *hush) failingSources(t *testing.T, p *process.Process) {
	t.Helper()
	works := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"openapi":"3.1.0","info":{"title":"Boats","version":"1"},"servers":[{"url":"/api"}],"paths":{"/boats":{"get":{"operationId":"boats","summary":"Lists boats for rent"}},"/bad":{"get":{"operationId":"bad","parameters":[{"$ref":"missing.json#/x"}]}}}}`)
	}))
	t.Cleanup(works.Close)
	all := map[string]source.Spec{
		"works":   {Kind: source.OpenAPI, URL: works.URL + "/openapi.json?a=1&access_token=" + h.stored("query of a source that works")},
		"away":    {Kind: source.MCP, URL: "http://" + freePort + "/mcp?token=" + h.stored("query of a source that is away")},
		"user":    {Kind: source.MCP, URL: "http://me:" + h.secret("password of a source") + "@" + freePort + "/mcp"},
		"command": {Kind: source.MCP, Command: strings.Fields(h.command()), Auth: &source.Auth{Credential: "command"}},
		"hooked":  {Kind: source.MCP, URL: "http://" + freePort, Hook: &source.Auth{Credential: "key"}, Paused: true},
		"signed":  {Kind: source.MCP, URL: "http://" + freePort, Hook: &source.Auth{Credential: "signed"}, Paused: true},
	}
	for _, kind := range []string{source.MCP, source.OpenAPI, source.A2A, source.MCPRegistry, source.Azure, source.AWS, source.Caddy} {
		for _, how := range []string{"bad", "unauthorized", "missing", "broken", "busy", "moved", "reason", "rpc", "page"} {
			credential := []string{"bearer", "header", "oauth", "fetched", "described", "granted", "aws"}[rand.IntN(7)]
			all[kind+"-"+how] = source.Spec{Kind: kind, URL: h.public.URL + "/" + how + "/x?sig=" + h.stored("query of a source"), Auth: &source.Auth{Credential: credential}}
		}
	}
	for _, credential := range []string{"bearer", "header", "oauth", "fetched", "described", "granted", "aws"} {
		for _, how := range []string{"rpc", "reason", "unauthorized"} {
			all["mcp-"+credential+"-"+how] = source.Spec{Kind: source.MCP, URL: h.public.URL + "/" + how, Auth: &source.Auth{Credential: credential}}
		}
	}
	var wg sync.WaitGroup
	for name, spec := range all {
		spec.AllowPrivate = true
		raw := check.Value(json.Marshal(spec))(t)
		wg.Go(func() {
			h.ask(t, p.Client.Server, http.MethodPost, "/v1/sources:test", string(raw), nil)
			h.ask(t, p.Client.Server, http.MethodPut, "/v1/sources/"+name, string(raw), nil)
			h.ask(t, p.Client.Server, http.MethodPost, "/v1/sources/"+name+":test", "", nil)
		})
	}
	wg.Wait()
	c := p.Client
	c.Token = h.token
	var unseen []string
	failed := 0
	if err := until(t, func() (bool, error) {
		var list struct{ Sources []sources.Source }
		err := c.Get(t.Context(), "/v1/sources", nil, &list)
		unseen, failed = nil, 0
		for _, s := range list.Sources {
			if s.LastLook.IsZero() && !s.Paused {
				unseen = append(unseen, s.Name)
			}
			if s.LastError != "" {
				failed++
			}
		}
		return len(list.Sources) == len(all) && len(unseen) == 0, err // all but "user" are there, and the one of the settings
	}); err != nil {
		t.Fatalf("sources are not looked at: %v: %q\n%.3000s", err, unseen, p.Log())
	}
	if failed < len(all)*3/4 {
		t.Errorf("only %d of %d sources fail", failed, len(all))
	}
}

// events sends some with wrong proofs and with the right one.
func (h *hush) events(t *testing.T, p *process.Process) {
	t.Helper()
	for _, name := range []string{"hooked", "signed", "none"} {
		for _, value := range []string{h.secret("wrong proof of an event"), "sha256=" + h.secret("wrong signature of an event"), h.value(credentialVariables["HUSH_HOOK"])} {
			h.ask(t, p.Client.Server, http.MethodPost, "/v1/sources/"+name+":event", `{"a":1}`, map[string]string{"X-Hook": value, "X-Signature": value, "Authorization": ""})
		}
	}
}

// value is that of a secret that was made.
func (h *hush) value(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.secrets[slices.IndexFunc(h.secrets, func(c canaryOf) bool { return c.name == name })].value
}

// callers calls every operation with every kind of credential.
func (h *hush) callers(t *testing.T, p *process.Process) {
	t.Helper()
	admin := p.Client
	admin.Token = h.token
	for _, op := range operationsOf(t, &admin) {
		if strings.Contains(op.path, "erase") || op.method == http.MethodDelete {
			continue
		}
		path := inPath.ReplaceAllString(op.path, "good") + "?token=" + h.secret("query of a request")
		text := h.plant(canaryOf{name: "text of a request", text: true, stored: true})
		rng := rand.New(rand.NewPCG(1, 2))
		body := ""
		if op.body != nil {
			body = generate(rng, op.body, op.components, func() string { return text }, 0)
		}
		for _, authorization := range []string{
			"Bearer " + h.token, "Bearer " + h.value("reader token"), "Bearer " + h.value("rival token"), "Bearer " + h.value("expired token"),
			"Bearer " + h.secret("wrong token"), "Bearer ts_" + h.secret("wrong token of the usual form"), "Bearer  a.b." + h.secret("wrong JWT"), h.secret("token without a scheme"),
			"Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+h.secret("basic password"))),
		} {
			if strings.HasPrefix(path, "/v1/index") && authorization == "Bearer "+h.token { // nothing is to be built anew
				body = ""
			}
			h.ask(t, p.Client.Server, op.method, path, body, map[string]string{
				"Authorization": authorization, "Cookie": "session=" + h.secret("cookie"), "X-Api-Key": h.secret("header of a request"), "Proxy-Authorization": "Basic " + h.secret("header of a proxy"),
				"Traceparent": "00-" + searchTrace + "-" + callerSpan + "-01", "Tracestate": "a=b", "Baggage": "a=" + h.secret("baggage"),
			})
		}
	}
}

// ask sends a request as the admin, or with these headers, and looks through the answer.
func (h *hush) ask(t *testing.T, server, method, path, body string, headers map[string]string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, server+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.Contains(path, ":batch") {
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	if path == "/v1/events" {
		r.Header.Set("Content-Type", "application/cloudevents+json")
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	resp, err := plain.Do(r)
	if err != nil {
		h.said("answer that fails", err.Error())
		return
	}
	defer resp.Body.Close()
	raw, err := bodyOf(resp)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	path, _, _ = strings.Cut(path, "?")
	kind := "answer"
	if strings.HasPrefix(path, "/v1/status") || path == "/metrics" || path == "/readyz" || r.Header.Get("Authorization") == "Bearer "+h.rival() {
		kind = "status"
	}
	h.said(fmt.Sprintf("%s of %s %s", kind, method, path), fmt.Sprintf("%d %v\n%s", resp.StatusCode, resp.Header, raw))
}

func (h *hush) rival() string {
	if h.token == "" {
		return ""
	}
	return h.value("rival token")
}

// commands runs those of the command line.
func (h *hush) commands(t *testing.T, p *process.Process) {
	t.Helper()
	server := []string{"TOOLSTREAM_SERVER=" + p.Client.Server, "TOOLSTREAM_TOKEN=" + h.token}
	for _, args := range [][]string{
		{"doctor"}, {"status"}, {"sources", "list", "--found"}, {"sources", "show", "works"}, {"sources", "show", "away"}, {"sources", "show", "declared"}, {"sources", "test", "away"}, {"sources", "sync", "works"},
		{"audit", "tail"}, {"audit", "export"}, {"tools", "list"}, {"tools", "get", "good"}, {"providers", "list"}, {"providers", "get", "works"}, {"tools", "get", "works/boats"}, {"grants", "list"}, {"weights", "list"}, {"search", "a boat", "--explain"},
		{"import", "http://" + freePort + "/openapi.json?token=" + h.secret("query of an import")}, {"import", "http://me:" + h.secret("password of an import") + "@" + freePort + "/openapi.json"},
		{"import", "--dry-run", h.public.URL + "/bad?token=" + h.secret("query of an import that is refused")}, {"tools", "get", "none", "--token", h.secret("token of a command")},
		{"status", "--server", "http://me:" + h.secret("password of a server") + "@" + freePort},
		{"status", "--server", "http://" + freePort + "?token=" + h.secret("query of a server")},
	} {
		h.run(t, server, args...)
		h.run(t, server, append(args, "-o", "json")...)
	}
	for _, args := range [][]string{{"dlq", "list"}, {"dlq", "list", "-o", "json"}, {"dlq", "replay", "--all"}} {
		o := h.execute(t, server, args...)
		h.said("answer of "+strings.Join(args, " "), o) // to an operator, with what was sent
	}
}

func (h *hush) run(t *testing.T, env []string, args ...string) {
	t.Helper()
	kind := "output"
	if slices.Contains([]string{"tools", "providers", "search", "audit"}, args[0]) { // what the tenant has sent
		kind = "answer"
	}
	h.said(kind+" of "+strings.Join(args[:min(2, len(args))], " "), h.execute(t, env, args...))
}

func (h *hush) execute(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), process.Binary(), args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("toolstream %q: %v", args, err)
	}
	return string(out)
}

// stream looks through the events that tell an admin the present state, where a process has them.
func (h *hush) stream(t *testing.T, p *process.Process) {
	t.Helper()
	c, heard := p.Client, map[string]bool{}
	c.Token = h.token
	enough := errors.New("enough")
	err := c.Watch(t.Context(), func(e client.Event) error {
		h.said("status event "+e.Name, string(e.Data))
		if heard[e.Name] = true; heard["status"] && heard["sources"] && heard["sample"] {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) && !client.NotFound(err) {
		t.Errorf("the stream of events: %v", err)
	}
}

// process looks through what is known of a process: its log, its metrics, its arguments,
// its settings and its files.
func (h *hush) process(t *testing.T, p *process.Process) {
	t.Helper()
	h.said("log", p.Log())
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/openapi.json", "/v1/status"} {
		h.ask(t, p.Client.Server, http.MethodGet, path, "", nil)
	}
	h.stream(t, p)
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID()))
	if err != nil {
		t.Skipf("the system does not tell the arguments of processes: %v", err)
	}
	h.said("arguments of the process", string(raw))
	environment := check.Value(os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID())))(t)
	h.run(t, strings.Split(strings.TrimRight(string(environment), "\x00"), "\x00"), "config", "print")
	h.run(t, strings.Split(strings.TrimRight(string(environment), "\x00"), "\x00"), "config", "print", "--diff", "-o", "json")
	args := strings.Split(string(raw), "\x00")
	data := args[slices.Index(args, "--data")+1]
	files := 0
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the process works on
			return nil
		}
		files++
		h.said("file "+filepath.Base(path), string(text))
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files of %s: %v", files, data, err)
	}
}
