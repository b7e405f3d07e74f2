package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	ferry  = `{"name":"book_ferry","description":"Book a ferry across the strait.","inputSchema":{"type":"object","properties":{"port":{"type":"string","description":"Port of departure"}},"required":["port"]}}`
	bread  = `{"name":"bake_bread","description":"Bake a loaf of rye bread.","inputSchema":{"type":"object","properties":{}}}`
	glider = `{"name":"rent_glider","description":"Rent a glider for an hour.","inputSchema":{"type":"object","properties":{"field":{"type":"string","description":"Field to start from"}},"required":["field"]}}`
)

// nowhere is an address that nobody answers at: the port is reserved (RFC 6335).
const nowhere = "http://127.0.0.1:1"

func TestTheCommandLine(t *testing.T) {
	t.Parallel()
	p := up(t, t.TempDir())
	for name, scenario := range map[string]func(*testing.T, *process.Process){
		"exit codes": exitCodes, "shapes of JSON": shapesOfJSON, "search": searchAnswersOnTheCommandLine,
	} {
		t.Run(name, func(t *testing.T) { scenario(t, p) })
	}
}

func exitCodes(t *testing.T, p *process.Process) {
	server := []string{"--server", p.Client.Server}
	good, bad := writeFile(t, "good.json", ferry), writeFile(t, "bad.json", `{"name":`)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"done":                     {append(server, "import", good, "--wait"), 0, ""},
		"nothing taken":            {append(server, "import", bad), 1, "invalid JSON"},
		"done in part":             {append(server, "import", good, bad), 3, "1 rejected"},
		"not what was expected":    {append(server, "search", "ferry", "--expect", "nobody"), 1, "nobody"},
		"refused by the server":    {append(server, "weights", "promote", "nobody"), 1, "nobody"},
		"not found":                {append(server, "tools", "get", "nobody"), 1, "nobody"},
		"no such file":             {append(server, "import", "no/such/file"), 1, "no/such/file"},
		"no server":                {[]string{"search", "ferry", "--server", nowhere}, 1, "toolstream up"},
		"doctor without a server":  {[]string{"doctor", "--server", nowhere}, 1, ""},
		"unknown flag":             {[]string{"search", "ferry", "--tpo", "3"}, 2, "--tpo"},
		"no folder":                {[]string{"up", "--data", good, "--listen", "127.0.0.1:0"}, 1, "not a directory"},
		"no folder above":          {[]string{"up", "--data", filepath.Join(good, "below"), "--listen", "127.0.0.1:0"}, 1, "not a directory"},
		"bad setting":              {[]string{"up", "--listen", "nowhere"}, 2, "nowhere"},
		"config file that is none": {[]string{"config", "print", "--config", "no/such.yaml"}, 2, "no/such.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			o := cli(t, "", tc.args...)
			if o.code != tc.code || !strings.Contains(o.errOut, tc.says) && !strings.Contains(o.out, tc.says) {
				t.Errorf("%q: exit code %d, want %d and %q in\n%s%s", tc.args, o.code, tc.code, tc.says, o.out, o.errOut)
			}
			if tc.code == 2 && (o.out != "" || !strings.Contains(o.errOut, "--help")) {
				t.Errorf("a wrong call should print nothing but where help is: %q %q", o.out, o.errOut)
			}
		})
	}
}

// keys returns the members of a JSON object, sorted.
func keys(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var names []string
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// What scripts rely on is there; more may come.
func shapesOfJSON(t *testing.T, p *process.Process) {
	file := writeFile(t, "tools.jsonl", ferry+"\n"+bread+"\n{\"name\":\n")
	for _, tc := range []struct {
		args string
		code int
		keys string
	}{
		{"import --provider harbour " + file, 3, "accepted errors rejected unchanged !indexed !dead_lettered"},
		{"import --wait --provider harbour " + file, 3, "accepted dead_lettered errors indexed rejected unchanged"},
		{"import --dry-run " + file, 3, "accepted errors rejected unchanged !indexed !dead_lettered"},
		{"search ferry", 0, "degraded results rewrite search_id took_ms weights"},
		{"tools list", 0, "tools"},
		{"tools get harbour/book_ferry", 0, "provider document format hash id kind name raw revision state updated description"},
		{"providers list", 0, "providers"},
		{"status", 0, "providers data dead_letters model ready stages started tools version weights"},
		{"doctor", 0, "findings"},
		{"weights list", 0, "live versions"},
		{"dlq list", 0, "letters total"},
		{"version", 0, "go platform version"},
	} {
		o := at(t, p, append(strings.Fields(tc.args), "--json")...)
		if o.code != tc.code {
			t.Errorf("%s: exit code %d, want %d\n%s", tc.args, o.code, tc.code, o.errOut)
		}
		members := keys(t, o.out)
		for _, want := range strings.Fields(tc.keys) {
			name, absent := strings.CutPrefix(want, "!")
			if slices.Contains(members, name) == absent {
				t.Errorf("%s: members %q, want %s", tc.args, members, want)
			}
		}
	}
}

func searchAnswersOnTheCommandLine(t *testing.T, p *process.Process) {
	load(t, p, writeFile(t, "tools.jsonl", glider+"\n"+bread+"\n"), "--provider", "airfield")
	var answer schema.SearchResponse
	at(t, p, "search", "rent", "a", "glider", "-k", "1", "--json", "--explain", "--argument", "field=where to start").decode(t, &answer)
	if len(answer.Results) != 1 || answer.Results[0].ID != "airfield/rent_glider" || answer.Results[0].Explanation == nil {
		t.Fatalf("%+v", answer)
	}
	table := at(t, p, "search", "rent a glider", "--explain=full", "--argument", "date=when to go")
	for _, want := range []string{"airfield/rent_glider", "query.lexical.flat", "field: "} {
		if !strings.Contains(table.out, want) {
			t.Errorf("no %q in\n%s", want, table.out)
		}
	}
	if o := at(t, p, "tools", "delete", "airfield/rent_glider"); o.code != 0 {
		t.Errorf("delete: %+v", o)
	}
}

// What a dry run says is what an import then does.
func TestDryRunAgreesWithTheImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.jsonl": ferry + "\n[]\n" + bread + "\n\xff\n", "b.json": `{"tools":[` + ferry + `,{"name":7}]}`, "c.yaml": "a: [1\n", "d.txt": "Sends a letter.",
	} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var dry, real summary
	cli(t, "", "import", dir, "--dry-run", "--json", "--server", nowhere).decode(t, &dry)
	at(t, up(t, t.TempDir()), "import", dir, "--json").decode(t, &real)
	if dry.Accepted != real.Accepted || dry.Rejected != real.Rejected || len(dry.Errors) != len(real.Errors) {
		t.Fatalf("dry run: %+v\nimport: %+v", dry, real)
	}
	for i, e := range real.Errors {
		if d := dry.Errors[i]; d.Source != e.Source || d.ID != e.ID || e.Reason == "" {
			t.Errorf("dry run: %+v\nimport: %+v", d, e)
		}
	}
}
