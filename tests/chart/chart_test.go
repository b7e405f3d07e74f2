// Package chart holds the Helm chart to what it promises: it is rendered, and
// installed on a real control plane, for every example of its values.
package chart

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/golden"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// folder is the chart's.
var folder = filepath.Join("..", "..", "deploy", "helm", "toolstream")

// The release that is rendered and installed, and what others added to the
// cluster's API.
const (
	release   = "toolstream"
	namespace = "tools"
	limit     = 5 * time.Minute // of one command on a busy machine
)

func otherAPIs() []string {
	return []string{"keda.sh/v1alpha1", "monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1"}
}

// examples returns the paths of the example values, by name; default are no values.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	out := map[string]string{"default": os.DevNull}
	for _, file := range files {
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = file
	}
	return out
}

// run runs a program and returns what it says on its standard output, and all
// that it says.
func run(t *testing.T, env []string, argv ...string) (out, all string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	home := t.TempDir() // helm's repositories and plugins are none of ours
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stdout.String() + stderr.String(), err
}

// must is run for a program that is to succeed.
func must(t *testing.T, argv ...string) string {
	t.Helper()
	out, all, err := run(t, nil, argv...)
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, all)
	}
	return out
}

func helm(t *testing.T) string { return servertest.Program(t, servers.HelmName, "helm") }

// template returns the arguments that render the chart for a cluster that has
// everything.
func template(helm string, args ...string) []string {
	out := []string{helm, "template", release, folder, "--namespace", namespace, "--kube-version", "1.36.3"}
	for _, api := range otherAPIs() {
		out = append(out, "--api-versions", api)
	}
	return append(out, args...)
}

// render returns the manifests of the chart with the example's values.
func render(t *testing.T, helm, values string, args ...string) string {
	t.Helper()
	return must(t, template(helm, append([]string{"--values", values}, args...)...)...)
}

// object is one manifest.
type object map[string]any

func (o object) kind() string { return o["kind"].(string) }

func (o object) name() string { return o.at("metadata")["name"].(string) }

// at returns the object below the keys, an empty one if there is none.
func (o object) at(keys ...string) object {
	for _, key := range keys {
		inner, _ := o[key].(map[string]any)
		o = inner
	}
	return o
}

// objects are the manifests of a text.
func objects(t *testing.T, text string) []object {
	t.Helper()
	var out []object
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o map[string]any
		err := dec.Decode(&o)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(o) > 0 {
			out = append(out, o)
		}
	}
}

func of(all []object, kind string) []object {
	return slices.DeleteFunc(slices.Clone(all), func(o object) bool { return o.kind() != kind })
}

func TestLint(t *testing.T) {
	helm := helm(t)
	for name, values := range examples(t) {
		t.Run(name, func(t *testing.T) {
			must(t, helm, "lint", "--strict", folder, "--values", values)
		})
	}
}

// random are the secrets of a first admin, which no two renderings share.
var random = regexp.MustCompile(`(?m)^(  tokens?:) [A-Za-z0-9+/=]+$`)

// Golden manifests show a reviewer what a change of the chart does to a cluster.
func TestManifests(t *testing.T) {
	helm := helm(t)
	for name, values := range examples(t) {
		t.Run(name, func(t *testing.T) {
			got := random.ReplaceAllString(render(t, helm, values), "$1 …")
			golden.Match(t, filepath.Join("testdata", name+".yaml"), got)
		})
	}
}

// Without the APIs nothing is made that would need them, and what cannot be
// left out is said.
func TestOtherAPIsAreNotNeeded(t *testing.T) {
	helm := helm(t)
	bare := []string{helm, "template", release, folder, "--kube-version", "1.36.3", "--values", examples(t)["trial"]}
	metrics := []string{"--set", "metrics.serviceMonitor.enabled=true", "--set", "metrics.prometheusRule.enabled=true"}
	for _, o := range objects(t, must(t, append(bare, metrics...)...)) {
		if strings.HasPrefix(o["apiVersion"].(string), "monitoring.") {
			t.Errorf("a %s is made although there is no such API", o.kind())
		}
	}
	for set, says := range map[string]string{
		"query.autoscaling.type=keda": "KEDA", "httpRoute.enabled=true,httpRoute.parentRefs[0].name=g": "Gateway API",
	} {
		if _, all, err := run(t, nil, append(bare, "--set", set)...); err == nil || !strings.Contains(all, says) {
			t.Errorf("%s: %v, want an error that names %s:\n%s", set, err, says, all)
		}
	}
}

