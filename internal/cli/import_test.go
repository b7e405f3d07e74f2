package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolstream/toolstream/internal/access/httpserver"
	"github.com/toolstream/toolstream/internal/cli/importer"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/streamtest"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/services/ingest"
)

// ingesting serves ingest on a bus in memory.
func ingesting(t *testing.T) (server string, bus *streamtest.Bus) {
	t.Helper()
	bus = streamtest.NewBus()
	service := ingest.New(ingest.Config{}, ingest.Deps{
		Publisher: bus, Follower: bus, Now: time.Now, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	check.Run(t, service.Run)
	api, mux := httpserver.NewAPI("test")
	ingest.Routes(api, service)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(identity.With(r.Context(), identity.Anybody)))
	}))
	t.Cleanup(s.Close)
	return s.URL, bus
}

// owners returns the provider of each tool that the bus ends with.
func owners(t *testing.T, bus *streamtest.Bus) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range bus.Published(events.ToolsRaw) {
		c := check.Value(events.Decode[events.Change](m.Value))(t)
		if out[c.ID] = c.Provider; c.Op == events.OpDelete {
			delete(out, c.ID)
		}
	}
	return out
}

// imports runs an import of texts, each a file, and returns its summary.
func imports(t *testing.T, server string, texts []string, flags ...string) (s importer.Summary, code int) {
	t.Helper()
	args := []string{"import", "--json", "--server", server}
	for i, text := range texts {
		path := filepath.Join(t.TempDir(), string(rune('a'+i))+".jsonl")
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		args = append(args, path)
	}
	code, out, errOut := called(t, append(args, flags...)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatalf("exit code %d: %s%s", code, out, errOut)
	}
	return s, code
}

func enveloped(id, provider, document string) string {
	return `{"id":"` + id + `","provider":"` + provider + `","document":` + document + "}\n"
}

const plainTool = `{"name":"a","description":"Does it."}`

func TestImportSync(t *testing.T) {
	whole := []string{enveloped("one", "mail", plainTool) + enveloped("two", "mail", plainTool), enveloped("three", "mail", plainTool)}
	for name, tc := range map[string]struct {
		again   []string
		left    []string // ids, in order
		missing []string // by a dry run
		code    int
	}{
		"a file is gone":                {whole[:1], []string{"one", "two"}, []string{"three"}, program.Done},
		"a tool is gone":                {[]string{enveloped("two", "mail", plainTool), whole[1]}, []string{"three", "two"}, []string{"one"}, program.Done},
		"an update is rejected":         {[]string{enveloped("one", "mail", `7`) + enveloped("two", "mail", plainTool)}, []string{"one", "two"}, []string{"three"}, program.Partly},
		"the server rejects an update":  {[]string{enveloped("one", "mail", `{"name":"a","tenant":"other"}`) + enveloped("two", "mail", plainTool)}, []string{"one", "two"}, []string{"three"}, program.Partly},
		"a line without an id is wrong": {[]string{whole[0] + "{\"x\":\n"}, []string{"one", "three", "two"}, nil, program.Partly},
		"another provider's tools":      {[]string{enveloped("four", "post", plainTool)}, []string{"four", "one", "three", "two"}, nil, program.Done},
	} {
		t.Run(name, func(t *testing.T) {
			server, bus := ingesting(t)
			if s, code := imports(t, server, whole); code != program.Done || s.Accepted != 3 {
				t.Fatalf("exit code %d: %+v", code, s)
			}
			dry, _ := imports(t, server, tc.again, "--sync", "--dry-run")
			if !slices.Equal(dry.Missing, tc.missing) {
				t.Errorf("a dry run would delete %q, want %q", dry.Missing, tc.missing)
			}
			s, code := imports(t, server, tc.again, "--sync")
			var left []string
			for id := range owners(t, bus) {
				left = append(left, id)
			}
			slices.Sort(left)
			if code != tc.code || s.Deleted != len(tc.missing) || !slices.Equal(left, tc.left) {
				t.Errorf("exit code %d, left %q: %+v", code, left, s)
			}
		})
	}
}

// No file of an import replaces a document of another one, new or known, and a dry run says so.
func TestImportNamesBothFilesOfAnID(t *testing.T) {
	server, bus := ingesting(t)
	texts := []string{
		enveloped("one", "mail", plainTool), enveloped("one", "mail", `{"name":"b"}`) + enveloped("two", "mail", plainTool), enveloped("one", "mail", plainTool),
	}
	for _, flags := range [][]string{{"--dry-run"}, nil, {"--sync", "--take-over"}} {
		s, code := imports(t, server, texts, flags...)
		if code != program.Partly || s.Accepted+s.Unchanged != 3 || s.Rejected != 1 || s.Deleted != 0 || s.Errors[0].ID != "one" || !strings.HasSuffix(s.Errors[0].Source, "b.jsonl") || !strings.Contains(s.Errors[0].Reason, "a.jsonl") {
			t.Errorf("%q: exit code %d: %+v", flags, code, s)
		}
	}
	if n := len(bus.Published(events.ToolsRaw)); n != 2 {
		t.Errorf("%d changes", n)
	}
}

// An import with another --provider takes no tools from their provider unasked.
func TestImportTakeOver(t *testing.T) {
	server, bus := ingesting(t)
	text := []string{enveloped("one", "mail", plainTool) + enveloped("two", "mail", plainTool)}
	imports(t, server, text)
	s, code := imports(t, server, text, "--provider", "post")
	if got := owners(t, bus); code != program.Failed || s.Rejected != 2 || s.TakenOver != 0 || got["one"] != "mail" || !strings.Contains(s.Errors[0].Reason, "--take-over") {
		t.Errorf("exit code %d: %+v, owners %v", code, s, got)
	}
	s, code = imports(t, server, text, "--provider", "post", "--take-over")
	if got := owners(t, bus); code != program.Done || s.Accepted != 2 || s.TakenOver != 2 || got["one"] != "post" {
		t.Errorf("exit code %d: %+v, owners %v", code, s, got)
	}
}

