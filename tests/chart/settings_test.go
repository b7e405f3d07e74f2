package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/connect/kubernetes"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// own are the settings that have a place of their own in the values, or that the
// chart decides.
func own() []string {
	return []string{
		"data", "listen", "log.format", "auth.mode", "auth.tokens_file", "auth.hosts", "auth.certificates.ca_file",
		"kafka.brokers", "kafka.prefix", "kafka.tls", "kafka.ca_file", "kafka.cert_file", "kafka.key_file",
		"kafka.sasl", "kafka.username", "kafka.password",
		"nats.url", "nats.prefix", "nats.token", "nats.credentials_file", "nats.nkey_file", "nats.ca_file", "nats.cert_file", "nats.key_file",
		"weaviate.url", "weaviate.grpc", "weaviate.api_key",
		"tls.cert_file", "tls.key_file",
		"peers.ingest", "peers.query", "peers.trainer", "peers.ca_file",
		"embedder.model", "embedder.url", "embedder.name", "embedder.api_key",
		"llm.base_url", "llm.model", "llm.api_key", "llm.api_key_file",
		"rerank.model", "rerank.url", "rerank.form", "rerank.name", "rerank.api_key",
		"crawl.kubernetes.kinds", "crawl.kubernetes.namespaces",
	}
}