// What cannot work is refused with what to do.
func TestRefusals(t *testing.T) {
	helm := helm(t)
	base := []string{"mode=distributed", "kafka.brokers={kafka:9092}", "nats.url=nats://nats:4222", "auth.existingSecret=tokens"}
	for set, says := range map[string]string{
		"kafka.brokers=null": "kafka.brokers",
		"auth.mode=none":     "auth.existingSecret",
		"auth.existingSecret=,auth.mode=none,settings.auth\\.oidc\\.issuer=https://id": "auth.oidc.issuer",
		"nats.url=":                                  "nats.url",
		"mode=embedded":                              "mode to distributed",
		"mode=trial":                                 "mode to distributed",
		"trial.enabled=true":                         "enabled",
		"weaviate.url=http://weaviate:8080":          "weaviate.grpc",
		"llm.baseUrl=http://llm/v1":                  "llm.model",
		"rerank.url=http://rerank":                   "rerank.model",
		"rerank.model=http":                          "rerank.url",
		"rerank.model=http,rerank.url=http://rerank": "rerank.name",
		"rerank.apiKey=secret":                       "apiKey",
		"tracing.env.PATH=/":                         "PATH",
		"tracing.env.OTEL_EXPORTER_OTLP_HEADERS=key%3Dsecret":              "OTEL_EXPORTER_OTLP_HEADERS",
		"embedding.model=http":                                             "embedding.url",
		"kafka.sasl.mechanism=plain":                                       "kafka.sasl.existingSecret",
		"query.autoscaling.minReplicas=9":                                  "maxReplicas",
		"embedder.autoscaling.type=hpa,embedder.autoscaling.maxReplicas=9": "partitions",
		"query.autoscaling.type=keda,query.autoscaling.inFlight=4":         "prometheusUrl",
		"auth.certificates.existingSecret=c":                               "tls.existingSecret",
		"sources.kubernetes.enabled=true":                                  "kubernetes.namespaces",
		"ingress.enabled=true":                                             "ingress.hosts",
		"httpRoute.enabled=true":                                           "parentRefs",
		"trainer.replicas=2":                                               "replicas",
		"kafka.password=secret":                                            "password",
		"settings.kafka\\.password=secret":                                 "kafka.password",
	} {
		argv := template(helm)
		for _, s := range append(base, set) {
			argv = append(argv, "--set", s)
		}
		if _, all, err := run(t, nil, argv...); err == nil || !strings.Contains(all, says) {
			t.Errorf("%s: %v, want an error that says %s:\n%s", set, err, says, all)
		}
	}
}

func TestSuites(t *testing.T) {
	program := servertest.Program(t, servers.HelmName, "helm-unittest")
	out := must(t, program, "--strict", folder)
	if !regexp.MustCompile(`Tests:\s+[1-9][0-9]* passed`).MatchString(out) {
		t.Errorf("no test ran:\n%s", out)
	}
}

// A package brings the image of its version, and is the same whenever it is made.
func TestPackage(t *testing.T) {
	helm, dir := helm(t), t.TempDir()
	var packed []string
	for _, folder := range []string{"a", "b"} {
		out, all, err := run(t, []string{"HELM=" + helm, "SOURCE_DATE_EPOCH=1700000000"},
			filepath.Join("..", "..", "deploy", "helm", "package.sh"), "v1.2.3", filepath.Join(dir, folder))
		if err != nil {
			t.Fatalf("%v: %s", err, all)
		}
		packed = append(packed, strings.TrimSpace(out))
	}
	first := check.Value(os.ReadFile(packed[0]))(t)
	second := check.Value(os.ReadFile(packed[1]))(t)
	if !bytes.Equal(first, second) {
		t.Error("two packages of one chart differ")
	}
	made := objects(t, must(t, helm, "template", release, packed[0], "--kube-version", "1.36.3"))
	if got, want := containers(made)[0]["image"], "ghcr.io/toolstream/toolstream:v1.2.3"; got != want {
		t.Errorf("it runs %v, want %s", got, want)
	}
}

// The chart's page is made of its values and their comments: its own alone, as
// those of several charts come in no order.
func TestPageIsInStep(t *testing.T) {
	program := servertest.Program(t, servers.HelmName, "helm-docs")
	got := must(t, program, "--chart-search-root", folder, "--chart-to-generate", folder, "--dry-run", "--log-level", "error", "--skip-version-footer")
	golden.Match(t, filepath.Join(folder, "README.md"), strings.TrimSpace(got)+"\n")
}
