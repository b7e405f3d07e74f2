package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestOutputs(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/nothing") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"status":404,"detail":"there is no tool"}`))
			return
		}
		if strings.HasSuffix(r.URL.Path, "b") {
			_, _ = w.Write([]byte(`{"id":"a/b","raw":{"name":"b"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"tools":[{"id":"a/b","name":"b","revision":7}]}`))
	}))
	defer s.Close()
	for _, c := range []struct {
		args, out, err string
		code           int
	}{
		{"tools list -o name", "a/b\n", "", exitDone},
		{"tools list -o wide", "REVISION", "", exitDone},
		{"tools list -o yaml", "tools:\n  - id: a/b\n", "", exitDone},
		{"tools list --json", `"id": "a/b"`, "", exitDone},
		{"tools get a/b -o name", "a/b\n", "", exitDone},
		{"dlq show a/b -o name", "a/b\n", "", exitDone},
		{"tools list -o xml", "", `--output is "xml"`, exitUsage},
		{"__complete tools delete a", "a/b\n", "", exitDone},
		{"__complete feedback search a", "a/b\n", "", exitDone},
		{"__complete feedback search a/b s", "succeeded\n", "", exitDone},
		{"__complete import --format o", "openapi\n", "", exitDone},
		{"tools get nothing --json", "", `{"error":"there is no tool","exit_code":1,"http_status":404}`, exitFailed},
	} {
		var out, errOut strings.Builder
		t.Setenv("TOOLSTREAM_SERVER", s.URL)
		args := strings.Fields(c.args)
		code := run(t.Context(), args, strings.NewReader(""), &out, &errOut)
		if code != c.code || !strings.Contains(out.String(), c.out) || strings.HasSuffix(c.args, "get a/b -o name") && out.String() != c.out || !strings.Contains(errOut.String(), c.err) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out.String(), errOut.String())
		}
	}
}
