package chart

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
)

// TestPodOfTheTestFindsItsTool runs what the containers of `helm test` run, one
// after the other, against a server: no container runs on the control plane.
func TestPodOfTheTestFindsItsTool(t *testing.T) {
	all := objects(t, render(t, helm(t), examples(t)["embedded"]))
	bin := process.Build(t)
	server := process.Start(t, bin, t.TempDir())
	tools := t.TempDir()
	for _, m := range of(all, "ConfigMap") {
		if text, ok := m.at("data")["tool.json"].(string); ok {
			if err := os.WriteFile(filepath.Join(tools, "tool.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	pod := of(all, "Pod")[0].at("spec")
	steps := append(pod["initContainers"].([]any), pod["containers"].([]any)...)
	for _, step := range steps {
		var args []string
		for _, arg := range step.(map[string]any)["args"].([]any) {
			args = append(args, strings.Replace(arg.(string), "/tools/", tools+"/", 1))
		}
		cmd := exec.CommandContext(t.Context(), bin, args...)
		cmd.Env = append(os.Environ(), "TOOLSTREAM_SERVER="+server.Client.Server)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("toolstream %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	for _, c := range containers(all) {
		for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
			path := c.at(probe, "httpGet")["path"].(string)
			res, err := http.Get(server.Client.Server + path)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: %s of a ready server is %s", probe, path, res.Status)
			}
		}
	}
}