func TestDryRunListsTheDocuments(t *testing.T) {
	var out, errOut strings.Builder
	in := strings.NewReader(enveloped("one", "mail", `{"name":"a","description":"Does it all.","inputSchema":{"properties":{"x":{}}}}`) + `{"id":"two","op":"delete"}`)
	if code := Run(t.Context(), []string{"import", "-", "--dry-run"}, in, &out, &errOut); code != program.Done {
		t.Fatal(errOut.String())
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	if want := []string{"ID PROVIDER FORMAT FIELDS COVERAGE", "one mail mcp description,parameters 1.00", "two (delete)", "accepted 2, unchanged 0, rejected 0"}; !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
}

func TestDeleteSaysWhatIsNotThere(t *testing.T) {
	server, _ := ingesting(t)
	imports(t, server, []string{enveloped("one", "mail", plainTool)})
	for _, tc := range []struct {
		args []string
		code int
	}{{[]string{"one", "two"}, program.Partly}, {[]string{"one"}, program.Failed}, {[]string{"--provider", "mail"}, program.Failed}} {
		code, out, errOut := called(t, append([]string{"tools", "delete", "--server", server}, tc.args...)...)
		if code != tc.code || !strings.Contains(errOut, "there is no tool") && !strings.Contains(errOut, "has no tools") {
			t.Errorf("%q: exit code %d: %s%s", tc.args, code, out, errOut)
		}
	}
}

// What is known already may be on its way still, as after an import that was interrupted.
func TestImportWaitsForWhatIsUnchanged(t *testing.T) {
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/tools:batch", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Write([]byte(`{"line":1,"id":"a","state":"unchanged","revision":7}
{"line":2,"id":"b","state":"accepted","revision":8}
{"line":3,"id":"c","state":"stale","revision":9}
{"summary":{"start":5}}
`))
	})
	mux.HandleFunc("POST /v1/tools:states", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Changes []struct{} }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		var states []string
		for range body.Changes {
			state := "indexed"
			if asked == 0 {
				state = "accepted"
			}
			states = append(states, `{"state":"`+state+`"}`)
		}
		asked++
		w.Write([]byte(`{"states":[` + strings.Join(states, ",") + `]}`))
	})
	server := serveJSON(t, mux.ServeHTTP)
	var out, errOut strings.Builder
	code := Run(t.Context(), []string{"import", "-", "--wait", "--json", "--server", server}, strings.NewReader(`{"name":"a"}`), &out, &errOut)
	var got importer.Summary
	if err := json.Unmarshal([]byte(out.String()), &got); code != program.Done || err != nil {
		t.Fatalf("exit code %d: %s%s (%v)", code, out.String(), errOut.String(), err)
	}
	if got.Accepted != 1 || got.Unchanged != 1 || got.Stale != 1 || got.Indexed == nil || *got.Indexed != 2 || asked != 2 {
		t.Errorf("%s after %d questions", out.String(), asked)
	}
}

// typing is a reader that waits for somebody who types nothing more.
type typing struct {
	first string
	waits chan struct{} // closed when it does
	until <-chan struct{}
}

func (r *typing) Read(p []byte) (int, error) {
	if r.first != "" {
		n := copy(p, r.first)
		r.first = r.first[n:]
		return n, nil
	}
	close(r.waits)
	<-r.until
	return 0, io.EOF
}

func TestStandardInputIsInterrupted(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	t.Cleanup(server.Close)
	for _, args := range [][]string{{"import", "-", "--dry-run"}, {"import", "-", "--server", server.URL}} {
		ctx, cancel := context.WithCancel(t.Context())
		in := &typing{first: "{\"name\":\"a\",\"description\":\"b\"}\n", waits: make(chan struct{}), until: t.Context().Done()}
		go func() {
			<-in.waits
			cancel()
		}()
		var errOut strings.Builder
		if code := Run(ctx, args, in, io.Discard, &errOut); code != program.Failed || !strings.Contains(errOut.String(), "interrupted") {
			t.Errorf("%q: exit code %d: %s", args, code, errOut.String())
		}
	}
}

// The server answers for the first of very many rejected documents, and counts the others.
func TestImportCountsWhatIsRejectedWithoutAnAnswer(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/tools:batch", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("answer_all") != "true" {
			t.Error("sync and wait need all ids")
		}
		w.Write([]byte(`{"line":1,"id":"a","provider":"p","state":"accepted","revision":8}
{"line":2,"id":"b","state":"rejected","reason":"required"}
{"summary":{"start":5,"rejected":3,"unshown":2}}
`))
	})
	mux.HandleFunc("POST /v1/tools:sync", func(http.ResponseWriter, *http.Request) {
		t.Error("tools are deleted that may have been sent and rejected")
	})
	server := serveJSON(t, mux.ServeHTTP)
	var out, errOut strings.Builder
	code := Run(t.Context(), []string{"import", "-", "--sync", "--json", "--server", server}, strings.NewReader(`{"name":"a"}`), &out, &errOut)
	var got importer.Summary
	if err := json.Unmarshal([]byte(out.String()), &got); code != program.Partly || err != nil || got.Rejected != 3 || len(got.Errors) != 1 {
		t.Errorf("exit code %d: %s%s (%v)", code, out.String(), errOut.String(), err)
	}
}
