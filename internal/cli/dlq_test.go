package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/deadletter"
)

// letters is a server at which a is replayed, b was before, and c is unknown.
func letters(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(pattern string, status int, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			w.Write([]byte(body))
		})
	}
	answer("POST /v1/dlq/a/replay", 200, `{"id":"a","state":"replayed"}`)
	mux.HandleFunc("POST /v1/dlq/e/replay", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Document string }
		_ = json.NewDecoder(r.Body).Decode(&body) // one that is none has no document
		w.Header().Set("Content-Type", "application/json")
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
		w.Header().Set("Content-Type", "application/json")
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
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestEveryNamedLetterIsDecided(t *testing.T) {
	server := letters(t)
	for _, c := range []struct {
		args string
		code int
		says string // on standard error
		out  int    // decisions on standard output; -1: one, not in a list
	}{
		{"replay a", exitDone, "", -1},
		{"replay b", exitFailed, "it is replayed already", 0},
		{"replay b a c", exitPartly, "2 of 3 could not be done", 3},
		{"replay b c", exitFailed, "2 of 2 could not be done", 2},
		{"replay a d b", exitFailed, "the bus does not answer", 0},
		{"replay --all", exitFailed, "b: its record is not kept", -1},
		{"drop --all", exitPartly, "2 of 5 could not be done", -1},
		{"drop --all --stage stuck", exitFailed, "the bus fails", 0},
		{"drop b --reason bad_vector", exitUsage, "go with --all", 0},
	} {
		var out, errOut strings.Builder
		args := append(append([]string{"dlq"}, strings.Fields(c.args)...), "--json", "--server", server)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errOut); code != c.code || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("%s: exit code %d: %s", c.args, code, errOut.String())
		}
		var list []deadletter.Decision
		switch err := json.Unmarshal([]byte(out.String()), &list); {
		case c.out == 0 && out.Len() > 0, c.out > 0 && (err != nil || len(list) != c.out), c.out < 0 && (err == nil || !json.Valid([]byte(out.String()))):
			t.Errorf("%s: %s", c.args, out.String())
		}
	}
}

// What the server has no memory for is told.
func TestForgottenLettersAreTold(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"letters":[],"total":0,"done":1,"remaining":0,"forgotten":12}`))
	}
	s := httptest.NewServer(http.HandlerFunc(answer))
	defer s.Close()
	for _, args := range []string{"list", "replay --all", "drop --all"} {
		for _, json := range []string{"--json=false", "--json"} {
			var out, errOut strings.Builder
			all := append(append([]string{"dlq"}, strings.Fields(args)...), json, "--server", s.URL)
			if code := run(t.Context(), all, strings.NewReader(""), &out, &errOut); code != exitDone {
				t.Errorf("%s: exit code %d: %s", args, code, errOut.String())
			}
			if said := out.String() + errOut.String(); !strings.Contains(said, "12 open dead letters more") && !strings.Contains(said, `"forgotten": 12`) {
				t.Errorf("%s %s: %s", args, json, said)
			}
		}
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	var out strings.Builder
	if code := run(t.Context(), []string{"--version"}, strings.NewReader(""), &out, &out); code != exitDone || !strings.HasPrefix(out.String(), "toolstream ") {
		t.Errorf("exit code %d: %s", code, out.String())
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
		{"show e", "", exitDone, "line 2, column 3 /name"},
		{"show e --document", "", exitDone, "{\n}\n"},
		{"show f --document", "", exitFailed, "no document"},
		{"replay e --document -", "edited", exitDone, "e: replayed, tool x at revision 9"},
		{"replay e --document -", "worse", exitFailed, "invalid JSON"},
		{"replay e --document nowhere.json", "", exitFailed, "nowhere.json"},
		{"replay e b --document -", "edited", exitUsage, "one letter"},
		{"replay --all --document -", "edited", exitUsage, "one letter"},
		{"drop e --document -", "edited", exitUsage, "unknown flag"},
	} {
		var out strings.Builder
		args := append(append([]string{"dlq"}, strings.Fields(c.args)...), "--json=false", "--server", server)
		if code := run(t.Context(), args, strings.NewReader(c.in), &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit code %d: %s", c.args, code, out.String())
		}
	}
}
