//go:build linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// fake is a recipe whose program is a shell script.
func fake(made *atomic.Int32) recipe {
	return recipe{name: "fake", version: "1", make: func(_ context.Context, home string) error {
		made.Add(1)
		return os.WriteFile(filepath.Join(home, "program"), []byte("x"), 0o700)
	}}
}

func TestProvideMakesOnce(t *testing.T) {
	t.Setenv(CacheVariable, t.TempDir())
	var made atomic.Int32
	r := fake(&made)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			home, err := provide(t.Context(), r)
			if err != nil || !exists(filepath.Join(home, "program")) {
				t.Errorf("%q, %v", home, err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 {
		t.Fatalf("made %d times", made.Load())
	}
}

func TestProvideStartsAnewAfterAnInterruption(t *testing.T) {
	root := t.TempDir()
	t.Setenv(CacheVariable, root)
	half := filepath.Join(root, "fake.part")
	check.OK(t, os.Mkdir(half, 0o755))
	check.OK(t, os.WriteFile(filepath.Join(half, "half"), nil, 0o600))
	var made atomic.Int32
	home, err := provide(t.Context(), fake(&made))
	if err != nil || made.Load() != 1 || exists(filepath.Join(home, "half")) || exists(half) {
		t.Fatalf("%q, %v, made %d times", home, err, made.Load())
	}
}

func TestAMissingToolIsUnavailable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv(CacheVariable, t.TempDir())
	for _, name := range append(Names(), HelmName, KubernetesName, MCPName, AgentsName, ConsoleName, IdentityName, KeycloakName) {
		if _, err := Provision(t.Context(), name); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if Provisioned(name) {
			t.Errorf("%s is there", name)
		}
	}
}

func TestACancelledToolEndsWithAllItStarted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runTool(ctx, dir, nil, "/bin/sh", "-c", "sleep 600 & echo $! > child; wait")
	}()
	child := filepath.Join(dir, "child")
	check.OK(t, poll(t.Context(), func() (bool, error) { return sizeOf(child) > 0, nil }))
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	awaitGone(t, child)
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func TestVerify(t *testing.T) {
	const sumOfX = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	cases := []struct {
		name, sums string
		files      map[string]string
		ok         bool
	}{
		{"same", sumOfX + "  a.jar\n", map[string]string{"a.jar": "x"}, true},
		{"other content", sumOfX + "  a.jar\n", map[string]string{"a.jar": "y"}, false},
		{"missing", sumOfX + "  a.jar\n" + sumOfX + "  b.jar\n", map[string]string{"a.jar": "x"}, false},
		{"unknown", sumOfX + "  a.jar\n", map[string]string{"a.jar": "x", "b.jar": "x"}, false},
	}
	for _, c := range cases {
		dir := t.TempDir()
		for name, text := range c.files {
			check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		if err := verify(dir, c.sums); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTheProjectFileHasTheVersion(t *testing.T) {
	if !regexp.MustCompile(`<artifactId>kafka_2.13</artifactId>\s*<version>` + regexp.QuoteMeta(kafkaVersion) + `<`).Match(pom) {
		t.Errorf("pom.xml does not name Kafka %s", kafkaVersion)
	}
}

func TestThePackagesOfLlamaHaveTheVersion(t *testing.T) {
	if !strings.Contains(string(llamaPackages), "llama_cpp_python=="+llamaVersion+"\n") {
		t.Errorf("llama.txt does not name llama-cpp-python %s", llamaVersion)
	}
}

func TestTheModuleOfPrometheusHasTheVersion(t *testing.T) {
	// A library's major version may not follow that of the program: 3.13 is v0.313.
	part := strings.Split(prometheusVersion, ".")
	minor, err := strconv.Atoi(part[1])
	check.OK(t, err)
	if want := fmt.Sprintf("prometheus/prometheus v0.%s%02d.%s\n", part[0], minor, part[2]); !strings.Contains(string(prometheusModule), want) {
		t.Errorf("prometheus.mod does not name Prometheus %s, %s", prometheusVersion, want)
	}
}

func TestTheModuleHasTheVersion(t *testing.T) {
	version := regexp.QuoteMeta(kubernetesVersion)
	if !regexp.MustCompile(`(?m)^\tk8s.io/kubernetes v` + version + `$`).Match(kubernetesModule) {
		t.Errorf("kubernetes.mod does not name Kubernetes %s", kubernetesVersion)
	}
	minor := strings.TrimPrefix(kubernetesVersion, "1.")
	for _, line := range regexp.MustCompile(`k8s.io/[a-z-]+ => .*`).FindAllString(string(kubernetesModule), -1) {
		if !strings.HasSuffix(line, " v0."+minor) {
			t.Errorf("kubernetes.mod replaces a part of Kubernetes by another version: %s", line)
		}
	}
}
