package server

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// Whichever services a process runs, with whatever its settings add, each of its modules finds
// what it needs above it, so there is no circle.
func TestEveryNeedOfAModuleIsMet(t *testing.T) {
	used := map[string]bool{}
	for with := range 4 {
		for chosen := range 1 << len(Services()) {
			p := &Process{distributed: true}
			for i, name := range Services() {
				if chosen&(1<<i) != 0 {
					p.services = append(p.services, name)
				}
			}
			if chosen == 0 { // up
				p = &Process{services: Services()}
			}
			if with&1 != 0 {
				p.cfg.LLM, p.cfg.Auth.TokensFile = config.LLM{BaseURL: "http://llm", Standardize: "auto", Rewrite: "auto"}, "tokens"
			}
			if with&2 != 0 {
				p.cfg.Weaviate.URL, p.cfg.Kafka.Apply = "http://weaviate", true
			}
			modules := check.Value(choose(p))(t)
			made := map[string]bool{}
			for _, m := range modules {
				for _, need := range m.needs {
					if _, can := need.(optional); !can && !made[need.String()] {
						t.Errorf("%v: %s needs %s, which is not made before", p.services, m.name, need)
					}
				}
				if made[m.name] {
					t.Errorf("%v: %s is made twice", p.services, m.name)
				}
				made[m.name] = true
				used[m.name] = true
			}
		}
	}
	for _, m := range table() {
		if !used[m.name] {
			t.Errorf("no process has %s", m.name)
		}
	}
}

func TestAModuleGetsWhatItsRowNeeds(t *testing.T) {
	p := &Process{made: map[string]any{"bus": nil}, making: &module{name: "audit log"}}
	defer func() {
		if recover() == nil {
			t.Error("a module got what its row does not need")
		}
	}()
	theBus.get(p)
}

// operationsOf returns the ids of the operations that functions add.
func operationsOf(add ...func(huma.API)) (ids []string) {
	api, _ := httpserver.NewAPI("test")
	for _, routes := range add {
		routes(api)
	}
	for _, op := range ofAPI(api) {
		ids = append(ids, op.OperationID)
	}
	slices.Sort(ids)
	return ids
}

func TestAProcessForwardsAllOperationsOfOthers(t *testing.T) {
	e := openedAs(t, "test")
	delete(e.routes, everyService)
	peers := config.Peers{Ingest: "http://ingest", Query: "http://query", Trainer: "http://trainer"}
	var forwarded []func(huma.API)
	for _, f := range (&Process{distributed: true, cfg: config.Config{Peers: peers}}).forwards() {
		forwarded = append(forwarded, f.routes)
	}
	want, got := operationsOf(slices.Collect(maps.Values(e.routes))...), operationsOf(forwarded...)
	if !slices.Equal(got, want) || !slices.Contains(got, "replace-pins") {
		t.Errorf("%q are forwarded, of %q", got, want)
	}
}

func TestEveryKindOfSourceHasAConnector(t *testing.T) {
	have := slices.Sorted(maps.Keys(newProcess(config.Config{}, nil, slog.New(slog.DiscardHandler), "test").connectors()))
	if want := slices.Sorted(slices.Values(source.Kinds)); !slices.Equal(have, want) {
		t.Errorf("there are connectors for %q, want %q", have, want)
	}
}

// A folder keeps its name, and gets a new one if a crash has left an empty file.
func TestAFolderKeepsItsName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := folderName(dir, trainerNameFile)
	if err != nil || first == "" {
		t.Fatalf("%q, %v", first, err)
	}
	if again, err := folderName(dir, trainerNameFile); err != nil || again != first {
		t.Errorf("%q, %v, want %q", again, err, first)
	}
	check.OK(t, os.WriteFile(filepath.Join(dir, trainerNameFile), nil, 0o600))
	second, err := folderName(dir, trainerNameFile)
	if again, _ := folderName(dir, trainerNameFile); err != nil || second == "" || again != second {
		t.Errorf("after a crash: %q, %q, %v", second, again, err)
	}
}
