package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
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
		text := check.Value(os.ReadFile(filepath.Join("..", "..", "deploy", filepath.FromSlash(name))))(t)
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

// A client that gives a call up before the server does leaves it running, with its effects.
func TestThePythonClientWaitsLongerThanTheServer(t *testing.T) {
	cfg := check.Value(Load(writeFile(t, ""), nil))(t)
	text := check.Value(os.ReadFile(filepath.FromSlash("../../clients/python/src/toolstream/client.py")))(t)
	found := regexp.MustCompile(`(?m)^TIMEOUT = ([0-9.]+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the client has no TIMEOUT")
	}
	seconds := check.Value(strconv.ParseFloat(string(found[1]), 64))(t)
	if wait := time.Duration(seconds * float64(time.Second)); wait < cfg.Calls.Timeout+10*time.Second {
		t.Errorf("the client waits %v, the server %v", wait, cfg.Calls.Timeout)
	}
}
