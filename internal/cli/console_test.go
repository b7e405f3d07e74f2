package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/cli/program"
)

func TestOutputs(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s := serveJSON(t, func(w http.ResponseWriter, r *http.Request) {
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
	})
	for _, c := range []struct {
		args, out, err string
		code           int
	}{
		{"tools list -o name", "a/b\n", "", program.Done},
		{"tools list -o wide", "REVISION", "", program.Done},
		{"tools list -o yaml", "tools:\n  - id: a/b\n", "", program.Done},
		{"tools list --json", `"id": "a/b"`, "", program.Done},
		{"tools get a/b -o name", "a/b\n", "", program.Done},
		{"dlq show a/b -o name", "a/b\n", "", program.Done},
		{"tools list -o xml", "", `--output is "xml"`, program.Usage},
		{"__complete tools delete a", "a/b\n", "", program.Done},
		{"__complete feedback search a", "a/b\n", "", program.Done},
		{"__complete feedback search a/b s", "succeeded\n", "", program.Done},
		{"__complete import --format o", "openapi\n", "", program.Done},
		{"tools get nothing --json", "", `{"error":"there is no tool","exit_code":1,"http_status":404}`, program.Failed},
	} {
		t.Setenv("TOOLSTREAM_SERVER", s)
		code, out, errOut := called(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || strings.HasSuffix(c.args, "get a/b -o name") && out != c.out || !strings.Contains(errOut, c.err) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, code, out, errOut)
		}
	}
}
