package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/openai"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/ingest/formats"
	"github.com/toolstream/toolstream/services/standardizer/grounding"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// serve starts the command, and returns a model of what it serves.
func serve(t *testing.T) *openai.Chat {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"--listen", "127.0.0.1:0"}, w)
		_ = w.Close()
		done <- err
	}()
	first, err := bufio.NewReader(r).ReadString('\n')
	check.OK(t, err)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	c, err := openai.NewChat(openai.ChatConfig{URL: regexp.MustCompile(`http\S+`).FindString(first), Name: "rules"}, nil)
	check.OK(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c
}

// registry returns the documents of the sample registry.
func registry(t *testing.T) []formats.Item {
	files, err := filepath.Glob("../registry/tools/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	var out []formats.Item
	for _, file := range files {
		data, err := os.ReadFile(file)
		check.OK(t, err)
		items, _ := formats.Parse(data, formats.Options{Source: file})
		for _, it := range items {
			if it.Kind != schema.KindProvider {
				out = append(out, it)
			}
		}
	}
	return out
}

// Nearly everything that the rules say of the sample registry can be taken:
// it stands in the documents.
func TestDocumentsAreDescribed(t *testing.T) {
	c := serve(t)
	taken, all := 0, registry(t)
	for _, it := range all {
		doc, err := rules.Standardize(it.Format, it.ID, it.Raw)
		if err != nil {
			t.Fatal(it.ID, err)
		}
		stated := rules.StatedBy(it.Format, it.Raw, &doc)
		q := &prompts.Question{Raw: it.Raw, Format: it.Format, Document: &doc, Stated: stated}
		got, err := c.Complete(t.Context(), llm.Request{
			Stage: llm.StageStandardize, System: prompts.System(), User: q.User(), MaxTokens: 2000,
			Schema: llm.Schema{Name: "tool", JSON: q.Shape().Schema()},
		})
		if err != nil {
			t.Fatal(it.ID, err)
		}
		a, problems, err := q.Shape().Decode(got.JSON)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %s: %v, %v", it.ID, got.JSON, problems, err)
			continue
		}
		accepted, found := grounding.Accept(a, grounding.NewSource(nil, false, it.Raw, stated, &doc))
		if accepted.Description != "" {
			taken++
		} else {
			t.Logf("%s: %s", it.ID, found)
		}
	}
	t.Logf("%d of %d taken", taken, len(all))
	if taken < len(all)*9/10 {
		t.Errorf("%d of %d answers can be taken", taken, len(all))
	}
}

func TestQueriesAreRewritten(t *testing.T) {
	c := serve(t)
	got, err := c.Complete(t.Context(), llm.Request{
		Stage: llm.StageRewrite, System: "s", User: `{"query":"Tell me the weather in Oslo tomorrow, and mail it to ann@example.org.","descriptions":[],"documents":[]}`,
		Schema: llm.Schema{Name: "rewritten_query", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,"required":[],"properties":{}}`)},
	})
	check.OK(t, err)
	var a struct {
		Needs     []need     `json:"needs"`
		Arguments []argument `json:"arguments"`
	}
	check.OK(t, json.Unmarshal(got.JSON, &a))
	if len(a.Needs) != 2 || !strings.Contains(a.Needs[0].Intent, "weather") || !strings.Contains(a.Needs[1].Intent, "mail") {
		t.Errorf("needs %+v", a.Needs)
	}
	if len(a.Arguments) != 2 || a.Arguments[0].Name != "email" || a.Arguments[1].Name != "date" {
		t.Errorf("arguments %+v", a.Arguments)
	}
}

func TestOtherQuestionsAreDeclined(t *testing.T) {
	_, err := serve(t).Complete(t.Context(), llm.Request{Stage: llm.StageRewrite, User: "who are you?"})
	if llm.KindOf(err) != llm.Refused && llm.KindOf(err) != llm.Rejected {
		t.Error(err)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--faults", "2"}, {"--latency", "-1s"}, {"more"}, {"--listen", "nowhere"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
