package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestTheLanguageModelIsChecked(t *testing.T) {
	bare(t)
	const set = "base_url: http://h/v1, model: m"
	tests := []struct{ llm, wants string }{
		{set, ""},
		{"model: m", ""},
		{"base_url: http://h/v1", "set llm.model"},
		{"base_url: h/v1, model: m", "llm.base_url"},
		{"base_url: \"http://h:secret/\", model: m", "llm.base_url"},
		{set + ", api_key: a, api_key_file: b", "set one"},
		{set + ", timeout: 0s", "llm.timeout 0s"},
		{set + ", parallel: -1", "llm.parallel -1"},
		{set + ", attempts: 0", "llm.attempts 0"},
		{set + ", daily_tokens: -5", "llm.daily_tokens -5"},
		{set + ", price_prompt: .nan", "llm.price_prompt NaN"},
		{set + ", daily_cost: 3", "set llm.price_prompt"},
		{set + ", daily_cost: 3, price_prompt: 0.15", ""},
		{set + ", schema: loose", `llm.schema is "loose"; it is one of auto, strict, grammar, object, prompt`},
		{set + ", standardize: always", `llm.standardize is "always"`},
		{set + ", rewrite: always", `llm.rewrite is "always"`},
		{set + ", language: german", `llm.language is "german"`},
		{set + ", quarantine: on", `"llm.quarantine"`},
		{"temperature: 1", `"llm.temperature"`},
	}
	for _, test := range tests {
		_, err := Load(writeFile(t, "llm: {"+test.llm+"}\n"), nil)
		if (err == nil) != (test.wants == "") || err != nil && (!strings.Contains(err.Error(), test.wants) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: got error %v, want one that says %q", test.llm, err, test.wants)
		}
	}
}

func TestTheSettingsChooseTheTasksOfTheLanguageModel(t *testing.T) {
	bare(t)
	for text, want := range map[string][2]bool{
		"{}":                                {false, false},
		"{base_url: http://h/v1, model: m}": {true, true},
		"{base_url: http://h/v1, model: m, standardize: off}": {false, true},
		"{base_url: http://h/v1, model: m, rewrite: off}":     {true, false},
	} {
		c, err := Load(writeFile(t, "llm: "+text+"\n"), nil)
		if err != nil {
			t.Fatal(text, err)
		}
		if got := [2]bool{c.LLM.Standardizes(), c.LLM.Rewrites()}; got != want {
			t.Errorf("%s: standardizes and rewrites %v, want %v", text, got, want)
		}
	}
}

func TestTheKeyIsReadFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for content, want := range map[string]string{"sk-1\n": "sk-1", "": "", "\n": "", "a\nb": ""} {
		check.OK(t, os.WriteFile(path, []byte(content), 0o600))
		key, err := LLM{APIKeyFile: path}.Key()
		if key != want || (err == nil) != (want != "") {
			t.Errorf("%q: key %q, %v", content, key, err)
		}
	}
	if _, err := (LLM{APIKeyFile: path + "x"}).Key(); err == nil {
		t.Error("a file that is not there holds a key")
	}
	if key, err := (LLM{APIKey: "k"}).Key(); key != "k" || err != nil {
		t.Error(key, err)
	}
}