// Every setting can be made, in one place: that is why a misspelt one can be
// refused.
func TestEverySettingHasItsPlace(t *testing.T) {
	var schema struct {
		Properties struct {
			Settings struct{ Properties map[string]any }
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	check.OK(t, err)
	var want []string
	secret := regexp.MustCompile(`(^|[._])(key|password|token)$`)
	for _, key := range config.Keys() {
		if slices.Contains(own(), key.Name) {
			continue
		}
		want = append(want, key.Name)
		if secret.MatchString(key.Name) {
			t.Errorf("%s would stand in a ConfigMap: it wants a reference to a secret", key.Name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(schema.Properties.Settings.Properties)); !slices.Equal(got, want) {
		t.Errorf("values.schema.json takes the settings\n%q, there are\n%q", got, want)
	}
}

// Each of the others comes of the values, secrets and files included.
func TestOwnSettingsAreMade(t *testing.T) {
	helm := helm(t)
	made := environment(t, objects(t, render(t, helm, examples(t)["embedded"])))
	for _, set := range []string{
		"tls.existingSecret=t,auth.certificates.existingSecret=c,settings.auth\\.certificates\\.callers=x,nats.tls.existingSecret=n,nats.tls.caKey=ca,nats.tls.certKey=c,nats.tls.keyKey=k,nats.nkeyKey=seed,kafka.tls.certKey=c,kafka.tls.keyKey=k",
		"nats.tokenKey=token,weaviate.url=http://w:8080,weaviate.grpc=w:50051,weaviate.existingSecret=w," +
			"embedding.model=http,embedding.url=http://e,embedding.name=n,embedding.existingSecret=e," +
			"llm.baseUrl=http://l/v1,llm.model=m,llm.existingSecret=l,sources.kubernetes.enabled=true,sources.kubernetes.namespaces.default={shop},rerank.model=http,rerank.url=http://r,rerank.name=m,rerank.existingSecret=r",
	} {
		maps.Copy(made, environment(t, objects(t, render(t, helm, examples(t)["distributed"], "--set", set))))
	}
	for _, key := range config.Keys() {
		never := []string{"llm.api_key", "auth.hosts"} // a file has the key; nothing is on loopback
		if _, ok := made[key.Env()]; slices.Contains(own(), key.Name) && ok == slices.Contains(never, key.Name) {
			t.Errorf("%s is made by no values", key.Name)
		}
	}
}

// The alerts judge by the objective that the server has, and the chart takes those that it takes.
func TestAlertsHaveTheObjectiveOfTheServer(t *testing.T) {
	var schema struct {
		Properties struct {
			Settings struct {
				Properties struct {
					Objective struct{ Enum []string } `json:"freshness.objective"`
				}
			}
		}
	}
	text := check.Value(os.ReadFile(filepath.Join(folder, "values.schema.json")))(t)
	check.OK(t, json.Unmarshal(text, &schema))
	helm, late := helm(t), regexp.MustCompile(`le=~"([^"]+)"`)
	for _, objective := range append(schema.Properties.Settings.Properties.Objective.Enum, "") {
		args := []string{"--set", "settings.freshness\\.objective=" + objective}
		if objective == "" {
			args = nil
		}
		all := objects(t, render(t, helm, examples(t)["scaled"], args...))
		t.Setenv("TOOLSTREAM_FRESHNESS_OBJECTIVE", environment(t, all)["TOOLSTREAM_FRESHNESS_OBJECTIVE"])
		server := check.Value(config.Load("", nil))(t)
		rules := check.Value(json.Marshal(of(all, "PrometheusRule")))(t)
		bounds := late.FindAllStringSubmatch(strings.ReplaceAll(string(rules), `\"`, `"`), -1)
		if len(bounds) == 0 {
			t.Errorf("%q: no alert has a bound", objective)
		}
		for _, bound := range bounds {
			want := strconv.FormatFloat(server.Freshness.Objective.Seconds(), 'g', -1, 64)
			if match, err := regexp.MatchString("^("+bound[1]+")$", want); !match || err != nil {
				t.Errorf("%q: the server has %s seconds, an alert the bound %s (%v)", objective, want, bound[1], err)
			}
		}
	}
}

// The kinds of a cluster that are read by default are all that can be.
func TestEveryKindOfAClusterCanBeChosen(t *testing.T) {
	text := check.Value(os.ReadFile(filepath.Join(folder, "values.yaml")))(t)
	var values struct {
		Sources struct{ Kubernetes struct{ Kinds []string } }
	}
	if err := yaml.Unmarshal(text, &values); err != nil || !slices.Equal(values.Sources.Kubernetes.Kinds, kubernetes.Kinds()) {
		t.Errorf("values.yaml has the kinds\n%q, there are\n%q: %v", values.Sources.Kubernetes.Kinds, kubernetes.Kinds(), err)
	}
}

// What the services are started with are settings that they know, with values
// that they take.
func TestServicesTakeTheirSettings(t *testing.T) {
	helm := helm(t)
	known := map[string]bool{}
	for _, key := range config.Keys() {
		known[key.Env()] = true
	}
	for name, values := range examples(t) {
		t.Run(name, func(t *testing.T) {
			all := objects(t, render(t, helm, values))
			for _, key := range config.Keys() {
				t.Setenv(key.Env(), "")
			}
			for env, value := range environment(t, all) {
				if strings.HasPrefix(env, config.EnvPrefix) && !known[env] {
					t.Errorf("%s is no setting", env)
				}
				t.Setenv(env, value)
			}
			check.Value(config.Load("", nil))(t)
		})
	}
}

// environment is what the containers of the services are given, with a word for
// each secret.
func environment(t *testing.T, all []object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range of(all, "ConfigMap") {
		for env, value := range m.at("data") {
			if strings.HasPrefix(env, config.EnvPrefix) {
				out[env] = value.(string)
			}
		}
	}
	for _, c := range containers(all) {
		env, _ := c["env"].([]any)
		for _, e := range env {
			value, ok := e.(map[string]any)["value"].(string)
			if !ok {
				value = "secret"
			}
			out[e.(map[string]any)["name"].(string)] = value
		}
	}
	if out["TOOLSTREAM_LISTEN"] == "" || out["GOMEMLIMIT"] == "" {
		t.Fatalf("no environment: %v", out)
	}
	return out
}

// containers are those of the services.
func containers(all []object) []object {
	var out []object
	for _, o := range all {
		list, _ := o.at("spec", "template", "spec")["containers"].([]any)
		for _, c := range list {
			if c := object(c.(map[string]any)); c["name"] == release {
				out = append(out, c)
			}
		}
	}
	return out
}

// TestUnknownKeysAreRefused adds a key to every level of the values.
func TestUnknownKeysAreRefused(t *testing.T) {
	schema := check.Value(jsonschema.NewCompiler().Compile(filepath.Join(folder, "values.schema.json")))(t)
	text := check.Value(os.ReadFile(filepath.Join(folder, "values.yaml")))(t)
	read := func() map[string]any {
		var values map[string]any
		check.OK(t, yaml.Unmarshal(text, &values))
		return asJSON(t, values)
	}
	check.OK(t, schema.Validate(read()))
	for _, path := range levels(read(), nil) {
		values := read()
		level := values
		for _, key := range path {
			level = level[key].(map[string]any)
		}
		level["unknown key"] = true
		if schema.Validate(values) == nil {
			t.Errorf("%q takes a key that nobody knows", strings.Join(path, "."))
		}
	}
}

// levels are the paths of all maps in the values.
func levels(values map[string]any, path []string) [][]string {
	out := [][]string{path}
	for key, value := range values {
		if inner, ok := value.(map[string]any); ok {
			out = append(out, levels(inner, append(slices.Clone(path), key))...)
		}
	}
	return out
}

// asJSON gives values the types that JSON has.
func asJSON(t *testing.T, values map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(values)
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	check.OK(t, err)
	return out
}
