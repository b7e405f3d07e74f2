package quality

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/lab/commands"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// nicknames is a set of tools that people call by names which no document has: only
// use can tell what they mean.
func nicknames() map[string]string {
	offices := strings.Fields("payroll invoices customs harbour library weather parking museum theatre hospital bakery railway cinema airport observatory forestry")
	names := strings.Fields("giraffe volcano saxophone pumpkin submarine penguin cactus lantern trumpet walrus glacier mustard tractor octopus umbrella hammock")
	ways := strings.Split("%s,the %s here,a %s please,my %s now,every %s again,some %s,that %s then", ",")
	var tools, queries strings.Builder
	rng := rand.New(rand.NewPCG(1, 2))
	for i, office := range offices {
		fmt.Fprintf(&tools, `{"id":%q,"documentation":{"name":%q,"description":"Answers requests about the %s office."}}`+"\n", office, office+"_desk", office)
		for j, way := range ways[:1+rng.IntN(len(ways))] {
			fmt.Fprintf(&queries, `{"id":"%s-%d","query":%q,"labels":[{"id":%q,"relevance":1}]}`+"\n", office, j, fmt.Sprintf(way, names[i]), office)
		}
	}
	return map[string]string{"tools.jsonl": tools.String(), "queries.jsonl": queries.String()}
}

// What users who click teach is most of what labels do, and some of it though others
// are hostile; and it follows when what is right changes.
func TestUsersTeachWhatLabelsDo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range nicknames() {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var raw bytes.Buffer
	args := []string{"simulate", dir, "--seeds", "3", "--rounds", "24", "--users", "50", "--drift", "--thorough", "--json"}
	if code := commands.Run(t.Context(), args, nil, &raw, os.Stderr); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var got struct {
		Start, Clicks, Thorough float64
		FullLabels              float64 `json:"full_labels"`
		Attack20                float64 `json:"attack_20"`
		AttackOne               float64 `json:"attack_one"`
		Drift                   struct{ After, End float64 }
	}
	check.OK(t, json.Unmarshal(raw.Bytes(), &got))
	start, gain := got.Start, got.FullLabels-got.Start
	for what, c := range map[string]struct{ got, least float64 }{
		"full labels":         {gain, 0.15},
		"clicks":              {got.Clicks - start, gain / 2},
		"every fifth hostile": {got.Attack20 - start, gain / 3},
		"one without end":     {got.AttackOne - start, gain / 3},
		"thorough users":      {got.Thorough - start, gain * 0.9},
		"what is right then":  {got.Drift.End - got.Drift.After, 0.05},
	} {
		if c.got < c.least {
			t.Errorf("%s: %.3f, want at least %.3f in %s", what, c.got, c.least, raw.String())
		}
	}
}
