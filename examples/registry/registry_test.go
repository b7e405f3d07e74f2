// Package registry_test holds that the sample registry is what its README
// says: readable, labelled, whole.
package registry_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// load reads every file of the registry as an import does.
func load(t *testing.T) (tools, providers map[string]formats.Item) {
	files, err := filepath.Glob("tools/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	tools, providers = map[string]formats.Item{}, map[string]formats.Item{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		check.OK(t, err)
		items, problems := formats.Parse(data, formats.Options{Source: file})
		for _, p := range problems {
			t.Error(&p)
		}
		for _, it := range items {
			into := tools
			if it.Kind == schema.KindProvider {
				into = providers
			}
			if other, twice := into[it.ID]; twice {
				t.Errorf("%s is in %s and in %s", it.ID, other.Source, it.Source)
			}
			into[it.ID] = it
		}
	}
	return tools, providers
}

// Every file is recognised, every document standardized with a description,
// and every owner listed. A file with one text has no owner.
func TestRegistry(t *testing.T) {
	tools, providers := load(t)
	if len(tools) < 120 || len(providers) < 12 {
		t.Errorf("%d tools of %d providers", len(tools), len(providers))
	}
	owners := map[string]bool{}
	for id, it := range tools {
		owners[it.Provider] = true
		doc, err := rules.Standardize(it.Format, it.ID, it.Raw)
		if err != nil || doc.Description == "" {
			t.Errorf("%s: %q, %v", id, doc.Description, err)
		}
		if _, listed := providers[it.Provider]; !listed && it.Provider != "" {
			t.Errorf("%s belongs to %q, which providers.jsonl does not list", id, it.Provider)
		}
	}
	for id := range providers {
		if !owners[id] {
			t.Errorf("provider %s has no tools", id)
		}
	}
}

// Every label names a tool that an import makes.
func TestLabels(t *testing.T) {
	tools, _ := load(t)
	data, err := os.ReadFile("queries.jsonl")
	check.OK(t, err)
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var q struct {
			ID     string `json:"id"`
			Query  string `json:"query"`
			Labels []struct {
				ID           string   `json:"id"`
				Relevance    float64  `json:"relevance"`
				Alternatives []string `json:"alternatives"`
			} `json:"labels"`
		}
		check.OK(t, json.Unmarshal(lines.Bytes(), &q))
		if q.ID == "" || q.Query == "" || len(q.Labels) == 0 || seen[q.ID] {
			t.Errorf("query %q is not whole or there twice", q.ID)
		}
		seen[q.ID] = true
		for _, l := range q.Labels {
			if l.Relevance <= 0 {
				t.Errorf("%s: %s has no relevance", q.ID, l.ID)
			}
			for _, id := range append(l.Alternatives, l.ID) {
				if _, ok := tools[id]; !ok {
					t.Errorf("%s: no tool %s", q.ID, id)
				}
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d queries", len(seen))
	}
}
