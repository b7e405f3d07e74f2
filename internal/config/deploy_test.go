package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Files of deployments name settings by their environment variables. One that
// does not exist would be ignored without a word.
func TestDeploymentsSetWhatExists(t *testing.T) {
	var known []string
	for _, key := range Keys() {
		known = append(known, key.Env())
	}
	variable := regexp.MustCompile(EnvPrefix + `[A-Z_]*[A-Z]`)
	for _, name := range []string{"Dockerfile", "compose/compose.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		set := variable.FindAllString(string(text), -1)
		if len(set) == 0 {
			t.Errorf("%s sets nothing", name)
		}
		for _, env := range set {
			if !slices.Contains(known, env) {
				t.Errorf("%s sets %s, which is no setting", name, env)
			}
		}
	}
}
