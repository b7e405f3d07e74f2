package cli

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/changes/deadletter"
	"github.com/toolstream/toolstream/internal/cli/program"
)

// letters is a server at which a is replayed, b was before, and c is unknown.
func letters(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(pattern string, status int, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			w.Write([]byte(body))
		})
	}
	answer("POST /v1/dlq/a/replay", 200, `{"id":"a","state":"replayed"}`)
	mux.HandleFunc("POST /v1/dlq/e/replay", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Document string }
		_ = json.NewDecoder(r.Body).Decode(&body) // one that is none has no document
		if body.Document != "edited" {
			w.WriteHeader(422)
			w.Write([]byte(`{"status":422,"title":"Unprocessable Entity","detail":"invalid JSON"}`))
			return
		}
		w.Write([]byte(`{"id":"e","state":"replayed","kind":"tool","entity":"x","revision":9}`))
	})
	answer("GET /v1/dlq/e", 200, `{"id":"e","state":"open","document":"{\n}","location":{"pointer":"/name","line":2,"column":3}}`)
	answer("GET /v1/dlq/f", 200, `{"id":"f","state":"open"}`)
	answer("POST /v1/dlq/b/replay", 409, `{"status":409,"title":"Conflict","detail":"it is replayed already"}`)
	answer("POST /v1/dlq/c/replay", 404, `{"status":404,"title":"Not Found","detail":"there is no dead letter"}`)
	answer("POST /v1/dlq/d/replay", 503, `{"status":503,"title":"Unavailable","detail":"the bus does not answer"}`)
	answer("POST /v1/dlq:replay", 200, `{"done":0,"failed":[{"id":"b","state":"open","error":"its record is not kept"}],"remaining":0}`)
	mux.HandleFunc("POST /v1/dlq:drop", func(w http.ResponseWriter, r *http.Request) {
		pages := map[string]string{
			"":      `{"done":2,"failed":[{"id":"b","state":"open","error":"no"}],"remaining":2,"cursor":"then"}`,
			"then":  `{"done":1,"failed":[{"id":"c","state":"open","error":"no"}],"remaining":0}`,
			"stuck": `{"done":0,"remaining":2,"cursor":"stuck"}`,
		}
		at := r.URL.Query().Get("cursor")
		if r.URL.Query().Get("stage") == "stuck" {
			at = "stuck"
		}
		w.Write([]byte(pages[at]))
	})
	return serveJSON(t, mux.ServeHTTP)
}

func TestEveryNamedLetterIsDecided(t *testing.T) {
	server := letters(t)
	for _, c := range []struct {
		args string
		code int
		says string // on standard error
		out  int    // decisions on standard output; -1: one, not in a list
	}{
		{"replay a", program.Done, "", -1},
		{"replay b", program.Failed, "it is replayed already", 0},
		{"replay b a c", program.Partly, "2 of 3 could not be done", 3},
		{"replay b c", program.Failed, "2 of 2 could not be done", 2},
		{"replay a d b", program.Failed, "the bus does not answer", 0},
		{"replay --all", program.Failed, "b: its record is not kept", -1},
		{"drop --all", program.Partly, "2 of 5 could not be done", -1},
		{"drop --all --stage stuck", program.Failed, "the bus fails", 0},
		{"drop b --reason bad_vector", program.Usage, "go with --all", 0},
	} {
		code, out, errOut := called(t, append(append([]string{"dlq"}, strings.Fields(c.args)...), "--json", "--server", server)...)
		if code != c.code || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: exit code %d: %s", c.args, code, errOut)
		}
		var list []deadletter.Decision
		switch err := json.Unmarshal([]byte(out), &list); {
		case c.out == 0 && out != "", c.out > 0 && (err != nil || len(list) != c.out), c.out < 0 && (err == nil || !json.Valid([]byte(out))):
			t.Errorf("%s: %s", c.args, out)
		}
	}
}

// What the server has no memory for is told.
func TestForgottenLettersAreTold(t *testing.T) {
	server := serveJSON(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"letters":[],"total":0,"done":1,"remaining":0,"forgotten":12}`))
	})
	for _, args := range []string{"list", "replay --all", "drop --all"} {
		for _, json := range []string{"--json=false", "--json"} {
			code, out, errOut := called(t, append(append([]string{"dlq"}, strings.Fields(args)...), json, "--server", server)...)
			if said := out + errOut; code != program.Done || !strings.Contains(said, "12 open dead letters more") && !strings.Contains(said, `"forgotten": 12`) {
				t.Errorf("%s %s: exit code %d: %s", args, json, code, said)
			}
		}
	}
}

// The version needs no server, whatever is set for one.
func TestVersionIsAFlagToo(t *testing.T) {
	t.Setenv("TOOLSTREAM_CA_FILE", filepath.Join(t.TempDir(), "missing"))
	for _, args := range []string{"--version", "-v -o name"} {
		if code, out, errOut := called(t, strings.Fields(args)...); code != program.Done || !strings.HasPrefix(out, "toolstream ") {
			t.Errorf("%s: exit code %d: %s%s", args, code, out, errOut)
		}
	}
}

// A document goes out to be edited, and comes back.
func TestADocumentIsEditedByTheCommandLine(t *testing.T) {
	server := letters(t)
	for _, c := range []struct {
		args, in string
		code     int
		says     string // on either output
	}{
		{"show e", "", program.Done, "line 2, column 3 /name"},
		{"show e --document", "", program.Done, "{\n}\n"},
		{"show f --document", "", program.Failed, "no document"},
		{"replay e --document -", "edited", program.Done, "e: replayed, tool x at revision 9"},
		{"replay e --document -", "worse", program.Failed, "invalid JSON"},
		{"replay e --document nowhere.json", "", program.Failed, "nowhere.json"},
		{"replay e b --document -", "edited", program.Usage, "one letter"},
		{"replay --all --document -", "edited", program.Usage, "one letter"},
		{"drop e --document -", "edited", program.Usage, "unknown flag"},
	} {
		var out strings.Builder
		args := append(append([]string{"dlq"}, strings.Fields(c.args)...), "--json=false", "--server", server)
		if code := Run(t.Context(), args, strings.NewReader(c.in), &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit code %d: %s", c.args, code, out.String())
		}
	}
}
