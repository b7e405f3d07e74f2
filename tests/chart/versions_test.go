package chart

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// earlier returns the folder of the version of the chart before this one, with
// its examples. Who begins a version puts the package of the last one, as `helm
// package` makes it, in its place.
func earlier(t *testing.T) string {
	t.Helper()
	packages, err := filepath.Glob(filepath.Join("testdata", "released", "*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("one version is the one before, there are %q (%v)", packages, err)
	}
	dir := t.TempDir()
	must(t, "tar", "-xzf", packages[0], "-C", dir)
	return filepath.Join(dir, "toolstream")
}

func TestTheChartHasAVersionOfItsOwn(t *testing.T) {
	version := func(chart string) string {
		var about struct{ Version string }
		text, err := os.ReadFile(filepath.Join(chart, "Chart.yaml"))
		if err == nil {
			err = yaml.Unmarshal(text, &about)
		}
		if err != nil || about.Version == "" {
			t.Fatalf("%s has no version: %v", chart, err)
		}
		return about.Version
	}
	if now, before := version(folder), version(earlier(t)); now == before {
		t.Errorf("the chart is %s, as the one that was released: give it the next version", now)
	}
}

// Values that somebody has go on to work, once they say who may call, and which mode it is
// where there was none.
func TestEarlierValuesAreTaken(t *testing.T) {
	helm := helm(t)
	files, err := filepath.Glob(filepath.Join(earlier(t), "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the version before has no examples: %v", err)
	}
	mode := map[string]string{"embedded.yaml": "embedded"}
	for _, values := range files {
		if filepath.Base(values) == "trial.yaml" {
			continue // a trial, which keeps nothing, has a mode of its own now
		}
		set := cmp.Or(mode[filepath.Base(values)], "distributed")
		render(t, helm, values, "--set", "auth.existingSecret=toolstream-tokens,mode="+set)
	}
}
